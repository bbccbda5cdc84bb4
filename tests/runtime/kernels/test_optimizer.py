"""FusedAdamW is torch.optim.AdamW: same numbers, same state, resumable to the bit, with and without a proved kernel."""

import copy

import pytest
import torch

from runtime import kernels
from runtime.kernels import registry
from runtime.kernels.dispatch import choose
from runtime.kernels.request import requested

HOST = torch.device("cpu")


@pytest.fixture(params=["reference", "cpu/adamw", "portable/adamw"])
def kernel(request):
    """Every implementation that runs here answers all AdamW calls."""
    kernels.reset()
    if request.param != "reference":
        found = registry.load(request.param, HOST)
        if found.problem:
            pytest.skip(found.problem)
        with torch.no_grad():
            params = list(model().parameters())
            asked = requested("adamw", (*[params] * 4, [torch.zeros(())] * len(params), *[0.0] * 5))
        choose(asked, found.run)
    yield request.param
    kernels.reset()


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def train(net, optimizer, steps, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(5, 6, generator=generator)).square().mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in net.parameters()]


def ours(net):
    return kernels.fused_adamw(net.parameters(), lr=1e-2, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)


def theirs(net):
    return torch.optim.AdamW(net.parameters(), lr=1e-2, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)


def test_numbers(kernel):
    found, expected = (train(net, make(net), 8) for net, make in ((model(), ours), (model(), theirs)))
    exact = kernel == "reference"
    torch.testing.assert_close(found, expected, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)


@pytest.mark.parametrize("makers", [(ours, ours), (ours, theirs), (theirs, ours)])
def test_state_moves_both_ways(kernel, makers):
    net = model()
    first = makers[0](net)
    train(net, first, 3)
    twin = copy.deepcopy(net)
    second = makers[1](twin)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    resumed, straight = train(twin, second, 3, seed=1), train(net, first, 3, seed=1)
    exact = makers == (ours, ours) or kernel == "reference"
    torch.testing.assert_close(resumed, straight, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
    torch.testing.assert_close(first.state_dict()["state"][0]["step"], torch.tensor(6.0))


def test_state_dict_has_the_same_keys(kernel):
    net = model()
    states = []
    for make in (ours, theirs):
        optimizer = make(net)
        train(net, optimizer, 1)
        states.append(optimizer.state_dict())
    assert states[0]["param_groups"][0].keys() == states[1]["param_groups"][0].keys()
    assert states[0]["state"][0].keys() == states[1]["state"][0].keys()


def test_groups_schedules_and_missing_gradients(kernel):
    results = []
    for make in (kernels.FusedAdamW, torch.optim.AdamW):
        net = model()
        groups = [{"params": net[0].parameters(), "lr": 0.1}, {"params": net[2].parameters(), "weight_decay": 0.0}]
        optimizer = make(groups, lr=1e-3)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        net[0].bias.requires_grad_(False)
        for _ in range(3):
            train(net, optimizer, 1)
            schedule.step()
        results.append([p.detach() for p in net.parameters()])
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)


def test_closure(kernel):
    net = model()
    optimizer = ours(net)

    def closure():
        optimizer.zero_grad()
        loss = net(torch.ones(2, 6)).sum()
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert optimizer.step(closure) < first


def test_complex_parameters_are_refused():
    weight = torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    weight.grad = torch.ones_like(weight)
    with pytest.raises(TypeError, match="complex"):
        kernels.fused_adamw([weight]).step()
