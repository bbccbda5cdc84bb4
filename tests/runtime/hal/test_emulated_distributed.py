"""Two processes, each with its own emulated device, train as one process does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WORKER = HERE / "emulated_worker.py"
ROOT = HERE.parents[2]


@pytest.mark.slow
def test_two_ranks(write: Callable[..., Path]) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [*command, str(WORKER), str(write())], capture_output=True, text=True, env=environment, timeout=300
    )
    assert run.returncode == 0, run.stderr[-4000:]
    results = json.loads(run.stdout.splitlines()[-1])
    for alone, together in results["data_parallel"]["losses"]:
        assert together == pytest.approx(alone, rel=1e-5)
    assert results["data_parallel"]["difference"] < 1e-4
    assert results["tensor_parallel"] < 1e-6
    assert results["collectives"] == {
        "gather": [0, 0, 1, 1],
        "scatter": [0, 2],
        "swap": [0, 2],
        "broadcast": [1, 1],
    }
