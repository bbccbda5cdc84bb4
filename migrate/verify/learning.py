"""How a package learns, held against how its source learns: gradients, training mode, a loss curve, the keys of the state.

For sources whose own engine trains. The package is measured in its own process, by the same function as the source.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.graph import Graph
from migrate.verify.contract import Oracle, Plan
from migrate.verify.facts import METRIC, Row
from migrate.verify.golden import expected_inventory

if TYPE_CHECKING:
    from torch import Tensor

    from runtime.verify.golden import GoldenCase

TOLERANCES = {True: 1e-6, False: 1e-4}
"""Whether both sides were measured in float64: by how much they may differ."""
LEAST = 1e-3
"""A gradient that is small beside the largest of all is held to this part of that: with its tolerance, mere rounding.

The bias of attention's keys has a gradient of zero, of which both sides compute nothing but rounding.
"""
Ask = Callable[[str, str, Path], Any]

TRAINED = "outputs in training mode, dropout zero"
_WORDS = {
    "evaluation/gradient": "gradient of every parameter",
    "training/gradient": "gradient of every parameter in training mode, dropout zero",
    "training/output": TRAINED,
    "training/buffer": "buffers after a training step",
    "curve/losses": "losses of three steps of SGD",
}


def state_rows(plan: Plan, graph: Graph, oracle: Oracle) -> Iterator[Row]:
    """Whether keys, shapes and dtypes of the state are the source's."""
    wanted = oracle.state()
    if wanted is None:
        return
    found = {item.name: (tuple(item.shape), item.dtype) for item in expected_inventory(plan, graph)}
    off = [key for key in wanted if found.get(key) != wanted[key]] + [key for key in found if key not in wanted]
    detail = f"{len(wanted)} keys" if not off else f"{len(off)} of {len(wanted)} differ: {', '.join(off[:5])}"
    yield Row(check="state_dict keys, shapes and dtypes are the source's", passed=not off, detail=detail)


def by_key(measured: Mapping[str, Tensor], plan: Plan) -> dict[str, Tensor]:
    """What a source measured under the names of its own weights, under the package's keys and in the package's layouts."""
    import numpy as np
    import torch

    from migrate.graph.weights import rearrange

    found: dict[str, Tensor] = {}
    for name, tensor in measured.items():
        mode, kind, source = (*name.split("/", 2), "", "")[:3]
        if kind not in ("gradient", "buffer"):
            found[name] = tensor
            continue
        for target in (t for t in plan.tensors if t.weight.source == source):
            array = np.ascontiguousarray(rearrange(tensor.numpy(), target.weight.steps))
            found[f"{mode}/{kind}/{target.key}"] = torch.from_numpy(array)
    return found


def learning_rows(case: GoldenCase, oracle: Oracle, ask: Ask, seed: int, plan: Plan) -> Iterator[tuple[Row, str]]:
    """What the source measures of itself against what the package does, and the entry that is farthest off.

    Nothing where the source cannot be trained.
    """
    from safetensors.torch import load_file, save_file

    expected = oracle.learning([t.numpy() for t in case.inputs], seed)
    if expected is None:
        return
    if oracle.state() is None:
        expected = by_key(expected, plan)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "learning.safetensors"
        given = {"curve/rate": expected["curve/rate"]} if "curve/rate" in expected else {}
        training = _flag("curve/rate" in expected or _trains(expected))
        save_file({**given, "training": training, "float64": expected["float64"]}, out)
        ask("learn", case.name, out)
        found = load_file(out)
    if oracle.state() is None:  # the counters of batches are torch's own
        found = {name: tensor for name, tensor in found.items() if not name.endswith(".num_batches_tracked")}
    tolerance = TOLERANCES[bool(expected["float64"])]
    for kind, words in _WORDS.items():
        wanted = {k: t for k, t in expected.items() if k.startswith(kind)}
        if wanted:
            yield _row(words, wanted, {k: t for k, t in found.items() if k.startswith(kind)}, case, oracle, tolerance)


def _trains(expected: Mapping[str, Tensor]) -> bool:
    return any(name.startswith("training/") for name in expected)


def _flag(value: bool) -> Tensor:
    import torch

    return torch.tensor(int(value))


def _row(
    words: str,
    wanted: Mapping[str, Tensor],
    found: Mapping[str, Tensor],
    case: GoldenCase,
    oracle: Oracle,
    tolerance: float,
) -> tuple[Row, str]:
    missing = sorted(wanted.keys() ^ found.keys())
    worst, where = float("inf"), missing[0] if missing else ""
    if not missing:
        worst, where = _largest(wanted, found)
    key = where.split("/", 2)[-1]
    row = Row(
        check=words,
        passed=worst <= tolerance,
        batch=case.inputs[0].shape[0] if case.inputs and case.inputs[0].ndim else None,
        error=worst,
        tolerance=tolerance,
        metric=METRIC,
        engine=oracle.engine,
        detail=f"only one side has {key}" if missing else f"largest at {key}",
    )
    return row, key


def _largest(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> tuple[float, str]:
    """The largest difference, each relative to its own largest value, and where; a NaN on one side is the largest."""
    import torch

    scale = max((float(t.double().abs().max()) for t in wanted.values() if t.numel()), default=0.0)
    worst, where = 0.0, next(iter(wanted))
    for name, right in wanted.items():
        left = found[name]
        if left.shape != right.shape:
            return float("inf"), name
        if not right.numel():
            continue
        a, b = left.double(), right.double()
        same = (a == b) | (a.isnan() & b.isnan())
        off = torch.where(same, torch.zeros_like(a), (a - b).abs())
        error = float(off.max() / max(float(b.nan_to_num().abs().max()), LEAST * scale, 1e-12))
        if not error <= worst:
            worst, where = error, name
    return worst, where
