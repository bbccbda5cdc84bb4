"""A saved model's configuration as data: its layers, and which tensors each call of them takes. Knows no weights and no ops.

Keras 3 writes tensors as `__keras_tensor__` objects, Keras 2 as lists of a layer's name, a call and an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from migrate.errors import Exit, MigrateError, error

Path = tuple[str, ...]
MODELS = ("Functional", "Sequential", "Model")
_OWN = ("keras", "tensorflow.keras", "tf_keras")


@dataclass(frozen=True, slots=True)
class Ref:
    """The tensor that a call of a layer gives: the layer's name, which of its calls, which of its outputs."""

    layer: str
    call: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of one call of a layer, in which tensors are `Ref`s."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerConfig:
    """A layer as the file has it; `model` is set where it is a model itself, `is_custom` where Keras does not have it."""

    cls: str
    name: str
    config: Mapping[str, Any]
    calls: tuple[Call, ...] = ()
    model: ModelConfig | None = None
    is_operation: bool = False
    is_custom: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model: its layers in the file's order, and the tensors that are its inputs and outputs, flat."""

    name: str
    layers: tuple[LayerConfig, ...]
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, LayerConfig]]:
        """Every layer that is no model, with its path of names."""
        for layer in self.layers:
            here = (*path, layer.name)
            if layer.model is not None:
                yield from layer.model.walk(here)
            else:
                yield here, layer


def parse_model(document: Mapping[str, Any], where: str) -> ModelConfig:
    """The model that a configuration describes.

    Raises:
        MigrateError: exit status 3, MIG141: it is no configuration; exit status 4, MIG211: only its code describes it.
    """
    cls, config = document.get("class_name"), document.get("config")
    if cls not in MODELS or not _is_ours(document) or not _has_layers(config):
        todo = "build it as a Functional or Sequential model, or export it to ONNX"
        what = error(
            "MIG211", f"a model of the class {str(cls)!r} is described by its code alone", where=where, todo=todo
        )
        raise MigrateError([what], Exit.UNSUPPORTED)
    try:
        return _sequential(config) if cls == "Sequential" else _functional(config)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as fault:
        why = f"{type(fault).__name__}: {fault}"
        raise MigrateError(
            [error("MIG141", "the configuration is damaged", where=where, why=why)], Exit.INPUT
        ) from fault


def _has_layers(config: Any) -> bool:
    return isinstance(config, list) or (isinstance(config, dict) and "layers" in config)


def _is_ours(item: Mapping[str, Any]) -> bool:
    """Whether Keras itself has the class; Keras 2 names no module."""
    module = item.get("module")
    own = module is None or any(module == name or str(module).startswith(f"{name}.") for name in _OWN)
    return own and ">" not in str(item.get("class_name"))


def _functional(config: Any) -> ModelConfig:
    layers = tuple(_layer(item) for item in config["layers"])
    inputs, outputs = (tuple(_refs(config[key])) for key in ("input_layers", "output_layers"))
    named = {layer.name: layer for layer in layers}
    outputs = tuple(_counted(ref, named[ref.layer]) for ref in outputs)
    return ModelConfig(name=str(config.get("name", "model")), layers=layers, inputs=inputs, outputs=outputs)


def _counted(ref: Ref, layer: LayerConfig) -> Ref:
    """An output's tensor, with calls counted from 0: of a functional model, Keras counts its own making as the first."""
    begins = layer.model is not None and (layer.cls != "Sequential" or ref.call >= len(layer.calls))
    return replace(ref, call=ref.call - 1) if begins else ref


def _sequential(config: Any) -> ModelConfig:
    """A chain; one without an input layer says the shape that it was built with."""
    items = list(config if isinstance(config, list) else config["layers"])
    name = "model" if isinstance(config, list) else str(config.get("name", "model"))
    layers = [_layer(item) for item in items]
    if not layers or layers[0].cls != "InputLayer":
        given = {} if isinstance(config, list) else config
        shape = layers[0].config.get("batch_input_shape") or given.get("build_input_shape")
        if shape is None:
            raise ValueError("a Sequential model that was never built")
        shape = layers[0].config.get("batch_input_shape") or shape
        config_of_input = {"name": f"{layers[0].name}_input", "batch_shape": shape, "dtype": "float32"}
        if layers[0].cls == "Embedding":
            config_of_input["dtype"] = "int32"
        layers.insert(0, LayerConfig(cls="InputLayer", name=config_of_input["name"], config=config_of_input))
    chained = [layers[0]]
    for layer in layers[1:]:
        call = Call(args=(Ref(chained[-1].name, 0, 0),), kwargs={})
        chained.append(_with_calls(layer, (call,)))
    ends = Ref(chained[0].name, 0, 0), Ref(chained[-1].name, 0, 0)
    return ModelConfig(name=name, layers=tuple(chained), inputs=ends[:1], outputs=ends[1:])


def _with_calls(layer: LayerConfig, calls: tuple[Call, ...]) -> LayerConfig:
    return replace(layer, calls=calls)


def _layer(item: Mapping[str, Any]) -> LayerConfig:
    cls, config = str(item["class_name"]), item["config"]
    has_layers = cls in MODELS and _is_ours(item) and _has_layers(config)
    model = (_sequential(config) if cls == "Sequential" else _functional(config)) if has_layers else None
    name = str(item.get("name") or (config["name"] if isinstance(config, dict) else cls))
    return LayerConfig(
        cls=cls,
        name=name,
        config=config if isinstance(config, dict) else {},
        calls=tuple(_calls(item.get("inbound_nodes") or [])),
        model=model,
        is_operation=_is_operation(item),
        is_custom=not _is_ours(item),
    )


def _is_operation(item: Mapping[str, Any]) -> bool:
    """Whether it is a function of `keras.ops`; HDF5 files name no module, and only layers say whether they are trained."""
    module, config = item.get("module"), item["config"]
    if module is None:
        return item["class_name"] != "InputLayer" and isinstance(config, dict) and "trainable" not in config
    return ".ops." in f"{module}."


def _calls(nodes: Any) -> Iterator[Call]:
    for node in nodes:
        if isinstance(node, dict):
            args, kwargs = _value(node["args"]), _value(node["kwargs"])
            yield Call(args=tuple(args), kwargs=kwargs)
        else:
            refs = [_of_keras_2(item) for item in (node if isinstance(node[0], list) else [node])]
            extra: dict[str, Any] = {}
            for item in node if isinstance(node[0], list) else [node]:
                extra |= item[3] if len(item) > 3 else {}
            yield Call(args=(refs[0] if len(refs) == 1 else refs,), kwargs=_value(extra))


def _of_keras_2(item: Any) -> Ref:
    return Ref(str(item[0]), int(item[1]), int(item[2]))


def _value(item: Any) -> Any:
    if isinstance(item, dict):
        if item.get("class_name") == "__keras_tensor__":
            return _of_keras_2(item["config"]["keras_history"])
        return {key: _value(part) for key, part in item.items()}
    if isinstance(item, list):
        return _of_keras_2(item) if _is_ref(item) else [_value(part) for part in item]
    return item


def _is_ref(item: list[Any]) -> bool:
    return len(item) in (3, 4) and isinstance(item[0], str) and all(isinstance(part, int) for part in item[1:3])


def _refs(item: Any) -> Iterator[Ref]:
    """The tensors of a nested structure, flat, in Keras's order: a dictionary by its keys."""
    if isinstance(item, dict):
        for key in sorted(item):
            yield from _refs(item[key])
    elif isinstance(item, list) and _is_ref(item):
        yield _of_keras_2(item)
    else:
        for part in item:
            yield from _refs(part)
