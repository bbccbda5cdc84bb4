"""Says which module a dispatched operator belongs to, in forward and in backward.

Forward: hooks keep the path of the module that runs. Backward: autograd numbers its nodes in the order of creation, so
a node belongs to the module that ran when its number was given. Must not know operators or targets.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import Any

import torch
from torch import nn

ACCUMULATE_GRAD = 2**63


def current_node() -> Any:
    """The autograd node that runs, None outside backward (which torch's own annotation leaves out)."""
    return torch._C._current_autograd_node()


class Scopes:
    """The path of the module that a call belongs to; '' is the model itself."""

    def __init__(self, model: nn.Module) -> None:
        self.stack: list[str] = []
        self.numbers: list[int] = [0]
        self.paths: list[str] = [""]
        # The last exception that ended a module, and the innermost module that it ended.
        self.fault: BaseException | None = None
        self.fault_path = ""
        self.owners = {id(p): name.rpartition(".")[0] for name, p in model.named_parameters()}
        for path, module in model.named_modules():
            self.attach(path, module)

    @property
    def running(self) -> bool:
        """Whether any part of the model runs: what is dispatched outside is the loss."""
        return bool(self.stack)

    def attach(self, path: str, module: nn.Module) -> None:
        """Hooks one module; `logits` is a second door of emitted models and is hooked like a call."""

        def enter(*_: Any) -> None:
            self.stack.append(path)
            self.mark()

        def leave(*_: Any) -> None:
            fault = sys.exception()
            if fault is not None and fault is not self.fault:
                self.fault, self.fault_path = fault, path
            self.stack.pop()
            self.mark()

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave, always_call=True)
        logits = getattr(module, "logits", None)
        if path == "" and callable(logits) and not isinstance(logits, nn.Module):

            def entered(*args: Any, **kwargs: Any) -> Any:
                enter()
                try:
                    return logits(*args, **kwargs)
                finally:
                    leave()

            object.__setattr__(module, "logits", entered)

    def mark(self) -> None:
        """Notes from which autograd number on the current path owns the nodes."""
        self.numbers.append(torch.autograd._get_sequence_nr())
        self.paths.append(self.stack[-1] if self.stack else "")

    def path(self) -> str:
        """The module of the operator that is being dispatched."""
        node = current_node()
        if node is None:
            return self.stack[-1] if self.stack else ""
        number = node._sequence_nr()
        if number >= ACCUMULATE_GRAD:
            return self.owners.get(id(getattr(node, "variable", None)), "")
        return self.paths[bisect_right(self.numbers, number) - 1]
