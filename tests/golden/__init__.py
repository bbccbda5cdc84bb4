"""Golden packages: the texts that the code generator emits for a few small sources, committed and compared byte by byte.

A source is an ONNX or Keras file, or a Python file with `model()` and `example()`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from migrate.options import Options, with_examples

HERE = Path(__file__).resolve().parent
SOURCES = sorted(path for path in (HERE / "sources").iterdir() if path.suffix in (".onnx", ".keras", ".py"))


def open_source(path: Path) -> tuple[Any, Options]:
    """What the pipeline is given for a source, and the options to read it with."""
    if path.suffix != ".py":
        return path, Options()
    spec = importlib.util.spec_from_file_location(f"golden_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.model(), with_examples(Options(name=path.stem), module.example())


def emitted(source: Path) -> dict[str, str]:
    """What is emitted for a source: the package's own Python files and settings, by path."""
    from migrate.codegen import render_package
    from migrate.pipeline import plan

    texts = render_package(plan(*open_source(source)))
    return {path: text for path, text in texts.items() if path.split("/")[0] == source.stem}
