"""Builds the user's module from `package.module:factory` or a pickle: runs in the worker process, where the user's code may.

What the user's code raises becomes a diagnostic with its file and line. Knows how a result is taken apart, not what becomes
of the parts.
"""

from __future__ import annotations

import importlib
import inspect
import os
import random
import sys
import sysconfig
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.pytorch.worker import Session

if TYPE_CHECKING:
    from torch import nn

PARTS = ("module", "inputs", "optimizer", "scheduler", "loss", "batch")
_LIBRARY = (
    sysconfig.get_paths()["stdlib"],
    sysconfig.get_paths()["purelib"],
    str(Path(__file__).parents[2]),
    "<frozen",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a factory returned: the module, example inputs if any, and the training objects by name."""

    module: nn.Module
    inputs: Any
    training: dict[str, Any]


def prepare(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: where the user's modules are found, and the seed of what they draw."""
    import torch

    del session, folder
    sys.path[:0] = [*arguments["folders"], os.getcwd()]
    seed: int = arguments["seed"]
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    return {}


def open_factory(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: import and call `reference`, and keep what it returns."""
    del folder
    reference: str = arguments["reference"]
    found = find(reference)
    built = take_apart(_called(found, reference), reference)
    return _keep(session, built)


def open_pickle(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: unpickle the module of a file that the user trusts."""
    import torch

    del folder
    path = Path(arguments["path"])
    with users_code(f"{path.name} cannot be unpickled", "MIG126"):
        found = torch.load(path, map_location="cpu", weights_only=False)
    if isinstance(found, Mapping):
        modules = {str(key): value for key, value in found.items() if isinstance(value, torch.nn.Module)}
        if len(modules) != 1:
            held = ", ".join(modules) or "none"
            raise _refused("MIG128", "the file holds a dict without exactly one module", path.name, f"modules: {held}")
        found = next(iter(modules.values()))
    return _keep(session, take_apart(found, path.name))


def find(reference: str) -> Any:
    """The object that `package.module:name` names.

    Raises:
        MigrateError: exit status 3; MIG125 there is none, MIG126 importing it fails.
    """
    module, _, name = reference.partition(":")
    with users_code(f"importing {module} fails", "MIG126", missing=module):
        found: Any = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            near = [n for n, v in vars(found).items() if callable(v) and getattr(v, "__module__", "") == module][:8]
            raise _refused(
                "MIG125", f"{module} has no {name!r}", reference, f"it has {', '.join(near)}" if near else ""
            )
        found = getattr(found, part)
    return found


def take_apart(found: Any, reference: str) -> Built:
    """A module; a module and example inputs; or a dict or object with `module` and any of the other parts.

    Raises:
        MigrateError: exit status 3, MIG128: it is none of these.
    """
    from torch import nn

    if isinstance(found, nn.Module):
        return Built(module=_plain_module(found), inputs=None, training={})
    if isinstance(found, tuple | list) and len(found) == 2 and isinstance(found[0], nn.Module):
        return Built(module=_plain_module(found[0]), inputs=found[1], training={})
    parts = _parts(found)
    if isinstance(parts.get("module"), nn.Module):
        training = {name: parts[name] for name in PARTS[2:] if parts.get(name) is not None}
        return Built(module=_plain_module(parts["module"]), inputs=parts.get("inputs"), training=training)
    what = f"{reference} gives a {type(found).__name__}"
    raise _refused(
        "MIG128", what, reference, f"expected an nn.Module, (module, inputs), or a dict of {', '.join(PARTS)}"
    )


@contextmanager
def users_code(what: str, code: str, *, missing: str = "") -> Generator[None]:
    """Turn whatever the user's code raises into a diagnostic with its file and line.

    Args:
        what: failed, in words.
        code: of the diagnostic.
        missing: a module whose own absence is MIG125.
    """
    try:
        yield
    except MigrateError:
        raise
    except (Exception, SystemExit) as fault:
        absent = fault.name if isinstance(fault, ModuleNotFoundError) else None
        if absent and f"{missing}.".startswith(f"{absent}."):
            todo = "run the command in the folder that holds it, or give that with --pythonpath"
            raise MigrateError([error("MIG125", f"there is no module {absent!r}", todo=todo)], Exit.INPUT) from fault
        first = (str(fault).strip().splitlines() or [""])[0][:300]
        why = f"{type(fault).__name__}: {first}" if first else type(fault).__name__
        raise MigrateError([error(code, what, where=users_line(fault), why=why)], Exit.INPUT) from fault


def users_line(fault: BaseException) -> str:
    """The innermost line of the user's own code that a fault went through; of a library's, where there is none."""
    if isinstance(fault, SyntaxError) and fault.filename:
        return f"{_shown(fault.filename)}:{fault.lineno}"
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARY)]
    outside = [frame for frame in frames if not frame.filename.startswith(_LIBRARY[2:])]
    last = (own or outside or [None])[-1]
    return f"{_shown(last.filename)}:{last.lineno}, in {last.name}" if last else ""


def _shown(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _called(found: Any, reference: str) -> Any:
    if not callable(found) or _is_module(found):
        return found
    needed = _required(found)
    if needed:
        why = f"it needs the arguments {', '.join(needed)}"
        raise _refused("MIG125", f"{reference} cannot be called without arguments", reference, why)
    with users_code(f"{reference} fails", "MIG126"):
        return found()


def _is_module(found: Any) -> bool:
    from torch import nn

    return isinstance(found, nn.Module)


def _plain_module(module: nn.Module) -> nn.Module:
    """The module, or what stands for a scripted one."""
    import torch

    from migrate.frontends.pytorch.torchscript import shell_of

    return shell_of(module) if isinstance(module, torch.jit.ScriptModule) else module


def _required(found: Any) -> list[str]:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # built in, without a signature
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]


def _parts(found: Any) -> dict[str, Any]:
    if isinstance(found, Mapping):
        return {str(key): value for key, value in found.items()}
    if is_dataclass(found):
        return {item.name: getattr(found, item.name) for item in fields(found)}
    return {name: getattr(found, name) for name in PARTS if hasattr(found, name)}


def _keep(session: Session, built: Built) -> dict[str, Any]:
    session.module, session.inputs, session.training = built.module, built.inputs, built.training
    return {"class": type(built.module).__name__, "training": sorted(built.training)}


def _refused(code: str, what: str, where: str, why: str) -> MigrateError:
    todo = "write a function without arguments that returns the module, and name that"
    return MigrateError([error(code, what, where=where if where not in what else "", why=why, todo=todo)], Exit.INPUT)
