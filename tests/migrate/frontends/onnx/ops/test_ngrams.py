"""Counts of runs of tokens against ONNX Runtime: every mode, skips, sizes that do not count, columns out of order."""

from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of

TOKENS = np.random.default_rng(0).integers(1, 5, (3, 9)).astype(np.int64)
POOL = [1, 2, 3, 1, 2, 2, 2, 3, 4, 1, 2, 3, 2, 2, 2]  # three of one token, three of two, two of three


def case(mode: str, *, order: Any = range(8), tokens: Any = TOKENS, **more: Any) -> Case:
    attributes = {
        "mode": mode, "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0, "ngram_counts": [0, 3, 9],
        "ngram_indexes": list(order), "pool_int64s": POOL, **more,
    }  # fmt: skip
    return Case(op="TfIdfVectorizer", inputs=(tokens,), attributes=attributes, note=f"{mode} {sorted(more)} {order}")


WEIGHTS = [0.5 + 0.25 * i for i in range(8)]
CASES = [
    *(case(mode) for mode in ("TF", "IDF", "TFIDF")),
    *(case(mode, weights=WEIGHTS) for mode in ("TF", "IDF", "TFIDF")),
    *(case("TF", max_skip_count=skip) for skip in (1, 3, 9)),
    case("TF", min_gram_length=2),
    case("TF", order=(3, 0, 7, 1, 2, 6, 4, 5)),
    case("TF", tokens=TOKENS[0].astype(np.int32)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (case("TFIDF", order=(1, 0, *range(2, 8)), weights=WEIGHTS), "out of order"),
        (case("TF", pool_strings=["a"]), "text"),
    ],
    ids=["weights out of order", "text"],
)
def test_what_is_refused(given: Case, why: str) -> None:
    with pytest.raises(MigrateError, match=why):
        graph_of(given)
