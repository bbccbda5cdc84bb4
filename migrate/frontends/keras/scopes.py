"""Where in the module tree a layer belongs, read from its name."""

from __future__ import annotations

import re

from migrate.frontends.keras.config import Path

_NUMBERED = re.compile(
    r"[a-z0-9_]*?(conv[123]d|dense|normalization|activation|embedding|lstm|gru|rnn|bidirectional)(_\d+)?"
)


def scope_of(path: Path) -> Path:
    """The path in printable characters. A name that Keras made of class and count tells nothing; roles are better names."""
    parts = [re.sub(r"\W", "_", part) for part in path]
    return tuple(part for part in parts[:-1]) + (("",) if _NUMBERED.fullmatch(parts[-1]) else (parts[-1],))
