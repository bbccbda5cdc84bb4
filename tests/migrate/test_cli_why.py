"""`migrate inspect --why FUSION MODEL`: where a fusion fitted and was left alone."""

from pathlib import Path
from typing import Any

from tests.onnx_files import build, node, save


def swish(*, shared: bool) -> Any:
    """x * sigmoid(x), whose sigmoid may be an output as well."""
    nodes = [node("Sigmoid", ["x"], ["s"], "gate"), node("Mul", ["x", "s"], ["y"], "product")]
    return build(nodes, {}, outputs=["y", "s"] if shared else ["y"])


def test_a_near_miss_is_told_with_its_node_and_reason(tmp_path: Path, invoke: Any) -> None:
    status, out, _ = invoke("inspect", "--why", "silu", save(swish(shared=True), tmp_path / "shared.onnx"))
    assert status == 0
    assert out.splitlines()[0] == "silu: it fused nothing"
    assert out.splitlines()[1] == "silu at product: %s, computed on the way, is an output"


def test_what_was_fused_is_told(tmp_path: Path, invoke: Any) -> None:
    path = save(swish(shared=False), tmp_path / "plain.onnx")
    status, out, _ = invoke("inspect", "--why", "silu", path)
    assert status == 0 and out.startswith("silu: 1 times") and "silu: no near miss" in out
    status, out, _ = invoke("inspect", path)
    assert status == 0 and "= silu(%x)" in out and "MIG315" in out


def test_a_name_that_is_no_fusion(tmp_path: Path, invoke: Any) -> None:
    status, out, err = invoke("inspect", "--why", "nothing", save(swish(shared=False), tmp_path / "plain.onnx"))
    assert (status, out) == (2, "") and "MIG119" in err and "layer_norm" in err
