"""Another configuration than the source's: a valid model with fresh weights, that trains."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from migrate.codegen import write_package
from migrate.pipeline import plan
from tests.golden import HERE, open_source

TARGET = {"schema": 1, "name": "cpu", "kind": "product", "device": {"type": "cpu"}}
TOKENS = torch.randint(0, 61, (2, 12))
CASES: dict[str, tuple[str, dict[str, Any], torch.Tensor]] = {
    "a shallow and wide GPT": ("gpt.py", {"num_layers": 2, "hidden_size": 36}, TOKENS),
    "a deep and narrow ViT": (
        "vit.py",
        {"num_layers": 6, "hidden_size": 24, "num_classes": 3},
        torch.randn(2, 3, 16, 16),
    ),
    "a deep and wide BERT from ONNX": (
        "bert.onnx",
        {"num_layers": 5, "hidden_size": 64},
        torch.randint(0, 101, (2, 16)),
    ),
    "a wide ResNet from ONNX": ("resnet.onnx", {"num_classes": 4, "width": 12}, torch.randn(2, 3, 16, 16)),
    "a wide Keras CNN": ("keras_cnn.keras", {"num_classes": 4, "width": 10}, torch.randn(2, 16, 16, 3)),
    "a narrow U-Net": ("unet.py", {"width": 4}, torch.randn(2, 3, 16, 16)),
}


@pytest.fixture
def package(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The package of a golden source, imported."""
    planned = plan(*open_source(HERE / "sources" / request.param))
    folder = write_package(planned, tmp_path / "out", target=TARGET)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module(planned.name)
    for name in [n for n in sys.modules if n.split(".")[0] == planned.name]:
        del sys.modules[name]


@pytest.mark.parametrize(("package", "changed", "given"), CASES.values(), ids=CASES, indirect=["package"])
def test_another_configuration_trains_a_step(package: Any, changed: dict[str, Any], given: torch.Tensor) -> None:
    torch.manual_seed(0)
    model = package.load_model(pretrained=False, config=package.ModelConfig(**changed)).train()
    if "num_layers" in changed:
        lists = [m for m in model.modules() if isinstance(m, torch.nn.Sequential)]
        assert max(map(len, lists)) == changed["num_layers"]
    width = changed.get("hidden_size", changed.get("width"))
    sizes = {size for p in model.parameters() for size in p.shape}
    assert width is None or width in sizes
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    output = model(given)
    assert output.isfinite().all()
    if "num_classes" in changed:
        assert output.shape[-1] == changed["num_classes"]
    before = [p.detach().clone() for p in model.parameters()]
    output.square().sum().backward()
    optimizer.step()
    assert any(not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


@pytest.mark.parametrize("package", ["gpt.py"], indirect=True)
@pytest.mark.parametrize("num_layers", [3, 5])
def test_stored_weights_fit_the_source_alone(package: Any, num_layers: int) -> None:
    with pytest.raises(KeyError, match="h\\."):
        package.load_model(config=package.ModelConfig(num_layers=num_layers))


@pytest.mark.parametrize("package", ["keras_cnn.keras"], indirect=True)
def test_fresh_weights_of_a_keras_model_are_as_keras_draws_them(package: Any) -> None:
    model = package.load_model(pretrained=False)
    linear = next(m for m in model.modules() if isinstance(m, torch.nn.Linear))
    bound = (6 / (linear.in_features + linear.out_features)) ** 0.5
    assert linear.weight.abs().max() <= bound
    assert linear.weight.abs().max() > 0.8 * bound
    assert not linear.bias.any()
