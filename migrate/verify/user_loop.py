"""The first losses of the user's own training loop, held against those of the package's own loop on the same batch.

For sources that say how they are trained, where all of it was carried over.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from migrate.verify.contract import Oracle
from migrate.verify.facts import METRIC, Row
from migrate.verify.learning import TOLERANCES, Ask

STEPS = 10
CHECK = f"the first {STEPS} losses of the source's own training"


def user_loop_rows(oracle: Oracle, ask: Ask) -> Iterator[Row]:
    """One row, where the source can show its loop."""
    import torch
    from safetensors.torch import load_file, save_file

    expected = oracle.losses(STEPS)
    if expected is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "loop.safetensors"
        given = {name: tensor for name, tensor in expected.items() if name != "losses"}
        save_file({**given, "steps": torch.tensor(STEPS)}, out)
        ask("loop", "", out)
        found = load_file(out)["losses"]
    wanted = expected["losses"]
    off = (found - wanted).abs() / wanted.abs().max()
    worst, step = float(off.nan_to_num(nan=float("inf")).max()), int(off.nan_to_num(nan=float("inf")).argmax())
    tolerance = TOLERANCES[bool(expected["float64"])]
    yield Row(
        check=CHECK,
        passed=worst <= tolerance,
        error=worst,
        tolerance=tolerance,
        metric=METRIC,
        engine=oracle.engine,
        detail=f"largest at step {step + 1}",
    )
