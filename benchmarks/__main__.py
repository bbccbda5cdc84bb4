"""Every benchmark: `python -m benchmarks [--quick] [SECTION ...]`.

conversion: from a path to a module, beside onnx2torch and onnx2pytorch, and where migrate's time goes. deep: the same for files
of thousands of nodes. large: peak memory of converting a file of 2.3 GB. memory: what is kept for the backward pass. commands:
conversion in fresh processes, with peak memory, and `migrate convert`. training, compiled: training steps of the modules.
pytorch: those of emitted modules beside the PyTorch modules that they were made from. kernels: the runtime's kernels. Prints
tables, and writes benchmarks/results/SECTION-DATE.json and .md; `--quick` writes nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import kernels
from benchmarks import pytorch as modules
from benchmarks.conversion import as_command
from benchmarks.launch import child
from benchmarks.memory import FILES
from benchmarks.models import CASES, TRAINED
from benchmarks.peers import available
from benchmarks.tables import (
    Table,
    command_table,
    conversion_table,
    large_table,
    memory_table,
    stage_table,
    training_table,
)

RESULTS = Path(__file__).parent / "results"
QUICK = ("nudenet", "basic_pitch", "mlp")
COMPILE_SECONDS = 120
Section = tuple[Any, list[Table]]


def say(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def conversion(quick: bool) -> Section:
    """In process."""
    results: list[dict[str, Any]] = []
    for name in QUICK if quick else CASES:
        say(f"conversion: {name}")
        whole = ["--full"] if not quick and name in QUICK else []
        results.append(child("benchmarks.conversion", name, "--rounds", "3" if quick else "11", *whole))
    main = [result for result in results if CASES[result["case"]].trained]
    return results, [conversion_table(results), stage_table(main)]


def deep(quick: bool) -> Section:
    """Files of many nodes, and how the time grows with them."""
    results: list[dict[str, Any]] = []
    for kind in ("transformer", "residual"):
        for nodes in (1000,) if quick else (1250, 2500, 5000, 10000):
            say(f"deep: {kind}, {nodes} nodes")
            results.append(child("benchmarks.deep", kind, "--nodes", str(nodes), "--rounds", "1" if quick else "3"))
    return results, [stage_table(results)]


def large(quick: bool) -> Section:
    """Files whose weights lie beside them."""
    say("large: a file of 2.3 GB" if not quick else "large: a small one")
    results = [child("benchmarks.large", "--rows", "1000" if quick else "8000")]
    return results, [large_table(results)]


def memory(quick: bool) -> Section:
    """What is kept for the backward pass."""
    results: list[dict[str, Any]] = []
    for name in ("gpt",) if quick else FILES:
        say(f"memory: {name}")
        results.append(child("benchmarks.memory", name))
    return results, [memory_table(results)]


def commands(quick: bool) -> Section:
    """In fresh processes."""
    results: dict[str, Any] = {}
    for name in ("mlp",) if quick else QUICK:
        say(f"commands: {name}")
        results[name] = as_command(name, available(), 1 if quick else 2, not quick)
    return results, [command_table(results)]


def training(quick: bool) -> Section:
    """Eager training steps."""
    names = ("nudenet", "silero_sequence", "mlp", "gpt") if quick else tuple(case.name for case in TRAINED)
    results = [_trained(name, "7" if quick else "31") for name in names]
    return results, [training_table(results, "Training steps, eager")]


def compiled(quick: bool) -> Section:
    """Compiled training steps."""
    names = ("mlp",) if quick else tuple(case.name for case in TRAINED if case.compiled)
    results = [_trained(name, "7" if quick else "31", "--compiled", str(COMPILE_SECONDS)) for name in names]
    return results, [training_table(results, "Training steps, torch.compile")]


def pytorch(quick: bool) -> Section:
    """Training steps of what PyTorch modules become, beside their own."""
    results: list[dict[str, Any]] = []
    for name in ("gpt", "unet") if quick else modules.CASES:
        say(f"pytorch: {name}")
        results.append(child("benchmarks.pytorch", name, "--rounds", "7" if quick else "31"))
    return results, [training_table(results, "Training steps of PyTorch modules", "the source module")]


def _trained(name: str, rounds: str, *more: str) -> dict[str, Any]:
    say(f"training: {name} {' '.join(more)}")
    case = CASES[name]
    rounds = str(max(3, int(rounds) // 4)) if case.slow else rounds
    try:
        found = child("benchmarks.training", name, "--rounds", rounds, *more, limit=4.0 * COMPILE_SECONDS)
    except (RuntimeError, subprocess.TimeoutExpired) as fault:
        what = f"the process failed: {type(fault).__name__}"
        found = {"case": name, "peers": {}, "refused": dict.fromkeys(available(), what)}
    return {**found, "batch": case.batch}


def run_kernels(quick: bool) -> None:
    """The runtime's kernels; they print and write for themselves."""
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside) if quick else RESULTS
        arguments = ["benchmarks.kernels", *(["--quick"] if quick else [])]
        with mock.patch.object(kernels, "RESULTS", folder), mock.patch.object(sys, "argv", arguments):
            kernels.main()


SECTIONS: dict[str, Callable[[bool], Section]] = {
    "conversion": conversion,
    "deep": deep,
    "large": large,
    "memory": memory,
    "commands": commands,
    "training": training,
    "compiled": compiled,
    "pytorch": pytorch,
}


def write(name: str, found: Any, tables: list[Table], machine: dict[str, object]) -> None:
    """The results of a section, as JSON and Markdown."""
    today = datetime.date.today().isoformat()
    RESULTS.mkdir(exist_ok=True)
    document = {"date": today, "section": name, "machine": machine, "results": found}
    (RESULTS / f"{name}-{today}.json").write_text(json.dumps(document, indent=1) + "\n")
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    text = f"# {name.capitalize()}, {today}\n\n{about}\n\n" + "\n".join(table.markdown() for table in tables)
    (RESULTS / f"{name}-{today}.md").write_text(text)


def main() -> None:
    """Run the chosen sections; all where none is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join([*SECTIONS, "kernels"]))
    parser.add_argument("--quick", action="store_true", help="few files and rounds; nothing is written")
    options = parser.parse_args()
    unknown = set(options.sections) - {*SECTIONS, "kernels"}
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in options.sections or [*SECTIONS, "kernels"]:
        if name == "kernels":
            run_kernels(options.quick)
            continue
        found, tables = SECTIONS[name](options.quick)
        print("\n".join(table.text() for table in tables), flush=True)
        if not options.quick:
            write(name, found, tables, kernels.machine())


if __name__ == "__main__":
    main()
