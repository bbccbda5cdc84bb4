"""What a model of the zoo is, and where to find one. Knows nothing of what is measured."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import nn

from tests.zoo import families


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A module, and the inputs on which it is called at a batch: a tuple, or a mapping in the order of its signature.

    `common` gives of what it returns, in either mode, what it returns in both.
    """

    module: nn.Module
    inputs: Callable[[int], Any]
    common: Callable[[Any], Any] | None = None


def family_names() -> list[str]:
    """Every family."""
    return sorted(module.name for module in pkgutil.iter_modules(families.__path__))


def family(name: str) -> ModuleType:
    """The module of a family."""
    return importlib.import_module(f"{families.__name__}.{name}")


def in_order(module: nn.Module, inputs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name in the order of the module's signature, which is that of a package's inputs."""
    known = list(inspect.signature(module.forward).parameters)
    return {name: inputs[name] for name in sorted(inputs, key=known.index)}
