"""Runs the source's own module: its outputs with weights replaced, and what it does when it learns.

The module lives in this process or in the worker process; then the tasks below are asked there, with tensors as files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.pytorch.torchscript import is_script
from migrate.frontends.pytorch.worker import Session

if TYPE_CHECKING:
    from torch import Tensor, nn

    from migrate.frontends.pytorch.worker_process import WorkerProcess

Tensors = dict[str, "Tensor"]
Arguments = Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]


class Engine(Protocol):
    """Where the module lives."""

    def run(self, inputs: Sequence[Tensor], overrides: Mapping[str, Tensor]) -> list[Tensor]:
        """The tensors that the module returns in evaluation, with entries of its state replaced."""
        ...

    def learn(self, inputs: Sequence[Tensor], seed: int, outputs: Sequence[int]) -> Tensors:
        """What `runtime.verify.learning` measures, of the `outputs` in training mode; of all where that names none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEngine:
    """A module in this process; `arguments` makes of the tensors what it is called with, positional and by name."""

    module: nn.Module
    arguments: Arguments
    has_modes: bool = True

    def run(self, inputs: Sequence[Tensor], overrides: Mapping[str, Tensor]) -> list[Tensor]:
        """The tensors that the module returns in evaluation, with entries of its state replaced."""
        import torch
        from torch.func import functional_call

        from runtime.verify.without_dropout import WithoutDropout

        args, kwargs = self.arguments([t.clone() for t in inputs])
        if self.has_modes:
            self.module.eval()
        # it may change its buffers, or draw in evaluation as well
        state = {name: buffer.clone() for name, buffer in self.module.named_buffers()} | dict(overrides)
        with torch.no_grad(), torch.random.fork_rng(devices=[]), WithoutDropout():
            torch.manual_seed(0)
            return _tensors(functional_call(self.module, state, args, kwargs))

    def learn(self, inputs: Sequence[Tensor], seed: int, outputs: Sequence[int]) -> Tensors:
        """What `runtime.verify.learning` measures, of the `outputs` in training mode; of all where that names none."""
        from torch.utils import _pytree as pytree

        from runtime.verify.learning import learning_of

        def run(given: Sequence[Tensor]) -> list[Tensor]:
            args, kwargs = self.arguments([t.clone() for t in given])
            found = pytree.tree_leaves(self.module(*args, **kwargs))
            found = [found[k] for k in outputs] if outputs and self.module.training else found
            return _tensors(found)

        return learning_of(self.module, run, inputs, seed, training=self.has_modes)


def runnable(module: nn.Module) -> nn.Module:
    """A copy to run, so that the user's module is left alone; half precision as float32, in which the package trains."""
    return widened(copy.deepcopy(module))


def widened(module: nn.Module) -> nn.Module:
    """The module itself, in float32 where it has half precision."""
    return module.float() if _has_half(module) else module


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEngine:
    """A module in the worker process."""

    worker: WorkerProcess

    def run(self, inputs: Sequence[Tensor], overrides: Mapping[str, Tensor]) -> list[Tensor]:
        """The tensors that the module returns in evaluation, with entries of its state replaced."""
        given = {f"input/{i}": t for i, t in enumerate(inputs)} | {f"state/{k}": t for k, t in overrides.items()}
        found = self._ask("engine:task_run", given)
        return [found[f"output/{i}"] for i in range(len(found))]

    def loop(self, steps: int) -> Tensors | str:
        """The losses of the user's own training loop and the batch that it ran on, or why the loop fails."""
        fault = self.worker.ask("engine_loop:task_loop", steps=steps).get("fault")
        return fault or self._answer()

    def learn(self, inputs: Sequence[Tensor], seed: int, outputs: Sequence[int]) -> Tensors:
        """What `runtime.verify.learning` measures, of the `outputs` in training mode; of all where that names none."""
        given = {f"input/{i}": t for i, t in enumerate(inputs)}
        return self._ask("engine:task_learn", given, seed=seed, outputs=list(outputs))

    def _ask(self, task: str, given: Tensors, **arguments: Any) -> Tensors:
        from migrate.frontends.pytorch.worker_program import write_tensors

        write_tensors(given, self.worker.folder / "question.safetensors")
        self.worker.ask(task, **arguments)
        return self._answer()

    def _answer(self) -> Tensors:
        from migrate.frontends.pytorch.worker_program import read_tensors

        answer = self.worker.folder / "answer.safetensors"
        found = read_tensors(answer)
        answer.unlink()
        return found


# ---- in the worker process


def task_run(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: run the session's module on the question's inputs and state."""
    del arguments
    given = _question(folder)
    overrides = {k.removeprefix("state/"): t for k, t in given.items() if k.startswith("state/")}
    outputs = _engine(session).run(_inputs(given), overrides)
    return _answered(folder, {f"output/{i}": t for i, t in enumerate(outputs)})


def task_learn(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: measure how the session's module learns."""
    return _answered(folder, _engine(session).learn(_inputs(_question(folder)), **arguments))


def _engine(session: Session) -> ModuleEngine:
    if session.engine is None:
        # a script draws its dropout where nothing can hold it at zero, so it is judged in evaluation alone
        module, has_modes = runnable(session.module).eval(), not is_script(session.module)
        session.engine = ModuleEngine(module=module, arguments=_like(session.inputs), has_modes=has_modes)
    return session.engine


def _like(example: Any) -> Arguments:
    """Arguments in the structure of an example, with its tensors replaced."""
    import torch
    from torch.utils import _pytree as pytree

    from migrate.frontends.pytorch.export import call_of

    leaves, spec = pytree.tree_flatten(call_of(example))

    def arguments(inputs: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = iter(inputs)
        return pytree.tree_unflatten([next(given) if isinstance(x, torch.Tensor) else x for x in leaves], spec)

    return arguments


def _question(folder: Path) -> Tensors:
    from migrate.frontends.pytorch.worker_program import read_tensors

    return read_tensors(folder / "question.safetensors")


def _inputs(given: Tensors) -> list[Tensor]:
    count = sum(name.startswith("input/") for name in given)
    return [given[f"input/{i}"] for i in range(count)]


def _answered(folder: Path, found: Tensors) -> dict[str, Any]:
    from migrate.frontends.pytorch.worker_program import write_tensors

    write_tensors(found, folder / "answer.safetensors")
    return {}


# ---- helpers


def _tensors(result: Any) -> list[Tensor]:
    import torch
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def _has_half(module: nn.Module) -> bool:
    import torch

    half = (torch.float16, torch.bfloat16)
    return any(t.dtype in half for t in (*module.parameters(), *module.buffers()))


def failed(fault: Exception, inputs: Sequence[Tensor]) -> MigrateError:
    """The source's module does not run on these inputs."""
    shapes = ", ".join(str(list(t.shape)) for t in inputs)
    why = f"{type(fault).__name__}: {str(fault).strip().partition(chr(10))[0][:300]}"
    found = error("MIG503", "the source's engine fails on its inputs", where=shapes, why=why)
    return MigrateError([found], Exit.PARITY)
