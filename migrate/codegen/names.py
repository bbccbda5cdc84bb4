"""The one place where a model's strings become identifiers.

What comes out is ASCII, a legal Python identifier, no keyword, and hides no name that emitted code uses. Names that differ
only by case are told apart, since file systems and readers do not. Knows no graph.
"""

from __future__ import annotations

import builtins
import keyword
import pkgutil
import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import runtime
from migrate.codegen.allow_list import REFUSED_ATTRIBUTES

MAX_LENGTH = 60
_KEY = re.compile(r"[\w \-+:/@#]+", re.ASCII)  # what may stand in a string as it is
_USED_BY_EMITTED_CODE = {
    "self", "torch", "nn", "F", "math", "Any", "Tensor", "kernels", "functional", "runtime", "ModelConfig", "FROZEN",
    "config", "Model",
    *(module.name for module in pkgutil.iter_modules([str(Path(runtime.__path__[0], "functional"))])),
}  # fmt: skip
_TAKEN_BESIDE = {"local", "checks", "report", "build", "dist", "test"}
_IMPORTED_BY_EMITTED_CODE = {"torch", "numpy", "safetensors", "runtime", "migrate", "onnx", "onnxruntime", "pytest"}
_METHODS = {"forward", "logits", "init_weights", "reset_parameters", "training", "config"}


@cache
def module_attributes() -> frozenset[str]:
    """Names that a member of a module must not take."""
    from torch import nn

    return frozenset({*dir(nn.Module()), *dir(nn.ModuleList), *dir(nn.Sequential), *_METHODS, *REFUSED_ATTRIBUTES})


@cache
def kept_attribute(name: str) -> bool:
    """Whether a name that the source gives a member can be an attribute of the emitted module as it is."""
    from torch import nn

    return is_attribute(name) and name not in {
        *dir(nn.Module()),
        "forward",
        "logits",
        "init_weights",
        "reset_parameters",
    }


@cache
def kept_key(name: str) -> bool:
    """Whether a name that is no attribute's can be a member's all the same, looked up by a string."""
    return not is_attribute(name) and _KEY.fullmatch(name) is not None


def is_attribute(name: str) -> bool:
    """Whether emitted code may write the name behind a dot."""
    legal = name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and not name.startswith("__")
    return legal and name not in REFUSED_ATTRIBUTES


@cache
def variables() -> frozenset[str]:
    """Names that a local variable must not take."""
    return frozenset({*dir(builtins), *_USED_BY_EMITTED_CODE})


def identifier(text: str, fallback: str = "x") -> str:
    """A legal identifier that reads as much like `text` as it can; never empty, never a keyword."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"\W+", "_", plain, flags=re.ASCII)[:MAX_LENGTH].strip("_")
    name = re.sub(r"__+", "_", name)
    if not name:
        return fallback
    if name[0].isdigit():
        name = f"{fallback}_{name}"
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def class_name(text: str, fallback: str = "Block") -> str:
    """The same in capitals: `self_attn` becomes `SelfAttn`."""
    name = identifier(text, fallback)
    camel = "".join(part[:1].upper() + part[1:] for part in name.split("_") if part)
    camel = camel if camel[:1].isalpha() else fallback
    return f"{camel}_" if keyword.iskeyword(camel) else camel


def package_name(text: str) -> str:
    """A name for an importable package: lower case, and hiding no module that Python or the package itself imports."""
    name = identifier(text, "model").lower()
    taken = name in sys.stdlib_module_names or name in _IMPORTED_BY_EMITTED_CODE | _TAKEN_BESIDE
    return f"{name}_" if keyword.iskeyword(name) or taken else name


class Namespace:
    """Names of one scope: `claim` gives each caller its own, and remembers it."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._taken: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._taken or name in self._reserved

    def take(self, name: str) -> None:
        """Keep a name that somebody has already, whatever else is called so."""
        self._taken.add(name.lower())

    def claim(self, wanted: str) -> str:
        """`wanted`, or where it is taken or reserved the next free name like it; `wanted` must be an identifier."""
        name = wanted
        if name in self._reserved:
            name = f"{wanted}_"
        number = 2
        while name in self:
            name = f"{wanted}{number}" if not wanted[-1].isdigit() else f"{wanted}_{number}"
            number += 1
        self._taken.add(name.lower())
        return name
