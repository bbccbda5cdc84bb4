"""Look-ups, selection and sorting."""

import numpy as np

from migrate.graph.ops import declare

declare("embedding", "torch.nn.functional:embedding", learns=(1,))
declare(
    "index_select", "torch:index_select", fold=lambda x, dim, i: np.take(x, i.astype(np.int64), axis=dim), moves=True
)
declare("select", "torch:select", fold=lambda x, dim, i: np.take(x, i, axis=dim), moves=True)
declare("gather", "torch:gather", moves=True)
declare("take_along_dim", "torch:take_along_dim", moves=True)
declare("scatter", "torch:scatter")
declare("scatter_reduce", "torch:scatter_reduce")
declare("scatter_add", "torch:scatter_add")
declare("index_put", "torch:index_put")
declare("topk", "torch:topk")
declare("sort", "torch:sort")
declare("masked_fill", "torch:masked_fill", scalars=True)
declare("gather_nd", "runtime.functional.index:gather_nd")
declare("scatter_nd", "runtime.functional.index:scatter_nd")
declare("reverse_sequence", "runtime.functional.index:reverse_sequence", moves=True)
declare("count_ngrams", "runtime.functional.ngrams:count_ngrams")
declare("argsort", "torch:argsort")
declare("embedding_bag", "torch:embedding_bag", learns=(0,))
for _name in (
    "select_scatter",
    "slice_scatter",
    "index_add",
    "index_copy",
    "index_fill",
    "bucketize",
    "searchsorted",
    "isin",
    "index_reduce",
    "msort",
    "put",
    "segment_reduce",
    "take",
):
    declare(_name, f"torch:{_name}")

declare("embedding_renorm", "torch:embedding_renorm_", effect=True)
