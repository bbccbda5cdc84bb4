"""Conversion: `python -m benchmarks.conversion CASE --rounds N` measures one file in a process of its own and prints JSON.

In process: from a path to a module, converters in turn and in alternating order, after one round that is not counted. As a
command: fresh processes. `--once CONVERTER` converts once and prints what it took beside importing the converter.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.launch import Finished, launch
from benchmarks.models import CASES
from benchmarks.peers import available, converter, reason

BASE = "migrate"


def rounds_of(steps: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Wall seconds of each round; the first round is not counted. What a step leaves behind is collected between."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name in list(steps) if number % 2 else list(steps)[::-1]:
            gc.collect()
            start = time.perf_counter()
            steps[name]()
            if number:
                taken[name].append(time.perf_counter() - start)
    return taken


def summary(seconds: list[float], base: list[float]) -> dict[str, float]:
    """Minimum, median, and how long `base` takes for each second of these: by minima, and the median over rounds."""
    pairs = [b / s for b, s in zip(base, seconds, strict=True)]
    return {
        "min_s": min(seconds),
        "median_s": statistics.median(seconds),
        "base_by_min": min(base) / min(seconds),
        "base_by_median": statistics.median(pairs),
    }


def working(path: Path) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """The converters that take a file, and why the others do not."""
    steps: dict[str, Callable[[], object]] = {}
    refused: dict[str, str] = {}
    for name in available():
        convert = converter(name)
        try:
            convert(path)
        except Exception as fault:  # each converter fails in its own way
            refused[name] = reason(fault)
        else:
            steps[name] = lambda convert=convert: convert(path)
    return steps, refused


def in_process(name: str, rounds: int, full: bool) -> dict[str, Any]:
    """One file: all converters, migrate's whole flow, and where migrate's time goes."""
    from benchmarks.stages import breakdown

    path = CASES[name].file()
    steps, refused = working(path)
    taken = rounds_of(steps, rounds)
    found = {peer: summary(seconds, taken[BASE]) for peer, seconds in taken.items()}
    parts = [breakdown(steps[BASE]) for _ in range(rounds)]
    stages = {stage: statistics.median(part[stage] for part in parts) for stage in parts[0]}
    whole = _whole(path) if full else {}
    return {"case": name, "rounds": rounds, "peers": found, "refused": refused, "stages": stages, "whole": whole}


def _whole(path: Path) -> dict[str, dict[str, float]]:
    """`migrate.convert`: the package on disk, its audit and its report, without and with verification; once each."""
    import migrate
    from migrate.pipeline import Options

    found: dict[str, dict[str, float]] = {}
    for label, verify in (("without", False), ("with", True)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            migrate.convert(path, "cpu", Path(folder) / "package", Options(name="m", verify=verify))
            seconds = [time.perf_counter() - start]
        found[f"convert, {label} verification"] = summary(seconds, seconds)
    return found


def once(name: str, peer: str) -> dict[str, float]:
    """One conversion in this process: seconds without the imports of the converter."""
    convert, path = converter(peer), CASES[name].file()
    start = time.perf_counter()
    convert(path)
    return {"seconds": time.perf_counter() - start}


def as_command(name: str, peers: list[str], rounds: int, full: bool) -> dict[str, dict[str, float]]:
    """Fresh processes: each converter from a path to a module and, for migrate, the command that writes the package."""
    path = CASES[name].file()
    commands = {
        f"{peer}: to a module": [sys.executable, "-m", "benchmarks.conversion", name, "--once", peer] for peer in peers
    }
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "m")
        command = [sys.executable, "-c", "from migrate.cli import main; main()", "convert", str(path)]
        command += ["--target", "cpu", "-o", out, "--name", "m", "--overwrite"]
        commands["migrate convert --no-verify"] = [*command, "--no-verify"]
        if full:
            commands["migrate convert"] = command
        finished: dict[str, list[Finished]] = {label: [] for label in commands}
        for number in range(rounds):
            for label in list(commands) if number % 2 else list(commands)[::-1]:
                finished[label].append(_succeeded(label, launch(commands[label])))
    return {label: _command_summary(runs) for label, runs in finished.items()}


def _succeeded(label: str, run: Finished) -> Finished:
    if run.status:
        raise RuntimeError(f"{label} ended with status {run.status}: {run.output[-500:]}")
    return run


def _command_summary(runs: list[Finished]) -> dict[str, float]:
    seconds = [run.seconds for run in runs]
    peaks = [run.peak_mib for run in runs]
    return {"min_s": min(seconds), "median_s": statistics.median(seconds), "peak_mib": statistics.median(peaks)}


def main() -> None:
    """Measure one file and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--full", action="store_true", help="also migrate's whole flow")
    parser.add_argument("--once", metavar="CONVERTER")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.case, options.once)))
    else:
        print(json.dumps(in_process(options.case, options.rounds, options.full)))


if __name__ == "__main__":
    main()
