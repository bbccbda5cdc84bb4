"""What of a model is refused before it is read, and which entries of a layer's configuration a handler need not know."""

from __future__ import annotations

from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.keras.config import LayerConfig, ModelConfig
from migrate.frontends.keras.registry import Entry, Unsupported, find

# Names, starting values (the file has the weights), and what only Keras's own engine looks at.
PASSIVE = frozenset({
    "name", "trainable", "dtype", "seed", "quantization_config", "noise_shape", "input_shape", "batch_input_shape", "unroll",
    "implementation", "fused", "time_major", "unit_forget_bias", "zero_output_for_mask", "input_length", "synchronized",
    "renorm_momentum", "virtual_batch_size", "adjustment", "use_cudnn_on_gpu", "ragged", "sparse",
})  # fmt: skip
PENALTIES = ("_regularizer", "_constraint")
PASSIVE_ENDS = ("_initializer", "initializer", *PENALTIES)


def unsupported_layers(model: ModelConfig) -> None:
    """Refuse code first, then layers that nothing reads, all at once.

    Raises:
        MigrateError: exit status 3, MIG140: layers that hold code; exit status 4, MIG210: layers that Keras does not have,
            MIG201: those that nothing reads.
    """
    layers = [("/".join(path), layer) for path, layer in model.walk() if layer.cls != "InputLayer"]
    code = [(place, layer) for place, layer in layers if layer.cls in ("Lambda", "TFOpLambda", "SlicingOpLambda")]
    if code:
        todo = "write what it does as layers of Keras, or export the model to ONNX"
        why = "a Lambda is program code inside of the file, which is never run"
        found = [error("MIG140", f"the {layer.cls} layer holds code", where=p, why=why, todo=todo) for p, layer in code]
        raise MigrateError(found, Exit.INPUT)
    odd = [
        _refused(place, layer)
        for place, layer in layers
        if layer.is_custom or find(layer.cls, layer.is_operation) is None
    ]
    if odd:
        raise MigrateError(odd, Exit.UNSUPPORTED)


def _refused(place: str, layer: LayerConfig) -> Diagnostic:
    if layer.is_custom:
        todo = "build the model of Keras's own layers, or export it to ONNX"
        return error("MIG210", f"the layer's class {layer.cls!r} is not Keras's own", where=place, todo=todo)
    kind = "operation" if layer.is_operation else "layer"
    return error("MIG201", f"the {kind} {layer.cls} is not supported", where=place)


def bind(entry: Entry, layer: LayerConfig, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What of a layer's configuration and of a call's arguments by name the handler takes.

    Raises:
        Unsupported: an entry is set that the handler does not know.
    """
    taken = {key: value for key, value in layer.config.items() if key in entry.options}
    for key, value in layer.config.items():
        known = key in entry.options or key in PASSIVE or key.endswith(PASSIVE_ENDS)
        if not known and value not in (None, False, 0.0, "channels_last", "zeros"):
            raise Unsupported(f"{key} = {value!r}")
    if layer.config.get("noise_shape") and "noise_shape" not in entry.options:
        raise Unsupported("a noise shape")
    for key, value in kwargs.items():
        if key in entry.options:
            taken[key] = value
        elif value is not None and key not in ("training", "name"):
            raise Unsupported(f"it is called with {key}")
    return taken


def regularisers(model: ModelConfig) -> list[Diagnostic]:
    """A warning for each kind of penalty or constraint that the layers have: the package trains without it."""
    places: dict[str, list[str]] = {}
    for path, layer in model.walk():
        for key, value in layer.config.items():
            if key.endswith(PENALTIES) and value is not None:
                name = value.get("class_name", "") if isinstance(value, dict) else value
                places.setdefault(f"{key} {name}", []).append("/".join(path))
    return [
        Diagnostic(
            code="MIG340",
            severity="warning",
            what=f"{kind} is not carried over",
            where=f"{len(found)} layers, first {found[0]}",
            todo="an L2 regulariser is optimizer.weight_decay with SGD; write others into the package's loss.py",
        )
        for kind, found in places.items()
    ]
