"""Shapes: moving, joining, cutting and making tensors. Size arithmetic is folded through these while the graph is built."""

from typing import Any

import numpy as np

from migrate.graph.ops import declare


def _reshape(x: Any, shape: Any) -> Any:
    return x.reshape([int(s) for s in shape])


def _split(x: Any, sizes: Any, dim: int = 0) -> Any:
    return tuple(np.split(x, np.cumsum(list(sizes))[:-1], axis=dim))


def _getitem(x: Any, index: Any) -> Any:
    return x[index]


declare("reshape", "torch:reshape", fold=_reshape)
declare("permute", "torch:permute", fold=lambda x, dims: x.transpose(dims))
declare("transpose", "torch:transpose", fold=lambda x, a, b: x.swapaxes(a, b))
declare("squeeze", "torch:squeeze", fold=lambda x, dim: np.squeeze(x, dim))
declare("unsqueeze", "torch:unsqueeze", fold=lambda x, dim: np.expand_dims(x, dim))
declare("flatten", "torch:flatten")
declare("unflatten", "torch:unflatten")
declare("expand", "torch:Tensor.expand", fold=lambda x, shape: np.broadcast_to(x, [int(s) for s in shape]), learns=(0,))
declare("repeat", "torch:Tensor.repeat")
declare("repeat_interleave", "torch:repeat_interleave")
declare("cat", "torch:cat", fold=lambda xs, dim=0: np.concatenate(xs, axis=dim), learns=(0,))
declare("stack", "torch:stack", fold=lambda xs, dim=0: np.stack(xs, axis=dim))
declare("split", "torch:split", fold=_split)
declare("chunk", "torch:chunk")
declare("unbind", "torch:unbind")
declare("getitem", "operator:getitem", fold=_getitem)
declare("pad", "torch.nn.functional:pad")
declare("pad_axes", "runtime.functional.pad:pad_axes")
declare("roll", "torch:roll")
declare("flip", "torch:flip", fold=lambda x, dims: np.flip(x, dims))
declare("tril", "torch:tril")
declare("triu", "torch:triu")
declare("pixel_shuffle", "torch.nn.functional:pixel_shuffle")
declare("pixel_unshuffle", "torch.nn.functional:pixel_unshuffle")
declare("unfold", "torch.nn.functional:unfold")
declare("fold", "torch.nn.functional:fold")
declare("one_hot", "torch.nn.functional:one_hot")
declare("arange", "torch:arange")
declare("full", "torch:full")
declare("eye", "torch:eye")
declare("size_tensor", "torch:tensor")
declare("zeros_like", "torch:zeros_like")
declare("ones_like", "torch:ones_like")
declare("clone", "torch:clone")
