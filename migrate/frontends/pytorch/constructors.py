"""With which arguments a module of `torch.nn` is made like one that is there. Knows its classes by their signatures."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

_ELSEWHERE = ("device", "dtype", "mode")  # said otherwise, or by the class


def arguments_of(module: nn.Module) -> dict[str, Any] | None:
    """The arguments that are not the defaults; None where the class is not torch's, or they do not make an equal state."""
    from torch import nn

    kind = type(module)
    if getattr(nn, kind.__name__, None) is not kind or not module.state_dict():
        return None
    found: dict[str, Any] = {}
    for parameter in _parameters(kind):
        value = _short(parameter.name, _value(module, parameter.name))
        if not _is_plain(value):
            return None
        if parameter.default is inspect.Parameter.empty or value != parameter.default:
            found[parameter.name] = value
    return found if _makes_it(kind, found, module) else None


def _parameters(kind: type) -> list[inspect.Parameter]:
    """Of the constructor; of a recurrent layer, which takes anything, those of what it derives from."""
    for base in kind.__mro__:
        parameters = list(inspect.signature(base.__init__).parameters.values())[1:]
        if all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            return [p for p in parameters if p.name not in _ELSEWHERE and not p.name.startswith("_")]
    return []


def _value(module: nn.Module, name: str) -> Any:
    """What a module was given, by what it has of that name; of a tensor, whether there is one."""
    import torch

    if name == "add_bias_kv":
        return getattr(module, "bias_k", None) is not None
    held = getattr(module, "in_proj_bias" if name == "bias" and not hasattr(module, name) else name, None)
    return (
        held is not None if (name == "bias" and not isinstance(held, bool)) or isinstance(held, torch.Tensor) else held
    )


def _short(name: str, value: Any) -> Any:
    """One size for all axes, as a person writes it; the axes of a shape are as many as it has sizes."""
    sizes: list[Any] = list(value) if isinstance(value, tuple) else []  # pyright: ignore[reportUnknownArgumentType]
    is_shape = name == "normalized_shape" and len(sizes) > 1
    return sizes[0] if len({*sizes}) == 1 and not is_shape else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value is None or isinstance(value, bool | int | float | str)


def _makes_it(kind: type, arguments: dict[str, Any], module: nn.Module) -> bool:
    import torch

    try:
        with torch.device("meta"), warnings.catch_warnings(action="ignore"):
            made = kind(**arguments)
    except (AttributeError, TypeError, ValueError, RuntimeError, AssertionError):
        return False
    shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (made, module)]
    return shapes[0] == shapes[1] and getattr(made, "mode", None) == getattr(module, "mode", None)
