"""The loop: losses fall, faults stop it, and an interrupted run ends with the bytes of an uninterrupted one."""

import dataclasses
import math
import re
import signal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from runtime.package import PackageError
from runtime.train import Request, train
from runtime.train.settings import from_tables


def run(package, directory, steps=6, resume=None, tables=None):
    settings = from_tables(
        {"optimizer": {"lr": 0.05}, **(tables or {}), "checkpoint": {"directory": str(directory), "every": 2}}
    )
    train(package, settings, Request(device="cpu", steps=steps, resume=resume, as_json=True))
    return (directory / "weights.safetensors").read_bytes()


def test_the_loss_falls(package, tmp_path, capsys):
    run(package, tmp_path / "c", steps=20)
    losses = [float(value) for value in re.findall(r'"loss": ([\d.e-]+)', capsys.readouterr().out)]
    assert len(losses) == 20 and losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("tables", [{}, {"optimizer": {"name": "sgd", "lr": 0.01}}, {"data": {"samples": 11}}])
def test_a_resumed_run_ends_with_the_same_bytes(package, tmp_path, tables):
    whole = run(package, tmp_path / "whole", tables=tables)
    run(package, tmp_path / "parts", steps=3, tables=tables)
    assert run(package, tmp_path / "parts", resume="auto", tables=tables) == whole
    from_an_older_one = run(
        package, tmp_path / "other", resume=str(tmp_path / "parts" / "step-00000004"), tables=tables
    )
    assert from_an_older_one == whole


def test_a_fp16_run_resumes_to_the_bit_and_survives_overflow(package, tmp_path, capsys):
    tables = {"precision": {"mode": "fp16", "force": True}}
    whole = run(package, tmp_path / "whole", tables=tables)
    run(package, tmp_path / "parts", steps=3, tables=tables)
    assert run(package, tmp_path / "parts", resume="auto", tables=tables) == whole
    assert all(torch.isfinite(t).all() for t in load_file(tmp_path / "whole" / "weights.safetensors").values())


def test_nothing_is_left_to_do(package, tmp_path, capsys):
    run(package, tmp_path / "c")
    run(package, tmp_path / "c", resume="auto")
    assert "nothing to do" in capsys.readouterr().err


def test_changed_settings_are_remarked(package, tmp_path, capsys):
    run(package, tmp_path / "c", steps=2)
    run(package, tmp_path / "c", steps=4, resume="auto", tables={"optimizer": {"lr": 0.1}})
    assert "changed since the checkpoint: optimizer.lr" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("factor", "message"), [(math.nan, "the loss is nan at step 1"), (1e30, "the gradient norm is inf at step 1")]
)
def test_a_run_that_is_not_finite_stops(package, tmp_path, factor, message):
    def compute_loss(model, inputs, targets):
        return (model(*inputs) * factor).abs().mean() * (1.0 if math.isnan(factor) else 1e8)

    with pytest.raises(PackageError, match=message) as caught:
        run(dataclasses.replace(package, compute_loss=compute_loss), tmp_path / "c")
    assert caught.value.status == 1 and not (tmp_path / "c" / "latest").exists()


def test_npz_data_trains(package, tmp_path):
    (tmp_path / "data").mkdir()
    generator = np.random.default_rng(0)
    for i in range(2):
        x = generator.normal(size=(16, 3)).astype(np.float32)
        np.savez(tmp_path / "data" / f"{i}.npz", x=x, wanted=x[:, :2] * 2)
    tables = {"data": {"kind": "npz", "path": str(tmp_path / "data")}, "schedule": {"name": "constant"}}
    run(package, tmp_path / "c", steps=200, tables=tables)
    weight = load_file(tmp_path / "c" / "weights.safetensors")["weight"]
    assert torch.allclose(weight, torch.tensor([[2.0, 0, 0], [0, 2, 0]]), atol=0.05)


def test_the_command_trains_and_says_so(tiny):
    ran = tiny.run("train", "--steps", "10", "--batch-size", "4", "--json")
    assert ran.status == 0 and ran.losses[-1] < ran.losses[0]
    assert [step["step"] for step in ran.steps] == list(range(1, 11))
    assert ran.steps[0].keys() >= {"step", "loss", "samples_per_s", "device", "lr", "grad_norm"}
    assert "finished at step 10" in ran.err


def test_a_run_stopped_by_sigterm_resumes_to_the_bit(tiny):
    arguments = ["train", "--steps", "400", "--json", "--set", "train.steps=400"]
    process = tiny.start(*arguments, "--checkpoint-dir", "stopped")
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped by SIGTERM" in err
    done = int(re.search(r"at step (\d+)", err)[1])
    assert 3 <= done < 400
    resumed = tiny.run(*arguments, "--checkpoint-dir", "stopped", "--resume", "auto")
    assert resumed.steps[0]["step"] == done + 1
    tiny.run(*arguments, "--checkpoint-dir", "whole")
    weights = [(tiny.root / name / "weights.safetensors").read_bytes() for name in ("stopped", "whole")]
    assert weights[0] == weights[1]


LOCAL = """
import torch


class Fixed(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 8, 8, generator=generator), torch.tensor(index % 5)


def dataset(settings):
    return Fixed()
"""


@pytest.mark.slow
def test_a_users_dataset_in_workers_gives_the_same_run(tiny):
    (tiny.root / "local").mkdir()
    (tiny.root / "local" / "data.py").write_text(LOCAL)
    arguments = ["train", "--steps", "3", "--json", "--set", "data.kind=local"]
    alone = tiny.run(*arguments)
    helped = tiny.run(*arguments, "--set", "data.workers=1")
    assert alone.status == helped.status == 0 and alone.losses == helped.losses
