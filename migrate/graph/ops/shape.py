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


declare("reshape", "torch:reshape", fold=_reshape, moves=True)
declare("permute", "torch:permute", fold=lambda x, dims: x.transpose(dims), moves=True)
declare("transpose", "torch:transpose", fold=lambda x, a, b: x.swapaxes(a, b), moves=True)
declare("squeeze", "torch:squeeze", fold=lambda x, dim: np.squeeze(x, dim), moves=True)
declare("unsqueeze", "torch:unsqueeze", fold=lambda x, dim: np.expand_dims(x, dim), moves=True)
declare("flatten", "torch:flatten", moves=True)
declare("unflatten", "torch:unflatten", moves=True)
declare("expand", "torch:Tensor.expand", fold=lambda x, shape: np.broadcast_to(x, [int(s) for s in shape]), moves=True)
declare("repeat", "torch:Tensor.repeat", moves=True)
declare("repeat_interleave", "torch:repeat_interleave", moves=True)
declare("cat", "torch:cat", fold=lambda xs, dim=0: np.concatenate(xs, axis=dim), moves=True, learns=(0,))
declare("stack", "torch:stack", fold=lambda xs, dim=0: np.stack(xs, axis=dim), moves=True)
declare("split", "torch:split", fold=_split, moves=True, many=True)
declare("chunk", "torch:chunk", moves=True, many=True)
declare("unbind", "torch:unbind", moves=True, many=True)
declare("getitem", "operator:getitem", fold=_getitem, moves=True)
declare("pad", "torch.nn.functional:pad")
declare("pad_axes", "runtime.functional.pad:pad_axes")
declare("roll", "torch:roll", moves=True)
declare("flip", "torch:flip", fold=lambda x, dims: np.flip(x, dims), moves=True)
declare("tril", "torch:tril")
declare("triu", "torch:triu")
declare("pixel_shuffle", "torch.nn.functional:pixel_shuffle")
declare("pixel_unshuffle", "torch.nn.functional:pixel_unshuffle")
declare("unfold", "torch.nn.functional:unfold")
declare("unfold_axis", "torch:Tensor.unfold")
declare("fold", "torch.nn.functional:fold")
declare("add_blocks", "runtime.functional.pad:add_blocks")
declare("one_hot", "torch.nn.functional:one_hot")
declare("arange", "torch:arange", makes=True)
declare("full", "torch:full", makes=True)
declare("eye", "torch:eye", makes=True)
declare("size_tensor", "torch:tensor", makes=True)
declare("zeros_like", "torch:zeros_like")
declare("ones_like", "torch:ones_like")
declare("new_zeros", "torch:Tensor.new_zeros")
declare("clone", "torch:clone")
declare("full_like", "torch:full_like")
declare("linspace", "torch:linspace", makes=True)
for _name in (
    "diagonal", "diag", "diagflat", "diag_embed", "rot90", "channel_shuffle", "broadcast_to", "fliplr", "flipud", "ravel",
    "column_stack", "dstack", "hstack", "vstack", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag",
):  # fmt: skip
    declare(_name, f"torch:{_name}", moves=True)
for _name in ("dsplit", "hsplit", "vsplit"):
    declare(_name, f"torch:{_name}", moves=True, many=True)
declare("diagonal_scatter", "torch:diagonal_scatter")
declare("sum_to_size", "torch:Tensor.sum_to_size")
declare("cartesian_prod", "torch:cartesian_prod")
declare("combinations", "torch:combinations")
for _name in ("tril_indices", "triu_indices", "logspace"):
    declare(_name, f"torch:{_name}", makes=True)
for _name in ("window_partition", "window_reverse"):
    declare(_name, f"runtime.functional.window:{_name}", moves=True)
