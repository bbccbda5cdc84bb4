"""Says which fused kernels could take which part of a step: first form, by operators that occur in one module.

A pattern matches where a module runs all its operators in the pattern's phase. Operands are not compared, so a match is
a place to look at and not a proof. Must not know time or diagnostics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from migrate.opmap.target import FusedKernel, Target
from migrate.opmap.trace import TraceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Operators that, together in one module, are what a kernel of the runtime does in one pass."""

    kernel: str
    operators: tuple[str, ...]
    phase: str = "forward"


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedMapping:
    """A fused kernel and the modules it could serve; `provider` is the target's own operator or the tool's runtime."""

    kernel: str
    provider: str
    operators: tuple[str, ...]
    modules: tuple[str, ...]
    calls: int
    backward: bool
    note: str


PATTERNS = (
    Pattern(kernel="layer_norm", operators=("native_layer_norm",)),
    Pattern(kernel="rms_norm", operators=("pow.Tensor_Scalar", "mean.dim", "rsqrt", "mul.Tensor")),
    Pattern(kernel="gelu", operators=("gelu",)),
    Pattern(kernel="swiglu", operators=("silu", "mul.Tensor")),
    Pattern(kernel="sdpa", operators=("bmm", "_safe_softmax")),
    Pattern(kernel="sdpa", operators=("bmm", "_softmax")),
    Pattern(kernel="linear_cross_entropy", operators=("_log_softmax", "nll_loss_forward"), phase="loss"),
    Pattern(kernel="adamw", operators=("addcdiv_", "lerp_.Scalar"), phase="optimizer"),
    Pattern(kernel="adamw", operators=("_foreach_addcdiv_.ScalarList", "_foreach_lerp_.Scalar"), phase="optimizer"),
)


def fused_operators(target: Target) -> dict[str, FusedKernel]:
    """Operators that a fused kernel of the target takes over; one without backward is no use in training."""
    return {operator: kernel for kernel in target.fused if kernel.backward for operator in kernel.operators}


def map_pattern(pattern: Pattern, rows: Iterable[TraceRow]) -> tuple[dict[str, int], int]:
    """Modules that run every operator of the pattern, with the calls of its rarest one, and the sum of those."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        if row.phase == pattern.phase and row.operator in pattern.operators:
            found[row.module][row.operator] = found[row.module].get(row.operator, 0) + row.count
    modules = {m: min(counts.values()) for m, counts in found.items() if len(counts) == len(pattern.operators)}
    return modules, sum(modules.values())


def map_fused(rows: Iterable[TraceRow], target: Target) -> tuple[FusedMapping, ...]:
    """Fused kernels for a traced step: those of the target first, then those of the runtime that it lacks."""
    rows = tuple(rows)
    mappings: list[FusedMapping] = []
    for kernel in target.fused:
        served = [row for row in rows if row.operator in kernel.operators]
        if served:
            note = f"{kernel.call}: already one operator of the target" if kernel.backward else "forward only: not used"
            mappings.append(
                FusedMapping(
                    kernel=kernel.kernel,
                    provider="target",
                    operators=tuple(dict.fromkeys(row.operator for row in served)),
                    modules=tuple(dict.fromkeys(row.module for row in served)),
                    calls=sum(row.count for row in served),
                    backward=kernel.backward,
                    note=note,
                )
            )
    taken = {mapping.kernel for mapping in mappings if mapping.backward}
    for pattern in PATTERNS:
        modules, calls = map_pattern(pattern, rows)
        if modules and pattern.kernel not in taken:
            mappings.append(
                FusedMapping(
                    kernel=pattern.kernel,
                    provider="runtime",
                    operators=pattern.operators,
                    modules=tuple(modules),
                    calls=calls,
                    backward=True,
                    note="the pattern's operators occur in these modules; which kernel runs is measured on the device",
                )
            )
    return tuple(mappings)
