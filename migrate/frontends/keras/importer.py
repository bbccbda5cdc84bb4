"""From a Keras model's configuration and variables to the common graph, call by call. Knows the registry, not the layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.keras.builder import KerasBuilder, Laid
from migrate.frontends.keras.config import Call, LayerConfig, ModelConfig, Path, Ref, parse_model
from migrate.frontends.keras.files import KerasFile, damaged
from migrate.frontends.keras.registry import Entry, Unsupported, find
from migrate.frontends.keras.scopes import scope_of
from migrate.frontends.keras.unsupported import bind, regularisers, unsupported_layers
from migrate.frontends.keras.variables import find_variables
from migrate.graph import Graph, InferenceError, SizeError, Value
from migrate.graph.batch import check_batch
from migrate.graph.description import Description
from migrate.graph.sampling import BATCH, FREE, LARGE, SMALL, UNEVEN

SPATIAL = {3: ("length",), 4: ("height", "width"), 5: ("depth", "height", "width")}


@dataclass(slots=True)
class Importer:
    """One attempt at one table of free sizes."""

    builder: KerasBuilder
    table: Any
    given: dict[str, tuple[int | str, ...]]
    symbols: dict[str, Any] = field(default_factory=dict[str, Any])
    current: tuple[Path, LayerConfig] | None = None

    def model(self, model: ModelConfig, inputs: list[Laid], path: Path, trainable: bool) -> list[Laid]:
        """The outputs of a model, or of a model inside another, for these inputs."""
        env: dict[Ref, Laid] = dict(zip(model.inputs, inputs, strict=True))
        pending = [(layer, index) for layer in model.layers for index in range(len(layer.calls))]
        while pending:
            ready = [item for item in pending if all(ref in env for ref in _refs_of(item[0].calls[item[1]]))]
            if not ready:
                raise Unsupported("a layer takes a tensor that nothing makes")
            for layer, index in ready:
                for output, laid in enumerate(self.call(layer, index, env, (*path, layer.name), trainable)):
                    env[Ref(layer.name, index, output)] = laid
            pending = [item for item in pending if item not in ready]
        return [env[ref] for ref in model.outputs]

    def call(self, layer: LayerConfig, index: int, env: dict[Ref, Laid], path: Path, trainable: bool) -> list[Laid]:
        """One call of a layer."""
        trainable = trainable and bool(layer.config.get("trainable", True))
        call = layer.calls[index]
        if layer.model is not None:
            inputs = [env[ref] for ref in _refs_of(call)]
            return self.model(layer.model, inputs, path, trainable)
        entry = find(layer.cls, layer.is_operation)
        assert entry is not None
        self.current = (path, layer)
        b = self.builder
        b.path, b.frozen = path, not trainable
        with b.at(scope_of(path), "/".join(path)):
            args, kwargs = _laid(b, entry, call, env)
            made = entry.handler(b, *args, **bind(entry, layer, kwargs))
            return [_result(b, item) for item in (made if isinstance(made, tuple | list) else (made,))]  # pyright: ignore[reportUnknownVariableType]

    def inputs(self, model: ModelConfig) -> list[Laid]:
        """The graph's inputs, in Keras's layout."""
        layers = {layer.name: layer for layer in model.layers}
        return [Laid(self.input(layers[ref.layer])) for ref in model.inputs]

    def input(self, layer: LayerConfig) -> Value:
        """An input of the graph; free sizes are sampled, the batch apart."""
        config = layer.config
        declared = config.get("batch_shape") or config.get("batch_input_shape")
        if declared is None:
            raise Unsupported("an input without a shape")
        given = self.given.get(layer.name)
        if given is not None and len(given) != len(declared):
            raise Unsupported(f"{len(declared)} sizes, and {len(given)} are given with --input")
        sizes = [self._size(layer.name, axis, tuple(declared), given) for axis in range(len(declared))]
        dtype = str(config.get("dtype") or "float32")
        value = self.builder.input(layer.name, "float32" if dtype in ("float16", "bfloat16") else dtype, sizes)
        if self.builder.graph.batch is None and value.shape and not isinstance(value.shape[0], int):
            self.builder.graph.batch = value.shape[0]
        return value

    def _size(self, name: str, axis: int, declared: tuple[Any, ...], given: tuple[int | str, ...] | None) -> Any:
        if axis == 0:
            return ("batch", BATCH)  # one that is fixed is a number of the example's, as elsewhere
        if declared[axis] is not None:
            return int(declared[axis])
        if given is not None and isinstance(given[axis], int):
            return given[axis]
        spatial = SPATIAL.get(len(declared), ())
        usual = spatial[axis - 1] if axis - 1 < len(spatial) else f"{name}_{axis}"
        symbol = usual if given is None else str(given[axis])
        free = self.symbols.setdefault(symbol, self.table[len(self.symbols) % len(self.table)])
        return (symbol, free)

    def outputs(self, model: ModelConfig, made: list[Laid]) -> None:
        """Make the results outputs, in Keras's layout."""
        b = self.builder
        for ref, laid in zip(model.outputs, made, strict=True):
            value = b.to_keras(laid).value
            if value in b.graph.inputs or value in b.graph.outputs or value.weight is not None:
                value = b.clone(value)
            b.rename(value, ref.layer)
            b.graph.outputs.append(value)


def _refs_of(call: Call) -> list[Ref]:
    return list(_refs((call.args, dict(call.kwargs))))


def _refs(item: Any) -> Iterator[Ref]:
    if isinstance(item, Ref):
        yield item
    elif isinstance(item, list | tuple):
        for part in item:  # pyright: ignore[reportUnknownVariableType]
            yield from _refs(part)
    elif isinstance(item, dict):
        for part in item.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _refs(part)


def _laid(b: KerasBuilder, entry: Entry, call: Call, env: dict[Ref, Laid]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call as values in the layout that the handler wants."""
    refs = _refs_of(call)
    given = [env[ref] for ref in refs]
    flats = {laid.flat for laid in given}
    b.flat = next(iter(flats)) if (len(flats) == 1 and entry.layout == "any") or entry.cls == "Dense" else None
    if b.flat is None:
        given = [b.unflattened(laid) for laid in given]
    alike = len({laid.value.rank for laid in given}) == 1
    b.first = entry.layout == "first" or (entry.layout == "any" and alike and any(laid.first for laid in given))
    move = b.to_first if b.first else b.to_keras
    given = [laid if b.flat is not None else move(laid) for laid in given]
    b.first = any(laid.first for laid in given)
    values = dict(zip(refs, (laid.value for laid in given), strict=True))
    return [_filled(item, values) for item in call.args], {k: _filled(v, values) for k, v in call.kwargs.items()}


def _filled(item: Any, values: dict[Ref, Value]) -> Any:
    if isinstance(item, Ref):
        return values[item]
    return [_filled(part, values) for part in item] if isinstance(item, list) else item  # pyright: ignore[reportUnknownVariableType]


def _result(b: KerasBuilder, made: Any) -> Laid:
    if isinstance(made, Laid):
        return made
    return Laid(made, b.first and made.rank > 2, b.flat)


def load_keras(file: KerasFile, input_shapes: dict[str, tuple[int | str, ...]] | None = None) -> Graph:
    """Read a model into the common graph.

    Args:
        file: that `read_keras` has checked.
        input_shapes: fixed shapes by input name, where the model leaves sizes free.

    Raises:
        MigrateError: exit status 3 for a damaged file or one that holds code, 4 for layers that are not supported.
    """
    model = parse_model(file.model, file.name)
    unsupported_layers(model)
    stored = find_variables(file, model, lambda layer: _variables(layer))
    first: MigrateError | None = None
    for table in (UNEVEN, FREE, LARGE, SMALL):
        importer = Importer(KerasBuilder("model", stored), table, dict(input_shapes or {}))
        try:
            return _attempt(importer, model, file)
        except MigrateError as fault:
            first = first or fault
            if not importer.symbols or fault.diagnostics[0].code not in ("MIG304", "MIG305"):
                raise first from fault
    assert first is not None
    raise first


def _variables(layer: LayerConfig) -> tuple[str, ...]:
    entry = find(layer.cls, layer.is_operation)
    return entry.variables if entry is not None else ()


def _attempt(importer: Importer, model: ModelConfig, file: KerasFile) -> Graph:
    try:
        made = importer.model(model, importer.inputs(model), (), True)
        importer.outputs(model, made)
    except InferenceError as fault:
        raise _failed(importer, "MIG304", "the shapes do not fit", str(fault)) from fault
    except SizeError as fault:
        raise _failed(importer, "MIG305", "the graph depends on the input's sizes", str(fault)) from fault
    except Unsupported as fault:
        raise _failed(importer, "MIG203", "cannot be expressed exactly", fault.reason, fault.todo) from fault
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        where = "/".join(importer.current[0]) if importer.current else ""
        raise damaged(file.name, f"{where}: {type(fault).__name__}: {fault}") from fault
    graph = importer.builder.graph
    graph.notes.extend(regularisers(model))
    return check_batch(graph)


def _failed(importer: Importer, code: str, what: str, why: str, todo: str = "") -> MigrateError:
    path, layer = importer.current or ((), None)
    kind = f"{layer.cls}: " if layer is not None else ""
    found: Diagnostic = error(code, f"{kind}{what}", where="/".join(path), why=why, todo=todo)
    return MigrateError([found], Exit.UNSUPPORTED)


def describe_keras(file: KerasFile) -> Description:
    """Facts of the file itself."""
    model = parse_model(file.model, file.name)
    counts = Counter(layer.cls for _, layer in model.walk())
    kind = "Keras" if file.is_archive else "Keras HDF5"
    return Description(format=kind, producer=f"keras {file.version}".strip(), operators=dict(sorted(counts.items())))
