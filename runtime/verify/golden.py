"""The golden file: inputs, the outputs that the source's own engine gave for them, gradients and the inventory.

Two files: `golden.json` says what there is, `golden.safetensors` has the tensors. Reads and writes them; judges
nothing.

    {"schema": 1,
     "cases": [{"name": "batch2", "seed": 0, "sigma": 0.0, "inputs": 1, "outputs": 1, "logits": 0}],
     "inventory": [{"name": "fc.weight", "shape": [4, 8], "dtype": "float32", "role": "parameter", "trainable": true,
                    "used": true}],
     "gradients": {"case": "batch2", "seed": 0, "tolerance": 1e-4, "global_norm": 3.5,
                   "parameters": {"fc.weight": {"norm": 1.5, "dot": -0.2}}},
     "gradients_are_the_sources": false}

Tensors are named `CASE/input.0`, `CASE/output.0`, `CASE/logits.0`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..package import PackageError

SCHEMA = 1
FAILED_TO_READ = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCase:
    """Inputs and expected outputs of one evaluation; parameters and statistics are first changed by (seed, sigma).

    `logits` are what the module's `logits(*inputs)` must give, where it has that method.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    logits: tuple[Tensor, ...] = ()
    seed: int = 0
    sigma: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryItem:
    """One tensor of the module's state; `role` is `parameter` or `buffer`; no output depends on what is not `used`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str
    trainable: bool
    used: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientMark:
    """What is kept of one parameter's gradient: its norm, and its dot product with a seeded random unit vector."""

    norm: float
    dot: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenGradients:
    """Gradient marks of one case; `tolerance` is relative to `global_norm`."""

    case: str
    seed: int
    tolerance: float
    global_norm: float
    parameters: dict[str, GradientMark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """All that a package is held to; one whose `gradients_are_the_sources` was held against them when it was written."""

    cases: tuple[GoldenCase, ...]
    inventory: tuple[InventoryItem, ...] = ()
    gradients: GoldenGradients | None = None
    gradients_are_the_sources: bool = False

    def case(self, name: str) -> GoldenCase:
        """The case of that name.

        Raises:
            PackageError: there is none.
        """
        found = next((case for case in self.cases if case.name == name), None)
        if found is None:
            raise PackageError(f"there is no case {name!r}; there are {', '.join(case.name for case in self.cases)}")
        return found


def inventory_of(module: nn.Module) -> tuple[InventoryItem, ...]:
    """The parameters and persistent buffers of a module, in the order of its state; tied ones under each name."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    return tuple(
        InventoryItem(
            name=name,
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            role="parameter" if name in parameters else "buffer",
            trainable=name in parameters and parameters[name].requires_grad,
        )
        for name, tensor in module.state_dict(keep_vars=True).items()
    )


def _tensors(case: GoldenCase) -> dict[str, Tensor]:
    named = {f"{case.name}/input.{i}": t for i, t in enumerate(case.inputs)}
    named |= {f"{case.name}/output.{i}": t for i, t in enumerate(case.outputs)}
    return named | {f"{case.name}/logits.{i}": t for i, t in enumerate(case.logits)}


def _described(case: GoldenCase) -> dict[str, Any]:
    return {
        "name": case.name,
        "seed": case.seed,
        "sigma": case.sigma,
        "inputs": len(case.inputs),
        "outputs": len(case.outputs),
        "logits": len(case.logits),
    }


def write_golden(
    directory: Path,
    *,
    cases: Sequence[GoldenCase],
    inventory: Sequence[InventoryItem] = (),
    gradients: GoldenGradients | None = None,
    gradients_are_the_sources: bool = False,
) -> None:
    """Write `golden.json` and `golden.safetensors` into `directory`; equal arguments give equal bytes."""
    document = {
        "schema": SCHEMA,
        "cases": [_described(case) for case in cases],
        "inventory": [asdict(item) for item in inventory],
        "gradients": None if gradients is None else asdict(gradients),
        "gradients_are_the_sources": gradients_are_the_sources,
    }
    tensors = {name: t.detach().cpu().contiguous().clone() for case in cases for name, t in _tensors(case).items()}
    directory.mkdir(parents=True, exist_ok=True)
    save_file(tensors, directory / "golden.safetensors")
    (directory / "golden.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _read_case(facts: dict[str, Any], tensors: dict[str, Tensor]) -> GoldenCase:
    name = facts["name"]
    return GoldenCase(
        name=name,
        seed=facts["seed"],
        sigma=facts["sigma"],
        inputs=tuple(tensors[f"{name}/input.{i}"] for i in range(facts["inputs"])),
        outputs=tuple(tensors[f"{name}/output.{i}"] for i in range(facts["outputs"])),
        logits=tuple(tensors[f"{name}/logits.{i}"] for i in range(facts["logits"])),
    )


def _read_item(facts: dict[str, Any]) -> InventoryItem:
    rest: dict[str, Any] = {key: value for key, value in facts.items() if key != "shape"}
    return InventoryItem(shape=tuple(facts["shape"]), **rest)


def _read_gradients(facts: dict[str, Any] | None) -> GoldenGradients | None:
    if facts is None:
        return None
    marks = {name: GradientMark(**mark) for name, mark in facts["parameters"].items()}
    rest: dict[str, Any] = {key: value for key, value in facts.items() if key != "parameters"}
    return GoldenGradients(parameters=marks, **rest)


def read_golden(directory: Path) -> Golden:
    """Read what `write_golden` wrote.

    Raises:
        PackageError: a file is missing, damaged, or of another schema.
    """
    path = directory / "golden.json"
    if not path.is_file():
        raise PackageError(
            f"{path} is missing, so there is nothing to verify against; convert without --no-verify",
            status=FAILED_TO_READ,
        )
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise PackageError(f"{path} has schema {document['schema']!r}; this package reads {SCHEMA}", status=3)
        tensors = load_file(directory / "golden.safetensors")
        return Golden(
            cases=tuple(_read_case(facts, tensors) for facts in document["cases"]),
            inventory=tuple(_read_item(facts) for facts in document["inventory"]),
            gradients=_read_gradients(document["gradients"]),
            gradients_are_the_sources=document.get("gradients_are_the_sources", False),
        )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise PackageError(f"{directory} has a damaged golden file: {error!r}", status=FAILED_TO_READ) from error


def host(values: Any) -> tuple[Tensor, ...]:
    """What a module returned, one tensor or several, as host tensors."""
    several = (values,) if isinstance(values, Tensor) else tuple(values)
    return tuple(torch.as_tensor(value).detach().cpu() for value in several)
