"""The emitted model in memory: the same texts, compiled as a package that lives in `sys.modules` only.

It leaves them when the model is gone. Its `.runtime` is the tool's own `runtime`. Knows no file system.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import itertools
import sys
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from migrate.codegen.package import plan_package
from migrate.codegen.plan import PackagePlan
from migrate.codegen.render import render_model
from migrate.codegen.weights_file import stored_array

if TYPE_CHECKING:
    from torch import nn

    from migrate.graph.ir import Graph

_COUNT = itertools.count()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of one package in memory, and lends it the tool's runtime."""

    def __init__(self, package: str, texts: dict[str, str]) -> None:
        self.package, self.texts = package, texts

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place, where it is one of ours."""
        del path, target
        if fullname == self.package:
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        name = fullname.removeprefix(self.package + ".")
        if name == fullname:
            return None
        if name == "runtime" or name.startswith("runtime."):
            importlib.import_module(name)  # under its own name only: an entry here would make Python load it anew
            return importlib.util.spec_from_loader(fullname, _Lent(name))
        return importlib.util.spec_from_loader(fullname, self) if name in self.texts else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's text."""
        name = module.__name__.removeprefix(self.package).removeprefix(".")
        if name:
            code = compile(self.texts[name], f"<{module.__name__}>", "exec")
            exec(code, module.__dict__)


class _Lent(importlib.abc.Loader):
    """Gives a module that is loaded already; its own spec stays."""

    def __init__(self, name: str) -> None:
        self.module = sys.modules[name]
        self.spec = self.module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        del spec
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""
        module.__spec__ = self.spec


def to_module(graph: Graph | PackagePlan, *, name: str = "model") -> nn.Module:
    """The emitted model with the source's weights, in eval mode on the CPU.

    Args:
        graph: a graph after the passes, or a plan made from one.
        name: the package's name, where a graph is given.
    """
    plan = graph if isinstance(graph, PackagePlan) else plan_package(graph, name=name)
    module = _load(plan)
    _fill(module, plan)
    return module.eval()


def _without_drawing() -> AbstractContextManager[Any]:
    """Skip the random initialisation of layers: every number is about to be overwritten.

    Only whole initialisers are skipped: `trunc_normal_` draws from within a loop until its numbers are good.
    """
    from torch.nn import init
    from torch.overrides import TorchFunctionMode

    skipped = {init.kaiming_uniform_, init.uniform_, init.normal_}

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            if func in skipped:
                return args[0] if args else kwargs["tensor"]
            return func(*args, **kwargs)

    return Mode()


def _load(plan: PackagePlan) -> nn.Module:
    texts = {path.rpartition("/")[2].removesuffix(".py"): text for path, text in render_model(plan).items()}
    package = f"_migrated_{next(_COUNT)}_{plan.name}"
    finder = _Finder(package, texts)
    sys.meta_path.insert(0, finder)
    try:
        model: Any = importlib.import_module(f"{package}.model")
        with _without_drawing():
            module = model.Model()
    except BaseException:
        _forget(package)
        raise
    finally:
        sys.meta_path.remove(finder)
    weakref.finalize(module, _forget, package).atexit = False
    return module


def _forget(package: str) -> None:
    for name in [n for n in sys.modules if n == package or n.startswith(package + ".")]:
        del sys.modules[name]


def _fill(module: nn.Module, plan: PackagePlan) -> None:
    import torch

    state = {**dict(module.named_buffers(remove_duplicate=False)), **module.state_dict()}
    with torch.no_grad():
        for tensor in plan.tensors:
            if tensor.tied_to is None:
                state[tensor.key].copy_(torch.from_numpy(stored_array(tensor).copy()))
