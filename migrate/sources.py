"""Recognising what the user gave, by content and not only by suffix, and handing it to its frontend."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from migrate.errors import Exit, MigrateError, error
from migrate.graph import Graph
from migrate.graph.description import Description
from migrate.options import Options

if TYPE_CHECKING:
    from migrate.frontends.pytorch.setup import TrainingSetup
    from migrate.frontends.pytorch.worker_open import OpenedProgram

Format = Literal["onnx", "pt2", "torchscript", "pickle", "factory", "keras", "tensorflow"]
LATER = {
    ".tflite": "a TensorFlow Lite file",
}
GRAPH_STARTS = (b"\x0a", b"\x12", b"\x22")  # a graph begins with a node, its library or its versions
KERAS_SUFFIXES = (".keras", ".h5")
TORCH_SUFFIXES = (".pt2", ".pt", ".pth")
FACTORY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
"""`package.module:name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A source that has been read: `oracle` builds its own engine, `sha256` is of the file's bytes, or of a module's state.

    `setup` is how its user trains it, where the source says so.
    """

    name: str
    sha256: str
    description: Description
    graph: Graph
    oracle: Callable[[], Any]
    setup: TrainingSetup | None = None


def open_source(source: str | Path | Any, options: Options | None = None) -> Opened:
    """Read a source into the common graph.

    Raises:
        MigrateError: exit status 3 where it is no model that this version reads, 4 for unsupported constructs.
    """
    options = options or Options()
    if isinstance(source, str | Path):
        kind = recognise(source)
        if kind == "keras":
            return _open_keras(Path(source), options)
        if kind == "tensorflow":
            return _open_tensorflow(Path(source), options)
        return _open_onnx(Path(source), options) if kind == "onnx" else _open_pytorch(source, kind, options)
    if hasattr(source, "opset_import"):
        return _open_onnx(source, options)
    if _is_module(source) or _is_exported(source):
        return _open_object(source, options)
    what = f"a {type(source).__name__} is not a model that is read"
    todo = "give a path, an nn.Module, an ExportedProgram or an onnx.ModelProto"
    raise MigrateError([error("MIG104", what, todo=todo)], Exit.INPUT)


def name_of(source: str | Path | Any) -> str:
    """What a source is called, without the folder or package that it lies in and without a suffix."""
    if not isinstance(source, str | Path):
        return "model"
    return str(source).rpartition(":")[2] if is_factory(source) else Path(source).stem


def is_factory(source: str | Path) -> bool:
    """Whether a text names a factory; a file of that name is a file."""
    return isinstance(source, str) and FACTORY.fullmatch(source) is not None and not Path(source).exists()


def recognise(source: str | Path) -> Format:
    """The format of what the user named, by its content; nothing of it is executed.

    Raises:
        MigrateError: exit status 3; MIG101 unreadable, MIG104 no format that is read, MIG120 to MIG123 for PyTorch's archives.
    """
    if is_factory(source):
        return "factory"
    try:
        return _recognise(Path(source))
    except OSError as fault:
        raise _refused("MIG101", Path(source), fault.strerror or str(fault), "") from fault


def _open_onnx(source: Path | Any, options: Options) -> Opened:
    from migrate.frontends.onnx import OnnxOracle, describe, load_onnx, open_onnx
    from migrate.frontends.onnx.reader import digest_of

    if options.input_dtypes:
        name = next(iter(options.input_dtypes))
        what = error("MIG130", f"the dtype of input {name!r} is in the file", todo="give its sizes alone")
        raise MigrateError([what], Exit.USAGE)
    named = [size for sizes in options.input_shapes.values() for size in sizes if isinstance(size, str)]
    if named:
        what = error(
            "MIG130", f"the free size {named[0]!r} is in the file", todo="give numbers, or leave out the input"
        )
        raise MigrateError([what], Exit.USAGE)
    shapes = {name: tuple(int(size) for size in sizes) for name, sizes in options.input_shapes.items()}
    model = open_onnx(source)
    return Opened(
        name=source.name if isinstance(source, Path) else "model.onnx",
        sha256=digest_of(source, model),
        description=describe(model),
        graph=load_onnx(model, shapes, fake=options.quantized == "fake"),
        oracle=lambda: OnnxOracle(source),
    )


def _open_keras(source: Path, options: Options) -> Opened:
    from migrate.frontends.keras import describe_keras, load_keras, read_keras

    file = read_keras(source)

    def oracle() -> Any:
        from migrate.frontends.keras.oracle import KerasOracle

        return KerasOracle(file)

    return Opened(
        name=source.name,
        sha256=_sha256(source),
        description=describe_keras(file),
        graph=load_keras(file, options.input_shapes),
        oracle=oracle,
    )


def _open_tensorflow(source: Path, options: Options) -> Opened:
    from migrate.frontends.tensorflow import describe_tensorflow, load_tensorflow, read_tensorflow

    model = read_tensorflow(source)

    def oracle() -> Any:
        from migrate.frontends.tensorflow.oracle import TensorflowOracle

        return TensorflowOracle(model)

    return Opened(
        name=source.name,
        sha256=model.sha256,
        description=describe_tensorflow(model),
        graph=load_tensorflow(model, options.input_shapes),
        oracle=oracle,
    )


def _open_pytorch(source: str | Path, kind: Any, options: Options) -> Opened:
    from migrate.frontends.pytorch.worker_open import Examples, open_program

    opened = open_program(
        source,
        kind,
        examples=Examples(shapes=options.input_shapes, dtypes=options.input_dtypes, file=options.example),
        pythonpath=options.pythonpath,
        seed=options.seed,
        trust_pickle=options.trust_pickle,
    )
    if kind == "factory":
        return _of_program(opened, str(source), _sha256_of_state(opened))
    return _of_program(opened, Path(source).name, _sha256(Path(source)))


def _open_object(source: Any, options: Options) -> Opened:
    """A module in memory, with example inputs, or an exported program."""
    from migrate.frontends.pytorch import export_module, program_of
    from migrate.frontends.pytorch.example import example_call
    from migrate.frontends.pytorch.sizes import names_of
    from migrate.frontends.pytorch.worker_open import OpenedProgram

    if not _is_module(source):
        opened = OpenedProgram(program=program_of(source))
        return _of_program(opened, "model.pt2", _sha256_of_state(opened))
    if options.example_inputs is None and not options.input_shapes:
        what = error("MIG129", f"the inputs of a {type(source).__name__} are not known", todo="give example_inputs")
        raise MigrateError([what], Exit.USAGE)
    shapes = {name: (sizes, options.input_dtypes.get(name)) for name, sizes in options.input_shapes.items()}
    inputs: Any = example_call(source, options.example_inputs, shapes, None) if shapes else options.example_inputs
    opened = OpenedProgram(program=export_module(source, inputs, names_of(options.input_shapes)), module=source)
    return _of_program(opened, type(source).__name__, _sha256_of_state(opened))


def _of_program(opened: OpenedProgram, name: str, digest: str) -> Opened:
    from migrate.frontends.pytorch import describe_program, load_pytorch

    def oracle() -> Any:
        from migrate.frontends.pytorch.oracle import PytorchOracle

        return PytorchOracle(opened)

    graph = load_pytorch(opened.program)
    graph.notes.extend(opened.notes)
    return Opened(
        name=name,
        sha256=digest,
        description=describe_program(opened.program),
        graph=graph,
        oracle=oracle,
        setup=opened.setup,
    )


def _is_module(source: Any) -> bool:
    import torch

    return isinstance(source, torch.nn.Module)


def _is_exported(source: Any) -> bool:
    import torch

    return isinstance(source, torch.export.ExportedProgram)


def _recognise(path: Path) -> Format:
    from migrate.frontends.keras.files import is_keras_archive
    from migrate.frontends.pytorch.files import kind_of

    if path.is_dir():
        return _recognise_folder(path)
    if not path.exists():
        todo = "a factory is named as package.module:function" if ":" in path.name else ""
        raise _refused("MIG101", path, "there is no such file", todo)
    if not path.is_file():  # reading a pipe or a device may never end
        raise _refused("MIG101", path, "it is no regular file", "")
    suffix = path.suffix.lower()
    if path.name == "saved_model.pb":  # its folder is meant
        raise _refused("MIG104", path, "it is part of a SavedModel", "give the folder that it lies in")
    if suffix == ".index" and (path.parent / f"{path.stem}.data-00000-of-00001").exists():
        from migrate.frontends.tensorflow import refuse_weights

        raise refuse_weights(path)
    if suffix in LATER:
        raise _refused("MIG104", path, f"it is {LATER[suffix]}", "this version reads ONNX and PyTorch; export to .onnx")
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"\x89HDF" or (head == b"PK\x03\x04" and (suffix == ".keras" or is_keras_archive(path))):
        return "keras"
    if suffix == ".pb" and head[:1] in GRAPH_STARTS:
        return "tensorflow"
    if suffix == ".pb":
        raise _refused("MIG104", path, "its content is none that TensorFlow writes", "save the graph again")
    if suffix in KERAS_SUFFIXES:
        raise _refused("MIG104", path, "its content is none that Keras writes", "save the model again")
    if (kind := kind_of(path)) is not None:
        return kind
    if suffix in TORCH_SUFFIXES and head[:1] != b"\x08":  # an ONNX model begins with its version, field 1
        raise _refused("MIG104", path, "its content is none that PyTorch writes", "save the model again")
    return "onnx"


def _recognise_folder(path: Path) -> Format:
    from migrate.frontends.tensorflow import is_saved_model, refuse_weights, weights_alone

    if is_saved_model(path):
        return "tensorflow"
    if weights_alone(path):
        raise refuse_weights(path)
    raise _refused("MIG104", path, "it is a folder, and no SavedModel", "")


def _refused(code: str, path: Path, why: str, todo: str) -> MigrateError:
    what = "cannot read the file" if code == "MIG101" else "not a format that is read"
    return MigrateError([error(code, what, where=path.name, why=why, todo=todo)], Exit.INPUT)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sha256_of_state(opened: OpenedProgram) -> str:
    """Of the keys, dtypes, shapes and bytes of a module's state, in the order of the keys."""
    import torch

    state = opened.program.evaluation.state_dict
    digest = hashlib.sha256()
    for key in sorted(state):
        tensor = state[key].detach().cpu().contiguous().reshape(-1)
        digest.update(f"{key} {tensor.dtype} {tuple(state[key].shape)}".encode())
        digest.update(tensor.view(torch.uint8).numpy().data if tensor.numel() else b"")
    return digest.hexdigest()
