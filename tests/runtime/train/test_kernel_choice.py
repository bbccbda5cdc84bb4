"""Which kernels a run computes with: references by default, proved ones where asked, recalled ones when it goes on."""

import dataclasses
import json

import pytest
import torch
from torch import nn

from migrate.opmap import load_target, resolve
from runtime import kernels
from runtime.comm import World
from runtime.hal import open_device
from runtime.kernels import trial
from runtime.package import PackageError
from runtime.train import Request, kernel_choice, train
from runtime.train.run import build_run
from runtime.train.settings import from_tables

PROVE = {"kernels": {"prove": True}}
FASTER, SLOWER = [2.0] * 9, [0.5] * 9


@pytest.fixture(autouse=True)
def no_choices():
    yield
    kernels.reset()


@pytest.fixture
def speed(monkeypatch):
    """Sets what every timing gives, so that a choice depends on no clock; correctness is still tried."""

    def give(ratios):
        monkeypatch.setattr(trial, "ratios", lambda *_: ratios)

    return give


@pytest.fixture
def no_measuring(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a kernel was measured")

    return lambda: monkeypatch.setattr(kernels, "prove", refuse)


@pytest.fixture
def network(package):
    """A package whose step draws random numbers and changes statistics."""

    def load_model(pretrained=True):
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2)).eval()

    return dataclasses.replace(package, load_model=load_model)


def run(package, directory, steps=6, resume=None, device="cpu", **tables):
    settings = from_tables(
        {"optimizer": {"lr": 0.05}, **tables, "checkpoint": {"directory": str(directory), "every": 2}}
    )
    train(package, settings, Request(device=device, steps=steps, resume=resume, as_json=True))
    return (directory / "weights.safetensors").read_bytes()


def plain_adamw(model, settings):
    decayed = [p for p in model.parameters() if p.ndim > 1]
    free = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": free, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)


def test_by_default_the_bytes_are_those_of_torch(network, tmp_path, monkeypatch, no_measuring, capsys):
    no_measuring()
    ours = run(network, tmp_path / "ours")
    monkeypatch.setattr("runtime.train.run.build_optimizer", plain_adamw)
    assert run(network, tmp_path / "theirs") == ours
    assert not (tmp_path / "ours" / "kernels.json").exists() and "kernel" not in capsys.readouterr().err


def test_a_proof_that_chooses_nothing_leaves_no_trace_in_the_weights(network, tmp_path, speed, capsys):
    speed(SLOWER)
    default = run(network, tmp_path / "default")
    assert run(network, tmp_path / "proved", **PROVE) == default
    assert "adamw" in capsys.readouterr().err
    verdicts = json.loads((tmp_path / "proved" / "kernels.json").read_text())["verdicts"]
    assert verdicts and not any(v["chosen"] for v in verdicts)


def test_a_resumed_run_recalls_and_ends_with_the_same_bytes(network, tmp_path, speed, no_measuring, capsys):
    speed(FASTER)
    default = run(network, tmp_path / "default")
    whole = run(network, tmp_path / "whole", **PROVE)
    assert whole != default, "the chosen kernel rounds like the reference, so that nothing is shown here"
    run(network, tmp_path / "parts", steps=3, **PROVE)
    no_measuring()
    capsys.readouterr()
    assert run(network, tmp_path / "parts", resume="auto", **PROVE) == whole
    assert "chosen" in capsys.readouterr().err
    older = str(tmp_path / "parts" / "step-00000004")
    assert run(network, tmp_path / "other", steps=5, resume=older, **PROVE)
    assert run(network, tmp_path / "other", resume="auto", **PROVE) == whole


def test_a_default_run_after_a_proved_one_runs_references(network, tmp_path, speed):
    speed(FASTER)
    default = run(network, tmp_path / "default")
    assert run(network, tmp_path / "proved", **PROVE) != default
    assert run(network, tmp_path / "again") == default


def test_fp16_observes_the_update_too(network, tmp_path, speed):
    speed(FASTER)
    precision = {"precision": {"mode": "fp16", "force": True}}
    run(network, tmp_path / "c", steps=1, **precision, **PROVE)
    verdicts = json.loads((tmp_path / "c" / "kernels.json").read_text())["verdicts"]
    assert any(v["chosen"] and v["request"]["kernel"] == "adamw" for v in verdicts)


def test_the_switch_overrides_a_proof(network, tmp_path, speed, monkeypatch, no_measuring, capsys):
    speed(FASTER)
    default = run(network, tmp_path / "default")
    run(network, tmp_path / "proved", steps=2, **PROVE)
    no_measuring()
    monkeypatch.setenv("MIGRATE_KERNELS", "reference")
    assert run(network, tmp_path / "fresh", **PROVE) == default
    run(network, tmp_path / "proved", resume="auto", **PROVE)
    assert capsys.readouterr().err.count("kernels: the references run; MIGRATE_KERNELS=reference") == 2


def test_a_run_that_proved_nothing_goes_on_with_references(network, tmp_path, speed, no_measuring, capsys):
    speed(FASTER)
    no_measuring()
    default = run(network, tmp_path / "default")
    run(network, tmp_path / "c", steps=3)
    assert run(network, tmp_path / "c", resume="auto", **PROVE) == default
    said = capsys.readouterr().err
    assert "changed since the checkpoint: kernels.prove" in said and "a resumed run proves nothing" in said


def test_verdicts_that_do_not_hold_here_are_not_used(network, tmp_path, speed, capsys):
    speed(FASTER)
    run(network, tmp_path / "c", steps=3, **PROVE)
    store = tmp_path / "c" / "kernels.json"
    store.write_text(store.read_text().replace('"machine": "torch', '"machine": "another torch'))
    run(network, tmp_path / "c", resume="auto", **PROVE)
    assert "does not hold for every process" in capsys.readouterr().err
    assert not kernels.explain("adamw", torch.device("cpu"))


def test_a_damaged_record_is_named(network, tmp_path, speed):
    speed(SLOWER)
    run(network, tmp_path / "c", steps=3, **PROVE)
    (tmp_path / "c" / "kernels.json").write_text("[]")
    with pytest.raises(PackageError, match=r"kernels\.json cannot be read"):
        run(network, tmp_path / "c", resume="auto", **PROVE)


def test_a_fresh_run_moves_the_record_aside_and_proves_anew(network, tmp_path, speed):
    speed(SLOWER)
    run(network, tmp_path / "c", steps=2, **PROVE)
    old = (tmp_path / "c" / "kernels.json").read_bytes()
    speed(FASTER)
    run(network, tmp_path / "c", steps=2, **PROVE)
    assert (tmp_path / "c" / "earlier-1" / "kernels.json").read_bytes() == old
    assert (tmp_path / "c" / "kernels.json").read_bytes() != old


def test_one_process_where_a_choice_does_not_hold_switches_it_off_everywhere(network, speed, monkeypatch, capsys):
    speed(FASTER)
    built = build_run(network, from_tables(PROVE), Request(device="cpu"), open_device("cpu"), World())
    verdicts = kernels.prove(kernel_choice.observed_calls(built))
    assert any(v.chosen for v in verdicts)
    monkeypatch.setattr(World, "sum", lambda self, values: values + 1)
    kernel_choice._use(built, verdicts)
    assert not kernels.explain("adamw", torch.device("cpu")) and "note: kernels" in capsys.readouterr().err


@pytest.fixture
def on_vendor_a(network):
    """The package for the reference target: emulated, with the target's own operator table."""
    (network.directory / "target.json").write_text(json.dumps(resolve(load_target("vendor_a"))))
    yield network
    torch.autograd.set_multithreading_enabled(True)


def test_the_emulated_device_proves_nothing_and_gives_the_bytes_of_the_host(
    on_vendor_a, tmp_path, no_measuring, capsys
):
    no_measuring()
    host = run(on_vendor_a, tmp_path / "host")
    capsys.readouterr()
    assert run(on_vendor_a, tmp_path / "emulated", device="vendor_a", **PROVE) == host
    said = capsys.readouterr().err
    assert said.count("kernels:") == 1 and "the time of vendor_a is virtual" in said


# the first process measures, the second must not; each writes the weights that it holds in the end
WORKER = """
from pathlib import Path

from safetensors.torch import save_file

import tiny
from tiny.config import INPUTS, OUTPUTS, SIZES
from tiny.loss import TARGETS, compute_loss
from tiny.runtime import kernels
from tiny.runtime.comm import end_process
from tiny.runtime.kernels import trial
from tiny.runtime.package import Package
from tiny.runtime.train import Request, load_settings, loop, train


def ratios(call, reference, run, repeats):
    import torch.distributed as dist

    assert dist.get_rank() == 0, "the second process measures"
    return [2.0] * repeats


def run_steps(run, *arguments):
    done = steps(run, *arguments)
    save_file({n: t.clone() for n, t in run.state.weights().items() if "running" not in n}, f"rank{run.world.rank}")
    chosen = [v.implementation for v in kernels.explain("adamw", run.device.torch_device) if v.chosen]
    Path(f"chosen{run.world.rank}").write_text(" ".join(chosen))
    return done


trial.ratios = ratios
steps, loop.run_steps = loop.run_steps, run_steps
package = Package(
    name="tiny", directory=Path(tiny.__file__).parent, load_model=tiny.load_model, compute_loss=compute_loss,
    inputs=INPUTS, outputs=OUTPUTS, targets=TARGETS, sizes=SIZES,
)
overrides = ["kernels.prove=true", "distributed.sync_batch_norm=true"]
train(package, load_settings(package.directory / "train.toml", overrides), Request(device="cpu", steps=4))
end_process(0)
"""


def test_two_processes_compute_with_the_same_kernels(tiny):
    (tiny.root / "worker.py").write_text(WORKER)
    launcher = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ran = tiny.python(*launcher, "worker.py")
    assert ran.status == 0, ran.err
    assert (tiny.root / "rank0").read_bytes() == (tiny.root / "rank1").read_bytes()
    chosen = [(tiny.root / f"chosen{rank}").read_text() for rank in (0, 1)]
    assert chosen[0] == chosen[1] != ""
    assert (tiny.root / "local" / "checkpoints" / "kernels.json").is_file()


def test_the_command_says_what_it_chose(tiny):
    ran = tiny.run("train", "--steps", "2", "--json", "--set", "kernels.prove=true")
    assert ran.status == 0 and len(ran.losses) == 2
    assert "error/reference" in ran.err and (tiny.root / "local" / "checkpoints" / "kernels.json").is_file()


@pytest.mark.slow
def test_two_processes_on_the_emulated_device_give_the_losses_of_the_host(tiny):
    (tiny.directory / "target.json").write_text(json.dumps(resolve(load_target("vendor_a"))))
    arguments = ["train", "--steps", "4", "--json", "--set", "kernels.prove=true", "--device"]
    emulated, host = tiny.torchrun(2, *arguments, "vendor_a"), tiny.torchrun(2, *arguments, "cpu")
    assert emulated.status == host.status == 0, emulated.err + host.err
    assert emulated.losses == pytest.approx(host.losses, rel=1e-5)
