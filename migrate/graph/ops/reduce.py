"""Reductions and scans along axes."""

import numpy as np

from migrate.graph.ops import declare
from migrate.graph.sizes import numel


def _prod(x: np.ndarray, dim: object = None, keepdim: bool = False) -> object:
    del dim
    total = np.array(numel(list(x.reshape(-1))), dtype=object)
    return total.reshape((1,) * x.ndim) if keepdim else total


for _name in (
    "sum",
    "mean",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "logsumexp",
    "cumsum",
    "cumprod",
    "all",
    "any",
    "std",
    "var",
):
    declare(_name, f"torch:{_name}")
declare("prod", "torch:prod", fold=_prod)
declare("max", "torch:max")
declare("min", "torch:min")
for _name in (
    "median",
    "cummax",
    "cummin",
    "logcumsumexp",
    "count_nonzero",
    "nansum",
    "nanmean",
    "diff",
    "cosine_similarity",
    "pairwise_distance",
    "cdist",
    "pdist",
    "aminmax",
    "cumulative_trapezoid",
    "kthvalue",
    "mode",
    "nanmedian",
    "nanquantile",
    "quantile",
    "std_mean",
    "trapezoid",
    "trapz",
    "var_mean",
    "histc",
):
    declare(_name, f"torch:{_name}")
declare("gradient", "torch:gradient", many=True)
