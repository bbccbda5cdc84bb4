"""Keras itself as the judge of a package, in a process of its own. Knows no package and judges nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.keras.builder import HALF
from migrate.frontends.keras.config import ModelConfig, Ref, parse_model
from migrate.frontends.keras.files import KerasFile
from migrate.frontends.keras.ops.activation import name_of
from migrate.frontends.keras.registry import find
from migrate.frontends.keras.variables import find_variables
from migrate.graph import Graph

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
Target = str | tuple[str, int]
REPOSITORY = Path(__file__).resolve().parents[3]
LOGITS = "logits of output {}"


def has_keras() -> bool:
    """Whether Keras can be found; it is not imported here."""
    from importlib.util import find_spec

    return find_spec("keras") is not None


class KerasOracle:
    """A model that Keras 3 loads and runs on torch.

    Raises:
        MigrateError: exit status 2, MIG511: Keras is not installed.
    """

    def __init__(self, file: KerasFile) -> None:
        if not has_keras():
            todo = (
                "install the extra [keras], or convert with --no-verify; the report then says that it is not verified"
            )
            raise MigrateError(
                [error("MIG511", "Keras is not installed, which judges the package", todo=todo)], Exit.USAGE
            )
        self._file, self._model = file, parse_model(file.model, file.name)
        self._stored = find_variables(file, self._model, _names)
        self._worker = _Worker(file.path)
        self.notes: list[Diagnostic] = []
        self.engine = str(self._worker.ask("open", {}, variables=list(self._stored))[0]["engine"])

    def follow(self, graph: Graph) -> None:
        """Keras runs any batch."""

    @property
    def output_names(self) -> list[str]:
        """The outputs, in order."""
        return [f"output {k}" for k in range(len(self._model.outputs))]

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs, with weights replaced."""
        found = self.intermediates(inputs, self.output_names, overrides)
        return list(found.values())

    def intermediates(
        self, inputs: Sequence[Array], names: Sequence[str], overrides: Mapping[Target, Array] | None = None
    ) -> dict[str, Array]:
        """Outputs, and what goes into their last activation."""
        given = _inputs(inputs) | {f"state/{name}": np.asarray(array) for name, array in (overrides or {}).items()}
        found = self._worker.ask("run", given, names=list(names))[1]
        return {name: found[f"value/{k}"] for k, name in enumerate(names)}

    def outputs_of(self) -> dict[str, tuple[str, ...]]:
        """Values inside of a layer are not asked for."""
        return {}

    def logits_of(self, output: int) -> str | None:
        """What goes into the softmax or sigmoid that a last layer ends with."""
        ref: Ref = self._model.outputs[output]
        layer = next(item for item in self._model.layers if item.name == ref.layer)
        ends = layer.cls == "Softmax" or name_of(layer.config.get("activation")) in ("softmax", "sigmoid")
        return LOGITS.format(output) if ends and layer.model is None and len(layer.calls) == 1 else None

    def weight(self, name: str) -> Array | None:
        """The content of a variable."""
        stored = self._stored.get(name)
        return None if stored is None else stored.read().astype(HALF.get(stored.dtype, stored.dtype))

    def uses(self, source: str, nodes: Sequence[str], op: str, position: int) -> list[Target]:
        """A variable is one tensor wherever it is used."""
        del nodes, op, position
        return [source]

    def weights_into(self, node: str) -> list[str]:
        """None is stored twice."""
        del node
        return []

    def learned_weights(self) -> list[str]:
        """The variables that are trained."""
        return [name for name, stored in self._stored.items() if stored.trainable]

    def state(self) -> dict[str, tuple[tuple[int, ...], str]] | None:
        """Keras's names are no keys of a state."""
        return None

    def learning(self, inputs: Sequence[Array], seed: int) -> dict[str, Tensor] | None:
        """What the model does when it learns, as `runtime.verify.learning` measures it, by the names of variables."""
        import torch

        found = self._worker.ask("learn", _inputs(inputs), seed=seed)[1]
        return {name: torch.from_numpy(np.array(array)) for name, array in found.items()}

    def losses(self, steps: int) -> dict[str, Tensor] | None:
        """The file holds no data."""
        del steps
        return None

    def settings(self) -> dict[str, dict[str, float]]:
        """Momentum and eps of each batch normalisation, and rates."""
        found: dict[str, dict[str, float]] = {}
        for path, layer in self._model.walk():
            place, config = "/".join(path), layer.config
            if layer.cls == "BatchNormalization":
                found[place] = {"eps": float(config["epsilon"])}
                if config.get("trainable", True):
                    found[place]["momentum"] = round(1 - float(config["momentum"]), 6)
            elif layer.cls == "Dropout" and config.get("noise_shape") is None and config["rate"]:
                found[place] = {"p": float(config["rate"])}
        return found


def _names(layer: Any) -> tuple[str, ...]:
    entry = find(layer.cls, layer.is_operation)
    return entry.variables if entry is not None else ()


def _inputs(inputs: Sequence[Array]) -> dict[str, Array]:
    return {f"input/{k}": np.asarray(array) for k, array in enumerate(inputs)}


class _Worker:
    """The process that Keras lives in; tensors go as files."""

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="migrate-keras-")
        search = os.pathsep.join(p for p in (str(REPOSITORY), os.environ.get("PYTHONPATH", "")) if p)
        environment = os.environ | {"PYTHONPATH": search, "KERAS_BACKEND": "torch"}
        command = [sys.executable, "-P", "-m", "migrate.frontends.keras.worker", self._folder.name, str(path.resolve())]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            env=environment,
        )  # fmt: skip
        self._close = weakref.finalize(self, _end, self._process, self._folder)

    def ask(self, task: str, given: Mapping[str, Array], **arguments: Any) -> tuple[dict[str, Any], dict[str, Array]]:
        """The answer to a question, and the tensors that go with it.

        Raises:
            MigrateError: exit status 5, MIG503: Keras fails.
        """
        assert self._process.stdin and self._process.stdout and self._process.stderr
        folder = Path(self._folder.name)
        numbered: dict[str, Any] = dict(_numbered(given))
        np.savez(folder / "question.npz", **numbered)
        document = {"task": task, "names": list(given), "arguments": arguments}
        try:
            print(json.dumps(document), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"fault": self._process.stderr.read().strip().rpartition("\n")[2]}
        if "fault" in answer:
            what = error(
                "MIG503", "the source's engine fails on its inputs", where="keras", why=str(answer["fault"])[:300]
            )
            raise MigrateError([what], Exit.PARITY)
        with np.load(folder / "answer.npz") as arrays:
            return answer, {name: arrays[f"a{k}"] for k, name in enumerate(answer["names"])}


def _numbered(arrays: Mapping[str, Array]) -> list[tuple[str, Array]]:
    return [(f"a{k}", array) for k, array in enumerate(arrays.values())]


def _end(process: subprocess.Popen[str], folder: tempfile.TemporaryDirectory[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    folder.cleanup()


__all__ = ["KerasOracle", "ModelConfig", "has_keras"]
