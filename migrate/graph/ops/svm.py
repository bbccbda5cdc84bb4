"""Support vector machines."""

from collections.abc import Callable
from typing import Any

from migrate.graph.ops import declare


def one_number_a_class(function: Callable[..., Any], decided: Any, slope: Any, shift: Any, num_classes: int) -> Any:
    """What the probabilities are like, without the rounds that lead to them."""
    del function, slope, shift
    return decided.new_empty((decided.shape[0], num_classes))


declare("svm_kernel", "runtime.functional.svm:kernel", learns=(1,))
declare("svm_decisions", "runtime.functional.svm:decisions", learns=(1, 2))
declare("svm_winners", "runtime.functional.svm:winners")
declare("svm_probabilities", "runtime.functional.svm:probabilities", learns=(1, 2), shapes=one_number_a_class)
