"""ONNX written from a package: equal in ONNX Runtime, dynamic, and with its batch normalisation."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from runtime.export import export_onnx
from runtime.package import PackageError, TensorSpec


def model():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5))
    return nn.Sequential(layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()


def of(package, load_model):
    return dataclasses.replace(
        package,
        load_model=load_model,
        inputs=(TensorSpec(name="image", shape=("n", 3, "h", 5)),),
        outputs=(TensorSpec(name="y", shape=("n", 2)),),
        sizes={"h": 6},
    )


def test_the_file_is_dynamic_and_trainable(package, tmp_path):
    said = export_onnx(of(package, lambda pretrained=True: model()), tmp_path / "m.onnx")
    assert "differs from the module by" in said
    graph = onnx.load(tmp_path / "m.onnx").graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("BatchNormalization") == 1 and kinds.count("Conv") == 1
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    x = torch.randn(7, 3, 9, 5)
    (y,) = session.run(None, {"image": x.numpy()})
    np.testing.assert_allclose(y, model()(x).detach().numpy(), atol=1e-5)


def test_only_what_was_checked_is_said(package, tmp_path):
    fixed = dataclasses.replace(
        of(package, lambda pretrained=True: model()),
        inputs=(TensorSpec(name="image", shape=(1, 3, "h", 5), batch_axis=None),),
        outputs=(TensorSpec(name="y", shape=(1, 2), batch_axis=None),),
    )
    assert "at batches" not in export_onnx(fixed, tmp_path / "m.onnx")
    assert export_onnx(of(package, lambda pretrained=True: model()), tmp_path / "m.onnx").endswith("at batches (2, 3)")


def test_trained_weights_are_exported(package, tmp_path):
    trained = model()
    nn.init.constant_(trained[3].bias, 9.0)
    save_file(trained.state_dict(), tmp_path / "w.safetensors")
    export_onnx(of(package, lambda pretrained=True: model()), tmp_path / "m.onnx", tmp_path / "w.safetensors")
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(tmp_path / "m.onnx").graph.initializer}
    assert stored["3.bias"].tolist() == [9.0, 9.0]


@pytest.mark.parametrize("content", [None, b"", "other"])
def test_weights_that_do_not_fit_are_refused(package, tmp_path, content):
    path = tmp_path / "w.safetensors"
    if content == "other":
        save_file({"x": torch.ones(1)}, path)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(PackageError, match="cannot be loaded") as caught:
        export_onnx(of(package, lambda pretrained=True: model()), tmp_path / "m.onnx", path)
    assert caught.value.status == 3


class Fixed(nn.Module):
    """A batch that the exporter bakes in."""

    def forward(self, image):
        return image.mean((2, 3))[:, :2] * float(image.shape[0])


def test_a_file_that_computes_something_else_is_refused(package, tmp_path):
    with pytest.raises(PackageError, match="differs from the module") as caught:
        export_onnx(of(package, lambda pretrained=True: Fixed()), tmp_path / "m.onnx")
    assert caught.value.status == 5


class Unwritable(nn.Module):
    def forward(self, image):
        return torch.linalg.eigvals(image[:, :, :3, :3]).real


def test_what_cannot_be_written_says_so(package, tmp_path):
    with pytest.raises(PackageError, match="cannot be written as ONNX") as caught:
        export_onnx(of(package, lambda pretrained=True: Unwritable()), tmp_path / "m.onnx")
    assert caught.value.status == 4 and not (tmp_path / "m.onnx").exists()


def test_without_the_checker_it_says_so(package, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = export_onnx(of(package, lambda pretrained=True: model()), tmp_path / "m.onnx")
    assert "not checked: install onnx and onnxruntime" in said
