"""Writes a package's model as ONNX, and checks the file in ONNX Runtime where that is installed. Knows no device.

The file is made for training to go on from it: batch normalisation and dropout-free evaluation are kept as they are,
no weight is folded into another. The TorchScript-based exporter is used, since the other one needs onnxscript and its
optimiser folds. That exporter folds BatchNormalization into convolutions when told that it exports for evaluation;
told to preserve the mode of a module that is in evaluation mode, it writes BatchNormalization nodes.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .package import Package, PackageError, TensorSpec

OPSET = 17
TOLERANCE = 1e-4
BATCHES = (2, 3)
"""Batches that the file is checked at: the one it was traced with, and another."""

FAILED_CHECK = 5


def _dynamic_axes(specs: Sequence[TensorSpec]) -> dict[str, dict[int, str]]:
    """Free sizes by their names; a batch axis without a name is `batch`."""
    axes: dict[str, dict[int, str]] = {}
    for spec in specs:
        named = {axis: size for axis, size in enumerate(spec.shape) if isinstance(size, str)}
        if spec.batch_axis is not None:
            named.setdefault(spec.batch_axis, "batch")
        if named:
            axes[spec.name] = named
    return axes


def _inputs(package: Package, batch: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(batch)
    return tuple(spec.draw(package.sizes, batch, generator) for spec in package.inputs)


def _expected(model: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    with torch.no_grad():
        outputs = model(*inputs)
    return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)


def _write(package: Package, model: nn.Module, path: Path) -> None:
    with warnings.catch_warnings():
        # deprecation of this exporter, and remarks on sizes that become constants: the check below finds those
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            _inputs(package, BATCHES[0]),
            str(path),
            dynamo=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
            opset_version=OPSET,
            input_names=[spec.name for spec in package.inputs],
            output_names=[spec.name for spec in package.outputs],
            dynamic_axes=_dynamic_axes([*package.inputs, *package.outputs]),
        )


def _batches(package: Package) -> tuple[int, ...]:
    """What the file is checked at: `BATCHES`, or one of them where no input has a batch."""
    return BATCHES if any(spec.batch_axis is not None for spec in package.inputs) else BATCHES[:1]


def _check(package: Package, model: nn.Module, path: Path) -> float:
    """The largest difference from the module, relative to the largest output, over all of `_batches`."""
    ort: Any = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    taken = {value.name for value in session.get_inputs()}
    worst = 0.0
    for batch in _batches(package):
        inputs = _inputs(package, batch)
        named = {spec.name: tensor.numpy() for spec, tensor in zip(package.inputs, inputs, strict=True)}
        found = session.run(None, {name: array for name, array in named.items() if name in taken})
        for expected, array in zip(_expected(model, inputs), found, strict=True):
            actual = torch.from_numpy(array)
            if actual.shape != expected.shape:
                return float("inf")
            scale = expected.double().abs().max().item() or 1.0
            worst = max(worst, (expected.double() - actual.double()).abs().max().item() / scale)
    return worst


def export_onnx(package: Package, path: Path, weights: Path | None = None) -> str:
    """Write the model to `path` and return one line that says how it was checked.

    Args:
        package: the package.
        path: the file to write.
        weights: `weights.safetensors` of a training run; None exports the weights that came with the package.

    Raises:
        PackageError: the model cannot be written as ONNX, or the file does not compute what the module does.
    """
    model = package.load_model().eval()
    if weights is not None:
        load_weights(model, weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(package, model, path)
    # the exporter raises whatever the operator at fault raises
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise PackageError(
            f"the model cannot be written as ONNX: {type(error).__name__}: {reason}", status=4
        ) from error
    absent = [name for name in ("onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
    if absent:
        return f"{path} written, not checked: install {' and '.join(absent)} to have it compared with the module"
    error = _check(package, model, path)
    if not error <= TOLERANCE:
        raise PackageError(
            f"{path} was written, but differs from the module by {error:.1e} in ONNX Runtime (tolerance {TOLERANCE:.0e})",
            status=FAILED_CHECK,
        )
    tried = _batches(package)
    at = f" at batches {tried}" if len(tried) > 1 else ""
    return f"{path} written; differs from the module by {error:.1e} in ONNX Runtime{at}"


def load_weights(model: nn.Module, path: Path) -> None:
    """Load `weights.safetensors` of a training run into `model`.

    Raises:
        PackageError: the file is missing, damaged, or of another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).strip().replace("\n", " ")
        raise PackageError(f"weights {path} cannot be loaded: {reason}", status=3) from error
