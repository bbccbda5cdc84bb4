"""TensorFlow itself as the judge of a package, in a process of its own. Knows no package and judges nothing.

Outputs come from the model as its file has it. Weights are replaced and gradients taken in the same graph with its calls
inlined, which must give the same outputs.
"""

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
from migrate.frontends.tensorflow.files import TensorflowModel
from migrate.frontends.tensorflow.layers import BATCH_NORM, layer_facts
from migrate.frontends.tensorflow.messages import message
from migrate.frontends.tensorflow.tensors import array_of, is_numeric, type_name
from migrate.graph import Graph

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
Target = str | tuple[str, int]
REPOSITORY = Path(__file__).resolve().parents[3]
FINAL = ("Softmax", "Sigmoid")
PASSES_ON = ("Identity", "Reshape", "Squeeze")
BATCH_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", BATCH_NORM)


def has_tensorflow() -> bool:
    """Whether TensorFlow can be found; it is not imported here."""
    from importlib.util import find_spec

    return find_spec("tensorflow") is not None


class TensorflowOracle:
    """A model that TensorFlow runs.

    Raises:
        MigrateError: exit status 2, MIG512: TensorFlow is not installed.
    """

    def __init__(self, model: TensorflowModel) -> None:
        if not has_tensorflow():
            todo = "install the extra [tensorflow], or convert with --no-verify; the report then says that it is not verified"
            what = error("MIG512", "TensorFlow is not installed, which judges the package", todo=todo)
            raise MigrateError([what], Exit.USAGE)
        self._model = model
        self._nodes = {node.name: node for node in model.nodes}
        self._weights = _weights(model)
        self._worker = _Worker()
        self.notes: list[Diagnostic] = []
        given = {f"weight/{node}": array for node, (_, array) in self._weights.items()}
        answer, _ = self._worker.ask("open", given, **self._question())
        self.engine = str(answer["engine"])

    def _question(self) -> dict[str, Any]:
        model = self._model
        graph = message("GraphDef")
        for node in model.nodes:
            graph.node.add().CopyFrom(node)
        graph.library.function.extend(model.flat.library.values())
        path = self._worker.write("graph.pb", graph.SerializeToString())
        return {
            "graph": path, "path": str(model.path.resolve()), "signature": model.signature,
            "inputs": {port.name: port.value for port in model.inputs},
            "outputs": {port.name: port.value for port in model.outputs},
            "weights": {node: name for node, (name, _) in self._weights.items()},
            "trained": self.learned_weights(),
        }  # fmt: skip

    def follow(self, graph: Graph) -> None:
        """TensorFlow runs any batch that the file leaves free."""

    @property
    def output_names(self) -> list[str]:
        """The outputs, in order."""
        return [port.value for port in self._model.outputs]

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs, with weights replaced."""
        return list(self.intermediates(inputs, self.output_names, overrides).values())

    def intermediates(
        self, inputs: Sequence[Array], names: Sequence[str], overrides: Mapping[Target, Array] | None = None
    ) -> dict[str, Array]:
        """Named values of the model."""
        given = _inputs(inputs) | {f"state/{name}": np.asarray(array) for name, array in (overrides or {}).items()}
        found = self._worker.ask("run", given, names=list(names))[1]
        return {name: found[f"value/{k}"] for k, name in enumerate(names)}

    def outputs_of(self) -> dict[str, tuple[str, ...]]:
        """Values inside of the model have their channels elsewhere than the package has."""
        return {}

    def logits_of(self, output: int) -> str | None:
        """What goes into the softmax or sigmoid that an output ends with."""
        node = self._node(self._model.outputs[output].value)
        while node is not None and node.op in PASSES_ON:
            node = self._node(node.input[0])
        return str(node.input[0]) if node is not None and node.op in FINAL else None

    def _node(self, text: str) -> Any:
        return self._nodes.get(text.partition(":")[0])

    def weight(self, name: str) -> Array | None:
        """The content of a weight."""
        return next((array for known, array in self._weights.values() if known == name), None)

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
        return [variable.name for variable in self._model.variables.values() if variable.trainable]

    def state(self) -> dict[str, tuple[tuple[int, ...], str]] | None:
        """TensorFlow's names are no keys of a state."""
        return None

    def learning(self, inputs: Sequence[Array], seed: int) -> dict[str, Tensor] | None:
        """The gradient of every trained variable in evaluation; a graph for inference has no other mode."""
        import torch

        from runtime.verify.objective import coefficients

        if not self.learned_weights():
            return None
        answer, values = self._worker.ask("evaluate", _inputs(inputs))
        outputs = [torch.from_numpy(np.array(array)) for array in values.values()]
        floats = [output for output in outputs if output.is_floating_point()]
        factors = {f"factor/{k}": factor.numpy() for k, factor in enumerate(coefficients(floats, seed))}
        found = self._worker.ask("learn", _inputs(inputs) | factors)[1]
        measured = {name: torch.from_numpy(np.array(array)) for name, array in found.items()}
        return {**measured, "float64": torch.tensor(int(answer["float64"]))}

    def losses(self, steps: int) -> dict[str, Tensor] | None:
        """The file holds no data."""
        del steps
        return None

    def settings(self) -> dict[str, dict[str, float]]:
        """The eps of each batch normalisation, and its momentum where the file has it."""
        facts = layer_facts(self._model)
        found: dict[str, dict[str, float]] = {}
        for node in facts.nodes:
            if node.op in BATCH_NORMS:
                mean = self._variable_of(node.input[1 if node.op == BATCH_NORM else 3])
                found[node.name] = {"eps": float(str(np.float32(node.attr["epsilon"].f)))}
                if mean in facts.momenta:
                    found[node.name]["momentum"] = round(1 - facts.momenta[mean], 6)
        return found

    def _variable_of(self, text: str) -> str:
        node = self._node(text)
        while node is not None and node.op in (*PASSES_ON, "ReadVariableOp", "Cast"):
            node = self._node(node.input[0])
        return self._weights[node.name][0] if node is not None and node.name in self._weights else ""


def _weights(model: TensorflowModel) -> dict[str, tuple[str, Array]]:
    """Name and content by node: the variables; of a graph without trained ones, its tables of numbers as well."""
    found = {node: (v.name, np.asarray(v.stored.read())) for node, v in model.variables.items()}
    if not any(v.trainable for v in model.variables.values()):
        for node in model.nodes:
            tensor = node.attr["value"].tensor if node.op == "Const" else None
            if (
                tensor is not None
                and tensor.tensor_shape.dim
                and is_numeric(kind := type_name(tensor.dtype))
                and "float" in kind
            ):
                found[node.name] = (node.name, array_of(tensor, node.name))
    return found


def _inputs(inputs: Sequence[Array]) -> dict[str, Array]:
    return {f"input/{k}": np.asarray(array) for k, array in enumerate(inputs)}


class _Worker:
    """The process that TensorFlow lives in; tensors go as files."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="migrate-tensorflow-")
        search = os.pathsep.join(p for p in (str(REPOSITORY), os.environ.get("PYTHONPATH", "")) if p)
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "PYTHONPATH": search, "CUDA_VISIBLE_DEVICES": "-1"}
        self._log = Path(self._folder.name, "log").open("w", encoding="utf-8")  # noqa: SIM115  # closed at the end of the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "migrate.frontends.tensorflow.worker", self._folder.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, encoding="utf-8", env=environment,
        )  # fmt: skip
        self._close = weakref.finalize(self, _end, self._process, self._log, self._folder)

    def write(self, name: str, data: bytes) -> str:
        """A file for the process."""
        path = Path(self._folder.name, name)
        path.write_bytes(data)
        return str(path)

    def ask(self, task: str, given: Mapping[str, Array], **arguments: Any) -> tuple[dict[str, Any], dict[str, Array]]:
        """The answer to a question, and the tensors that go with it.

        Raises:
            MigrateError: exit status 5, MIG503: TensorFlow fails.
        """
        assert self._process.stdin and self._process.stdout
        folder = Path(self._folder.name)
        numbered: dict[str, Any] = {f"a{k}": array for k, array in enumerate(given.values())}
        np.savez(folder / "question.npz", **numbered)
        document = {"task": task, "names": list(given), "arguments": arguments}
        try:
            print(json.dumps(document), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"fault": self._last_words()}
        if "fault" in answer:
            what = "the source's engine fails on its inputs"
            raise MigrateError([error("MIG503", what, where="tensorflow", why=str(answer["fault"])[:300])], Exit.PARITY)
        with np.load(folder / "answer.npz") as arrays:
            return answer, {name: arrays[f"a{k}"] for k, name in enumerate(answer["names"])}

    def _last_words(self) -> str:
        self._log.flush()
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]


def _end(process: subprocess.Popen[str], log: Any, folder: tempfile.TemporaryDirectory[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, log):
        if stream:
            stream.close()
    folder.cleanup()
