"""Kernels against what a training loop would run otherwise: `python -m benchmarks.kernels [--quick]`.

The peers of a case run interleaved in one process, in alternating order. Given are the best wall time and two ratios to the
first peer: of processor time, best against best (other programs on the machine hardly change it), and of wall time, the median
over rounds with its 10th and 90th percentile. Peak memory is the growth of the resident set over one step in a fresh process.
Prints a table and writes benchmarks/results/kernels-DATE.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from runtime import kernels
from runtime.kernels import dispatch, registry

RESULTS = Path(__file__).parent / "results"
HOST = torch.device("cpu")
Step = Callable[[], object]

SMALL = "64 rows, 128 -> 1000"
LOSSES = {"512 rows, 256 -> 32000": (512, 256, 32000), "1024 rows, 512 -> 32000": (1024, 512, 32000)}
LOSSES |= {"1024 rows, 128 -> 50257": (1024, 128, 50257), "2048 rows, 512 -> 50257": (2048, 512, 50257)}
LOSSES |= {SMALL: (64, 128, 1000)}
OPTIMIZERS: dict[str, list[tuple[int, ...]]] = {
    "1.3 M in 6 (multilayer perceptron)": [(784, 512), (512,), (512, 1024), (1024,), (1024, 512), (512,)],
    "11 M in 62 (residual network)": [(256, 256, 3, 3)] * 16 + [(512, 256)] * 14 + [(256,)] * 32,
    "25 M in 100 (small transformer)": [(512, 2048)] * 16 + [(512, 512)] * 32 + [(512,)] * 52,
    "0.1 M in 400 (many small tensors)": [(16, 16)] * 200 + [(16,)] * 200,
}


def loss_steps(name: str) -> dict[str, Step]:
    rows, features, classes = LOSSES[name]
    torch.manual_seed(0)
    x = torch.randn(rows, features, requires_grad=True)
    weight = (torch.randn(classes, features) * features**-0.5).requires_grad_()
    target = torch.randint(0, classes, (rows,))
    chunked = registry.load("portable/linear_cross_entropy", HOST).run

    def step(loss: Callable[[], Tensor]) -> Step:
        def run() -> None:
            x.grad = weight.grad = None
            loss().backward()

        return run

    steps = {
        "F.linear + F.cross_entropy": step(lambda: F.cross_entropy(F.linear(x, weight), target)),
        "portable/linear_cross_entropy": step(lambda: chunked(x, weight, target, None, -100, "mean")),
    }
    if hasattr(F, "linear_cross_entropy"):
        options = torch.nn.LinearCrossEntropyOptions()
        steps["F.linear_cross_entropy(options)"] = step(
            lambda: F.linear_cross_entropy(x, weight, target, options=options)
        )
    return steps


def parameters(shapes: list[tuple[int, ...]]) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    for p in params:
        p.grad = torch.randn_like(p)
    return params


def optimizer_steps(name: str) -> dict[str, Step]:
    shapes = OPTIMIZERS[name]
    kernel = registry.load("cpu/adamw", HOST)

    def ours() -> Step:
        optimizer = kernels.fused_adamw(parameters(shapes))
        with kernels.observe() as seen:
            optimizer.step()
        for request in seen:
            dispatch.choose(request, kernel.run)
        return optimizer.step

    steps = {"AdamW()": torch.optim.AdamW(parameters(shapes)).step}
    steps["AdamW(foreach=True)"] = torch.optim.AdamW(parameters(shapes), foreach=True).step
    steps["AdamW(fused=True)"] = torch.optim.AdamW(parameters(shapes), fused=True).step
    if kernel.problem is None:
        steps["FusedAdamW, cpu/adamw"] = ours()
    return steps


def interleaved(steps: dict[str, Step], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """(wall, processor) seconds of each round."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name in list(steps) if number % 2 else list(steps)[::-1]:
            wall, cpu = time.perf_counter(), time.process_time()
            steps[name]()
            if number:
                taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return taken


def resident(field: str) -> int:
    """VmRSS, the resident set in bytes, or VmHWM, the most it has been."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))


def growth(step: Step) -> int:
    """Bytes by which the resident set grew at most during one step (Linux counts it exactly)."""
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    before = resident("VmRSS")
    step()
    return resident("VmHWM") - before


def peak_memory(case: str, peer: str) -> float:
    """MiB, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.kernels", "--memory", case, peer]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout) / 2**20


def measure(kernel: str, case: str, steps: dict[str, Step], rounds: int) -> list[dict[str, object]]:
    taken = interleaved(steps, rounds)
    base = next(iter(taken.values()))
    rows: list[dict[str, object]] = []
    for peer, times in taken.items():
        walls = sorted(b[0] / t[0] for b, t in zip(base, times, strict=True))
        edge = len(walls) // 10
        row: dict[str, object] = {"kernel": kernel, "case": case, "peer": peer, "rounds": rounds}
        row |= {
            "best_ms": min(t[0] for t in times) * 1e3,
            "cpu_speedup": min(b[1] for b in base) / min(t[1] for t in times),
        }
        row |= {"speedup": statistics.median(walls), "p10": walls[edge], "p90": walls[-1 - edge]}
        if kernel == "linear_cross_entropy":
            row["peak_mib"] = peak_memory(case, peer)
        rows.append(row)
    return rows


def show(row: dict[str, object]) -> str:
    memory = f"{row['peak_mib']:7.0f} MiB" if "peak_mib" in row else ""
    wall = f"{row['speedup']:7.2f}x ({row['p10']:.2f}-{row['p90']:.2f})"
    return f"{row['case']:36}{row['peer']:33}{row['best_ms']:9.2f} ms{row['cpu_speedup']:7.2f}x{wall:22}{memory}"


def processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def machine() -> dict[str, object]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "vector unit": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "load average": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "PEER"), help="print the growth in bytes of one step")
    options = parser.parse_args()
    if options.memory:
        case, peer = options.memory
        loss_steps(SMALL)[peer]()  # what PyTorch loads at the first call is no part of the step
        print(growth(loss_steps(case)[peer]))
        return
    rows: list[dict[str, object]] = []
    for kernel, cases, make in (
        ("linear_cross_entropy", LOSSES, loss_steps),
        ("adamw", OPTIMIZERS, optimizer_steps),
    ):
        unit = "forward and backward" if make is loss_steps else "one step, by parameters in tensors"
        print(f"\n{kernel}: {unit}; best, ratio of processor time, ratio of wall time")
        for case in cases:
            steps = make(case)
            found = measure(kernel, case, steps, 3 if options.quick else 9 if make is loss_steps else 41)
            print("\n".join(map(show, found)), flush=True)
            rows += found
    today = datetime.date.today().isoformat()
    path = RESULTS / f"kernels-{today}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({"date": today, "machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"\n{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}: {machine()}")


if __name__ == "__main__":
    main()
