"""What a module does to gradients that no operator shows: autograd functions of the user's own, and hooks on gradients.

Export records the operators of a function's forward; its backward becomes their derivative. Exports nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, Exit, MigrateError, error

if TYPE_CHECKING:
    from torch import Tensor, nn

TOLERANCE = 1e-3
Call = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A call of a function of the user's own: its class, the line that calls it, the largest relative difference.

    That is of its backward and the derivative of its forward; None where it cannot be told.
    """

    name: str
    where: str
    difference: float | None = None


class _Context:
    """What a forward that is run as plain operators may do with the context that it is given."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("save_for", "mark_", "set_")):
            return lambda *_args, **_kwargs: None
        raise AttributeError(name)

    needs_input_grad = (True,) * 32


def check_gradients(module: nn.Module, run: Callable[[], Any]) -> tuple[Diagnostic, ...]:
    """What is to be said of a module whose gradients do not follow from its operators alone.

    Args:
        module: the user's.
        run: calls it.

    Raises:
        MigrateError: exit status 4, MIG330: a backward is not the derivative of its forward.
    """
    seen: dict[tuple[str, str], Seen] = {}
    import torch

    with _watched(seen), torch.no_grad():
        run()
    wrong = [each for each in seen.values() if each.difference is not None and not each.difference <= TOLERANCE]
    if wrong:
        raise MigrateError([_refused(each) for each in wrong], Exit.UNSUPPORTED)
    return (*(_replaced(each) for each in seen.values()), *_hooks(module))


@contextmanager
def _watched(seen: dict[tuple[str, str], Seen]) -> Generator[None]:
    """Hold every call of a user's function against the derivative of its forward."""
    import torch

    function: Any = torch.autograd.Function
    apply = function.__dict__["apply"]

    def watch(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = apply.__get__(None, cls)(*args, **kwargs)
        if not cls.__module__.startswith("torch."):
            key = cls.__qualname__, _users_line()
            if key not in seen:
                seen[key] = Seen(name=key[0], where=key[1], difference=_difference(cls, apply, args))
        return result

    function.apply = classmethod(watch)
    try:
        yield
    finally:
        function.apply = apply


def _difference(cls: Any, apply: Any, args: tuple[Any, ...]) -> float | None:
    """The largest difference between the gradients of both, relative to the largest of the derivative's."""
    import torch

    def gradients(call: Call) -> list[Tensor]:
        given = [a.detach().clone().requires_grad_(a.is_floating_point()) if _is_tensor(a) else a for a in args]
        outputs = call(*given)
        several = [o for o in (outputs if isinstance(outputs, tuple) else (outputs,)) if _is_tensor(o)]  # pyright: ignore[reportUnknownVariableType]
        draw = torch.Generator().manual_seed(0)
        terms = [(o * torch.randn(o.shape, generator=draw)).sum() for o in several if o.is_floating_point()]
        wanted = [g for g in given if _is_tensor(g) and g.requires_grad]
        return list(torch.autograd.grad(torch.stack(terms).sum(), wanted, allow_unused=True, materialize_grads=True))

    old_style = cls.setup_context is torch.autograd.Function.setup_context
    forward = (lambda *given: cls.forward(_Context(), *given)) if old_style else cls.forward
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            theirs = gradients(apply.__get__(None, cls))
            torch.manual_seed(0)
            ours = gradients(forward)
    except Exception:  # a forward may do anything with its context
        return None
    scale = max((float(g.abs().max()) for g in (*ours, *theirs) if g.numel()), default=0.0)
    return max((float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True) if a.numel()), default=0.0) / (
        scale or 1.0
    )


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _users_line() -> str:
    """The line outside torch that calls."""
    import torch

    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(torch.__path__[0]):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def _hooks(module: nn.Module) -> Iterator[Diagnostic]:
    """Hooks on gradients, which a package does not have; those on forwards are part of what was exported."""
    for path, each in module.named_modules():
        if each._backward_hooks or each._backward_pre_hooks:
            yield _left_out(f"the backward hooks of {path or type(each).__name__}")
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            yield _left_out(f"the hooks on the gradient of {name}")


def _left_out(what: str) -> Diagnostic:
    return Diagnostic(
        code="MIG328",
        severity="warning",
        what=f"{what} do not come along",
        why="export records what is computed forwards",
        todo="register them on the emitted module where training needs them",
    )


def _replaced(seen: Seen) -> Diagnostic:
    found = "they could not be compared" if seen.difference is None else f"they differ by {seen.difference:.0e}"
    return Diagnostic(
        code="MIG327",
        severity="warning",
        what=f"the backward of {seen.name} is replaced by the derivative of its forward",
        where=seen.where,
        why=f"a package is made of operators; {found}",
    )


def _refused(seen: Seen) -> Diagnostic:
    return error(
        "MIG330",
        f"the backward of {seen.name} is not the derivative of its forward",
        where=seen.where,
        why=f"off by {seen.difference:.0e} of the largest gradient, and only the operators of its forward are exported",
        todo="write it with operators, as x + (f(x) - x).detach() for a gradient that passes through f",
    )
