"""Where training data comes from.

None means what `[data]` in train.toml says: synthetic tensors, .npz shards or local/data.py.
"""

from __future__ import annotations

from typing import Any


def dataset(settings: dict[str, Any]) -> Any:
    """A map-style torch Dataset with items (inputs, targets), or None for the above."""
