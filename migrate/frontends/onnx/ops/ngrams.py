"""Counts of runs of tokens: what a vectoriser of text hands to the layers behind it. Text itself is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


def pools(pool: Any, starts: Any) -> list[Any]:
    """The runs of each size, from 1 on: `(count, size)`."""
    ends = [*starts[1:], len(pool)]
    cut = [pool[start:end] for start, end in zip(starts, ends, strict=True)]
    return [np.array(part, dtype="int64").reshape(-1, size) for size, part in enumerate(cut, 1)]


def in_columns(b: OnnxBuilder, counts: Value, columns: dict[int, int], width: int) -> Value:
    """Each count in its column, zero where a column has none; `columns` says which count is where."""
    order = [columns.get(column, len(columns)) for column in range(width)]
    if order == list(range(len(columns))):
        return counts
    places = b.tensor(b.static(np.array(order), "int64"))
    return b.index_select(b.pad(counts, (0, 1)), counts.rank - 1, places)


@onnx_op("TfIdfVectorizer", since=9)
def onnx_tf_idf_vectorizer(
    b: OnnxBuilder,
    X: Value,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Any,
    ngram_indexes: Any,
    pool_int64s: Any = None,
    pool_strings: Any = None,
    weights: Any = None,
) -> Value:
    """How often each run occurs (TF), whether it does (IDF), or either times a fixed weight."""
    if pool_strings or not pool_int64s:
        raise Unsupported("text, which no tensor of a training package holds")
    if weights and list(ngram_indexes) != list(range(len(ngram_indexes))):
        raise Unsupported("TfIdfVectorizer with weights for runs that are out of order: engines index them unlike")
    parts, columns, first = [], {}, 0
    for size, runs in enumerate(pools(pool_int64s, ngram_counts), 1):
        if len(runs) and min_gram_length <= size <= max_gram_length:
            parts.append(b.count_ngrams(X, b.tensor(b.static(runs, "int64")), max_skip_count))
            columns |= {int(ngram_indexes[first + i]): len(columns) + i for i in range(len(runs))}
        first += len(runs)
    counts = in_columns(b, b.cat(tuple(parts), dim=-1) if len(parts) > 1 else parts[0], columns, max(ngram_indexes) + 1)
    counts = counts if mode != "IDF" else b.cast(b.gt(counts, 0), "torch.float32")
    return b.mul(counts, b.tensor(b.static(np.array(weights), "float32"))) if weights and mode != "TF" else counts
