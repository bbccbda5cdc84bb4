"""Support vector machines: kernels, decisions between pairs of classes, and what follows from these (Chang and Lin 2011).

Knows nothing of the source a model came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

ROUNDS = 100
SMALLEST = 1e-7


def kernel(
    x: Tensor, support: Tensor, kind: str, gamma: float = 1.0, offset: float = 0.0, degree: float = 1.0
) -> Tensor:
    """How alike each sample is to each support vector.

    Args:
        x: (N, F).
        support: (S, F).
        kind: `linear`, `polynomial`, `rbf` or `sigmoid`.
        gamma: what products, or squared distances, are multiplied by.
        offset: what is added to products.
        degree: of the polynomial.

    Returns:
        (N, S).
    """
    if kind == "rbf":
        return torch.exp(-gamma * (x.unsqueeze(1) - support).square().sum(-1))
    products = x @ support.T
    if kind == "linear":
        return products
    moved = gamma * products + offset
    return moved.tanh() if kind == "sigmoid" else moved**degree


def decisions(alike: Tensor, coefficients: Tensor, rho: Tensor, counts: Sequence[int]) -> Tensor:
    """For each pair of classes (i < j, in order) a number that is positive for class i.

    Args:
        alike: (N, S), the support vectors in the order of their classes.
        coefficients: (C - 1, S), what each support vector counts against each other class.
        rho: (P,), the offset of each pair.
        counts: how many support vectors each of the C classes has.

    Returns:
        (N, P).
    """
    own, weights = alike.split(list(counts), -1), coefficients.split(list(counts), -1)
    pairs = [own[i] @ weights[i][j - 1] + own[j] @ weights[j][i] for i, j in combinations(range(len(counts)), 2)]
    return torch.stack(pairs, -1) + rho


def winners(decided: Tensor, num_classes: int) -> Tensor:
    """The class for which most pairs are, the first of those that have as many: (N,) from (N, P)."""
    votes = [decided.new_zeros(len(decided)) for _ in range(num_classes)]
    for pair, (i, j) in enumerate(combinations(range(num_classes), 2)):
        first = (decided[:, pair] > 0).to(decided.dtype)
        votes[i], votes[j] = votes[i] + first, votes[j] + 1 - first
    return torch.stack(votes, -1).argmax(-1)


def probabilities(decided: Tensor, slope: Tensor, shift: Tensor, num_classes: int) -> Tensor:
    """The probability of each class, from those of the pairs (Platt 1999; Wu, Lin and Weng 2004, the second approach).

    As libsvm finds them: each sample until its error is below 0.005 / C. All rounds run: nothing waits for data.

    Args:
        decided: (N, P).
        slope: (P,), with `shift` the sigmoid that makes a probability of a decision.
        shift: (P,).
        num_classes: C.

    Returns:
        (N, C).
    """
    q = _couplings(torch.sigmoid(-(decided * slope + shift)).clamp(SMALLEST, 1 - SMALLEST), num_classes)
    p = decided.new_full((len(decided), num_classes), 1 / num_classes)
    active = torch.ones(len(decided), dtype=torch.bool, device=decided.device)
    for _ in range(ROUNDS):
        qp = (q @ p.unsqueeze(-1)).squeeze(-1)
        total = (p * qp).sum(-1, keepdim=True)
        active = active & ((qp - total).abs().amax(-1) >= 0.005 / num_classes)
        p = torch.where(active.unsqueeze(-1), _round(p, q, qp, total), p)
    return p


def _couplings(pairs: Tensor, num_classes: int) -> Tensor:
    """The (N, C, C) form whose minimum the probabilities are, from how probable the first class of each pair is."""
    r: dict[tuple[int, int], Tensor] = {}
    for pair, (i, j) in enumerate(combinations(range(num_classes), 2)):
        r[i, j], r[j, i] = pairs[:, pair], 1 - pairs[:, pair]
    classes = range(num_classes)
    diagonal = [torch.stack([r[j, i].square() for j in classes if j != i]).sum(0) for i in classes]
    rows = [torch.stack([diagonal[i] if i == j else -r[j, i] * r[i, j] for j in classes], -1) for i in classes]
    return torch.stack(rows, -2)


def _round(p: Tensor, q: Tensor, qp: Tensor, total: Tensor) -> Tensor:
    """Each probability once brought to where the others want it."""
    for i in range(p.shape[-1]):
        step = (total[:, 0] - qp[:, i]) / q[:, i, i]
        own = q[:, i, i]
        total = ((total[:, 0] + step * (step * own + 2 * qp[:, i])) / (1 + step).square()).unsqueeze(-1)
        whole = (1 + step).unsqueeze(-1)
        qp = (qp + step.unsqueeze(-1) * q[:, i]) / whole
        p = torch.cat((p[:, :i], p[:, i : i + 1] + step.unsqueeze(-1), p[:, i + 1 :]), -1) / whole
    return p
