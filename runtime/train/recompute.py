"""Activation checkpointing: a repeated block keeps its inputs alone, and runs again when backward needs the rest.

Gradients, random draws and what the model holds are those of a run without it. Knows no model and no device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..package import PackageError

Place = tuple[nn.Module, str]
"""A buffer: the module that holds it, and its name there."""


def _is_block(module: nn.Module) -> bool:
    """Whether a module is of a class of the model's own, with two layers at least: what is smaller saves next to nothing."""
    own = not type(module).__module__.startswith("torch.")
    return own and sum(p.dim() > 1 for p in module.parameters()) > 1


def _is_stage(module: nn.Module) -> bool:
    """Whether a module runs blocks one after the other."""
    lists = (each for each in module.modules() if isinstance(each, nn.ModuleList | nn.Sequential))
    return any(sum(map(_is_block, each)) > 1 for each in lists)


def find_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """The blocks that are recomputed, by path: of classes that occur more than once, the outermost that are no stages."""
    classes = Counter(type(module) for module in model.modules())
    found: dict[str, nn.Module] = {}
    for path, module in model.named_modules():
        inside = any(path.startswith(f"{outer}.") for outer in found)
        if path and not inside and classes[type(module)] > 1 and _is_block(module) and not _is_stage(module):
            found[path] = module
    return found


def _buffers(block: nn.Module) -> dict[Place, Tensor]:
    return {
        (module, name): buffer
        for module in block.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    }


@contextmanager
def _aside(block: nn.Module, before: dict[Place, Tensor]) -> Generator[None]:
    """Copies in the place of the buffers, since the first run has counted already; some as they were before that."""
    now = _buffers(block)
    try:
        for (module, name), buffer in now.items():
            module._buffers[name] = before.get((module, name), buffer).clone()
        yield
    finally:
        for (module, name), buffer in now.items():
            module._buffers[name] = buffer


def recomputed(block: nn.Module) -> Callable[..., Any]:
    """The block's `forward`, which keeps its inputs and runs again in backward.

    Buffers that it was seen to change are kept as it found them: what it computes may depend on them. At first that may be
    any. Statistics of torch's own norms do not show that they change, and nothing depends on them in training.
    """
    forward = block.forward
    changing: set[Place] | None = None

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal changing
        held = _buffers(block)
        versions = {place: buffer._version for place, buffer in held.items()}
        before = {place: held[place].clone() for place in (held if changing is None else changing)}

        def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
            return nullcontext(), _aside(block, before)

        result = checkpoint(forward, *args, use_reentrant=False, context_fn=contexts, **kwargs)
        now = _buffers(block)
        changed = {place for place in held if now[place] is not held[place] or now[place]._version != versions[place]}
        changing = changed | (changing or set())
        for place in before.keys() - changing:
            del before[place]
        return result

    return run


def recompute_blocks(model: nn.Module) -> list[str]:
    """Let the model's blocks run again in backward; returns their paths.

    Raises:
        PackageError: it has none.
    """
    found = find_blocks(model)
    if not found:
        why = "no class of blocks with two layers or more occurs twice in this model"
        raise PackageError(f"train.activation_checkpointing = 'blocks' would save nothing: {why}")
    for block in found.values():
        block.forward = recomputed(block)
    return list(found)
