"""The trace has every call of every module, in order."""

import torch
from torch import nn

from runtime.hal import open_device
from runtime.verify import GoldenCase, read_trace, write_trace


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)
        self.rnn = nn.GRU(3, 3, batch_first=True)

    def forward(self, x):
        x = self.act(x)
        y, _ = self.rnn(x)
        return self.act(y + 1), x


def test_calls_are_numbered_and_ordered(tmp_path):
    x = torch.randn(2, 4, 3)
    case = GoldenCase(name="c", inputs=(x,), outputs=())
    write_trace(tmp_path / "t.safetensors", Twice().eval(), case, open_device("cpu"))
    trace = read_trace(tmp_path / "t.safetensors")
    assert list(trace) == ["act#0", "rnn#0.0", "rnn#0.1", "act#1", "(model)#0.0", "(model)#0.1"]
    assert torch.equal(trace["act#0"], x.relu()) and torch.equal(trace["act#1"], trace["(model)#0.0"])


def test_a_perturbed_case_is_traced_perturbed(tmp_path):
    model, x = nn.Linear(3, 3), torch.randn(2, 3)
    for sigma in (0.0, 0.05):
        case = GoldenCase(name="c", inputs=(x,), outputs=(), seed=1, sigma=sigma)
        write_trace(tmp_path / f"{sigma}", model, case, open_device("cpu"))
    plain, moved = (read_trace(tmp_path / f"{sigma}")["(model)#0"] for sigma in (0.0, 0.05))
    assert torch.equal(plain, model(x).detach()) and not torch.equal(plain, moved)
