"""Every way in which pooling, padding and resizing combine their attributes, exact or refused. Rotating slices by default.

The engine is ONNX Runtime; where it refuses a combination or is known to differ from the specification, ONNX's evaluator.
"""

from __future__ import annotations

import datetime
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, expected, f32, ints, model_of, x

SLICES = 40
TODAY = datetime.datetime.now(tz=datetime.UTC).timetuple().tm_yday % SLICES  # another slice each day
NEGATIVE = -np.abs(x(1, 2, 8, 9)) - np.float32(1)
IMAGE = x(1, 2, 5, 6)
PADS = ({}, {"pads": [1, 1, 1, 1]}, {"pads": [0, 1, 1, 0]}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"})
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def pools() -> Iterator[Case]:
    """Each pooling, of numbers that are all negative, so that a padding that counts shows."""
    forms = itertools.product(((3, 2), (2, 3)), ((1, 1), (2, 3)), ((1, 1), (2, 1)), PADS, (0, 1))
    for kernel, strides, dilations, pads, ceil in forms:
        form: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "ceil_mode": ceil, **pads}
        form |= {"dilations": dilations} if dilations != (1, 1) else {}
        if "auto_pad" in pads and (dilations != (1, 1) or any(s > k for s, k in zip(strides, kernel, strict=True))):
            continue  # ONNX Runtime leaves the dilation out there, and takes no gaps between windows
        for free in ((), (0, 2, 3)):
            note = f"{form} {free}"
            yield Case(op="MaxPool", inputs=(NEGATIVE,), attributes=form, free=free, note=note)
            for counted in (0, 1):
                full = {**form, "count_include_pad": counted}
                yield Case(
                    op="AveragePool",
                    inputs=(NEGATIVE,),
                    opset=19,
                    attributes=full,
                    free=free,
                    note=f"{full} {free}",
                )


def pads() -> Iterator[Case]:
    """Each mode with each amount, cut off included."""
    for mode, begin, end in itertools.product(("constant", "reflect", "edge", "wrap"), (0, 1, 3, -1), (0, 2, -2)):
        if mode == "reflect" and begin == 3 and end == -2:
            continue  # more than is left after the cut
        amounts = ints(0, 0, begin, end, 0, 0, end, begin)
        yield Case(op="Pad", inputs=(IMAGE, amounts), constants=(1,), opset=19, attributes={"mode": mode},
                   note=f"{mode} {amounts}")  # fmt: skip


def resizes() -> Iterator[Case]:
    """Each rule with each kind of target."""
    targets: tuple[tuple[Any, Any], ...] = (
        (f32(1, 1, 2, 2), None),
        (f32(1, 1, 0.6, 1.7), None),
        (None, (7, 4)),
        (None, (3, 13)),
    )
    rules = [("nearest", {"nearest_mode": n}) for n in NEAREST] + [
        (mode, {"antialias": a, **more})
        for mode, extras in (("linear", ({},)), ("cubic", ({}, {"cubic_coeff_a": -0.5})))
        for more in extras
        for a in (0, 1)
    ] + [("cubic", {"exclude_outside": 1})]  # fmt: skip
    for (mode, more), coordinates, (scales, sizes) in itertools.product(rules, COORDINATES, targets):
        attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
        whole = None if sizes is None else ints(1, 2, *sizes)
        yield Case(op="Resize", inputs=(IMAGE, None, scales, whole)[: 3 + (whole is not None)], constants=(2, 3), opset=19,
                   attributes=attributes, note=f"{attributes} {scales} {sizes}")  # fmt: skip
    for policy, mode in itertools.product(("stretch", "not_larger", "not_smaller"), ("nearest", "linear", "cubic")):
        attributes = {"mode": mode, "axes": [2, 3], "keep_aspect_ratio_policy": policy}
        yield Case(op="Resize", inputs=(IMAGE, None, None, ints(7, 9)), constants=(3,), opset=19, attributes=attributes)


GRID = [*pools(), *pads(), *resizes()]


def of_slice(case: Case) -> object:
    """A case of the grid; slow unless it is its day."""
    name = f"{case.op}-{case.note or case.attributes}".replace(" ", "")
    return pytest.param(case, id=name, marks=() if zlib.crc32(name.encode()) % SLICES == TODAY else pytest.mark.slow)


@pytest.mark.parametrize("case", [of_slice(case) for case in GRID])
def test_exact_or_refused(case: Case) -> None:
    try:
        check(case)
    except MigrateError as fault:
        assert fault.diagnostics[0].code == "MIG203"
        expected(case, model_of(case))  # the engine knows it: the refusal is ours, and says why
        assert fault.diagnostics[0].why
