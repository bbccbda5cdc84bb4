import pytest
import torch

from runtime.functional.ngrams import count_ngrams

TOKENS = torch.tensor([[1, 2, 1, 2, 3], [2, 2, 2, 2, 2]])


@pytest.mark.parametrize(
    ("ngrams", "max_skip", "wanted"),
    [
        ([[1], [2]], 0, [[2, 2], [0, 5]]),
        ([[1], [2]], 3, [[2, 2], [0, 5]]),  # nothing lies between the tokens of a single one
        ([[1, 2], [2, 2]], 0, [[2, 0], [0, 4]]),
        ([[1, 2], [2, 2]], 1, [[2, 1], [0, 7]]),
        ([[1, 2, 1, 2, 3, 4]], 9, [[0], [0]]),  # longer than the text
    ],
)
def test_counts(ngrams: list[list[int]], max_skip: int, wanted: list[list[float]]) -> None:
    assert count_ngrams(TOKENS, torch.tensor(ngrams), max_skip).tolist() == wanted
