"""Runs a TensorFlow model for the oracle: `python -m migrate.frontends.tensorflow.worker FOLDER`.

The file's own graph is run as it is; the graph with its calls inlined, in which weights are variables of this process, is held
to the same outputs. Knows TensorFlow; must not know the common graph.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from migrate.frontends.tensorflow.double import widened

Answer = tuple[dict[str, Any], Mapping[str, Any]]
HANDLE = "VarHandleOp"
CLOSE = 1e-4  # of the largest element: how far the inlined graph may be from the file's own


class Original:
    """The file as TensorFlow itself loads and runs it."""

    def __init__(self, tf: Any, path: Path, signature: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        v1 = tf.compat.v1
        graph = tf.Graph()
        self.session = v1.Session(graph=graph)
        with graph.as_default():
            if path.is_dir():
                meta = v1.saved_model.load(self.session, ["serve"], str(path))
                chosen = meta.signature_def[signature]
                self.inputs = [chosen.inputs[name].name for name in inputs]
                self.outputs = [chosen.outputs[name].name for name in outputs]
            else:
                definition = v1.GraphDef()
                definition.ParseFromString(path.read_bytes())
                v1.import_graph_def(definition, name="")
                self.inputs, self.outputs = list(inputs), list(outputs)

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The outputs."""
        feed = dict(zip((_port(name) for name in self.inputs), given, strict=True))
        return self.session.run([_port(name) for name in self.outputs], feed)


def _port(name: str) -> str:
    return name if ":" in name else f"{name}:0"


class Inlined:
    """The graph without calls; its weights are variables by their names."""

    is_double = False

    def __init__(
        self, tf: Any, definition: Any, arrays: Mapping[str, Any], names: Mapping[str, str], inputs: Sequence[str]
    ) -> None:
        self.tf, self.definition, self.inputs = tf, definition, list(inputs)
        kinds = {node.name: node.op for node in definition.node}
        self.kinds = {node: kinds[node] for node in arrays}
        self.variables = {names[node]: tf.Variable(array, shape=array.shape) for node, array in arrays.items()}
        self.nodes = {node: self.variables[names[node]] for node in arrays}
        self.functions: dict[tuple[str, ...], Any] = {}

    def in_double(self) -> Inlined:
        """The same in float64.

        Raises:
            ValueError: it has a part that is not widened.
        """
        arrays = {node: variable.numpy() for node, variable in self.nodes.items()}
        wide = dict(zip(arrays, _widened(list(arrays.values())), strict=True))
        names = {
            node: name for name, variable in self.variables.items() for node, v in self.nodes.items() if v is variable
        }
        made = Inlined(self.tf, widened(self.tf, self.definition), wide, names, self.inputs)
        made.is_double = True
        return made

    def function(self, names: Sequence[str], given: Sequence[Any]) -> Callable[..., Any]:
        """A function of the inputs that gives these values."""
        key = tuple(names)
        if key not in self.functions:

            def imported(*tensors: Any) -> Any:
                graph = self.tf.compat.v1.get_default_graph()
                known = dict(zip(self.inputs, tensors, strict=True))
                for node, variable in self.nodes.items():
                    is_handle = self.kinds[node] == HANDLE
                    known[f"{node}:0"] = graph.capture(variable.handle) if is_handle else variable.read_value()
                here = {name: tensor for name, tensor in known.items() if name in key}
                wanted = [name for name in key if name not in here]
                made = self.tf.graph_util.import_graph_def(
                    self.definition, input_map=known, return_elements=wanted, name=""
                )
                found = here | dict(zip(wanted, made, strict=True))
                return [self.tf.identity(found[name]) for name in key]

            signature = [
                self.tf.TensorSpec([None] * np.ndim(array), self.tf.as_dtype(np.asarray(array).dtype))
                for array in given
            ]
            self.functions[key] = self.tf.compat.v1.wrap_function(imported, signature)
        return self.functions[key]

    def __call__(self, names: Sequence[str], given: Sequence[Any]) -> list[Any]:
        """Values by their names."""
        return self.function(names, given)(*(self.tf.constant(array) for array in given))


class Session:
    """A model in both forms."""

    def __init__(self) -> None:
        self.tf: Any = import_module("tensorflow")
        self.known: dict[str, Any] = {}

    def open(self, given: Mapping[str, Any], **known: Any) -> Answer:
        """Load the file, and the graph that has been made of it."""
        self.known = known
        definition = self.tf.compat.v1.GraphDef()
        definition.ParseFromString(Path(known["graph"]).read_bytes())
        bare(definition)
        arrays = {name.removeprefix("weight/"): array for name, array in given.items()}
        path = Path(known["path"])
        ends = (known["inputs"], known["outputs"])
        ports = [list(end) if path.is_dir() else list(end.values()) for end in ends]
        self.original = Original(self.tf, path, known["signature"], *ports)
        self.inlined = Inlined(self.tf, definition, arrays, known["weights"], list(known["inputs"].values()))
        return {"engine": f"tensorflow {self.tf.__version__}"}, {}

    def run(self, given: Mapping[str, Any], names: list[str]) -> Answer:
        """Values of the model, with weights replaced."""
        inputs = [v for k, v in given.items() if k.startswith("input/")]
        outputs = list(self.known["outputs"].values())
        replaced = {k.removeprefix("state/"): v for k, v in given.items() if k.startswith("state/")}
        found = {name: value.numpy() for name, value in zip(names, self._with(replaced, names, inputs), strict=True)}
        if not replaced:
            for name, right in zip(outputs, self.original(inputs), strict=True):
                if name in found:
                    _hold(name, found[name], right)
                    found[name] = right
        return {}, {f"value/{k}": found[name] for k, name in enumerate(names)}

    def _with(self, replaced: Mapping[str, Any], names: Sequence[str], inputs: Sequence[Any]) -> list[Any]:
        variables = self.inlined.variables
        before = {name: variables[name].numpy() for name in replaced}
        try:
            for name, array in replaced.items():
                variables[name].assign(array)
            return self.inlined(names, inputs)
        finally:
            for name, array in before.items():
                variables[name].assign(array)

    def evaluate(self, given: Mapping[str, Any]) -> Answer:
        """The outputs in float64, or as they are where the graph cannot be widened; `learn` then goes by the same graph."""
        inputs = [v for k, v in given.items() if k.startswith("input/")]
        names = list(self.known["outputs"].values())
        try:
            self.learning = self.inlined.in_double()
            outputs = self.learning(names, _widened(inputs))
        except (ValueError, TypeError, self.tf.errors.OpError):  # not every operator has float64
            self.learning = self.inlined
            outputs = self.learning(names, inputs)
        return {"float64": self.learning.is_double}, {str(k): output.numpy() for k, output in enumerate(outputs)}

    def learn(self, given: Mapping[str, Any]) -> Answer:
        """The gradient, by every trained variable, of the sum of the outputs times these factors."""
        inputs = [v for k, v in given.items() if k.startswith("input/")]
        factors = [v for k, v in given.items() if k.startswith("factor/")]
        wide = _widened(inputs) if self.learning.is_double else inputs
        found = self._gradients(self.learning, wide, factors)
        return {}, {f"evaluation/gradient/{name}": g for name, g in found.items()}

    def _gradients(self, graph: Inlined, inputs: Sequence[Any], factors: Sequence[Any]) -> dict[str, Any]:
        tf = self.tf
        variables = {name: graph.variables[name] for name in self.known["trained"]}
        with tf.GradientTape() as tape:
            for variable in variables.values():
                tape.watch(variable)
            outputs = [o for o in graph(list(self.known["outputs"].values()), inputs) if o.dtype.is_floating]
            terms = [tf.reduce_sum(o * tf.cast(f, o.dtype)) for o, f in zip(outputs, factors, strict=True)]
            total = tf.add_n(terms)
        found = tape.gradient(total, list(variables.values()), unconnected_gradients="zero")
        return {name: tf.convert_to_tensor(g).numpy() for name, g in zip(variables, found, strict=True)}


def _widened(inputs: Sequence[Any]) -> list[Any]:
    return [v.astype("float64") if v.dtype == "float32" else v for v in inputs]


def bare(definition: Any) -> None:
    """Leave out devices and what nodes say of their surroundings."""
    for node in definition.node:
        node.device = ""
        for name in [name for name in node.attr if name.startswith("_")]:
            del node.attr[name]


def _hold(name: str, found: Any, right: Any) -> None:
    """The inlined graph must give what the file's own gives.

    Raises:
        ValueError: it does not.
    """
    if found.shape != right.shape or (
        right.size and np.abs(found - right).max() > CLOSE * max(np.abs(right).max(), 1e-6)
    ):
        raise ValueError(f"the graph with its calls inlined gives another {name!r} than the file's own")


def main() -> None:
    """Answer questions until there are no more."""
    folder = Path(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever prints is no answer
    session: Session | None = None
    for line in sys.stdin:
        question = json.loads(line)
        with np.load(folder / "question.npz") as stored:
            given = {name: stored[f"a{k}"] for k, name in enumerate(question["names"])}
        try:
            session = session or Session()
            answer, found = getattr(session, question["task"])(given, **question["arguments"])
            arrays: dict[str, Any] = {f"a{k}": np.asarray(v) for k, v in enumerate(found.values())}
            np.savez(folder / "answer.npz", **arrays)
            answer = {**answer, "names": list(found)}
        except Exception as fault:  # whatever TensorFlow raises
            answer = {"fault": f"{type(fault).__name__}: {fault}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
