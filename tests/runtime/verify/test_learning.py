"""How a module learns is measured without its random numbers, and leaves no trace."""

from collections.abc import Sequence

import pytest
import torch
from torch import nn

from runtime.verify.learning import STEPS, learning_of


class Net(nn.Module):
    """Dropout, statistics, attention with a rate of its own, and an entry that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.3, batch_first=True)
        self.lstm = nn.LSTM(8, 4, num_layers=2, dropout=0.4, batch_first=True)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.norm(self.first(x).relu()))[:, None]
        y = nn.functional.scaled_dot_product_attention(x, x, x, None, 0.2 if self.training else 0.0)
        return self.lstm(self.attention(x, x, y, need_weights=False)[0])[0]


def measured(module: nn.Module, seed: int = 0, **options) -> dict[str, torch.Tensor]:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    return learning_of(module, lambda given: [module(*given)], [x], seed, **options)


def test_nothing_is_drawn_and_nothing_is_left_behind() -> None:
    torch.manual_seed(0)
    module = Net().eval()
    before, state = {k: v.clone() for k, v in module.state_dict().items()}, torch.get_rng_state()
    found, again = measured(module), measured(module, seed=0)
    assert found.keys() == again.keys() and all(torch.equal(found[k], again[k]) for k in found)
    assert all(torch.equal(before[k], v) for k, v in module.state_dict().items())
    assert torch.equal(state, torch.get_rng_state()) and not module.training
    assert all(p.grad is None for p in module.parameters())


def test_what_is_measured() -> None:
    torch.manual_seed(0)
    found = measured(Net())
    assert found["curve/losses"].shape == (STEPS,) and found["curve/losses"].diff().abs().min() > 0
    assert "evaluation/gradient/first.weight" in found and not found["evaluation/gradient/unused"].any()
    assert not torch.equal(found["training/buffer/norm.running_mean"], torch.zeros(8))
    assert found["training/output/0"].shape == (4, 1, 4)


def test_a_module_without_modes_is_measured_in_its_own() -> None:
    torch.manual_seed(0)
    assert {name.split("/")[0] for name in measured(Net().eval(), training=False)} == {"evaluation", "float64"}


@pytest.mark.parametrize("rate", [None, 0.05])
def test_the_rate_of_the_curve_is_said(rate: float | None) -> None:
    torch.manual_seed(0)
    found = measured(Net(), rate=rate)
    assert 0 < found["curve/rate"].item() <= 0.1 and (rate is None or found["curve/rate"].item() == pytest.approx(rate))


def test_a_fault_of_the_module_leaves_it_as_it_was() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2)).eval()

    def run(given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        y = module(*given)
        if module.training:
            raise RuntimeError("only in training")
        return [y]

    with pytest.raises(RuntimeError):
        learning_of(module, run, [torch.ones(3, 6)], 0)
    assert not any(m.training for m in module.modules()) and not module[0].running_mean.any()


class Picky(nn.Linear):
    """Asks for float32, as code does that calls a kernel of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dtype == torch.float32
        return super().forward(x)


def test_it_is_measured_in_float64_where_the_module_can_and_left_in_float32() -> None:
    torch.manual_seed(0)
    for module, wide in ((Net(), True), (Picky(6, 2), False)):
        dtypes = {k: (v.dtype, v.data_ptr()) for k, v in module.state_dict().items()}
        found = measured(module)
        assert found["float64"].item() == wide
        assert found["training/output/0"].dtype == (torch.float64 if wide else torch.float32)
        assert {k: (v.dtype, v.data_ptr()) for k, v in module.state_dict().items()} == dtypes
    assert measured(Net(), float64=False)["float64"].item() == 0


def test_another_order_of_additions_is_no_difference_in_float64() -> None:
    class Deep(nn.Module):
        def __init__(self, backwards: bool) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU()) for _ in range(24))
            self.backwards = backwards

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = [x]
            for layer in self.layers:
                made.append(layer(sum(made[::-1] if self.backwards else made)))
            return made[-1]

    torch.manual_seed(0)
    one, other = Deep(backwards=False), Deep(backwards=True)
    other.load_state_dict(one.state_dict())

    def off(float64: bool) -> float:
        left, right = (measured(m, rate=0.1, float64=float64)["curve/losses"] for m in (one, other))
        return float(((left - right).abs() / right.abs()).max())

    assert off(float64=True) < 1e-13 < 1e-8 < off(float64=False)
