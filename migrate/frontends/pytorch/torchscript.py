"""A TorchScript module as an `nn.Module` that can be exported: runs in the worker process, for files that the user trusts.

TorchScript keeps its tensors where torch.export cannot exchange them, and its modules run inside its own interpreter. So a
shell is built: the same tree of modules and keys, with parameters that share memory with the script's, and a `forward` that
puts the shell's tensors, real or traced, into the script and calls it. The interpreter then calls the same ATen operators as
eager code; what depends on the mode is decided by the shell's mode, loops of known length unroll, and a branch on the content
of a tensor is refused with its place in the script.
"""

from __future__ import annotations

import inspect
import io
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, MigrateError, error
from migrate.frontends.pytorch.worker import Session

if TYPE_CHECKING:
    from torch import nn

    Script = Any
    Slot = tuple[str, Script, str]


_FAULT = "TorchScript interpreter"
_PLACE = re.compile(r'File "([^"]+)", line (\d+), in (\w+)')


def open_torchscript(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: load the script of a file that the user trusts."""
    import torch

    from migrate.frontends.pytorch.factory import users_code

    del folder
    path = Path(arguments["path"])
    with users_code(f"{path.name} cannot be loaded as TorchScript", "MIG126"):
        script = torch.jit.load(path, map_location="cpu")  # pyright: ignore[reportUnknownMemberType]
    session.module = shell_of(script)
    return {"class": type(session.module).__name__, "training": []}


def shell_of(script: Script) -> nn.Module:
    """The module that stands for a script. It is not changed: what stands for it is a copy."""
    import torch

    file = io.BytesIO()
    torch.jit.save(script, file)
    script = torch.jit.load(io.BytesIO(file.getvalue()), map_location="cpu")  # pyright: ignore[reportUnknownMemberType]
    slots: list[Slot] = []
    shell = _tree(script, "", {}, slots)
    base = type(shell)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        for path, part, name in slots:  # by path: a copy of the shell has tensors of its own
            part._c.setattr(name, getattr(self.get_submodule(path), name))
        script.train(self.training)
        with torch.jit.optimized_execution(False):  # else its own differentiation takes the operators apart
            return script(*args, **kwargs)

    forward.__signature__ = _signature(script)  # pyright: ignore[reportFunctionMemberAccess]
    members = {"forward": forward, "__module__": base.__module__, "has_one_mode": not _reads_mode(script)}
    shell.__class__ = type(base.__name__, (base,), members)
    return shell


def has_one_mode(module: nn.Module) -> bool:
    """Whether a module stands for a script that was traced: the mode of that moment is written into it."""
    return getattr(module, "has_one_mode", False)


def is_script(module: nn.Module) -> bool:
    """Whether a module stands for a script."""
    return hasattr(type(module), "has_one_mode")


def _reads_mode(script: Script) -> bool:
    return any(".training" in part.code for part in script.modules() if hasattr(part, "code"))


def fault_in_script(fault: BaseException) -> Diagnostic | None:
    """Where in the script a fault of an export was raised, as far as the file says; None where it was not in a script."""
    cause: BaseException | None = fault
    while cause is not None and (isinstance(cause, MigrateError) or _FAULT not in str(cause).partition("\n")[0]):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    text = str(cause)
    places = _PLACE.findall(text)
    reasons = [line for line in text.splitlines() if re.match(r"\w*(Error|Exception|Guard\w*): ", line)]
    return error(
        "MIG204",
        "torch.export refuses the script",
        where="{}:{}, in {}".format(*places[-1]) if places else "",
        why=reasons[-1].partition(": ")[2][:200] if reasons else text.splitlines()[-1][:200],
        todo="export the module from its Python source: give a factory, package.module:function",
    )


def _tree(script: Script, path: str, tensors: dict[Any, Any], slots: list[Slot]) -> nn.Module:
    """A tree of empty modules with the script's names, and its tensors in their places: one that is met twice is tied."""
    from torch import nn

    name = str(script.original_name)
    kind = type(name if name.isidentifier() else "Module", (nn.Module,), {"__module__": "torchscript"})
    shell: nn.Module = kind()
    for key, tensor in script.named_parameters(recurse=False):
        mark = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        parameter = tensors.setdefault(mark, nn.Parameter(tensor.detach(), requires_grad=tensor.requires_grad))
        shell.register_parameter(key, parameter)
        slots.append((path, script, key))
    for key, tensor in script.named_buffers(recurse=False):
        shell.register_buffer(key, tensor)
        slots.append((path, script, key))
    for key, child in script.named_children():
        shell.add_module(key, _tree(child, f"{path}.{key}".lstrip("."), tensors, slots))
    shell.training = bool(getattr(script, "training", False))
    return shell


def _signature(script: Script) -> inspect.Signature:
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([own, *_parameters(script)])


def _parameters(script: Script) -> Iterator[inspect.Parameter]:
    for place, argument in enumerate(script.forward.schema.arguments[1:]):
        legal = argument.name.isidentifier() and not keyword.iskeyword(argument.name)
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        name = argument.name if legal else f"input_{place}"
        yield inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
