"""Selection by proof: planted kernels, the store, and the switch back."""

from dataclasses import replace

import pytest
import torch

from runtime import kernels
from runtime.kernels import registry, select, trial, verdict
from runtime.kernels.reference.swiglu import swiglu as reference
from runtime.kernels.registry import Implementation
from runtime.kernels.request import Call

HOST = torch.device("cpu")
RUNS = []


def quick(gate, up):
    RUNS.append("quick")
    return reference(gate, up)


def quicker(gate, up):
    RUNS.append("quicker")
    return reference(gate, up)


def wrong(gate, up):
    return reference(gate, up) * 1.01


def wrong_backward(gate, up):
    out = reference(gate, up)
    if out.requires_grad:
        out.register_hook(lambda grad: grad * 1.01)
    return out


def crashing(gate, up):
    raise RuntimeError("device fault")


COST = {quick: 3e-4, quicker: 1e-4}
REFERENCE_COST = 1e-3


class Clock:
    """Time that passes only where a test says so: no verdict here depends on how busy the machine is."""

    now = 0.0

    def read(self):
        return self.now

    def busy(self, seconds):
        self.now += seconds


CLOCK = Clock()


def planted(run, problem=None, cost=None):
    """An implementation that takes a known time."""

    def timed(*args):
        CLOCK.busy(COST.get(run, 1e-5) if cost is None else cost)
        return run(*args)

    return Implementation(name=f"portable/{run.__name__}", run=timed, source="1", problem=problem)


@pytest.fixture(autouse=True)
def slow_reference(monkeypatch, tmp_path):
    def slow(gate, up):
        CLOCK.busy(REFERENCE_COST)
        return reference(gate, up)

    monkeypatch.setattr(trial, "perf_counter", CLOCK.read)
    monkeypatch.setitem(registry.REFERENCE, "swiglu", slow)
    monkeypatch.setattr(registry, "ROOT", tmp_path)
    (tmp_path / "portable").mkdir()
    kernels.reset()
    RUNS.clear()
    yield
    kernels.reset()


def plant(monkeypatch, *implementations):
    """Put implementations where the registry looks for them."""
    by_name = {i.name: i for i in implementations}
    for name in by_name:
        (registry.ROOT / f"{name}.py").touch()
    monkeypatch.setattr(registry, "candidates", lambda kernel, device: list(by_name.values()))
    monkeypatch.setattr(registry, "load", lambda name, device: by_name[name])


def sample(grad=True):
    x = torch.zeros(4, 8, requires_grad=grad)
    return Call.of("swiglu", x, x)


def answer(rows=4):
    x = torch.randn(rows, 8, requires_grad=True)
    RUNS.clear()
    kernels.swiglu(x, x)
    return RUNS[-1] if RUNS else "reference"


def test_right_and_faster_is_chosen():
    found = select.judge(sample(), planted(quick))
    assert found.chosen and found.reason == "right and faster"
    assert found.error == found.reference_error > 0
    assert found.slowest == pytest.approx(found.fastest) == pytest.approx(REFERENCE_COST / COST[quick])


@pytest.mark.parametrize("run", [wrong, wrong_backward])
def test_wrong_is_refused_however_fast(run):
    found = select.judge(sample(), planted(run))
    assert not found.chosen and "wrong" in found.reason and found.error > found.reference_error
    assert found.speedup is None


def test_wrong_backward_does_no_harm_without_gradients():
    assert select.judge(sample(grad=False), planted(wrong_backward)).chosen


@pytest.mark.parametrize("cost", [2e-3, REFERENCE_COST * 0.99])
def test_slow_is_refused_however_right(cost):
    found = select.judge(sample(), planted(quick, cost=cost))
    assert not found.chosen and "not faster" in found.reason and found.speedup < 1.05


def test_failure_is_a_verdict():
    assert "device fault" in select.judge(sample(), planted(crashing)).reason


def test_unavailable_is_never_run():
    found = select.judge(sample(), planted(crashing, problem="no driver"))
    assert (found.chosen, found.reason, found.error) == (False, "no driver", None)


def test_the_fastest_answers(monkeypatch):
    plant(monkeypatch, planted(wrong), planted(quicker), planted(quick))
    assert answer() == "reference"
    found = kernels.prove([sample()])
    assert [v.chosen for v in found] == [False, True, False]
    assert found[2].reason == "portable/quicker is faster"
    assert answer() == "quicker" and answer(rows=9) == "reference"
    with kernels.reference_only():
        assert answer() == "reference"


def test_nothing_is_measured_by_calls(monkeypatch):
    plant(monkeypatch, planted(quick))
    monkeypatch.setattr(select, "judge", lambda *_: pytest.fail("measured"))
    assert answer() == "reference"


def test_observed_calls_are_proved(monkeypatch):
    plant(monkeypatch, planted(quick))
    with kernels.observe() as seen:
        answer()
    assert [v.chosen for v in kernels.prove(seen)] == [True]
    assert answer() == "quick"


def test_store_is_loaded_without_measuring(monkeypatch, tmp_path):
    plant(monkeypatch, planted(quick), planted(wrong))
    store = tmp_path / "kernels.json"
    first = kernels.prove([sample()], store)
    kernels.reset()
    monkeypatch.setattr(select, "judge", lambda *_: pytest.fail("measured"))
    assert kernels.load(store, HOST) == []
    assert answer() == "quick"
    assert kernels.explain("swiglu", HOST) == first == kernels.prove([sample()], store)


def test_missing_store_chooses_nothing(tmp_path):
    assert kernels.load(tmp_path / "none.json", HOST) == []


@pytest.mark.parametrize("change", [{"source": "2"}, {"machine": "elsewhere"}, {"implementation": "portable/gone"}])
def test_stale_verdicts_are_returned_not_used(monkeypatch, tmp_path, change):
    plant(monkeypatch, planted(quick))
    stale = [replace(v, **change) for v in kernels.prove([sample()])]
    kernels.reset()
    assert kernels.activate(stale, HOST) == stale
    assert answer() == "reference"
    verdict.write(tmp_path / "kernels.json", stale)
    measured = kernels.prove([sample()], tmp_path / "kernels.json")
    assert [v.chosen for v in measured] == [True] and answer() == "quick"


def test_verdicts_of_another_device_are_left_alone(monkeypatch):
    plant(monkeypatch, planted(quick))
    found = kernels.prove([sample()])
    kernels.reset()
    assert kernels.activate(found, torch.device("meta")) == []
    assert answer() == "reference"


def test_a_choice_that_no_longer_holds_is_withdrawn(monkeypatch):
    plant(monkeypatch, planted(quick))
    kernels.prove([sample()])
    plant(monkeypatch, replace(planted(wrong), name="portable/quick", source="2"))
    kernels.prove([sample()])
    assert answer() == "reference"


def test_machine_names_pytorch_and_the_processor():
    assert torch.__version__ in select.machine(HOST)
