"""The converters that are held beside each other: each makes a module that can be used from the path of an ONNX file.

`onnx2torch` and `onnx2pytorch` import torchvision for a few operators of detection models. None of the files here has one, so
a stand-in takes its place: the peers are installed without their dependencies (`make bench`). Knows no file, measures nothing.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from torch import nn

OPERATORS = ("box_convert", "deform_conv2d", "nms", "roi_align", "roi_pool")


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("this operator needs torchvision, which is not installed")


def _provide_torchvision() -> None:
    """Put a module without any working operator where torchvision is not installed."""
    if "torchvision" in sys.modules or importlib.util.find_spec("torchvision"):
        return
    top, ops, io = (types.ModuleType(name) for name in ("torchvision", "torchvision.ops", "torchvision.io"))
    ops.__dict__.update(dict.fromkeys(OPERATORS, _refuse))
    io.__dict__.update(decode_image=_refuse, ImageReadMode=types.SimpleNamespace())
    top.__dict__.update(ops=ops, io=io)
    sys.modules.update({module.__name__: module for module in (top, ops, io)})


def _migrate() -> Callable[[Path], nn.Module]:
    import migrate

    return lambda path: migrate.to_module(path)


def _onnx2torch() -> Callable[[Path], nn.Module]:
    import onnx
    import onnx2torch

    return lambda path: onnx2torch.convert(onnx.load(str(path)))


def _onnx2pytorch() -> Callable[[Path], nn.Module]:
    import onnx
    from onnx2pytorch import ConvertModel

    return lambda path: ConvertModel(onnx.load(str(path)), experimental=True)


CONVERTERS = {"migrate": _migrate, "onnx2torch": _onnx2torch, "onnx2pytorch": _onnx2pytorch}
PEERS = tuple(CONVERTERS)[1:]


def converter(name: str) -> Callable[[Path], nn.Module]:
    """A converter, with all that it needs imported. What the peers warn about is their matter.

    Raises:
        ImportError: it is not installed.
    """
    if name in PEERS:
        _provide_torchvision()
    warnings.simplefilter("ignore")
    return CONVERTERS[name]()


def available() -> list[str]:
    """`migrate`, and the peers that are installed."""
    return [name for name in CONVERTERS if name not in PEERS or importlib.util.find_spec(name)]


def reason(fault: BaseException) -> str:
    """Why a converter did not convert, in one line without paths."""
    lines = str(fault).strip().splitlines() or [""]
    return f"{type(fault).__name__}: {lines[0]}"[:110].replace("|", "/")
