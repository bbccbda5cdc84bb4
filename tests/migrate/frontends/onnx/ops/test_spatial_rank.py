"""Convolutions and pooling over more axes than torch has, or none, are refused at the node."""

import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, graph_of, x

POOLS = ("MaxPool", "AveragePool", "LpPool")


@pytest.mark.parametrize("axes", [0, 4])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", *POOLS])
def test_a_rank_that_torch_lacks_is_refused(op: str, axes: int) -> None:
    data = x(2, 3, *[4] * axes)
    if op in POOLS:
        case = Case(op=op, inputs=(data,), attributes={"kernel_shape": [2] * max(axes, 1)})
    else:
        case = Case(op=op, inputs=(data, x(3, 3, *[2] * axes)))
    with pytest.raises(MigrateError) as caught:
        graph_of(case)
    assert [(d.code, d.where) for d in caught.value.diagnostics] == [("MIG203", "node")]
    assert f"has {axes} spatial axes" in str(caught.value)
