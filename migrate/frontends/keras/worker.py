"""Runs a Keras model on torch for the oracle: `python -m migrate.frontends.keras.worker FOLDER MODEL`.

The model is loaded in Keras's safe mode, and never compiled. Knows Keras; must not know the graph.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

HALVES = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
Answer = tuple[dict[str, Any], Mapping[str, Any]]


class Held(nn.Module):
    """The variables of a Keras model as a module's parameters and buffers, by name."""

    def __init__(self, model: Any, variables: Mapping[str, Any]) -> None:
        super().__init__()
        # In a tuple, so that the model's own tensors are not listed as well.
        self.runs: tuple[Callable[..., Any], ...] = (model,)
        for name, variable in variables.items():
            if variable.trainable:
                self.register_parameter(_key(name), variable.value)
            elif name.rpartition("/")[2].startswith("moving_"):
                self.register_buffer(_key(name), variable.value.data)

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        """The outputs, flat."""
        return flat(self.runs[0](_as_called(inputs), training=self.training))


def _as_called(inputs: Sequence[Tensor]) -> Any:
    return list(inputs) if len(inputs) > 1 else inputs[0]


def _key(name: str) -> str:
    return name.replace(".", "\x1f")


def flat(result: Any) -> list[Tensor]:
    """The tensors of a structure in Keras's order."""
    keras: Any = import_module("keras")
    return list(keras.tree.flatten(result))


class Session:
    """A loaded model, in its own precision and in float64."""

    def __init__(self, path: str) -> None:
        self.keras: Any = import_module("keras")
        self.model: Any = self.keras.saving.load_model(path, compile=False, safe_mode=True)
        count_no_padding(self.keras, self.model)
        self.names: list[str] = []

    def open(self, variables: list[str]) -> Answer:
        """Find every variable that is asked for later."""
        self.names = variables
        variables_of(self.model, variables)
        return {"engine": f"keras {self.keras.__version__} on torch {torch.__version__.partition('+')[0]}"}, {}

    def run(self, given: Mapping[str, Any], names: list[str]) -> Answer:
        """Values of the model in evaluation, with variables replaced."""
        variables = variables_of(self.model, self.names)
        replaced = {k.removeprefix("state/"): v for k, v in given.items() if k.startswith("state/")}
        inputs = [torch.from_numpy(v) for k, v in given.items() if k.startswith("input/")]
        with torch.no_grad(), _with(variables, replaced):
            outputs = Held(self.model, variables).eval()(*inputs)
            found = {f"value/{k}": self._value(name, outputs, inputs) for k, name in enumerate(names)}
        return {}, {name: tensor.detach().numpy() for name, tensor in found.items()}

    def _value(self, name: str, outputs: list[Tensor], inputs: list[Tensor]) -> Tensor:
        index = int(name.rpartition(" ")[2])
        if name.startswith("output "):
            return outputs[index]
        output: Any = flat(self.model.outputs)[index]
        operation = output._keras_history.operation
        with _without_activation(self.keras, operation):
            return Held(self.model, {}).eval()(*inputs)[index]

    def learn(self, given: Mapping[str, Any], seed: int) -> Answer:
        """What `runtime.verify.learning` measures, in float64 and without random numbers."""
        from runtime.verify.double import widened
        from runtime.verify.learning import learning_of

        model = self._in_float64()
        variables = variables_of(model, self.names)
        held = Held(model, variables)
        inputs = [torch.from_numpy(v) for v in given.values()]
        inputs = [t.double() if t.is_floating_point() else t for t in inputs]
        before = {n: v.value.detach().clone() for n, v in variables.items() if n.endswith("/moving_variance")}
        counts = _counted(self.keras, model)
        with widened():  # what is drawn has the precision of what the package draws
            found = learning_of(held, lambda given: held(*given), inputs, seed, float64=False)
        found["float64"] = torch.tensor(1)
        for name, old in before.items():
            key = f"training/buffer/{_key(name)}"
            place = name.rpartition("/")[0]
            if key in found and place in counts:
                layer, count = counts[place]
                found[key] = _of_samples(old, found[key], layer.momentum, count)
        return {}, {name.replace("\x1f", "."): tensor.detach().numpy() for name, tensor in found.items()}

    def _in_float64(self) -> Any:
        self.keras.config.set_floatx("float64")
        config = _in_double(self.model.get_config())
        model = type(self.model).from_config(config)
        if not model.built:
            model.build(self.model.input_shape)
        model.set_weights(self.model.get_weights())
        count_no_padding(self.keras, model)
        for layer in model._flatten_layers():
            for attribute in ("rate", "dropout", "recurrent_dropout", "stddev"):
                if isinstance(getattr(layer, attribute, None), float):
                    setattr(layer, attribute, 0.0)
        return model


def count_no_padding(keras: Any, model: Any) -> None:
    """Let average pooling with SAME padding count what lies in the image alone, as Keras does on its other backends.

    On torch, where SAME adds more at the end than at the beginning, Keras repeats the edge and counts it.
    """
    kinds = (keras.layers.AveragePooling1D, keras.layers.AveragePooling2D)
    for layer in model._flatten_layers():
        if isinstance(layer, kinds) and layer.padding == "same" and layer.data_format == "channels_last":
            layer.call = _mean_inside(keras, layer)


def _mean_inside(keras: Any, layer: Any) -> Callable[[Any], Any]:
    def call(inputs: Any) -> Any:
        ones = torch.ones((*layer.pool_size, inputs.shape[-1], 1), dtype=inputs.dtype, device=inputs.device)
        sums, counts = (
            keras.ops.depthwise_conv(x, ones, layer.strides, "same") for x in (inputs, torch.ones_like(inputs))
        )
        return sums / counts

    return call


def _in_double(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _in_double(part) for key, part in item.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(item, str):
        return "float64" if item in HALVES else item
    return type(item)(_in_double(part) for part in item) if isinstance(item, list | tuple) else item  # pyright: ignore[reportUnknownVariableType]


def _counted(keras: Any, model: Any) -> dict[str, tuple[Any, list[int]]]:
    """Each batch normalisation by its path, with over how many elements of a channel its next call takes statistics."""
    found: dict[str, tuple[Any, list[int]]] = {}

    def visit(owner: Any, path: tuple[str, ...]) -> None:
        for layer in owner.layers:
            here = (*path, layer.name)
            if isinstance(layer, keras.Model):
                visit(layer, here)
            elif isinstance(layer, keras.layers.BatchNormalization):
                found["/".join(here)] = (layer, _watch(layer))

    visit(model, ())
    return found


def _watch(layer: Any) -> list[int]:
    count = [0]
    call = layer.call

    def counting(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        count[0] = inputs.numel() // inputs.shape[-1]
        return call(inputs, *args, **kwargs)

    layer.call = counting
    return count


def _of_samples(old: Tensor, new: Tensor, momentum: float, count: list[int]) -> Tensor:
    """A running variance as torch counts it: of a sample (n - 1), where Keras's is of a population (n)."""
    kept = old * momentum
    return kept + (new - kept) * count[0] / max(count[0] - 1, 1)


@contextmanager
def _without_activation(keras: Any, operation: Any) -> Generator[None]:
    """The last layer without its softmax or sigmoid."""
    if isinstance(operation, keras.layers.Softmax):
        call = operation.call
        operation.call = lambda inputs, *args, **kwargs: inputs
        yield
        operation.call = call
    else:
        activation = operation.activation
        operation.activation = keras.activations.linear
        yield
        operation.activation = activation


@contextmanager
def _with(variables: Mapping[str, Any], replaced: Mapping[str, Any]) -> Generator[None]:
    """Variables with other content inside."""
    before = {name: variable.value.detach().clone() for name, variable in variables.items()}
    try:
        for name, array in replaced.items():
            variables[name].assign(array)
        yield
    finally:
        for name, old in before.items():
            variables[name].assign(old)


def variables_of(model: Any, names: Sequence[str]) -> dict[str, Any]:
    """The variables of these paths: layers by their names, then attributes."""
    return {name: _variable(model, name.split("/")) for name in names}


def _variable(model: Any, parts: list[str]) -> Any:
    owner, rest = model, parts
    while hasattr(owner, "get_layer"):
        name, rest = _layer_name(owner, rest)
        owner = owner.get_layer(name)
    for part in rest:
        names = [n for n in (part, f"_{part}", f"adapt_{part}") if hasattr(owner, n) and getattr(owner, n) is not None]
        owner = getattr(owner, f"adapt_{part}" if f"adapt_{part}" in names else names[0])
    return owner


def _layer_name(owner: Any, rest: list[str]) -> tuple[str, list[str]]:
    """A layer's name may hold slashes."""
    names = {layer.name for layer in owner.layers}
    for length in range(1, len(rest) + 1):
        if "/".join(rest[:length]) in names:
            return "/".join(rest[:length]), rest[length:]
    raise KeyError("/".join(rest))


def main() -> None:
    """Answer questions until there are no more."""
    folder, path = Path(sys.argv[1]), sys.argv[2]
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever prints is no answer
    session: Session | None = None
    for line in sys.stdin:
        question = json.loads(line)
        with np.load(folder / "question.npz") as stored:
            given = {name: stored[f"a{k}"] for k, name in enumerate(question["names"])}
        try:
            session = session or Session(path)
            tensors = (given,) if question["task"] != "open" else ()
            answer, found = getattr(session, question["task"])(*tensors, **question["arguments"])
            arrays: dict[str, Any] = {f"a{k}": np.asarray(v) for k, v in enumerate(found.values())}
            np.savez(folder / "answer.npz", **arrays)
            answer = {**answer, "names": list(found)}
        except Exception as fault:  # whatever Keras raises
            answer = {"fault": f"{type(fault).__name__}: {fault}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
