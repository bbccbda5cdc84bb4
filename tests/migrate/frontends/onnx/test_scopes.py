"""Module paths from what exporters leave in a node."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from migrate.frontends.onnx.scopes import maker_of, scope_of

METADATA = "pkg.torch.onnx.name_scopes"


def made(name: str | None = None, scopes: str | None = None) -> ir.Node:
    metadata = {} if scopes is None else {METADATA: scopes}
    return ir.Node("", "Relu", [], name=name, metadata_props=metadata)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (None, ()),
        ("", ()),
        ("Relu_7", ()),
        ("/Relu", ()),
        ("/layer1/layer1.0/conv1/Conv", ("layer1", "0", "conv1")),
        ("/blocks/blocks.0/attn/MatMul", ("blocks", "0", "attn")),
        ("/emb.word/Gather", ("emb", "word")),
        ("/layer10/layer1/Conv", ("layer10", "layer1")),
        ("model/block_1/conv/Conv2D", ("model", "block_1", "conv")),
        ("model/a/bias;model/b/Conv2D", ("model", "b")),
        ("model/a b/x.y/Conv2D", ("model", "a_b", "x_y")),
        ("//", ()),
        ("/../../x/Conv", ("x",)),
        ("/", ()),
        ("a/", ("a",)),
        ("/a\x00b/c\nd/Conv", ("a_b", "c_d")),
    ],
)
def test_names(name: str | None, path: tuple[str, ...]) -> None:
    assert scope_of(made(name)) == path


@pytest.mark.parametrize(
    ("scopes", "path"),
    [
        ("['', 'layer1', 'layer1.0', 'layer1.0.conv', 'conv2d']", ("layer1", "0", "conv")),
        ("['', 'relu']", ()),
        ("[]", ()),
        ("not a list", ()),
        ("__import__('os').system('true')", ()),
        ("7", ()),
        ("['', 1, 'x']", ("1",)),
        ("[" * 500, ()),
        ("-" * 100_000 + "1", ()),
    ],
)
def test_metadata(scopes: str, path: tuple[str, ...]) -> None:
    """It is read as a literal, never run; what is none is no scope."""
    assert scope_of(made("/other/Relu", scopes)) == path


@pytest.mark.parametrize(
    ("name", "producer", "maker"),
    [
        ("logit_scale", "pytorch", "module"),
        ("layers.0.attn.weight", "pytorch", "module"),
        ("onnx::MatMul_31", "pytorch", "exporter"),
        ("/attn/Constant_2_output_0", "pytorch", "exporter"),
        ("31", "pytorch", "unknown"),
        ("val_3", "pytorch", "unknown"),
        ("p2o.helper.constant.1", "PaddlePaddle", "unknown"),
    ],
)
def test_who_made_a_tensor(name: str, producer: str, maker: str) -> None:
    assert maker_of(name, producer) == maker
