"""The real files, by the commands that a user would type.

The default run takes one small file, another every day; `MIGRATE_SAMPLE=NAME` chooses it. The whole table is slow.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pytest

from tests.migrate.commands import migrate, package
from tests.models import NAMES, model_path

TARGETS = ("cpu", "vendor_a", "vendor_b")
SAMPLES = ("silero_sequence", "light_squeezenet", "ppocr_cls")
SMALLEST = ("silero_sequence", "ppocr_cls")


def sample() -> tuple[str, str]:
    """The file and the target of the day."""
    day = date.today().timetuple().tm_yday
    return os.environ.get("MIGRATE_SAMPLE") or SAMPLES[day % len(SAMPLES)], TARGETS[day // len(SAMPLES) % len(TARGETS)]


def converted(name: str, target: str, folder: Path) -> Path:
    """The package `m` of a file, which must be verified."""
    done = migrate("convert", model_path(name), "--target", target, "-o", "out", "--name", "m", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"]["outcome"] == "verified"
    assert any(weight["trainable"] for weight in report["inventory"]["weights"])
    return folder / "out"


def losses(folder: Path, *arguments: object) -> list[float]:
    """Of a training run on fixed synthetic data, one a step."""
    done = package(folder, "m", "train", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["loss"] for line in done.stdout.splitlines()]


def test_the_file_of_the_day(tmp_path: Path) -> None:
    name, target = sample()
    folder = converted(name, target, tmp_path)
    found = losses(folder, "--steps", 4, "--batch-size", 2)
    assert len(found) == 4 and found[-1] < found[0]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_verified_and_trains(name: str, target: str, tmp_path: Path) -> None:
    folder = converted(name, target, tmp_path)
    if target == "cpu":
        found = losses(folder, "--steps", 10, "--batch-size", 4)
        assert len(found) == 10 and found[-1] < found[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_train_on_the_emulated_device(name: str, tmp_path: Path) -> None:
    folder = converted(name, "vendor_a", tmp_path)
    found = losses(folder, "--steps", 10, "--batch-size", 4, "--device", "vendor_a")
    assert found[-1] < found[0]
