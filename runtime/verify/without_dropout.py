"""Training without its random numbers: every dropout at rate zero, stochastic depth that keeps everything. Knows no module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

_DROPOUTS = frozenset({
    "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout",
})  # fmt: skip
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})


def _packed(args: tuple[Any, ...]) -> bool:
    """Whether the layer is given packed sequences: (data, batch_sizes, hx, ...) and no (input, hx, ...)."""
    return len(args) > 3 and isinstance(args[3], tuple | list)


class WithoutDropout(TorchFunctionMode):
    """Inside, what dropout is given comes out as it is, wherever it is called."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name: str = getattr(func, "__name__", "")
        if name in _DROPOUTS:
            return args[0] if args else kwargs["input"]
        if name == "scaled_dot_product_attention":
            if len(args) > 4:
                args = (*args[:4], 0.0, *args[5:])
            else:
                kwargs["dropout_p"] = 0.0
        elif name == "multi_head_attention_forward" and len(args) > 10:
            args = (*args[:10], 0.0, *args[11:])
        elif name in _RECURRENT and len(args) > 6:
            place = 6 if _packed(args) else 5
            args = (*args[:place], 0.0, *args[place + 1 :])
        elif name in ("bernoulli", "bernoulli_"):
            args, kwargs = (*args[:1], 1.0), {}
        return func(*args, **kwargs)
