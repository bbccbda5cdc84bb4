"""Start a command and measure it: `python -m benchmarks.launch COMMAND...` prints wall seconds, peak memory and exit status.

A process inherits the peak of the one that starts it until it has more of its own, so the starter must be small: this module
imports the standard library only. Peak memory is that of the largest process of the command's tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that has ended; `output` is the end of what it printed."""

    seconds: float
    peak_mib: float
    status: int
    output: str


def launch(command: list[str], limit: float = 600.0) -> Finished:
    """Run a command through a small process of its own.

    Raises:
        subprocess.TimeoutExpired: after `limit` seconds.
    """
    own = [sys.executable, "-m", "benchmarks.launch", *command]
    done = subprocess.run(own, capture_output=True, text=True, check=True, timeout=limit)
    return Finished(**json.loads(done.stdout))


def child(*arguments: str, limit: float = 900.0) -> Any:
    """What a module of this package prints, as JSON.

    Raises:
        RuntimeError: it failed.
        subprocess.TimeoutExpired: after `limit` seconds.
    """
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main(command: list[str]) -> None:
    """Run `command` to its end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    found = {"seconds": time.perf_counter() - start, "peak_mib": usage.ru_maxrss / 1024, "status": process.returncode}
    print(json.dumps(found | {"output": text[-2000:]}))


if __name__ == "__main__":
    main(sys.argv[1:])
