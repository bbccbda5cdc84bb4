"""Counting runs of tokens, as vectorisers of text do; must not know which text the tokens are."""

from __future__ import annotations

from torch import Tensor


def count_ngrams(tokens: Tensor, ngrams: Tensor, max_skip: int) -> Tensor:
    """How often each run occurs, also with up to `max_skip` tokens left out between any two of its tokens.

    Args:
        tokens: integers `(..., length)`.
        ngrams: the runs, `(count, size)`.
        max_skip: how many tokens may be left out; the same number between all tokens of one occurrence.

    Returns:
        float32 `(..., count)`.
    """
    size = ngrams.shape[-1]
    counts = tokens.new_zeros((*tokens.shape[:-1], len(ngrams)))
    for step in range(1, max_skip + 2 if size > 1 else 2):
        reach = (size - 1) * step + 1
        if reach > tokens.shape[-1]:
            break
        windows = tokens.unfold(-1, reach, 1)[..., ::step]  # (..., places, size)
        counts = counts + (windows.unsqueeze(-2) == ngrams).all(-1).sum(-2)
    return counts.float()
