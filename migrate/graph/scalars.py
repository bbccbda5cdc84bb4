"""Arguments that are one number: given as such, stored as a tensor of one element, or computed from such. Knows no pattern."""

from __future__ import annotations

import numpy as np

from migrate.graph.interpret import content_of
from migrate.graph.ir import Arg, Value
from migrate.graph.sizes import Dim

DEPTH = 4  # steps from numbers of the source to one that is computed from them


def number_of(arg: Arg) -> float | None:
    """The number that an argument is: given as such, or stored as a tensor of one element that no module holds."""
    if isinstance(arg, bool) or arg is None:
        return None
    if isinstance(arg, int | float):
        return float(arg)
    if not isinstance(arg, Value) or not arg.is_float or any(isinstance(s, Dim) or s != 1 for s in arg.shape):
        return None
    if arg.weight is None:
        return _computed(arg) if _is_computed(arg) else None
    return None if arg.weight.homes or arg.weight.maker == "module" else float(arg.weight.array().reshape(-1)[0])


def _is_computed(arg: Value, depth: int = DEPTH) -> bool:
    """Whether a few steps of arithmetic lead to it from numbers of the source that nobody trains."""
    if arg.weight is not None:
        return (
            arg.weight.role == "buffer"
            and not arg.weight.homes
            and arg.weight.maker != "module"
            and arg.shape in ((), (1,))
        )
    if arg.node is None or arg.node.op.family != "elementwise" or depth == 0:
        return False
    return all(_is_computed(taken, depth - 1) for taken in arg.node.inputs)


def _computed(arg: Value) -> float:
    return float(content_of(arg).reshape(-1)[0])


def is_learned_number(arg: Arg) -> bool:
    """Whether a number would be trained, going by its use."""
    return isinstance(arg, Value) and arg.weight is not None and arg.weight.role == "parameter"


def shortest(number: float) -> float:
    """The shortest decimal that is the same float32: 1e-05 for 9.999999747378752e-06."""
    return float(np.format_float_scientific(np.float32(number)))
