"""torch's own database of operators through the frontend: each is equal, or is refused with a diagnostic.

Every operator of `torch.testing`'s database with a few of its sample inputs, made a module whose parameters are the
sample's tensors. Run as a program for the counts and the list:
`python -m tests.migrate.frontends.pytorch.operator_suite [NAME ...]`; with `--write` it keeps all results in
`docs/pytorch_operators.jsonl`, from which the documentation is made.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from migrate.errors import MigrateError
from tests.migrate.frontends.pytorch.parity import check

RECORD = Path(__file__).resolve().parents[4] / "docs" / "pytorch_operators.jsonl"
SAMPLES = 3  # of each operator: the first, one in the middle, the last
Status = Literal["equal", "refused", "differs"]
NO_MODELS = ("jiterator", "sparse", "to_sparse", "ops.nvprims", "_softmax_backward_data", "torch.ops.aten")
"""What no module computes: kernels written in a string, sparse layouts, and backward passes."""
UNDEFINED = ("empty", "new_empty", "resize_", "resize_as_")
"""What they give is not defined."""


@dataclass(frozen=True)
class Result:
    """What became of an operator, and why."""

    operator: str
    status: Status
    why: str = ""


class Sampled(nn.Module):
    """An operator of parameters and buffers, whose results scale with the input."""

    def __init__(self, op: Callable[..., Any], sample: Any) -> None:
        super().__init__()
        leaves, self.structure = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
        self.op, self.leaves = op, leaves
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                made = leaf.detach().clone()
                is_trained = made.is_floating_point() or made.is_complex()
                self.register_parameter(f"w{k}", nn.Parameter(made)) if is_trained else self.register_buffer(
                    f"w{k}", made
                )

    def forward(self, x: Tensor) -> Tensor:
        found = [getattr(self, f"w{k}") if isinstance(leaf, Tensor) else leaf for k, leaf in enumerate(self.leaves)]
        # what an operator changes in place is no parameter
        found = [f * 1 if isinstance(f, nn.Parameter) else f for f in found]
        first, args, kwargs = pytree.tree_unflatten(found, self.structure)
        results = [leaf for leaf in pytree.tree_leaves(self.op(first, *args, **kwargs)) if isinstance(leaf, Tensor)]
        numbers = [torch.view_as_real(r.resolve_conj()) if r.is_complex() else r.to(x.dtype) for r in results]
        return x * torch.cat([n.reshape(-1) for n in numbers])


@cache
def database() -> dict[str, Any]:
    """The operators that compute with float32 on the host, by name and variant."""
    from torch.testing._internal import common_methods_invocations as found

    found.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)  # the seed is set around both sides here
    named = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in found.op_db}
    return {
        name: op
        for name, op in named.items()
        if torch.float32 in op.supported_dtypes("cpu") and not name.startswith((*NO_MODELS, *UNDEFINED))
    }


def samples(op: Any) -> Iterator[Any]:
    """A few of its inputs that hold a tensor and give one."""
    torch.manual_seed(0)
    found = [s for s in op.sample_inputs("cpu", torch.float32) if _holds(s)]
    for place in sorted({0, len(found) // 2, len(found) - 1} if found else ()):
        yield found[place]


def _holds(sample: Any) -> bool:
    tensors = [t for t in pytree.tree_leaves((sample.input, sample.args, dict(sample.kwargs))) if isinstance(t, Tensor)]
    return bool(tensors) and all(t.numel() and t.layout == torch.strided for t in tensors)


def _measurable(module: Sampled, x: Tensor) -> bool:
    """Whether the sample gives tensors, and no sparse gradients; an operator without derivatives is not trained."""
    try:
        found = module(x)
    except Exception:  # nothing to join
        return False
    try:
        found.sum().backward()
    except RuntimeError:
        module.requires_grad_(False)
    return not any(p.grad is not None and p.grad.is_sparse for p in module.parameters())


def run(name: str) -> Result | None:
    """The operator on its samples; what the first that is not equal says. None where no sample has and gives a tensor."""
    op, measured = database()[name], 0
    for sample in samples(op):
        module = Sampled(op.op, sample)
        torch.manual_seed(0)
        x = torch.randn(3, 1)
        if not _measurable(module, x):
            continue
        try:
            check(module, (x,), train=False)
        except MigrateError as fault:
            return Result(name, "refused", str(fault.diagnostics[0]).partition(" at ")[0])
        except AssertionError as fault:
            return Result(name, "differs", str(fault).partition("\n")[0])
        measured += 1
    return Result(name, "equal") if measured else None


def recorded() -> dict[str, dict[str, str]]:
    """The results that are kept, by operator."""
    return {row["operator"]: row for row in map(json.loads, RECORD.read_text().splitlines())}


def main(names: list[str]) -> None:
    """Print the counts and all that is not equal; keep them where asked."""
    warnings.simplefilter("ignore")
    results: list[Result] = []
    for name in (n for n in database() if names in ([], ["--write"]) or n in names):
        if (found := run(name)) is None:
            continue
        results.append(found)
        if found.status != "equal":
            print(found.status, name, found.why[:250], flush=True)
    print(dict(Counter(result.status for result in results)))
    if names == ["--write"]:
        RECORD.write_text("".join(json.dumps(asdict(r)) + "\n" for r in sorted(results, key=lambda r: r.operator)))


if __name__ == "__main__":
    main(sys.argv[1:])
