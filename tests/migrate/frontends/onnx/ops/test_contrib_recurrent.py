"""The quantised LSTM, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
import torch

import migrate
from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, model_of, x
from tests.migrate.frontends.onnx.ops.test_contrib_quant import codes

T, N, F, H = 5, 3, 4, 6


def lstm(
    direction: str = "forward", *, dtype: Any = np.int8, columns: bool = False, bias: bool = True, state: bool = False,
    **attributes: Any,
) -> Case:  # fmt: skip
    d = 2 if direction == "bidirectional" else 1
    shape = (d, 4 * H) if columns else (d,)
    scales = [np.abs(x(*shape, seed=i)) * 0.004 + 0.002 for i in (5, 6)]
    zeros = [np.full(shape, 0 if dtype is np.int8 else 120, dtype=dtype) for _ in range(2)]
    states = [x(d, N, H, seed=i) if state else None for i in (8, 9)]
    weights = [codes(d, F, 4 * H, dtype=dtype), codes(d, H, 4 * H, seed=1, dtype=dtype)]
    inputs = (x(T, N, F), *weights, x(d, 8 * H, seed=3) if bias else None, None, *states, None)
    inputs = (*inputs, scales[0], zeros[0], scales[1], zeros[1])
    constants = tuple(i for i, v in enumerate(inputs) if v is not None and i not in (0, 5, 6))
    note = f"{direction}-{np.dtype(dtype).name}-columns={columns}-bias={bias}-state={state}"
    return Case(
        op="DynamicQuantizeLSTM", domain="com.microsoft", inputs=inputs, constants=constants, note=note, num_outputs=3,
        attributes={"direction": direction, "hidden_size": H, **attributes},
    )  # fmt: skip


CASES = [
    *(
        lstm(direction, columns=columns)
        for direction in ("forward", "reverse", "bidirectional")
        for columns in (False, True)
    ),
    lstm("bidirectional", dtype=np.uint8, state=True),
    lstm(bias=False, state=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    check(case)


def test_its_weights_are_trained_as_floats() -> None:
    model = model_of(lstm("bidirectional"))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "N"
    module = migrate.to_module(model)
    named = dict(module.named_parameters())
    assert named["weight_hh_l0_reverse"].shape == (4 * H, H)
    assert all(p.dtype == torch.float32 for p in named.values())
    module(torch.from_numpy(x(T, N, F)))[0].sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in named.values())


def test_other_forms_are_refused() -> None:
    with pytest.raises(MigrateError, match="DynamicQuantizeLSTM with"):
        graph_of(lstm(clip=1.0))
