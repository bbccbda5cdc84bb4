"""Spectra, windows and the filter bank."""

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, x

REAL, COMPLEX = x(2, 8, 1), x(2, 6, 2, seed=1)
NUMBERS = (*(np.int64(n) for n in (4, 16, 8000)), np.float32(0), np.float32(4000))
CASES = [
    Case(op="DFT", inputs=(REAL,), attributes={"onesided": 1}, gradcheck=True),
    Case(op="DFT", inputs=(REAL, np.int64(11)), constants=(1,), note="padded", gradcheck=True),
    Case(op="DFT", inputs=(REAL, np.int64(5)), constants=(1,), attributes={"axis": -2}, note="cut", gradcheck=True),
    Case(op="DFT", inputs=(COMPLEX,), attributes={"inverse": 1}, gradcheck=True),
    Case(op="DFT", inputs=(COMPLEX, None, np.int64(0)), constants=(2,), opset=20, engine="reference", gradcheck=True),
    Case(
        op="DFT",
        inputs=(COMPLEX,),
        opset=20,
        attributes={"inverse": 1, "onesided": 1},
        engine="reference",
        note="the signal of a half spectrum",
        gradcheck=True,
    ),
    *(
        Case(
            op="STFT",
            inputs=(x(2, 20, 1), np.int64(3), f32(0.1, 0.5, 1, 0.5, 0.2, 0.3), np.int64(6)),
            constants=(1, 3),
            attributes={"onesided": onesided},
            gradcheck=True,
        )
        for onesided in (0, 1)
    ),
    *(
        Case(op=op, inputs=(np.int64(9),), constants=(0,), attributes={"periodic": p})
        for op in ("HannWindow", "HammingWindow", "BlackmanWindow")
        for p in (0, 1)
    ),
    Case(op="MelWeightMatrix", inputs=NUMBERS, constants=tuple(range(5))),
    Case(op="MelWeightMatrix", inputs=(np.int64(8), *NUMBERS[1:]), constants=tuple(range(5)), note="narrow triangles"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_a_frame_of_unknown_length_is_refused() -> None:
    with pytest.raises(MigrateError, match="without the length of a frame"):
        graph_of(Case(op="STFT", inputs=(x(2, 20, 1), np.int64(3)), constants=(1,)))
