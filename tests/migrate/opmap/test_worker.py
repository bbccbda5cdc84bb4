from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from migrate.opmap.trace import worker_environment

LARGE = """
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 8192)
        self.layers = nn.Sequential(*(nn.Linear(8192, 8192) for _ in range(16)))
        self.head = nn.Linear(8192, 8)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))
"""


def work(directory: Path, name: str, *options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "migrate.opmap.worker", str(directory), name, *options]
    done = subprocess.run(command, env=worker_environment(), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_worker_prints_one_document(package: Callable[..., Path]):
    options = ["--target", "vendor_b", "--batch", "2", "--precision", "fp32", "--optimizer", "sgd"]
    document = work(package("cnn"), "cnn", *options)
    assert (document["target"], document["batch"], document["optimizer"]) == ("vendor_b", 2, "sgd")
    rows: list[dict[str, object]] = document["rows"]  # type: ignore[assignment]
    assert {row["phase"] for row in rows} == {"forward", "loss", "backward", "clip", "setup", "optimizer"}
    assert not any(row["operator"] == "_foreach_addcdiv_.ScalarList" for row in rows)


@pytest.mark.slow
def test_a_large_model_is_traced_without_memory_for_it(package: Callable[..., Path]):
    document = work(package("large", LARGE), "large", "--target", "vendor_b", "--batch", "64")
    memory: dict[str, int] = document["memory"]  # type: ignore[assignment]
    assert memory["parameters"] > 4 * 2**30
    # The largest child of this process so far, in KiB: all of torch, and none of the weights.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 2**20
