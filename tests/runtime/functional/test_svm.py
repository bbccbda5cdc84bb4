"""Support vector machines: against scikit-learn where that has the same function, and gradients."""

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.svm import SVC

from runtime.functional.svm import decisions, kernel, probabilities, winners

DATA = np.random.default_rng(0).standard_normal((40, 3))
CLASSES = np.arange(40) % 3
GIVEN = np.random.default_rng(1).standard_normal((6, 3))


@pytest.mark.parametrize(
    ("kind", "form", "theirs"),
    [
        ("linear", (), linear_kernel(GIVEN, DATA)),
        ("rbf", (0.4,), rbf_kernel(GIVEN, DATA, gamma=0.4)),
        ("sigmoid", (0.2, 0.1), sigmoid_kernel(GIVEN, DATA, gamma=0.2, coef0=0.1)),
        ("polynomial", (0.3, 0.5, 3), polynomial_kernel(GIVEN, DATA, gamma=0.3, coef0=0.5, degree=3)),
    ],
)
def test_kernels(kind: str, form: tuple[float, ...], theirs: np.ndarray) -> None:
    made = kernel(torch.from_numpy(GIVEN), torch.from_numpy(DATA), kind, *form)
    torch.testing.assert_close(made, torch.from_numpy(theirs))


def test_decisions_and_winners_are_those_of_a_trained_machine() -> None:
    machine = SVC(gamma=0.4, decision_function_shape="ovo", break_ties=False).fit(DATA, CLASSES)
    alike = kernel(torch.from_numpy(GIVEN), torch.from_numpy(machine.support_vectors_), "rbf", 0.4)
    weights = torch.from_numpy(machine.dual_coef_), torch.from_numpy(machine.intercept_)
    decided = decisions(alike, *weights, machine.n_support_.tolist())
    torch.testing.assert_close(decided, torch.from_numpy(machine.decision_function(GIVEN)))
    assert winners(decided, 3).tolist() == machine.predict(GIVEN).tolist()


def test_probabilities_are_a_distribution_that_agrees_with_the_pairs() -> None:
    """Where the pairs are consistent, the probabilities are those of which the pairs are the shares."""
    wanted = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
    pairs = torch.stack([wanted[:, i] / (wanted[:, i] + wanted[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))], -1)
    decided = (pairs / (1 - pairs)).log()
    found = probabilities(decided, -torch.ones(3), torch.zeros(3), 3)
    torch.testing.assert_close(found, wanted, atol=0.005, rtol=0)
    torch.testing.assert_close(found.sum(-1), torch.ones(1, dtype=torch.float64))


def test_gradients() -> None:
    generator = torch.Generator().manual_seed(0)
    x, support, weights, rho = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((4, 3), (6, 3), (2, 6), (3,))
    )
    slope, shift = -torch.ones(3, dtype=torch.float64, requires_grad=True), torch.zeros(3, dtype=torch.float64)

    def run(*given: torch.Tensor) -> torch.Tensor:
        x, support, weights, rho, slope = given
        return probabilities(decisions(kernel(x, support, "rbf", 0.4), weights, rho, (2, 3, 1)), slope, shift, 3)

    assert torch.autograd.gradcheck(run, (x, support, weights, rho, slope), fast_mode=True)
