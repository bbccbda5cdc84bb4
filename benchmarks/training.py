"""Training steps: `python -m benchmarks.training CASE [--compiled]` measures one file in a process of its own and prints JSON.

The modules that the converters make of one file are trained by one loop, a step of each in turn and in alternating order:
forward, the mean of squares of every output less a fixed target, backward, SGD. Their outputs are compared with ONNX Runtime's
first. Compiled modules get a time limit each; a failure is a result.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from benchmarks.kernels import interleaved
from benchmarks.models import CASES, Case
from benchmarks.peers import available, converter, reason

BASE = "migrate"
TOLERANCE = (
    1e-3  # of the largest output: float32 in another order reaches 1.2e-4 on basic_pitch; wrong numbers are far more
)
Step = Callable[[], Tensor]


def tensors(outputs: Any) -> list[Tensor]:
    """The outputs of a module, whatever it returns them in."""
    if isinstance(outputs, Tensor):
        return [outputs]
    return [t for item in (outputs.values() if isinstance(outputs, dict) else outputs) for t in tensors(item)]


def expected(case: Case, inputs: Sequence[Tensor]) -> list[Tensor]:
    """What ONNX Runtime says, without optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(case.file()), options, providers=["CPUExecutionProvider"])
    feeds = {about.name: value.numpy() for about, value in zip(session.get_inputs(), inputs, strict=True)}
    return [torch.from_numpy(np.array(value)) for value in session.run(None, feeds)]


def error_of(module: nn.Module, inputs: Sequence[Tensor], wanted: list[Tensor]) -> float:
    """The largest difference of the outputs in evaluation, as a part of the largest value; infinite for other shapes."""
    with torch.no_grad():
        found = tensors(module.eval()(*[t.clone() for t in inputs]))
    if [t.shape for t in found] != [t.shape for t in wanted]:
        return float("inf")
    return max(float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in zip(found, wanted, strict=True))


def train_step(module: nn.Module, inputs: Sequence[Tensor], targets: list[Tensor]) -> Step:
    """One step of the loop that all modules are trained by; it returns the loss."""
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=1e-5)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        outputs = tensors(module(*inputs))
        loss = torch.stack([(y - t).square().mean() for y, t in zip(outputs, targets, strict=True)]).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def trainable(module: nn.Module) -> int:
    """Numbers in trainable parameters."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def reached(module: nn.Module) -> int:
    """Numbers in parameters that the last step gave a gradient."""
    return sum(p.numel() for p in module.parameters() if p.grad is not None)


@contextmanager
def limited(seconds: int) -> Any:
    """Raise TimeoutError after `seconds`."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"not ready after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def prepare(case: Case, peer: str, inputs: Sequence[Tensor], wanted: list[Tensor]) -> tuple[nn.Module, dict[str, Any]]:
    """A converter's module, in training mode, and what is to be known about it."""
    torch.manual_seed(0)
    module = converter(peer)(case.file())
    found: dict[str, Any] = {"error": error_of(module, inputs, wanted), "trainable": trainable(module)}
    found["right"] = found["error"] <= TOLERANCE
    return module.train(), found


def measure(case: Case, rounds: int, limit: int | None) -> dict[str, Any]:
    """All converters that take the file; `limit` seconds for each compilation, None for eager modules."""
    inputs = case.inputs()
    wanted = expected(case, inputs)
    generator = torch.Generator().manual_seed(1)
    targets = [torch.randn(t.shape, generator=generator) for t in wanted]
    steps: dict[str, Step] = {}
    peers: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    for peer in available():
        try:
            module, peers[peer] = prepare(case, peer, inputs, wanted)
            if not peers[peer]["trainable"]:
                refused[peer] = "nothing is trainable"
                continue
            steps[peer] = _ready(module, inputs, targets, limit)
        except Exception as fault:  # each converter, and the compiler, fails in its own way
            refused[peer] = reason(fault)
        else:
            peers[peer]["reached"] = reached(module)
    if steps:
        clock(peers, steps, rounds)
    return {"case": case.name, "note": case.note, "rounds": rounds, "peers": peers, "refused": refused}


def _ready(module: nn.Module, inputs: Sequence[Tensor], targets: list[Tensor], limit: int | None) -> Step:
    """A step that has run twice; what is compiled is compiled then."""
    if limit is None:
        step = train_step(module, inputs, targets)
        step()
        return step
    step = train_step(torch.compile(module), inputs, targets)  # pyright: ignore[reportArgumentType]
    with limited(limit):
        step()
        step()
    return step


def clock(peers: dict[str, dict[str, Any]], steps: dict[str, Step], rounds: int) -> None:
    """Time the steps in turn, and add to what is known of each its times and how migrate's compare."""
    taken = interleaved(steps, rounds)
    base = taken.get(BASE)
    for peer, times in taken.items():
        walls, cpus = [t[0] for t in times], [t[1] for t in times]
        peers[peer] |= {"min_s": min(walls), "median_s": statistics.median(walls), "cpu_s": min(cpus)}
        if base:
            pairs = [b[0] / t[0] for b, t in zip(base, times, strict=True)]
            peers[peer] |= {
                "base_by_min": min(b[0] for b in base) / min(walls),
                "base_by_median": statistics.median(pairs),
                "base_by_cpu": min(b[1] for b in base) / min(cpus),
            }


def main() -> None:
    """Measure one file and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--compiled", type=int, metavar="SECONDS", help="compile, with this time limit for each module")
    options = parser.parse_args()
    if options.compiled:
        import torch._inductor.config as inductor

        inductor.compile_threads = 1  # in this process, so that the limit holds
    print(json.dumps(measure(CASES[options.case], options.rounds, options.compiled)), file=sys.stdout)


if __name__ == "__main__":
    main()
