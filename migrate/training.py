"""What is trained and how a run begins: the user's patterns, and the settings that follow from the source's weights."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.graph import Graph
from migrate.graph.placeholder import has_placeholder_weights
from migrate.options import Options

if TYPE_CHECKING:
    from migrate.codegen import Settings
    from migrate.frontends.pytorch.setup import TrainingSetup

LEARNING_RATES = {"adamw": 1e-4, "adam": 1e-4, "sgd": 1e-3}
"""For fine-tuning, since a package starts from the source's weights."""
FRESH_RATES = {"adamw": 1e-3, "adam": 1e-3, "sgd": 1e-2}
"""From new weights, where normalisation keeps the activations in bounds; AlexNet and GoogLeNet, without it, diverge."""

NOT_TRAINED = Diagnostic(
    code="MIG314",
    severity="warning",
    what="every weight matrix is filled with one number: the source has a structure and no trained weights",
    todo="training starts from fresh weights; set train.pretrained to start from the source's",
)


def choose_trainable(graph: Graph, options: Options, name: str) -> None:
    """Apply --trainable and --freeze, where the first is stronger.

    Raises:
        MigrateError: exit status 2, MIG115: a pattern matches no tensor that could be trained; exit status 4, MIG313: nothing
            would be trained; MIG318: a parameter is complex.
    """
    _refuse_complex(graph)
    idle = {*options.trainable, *options.freeze}
    for value in graph.weights():
        weight = value.weight
        if weight is None or not value.is_float or weight.kind:
            continue
        wanted, frozen = (
            {p for p in patterns if fnmatchcase(weight.source, p)} for patterns in (options.trainable, options.freeze)
        )
        idle -= wanted | frozen
        if wanted:
            value.weight = replace(weight, role="parameter", trainable=True)
        elif frozen:
            value.weight = replace(weight, trainable=False)
    if idle:
        todo = "`migrate inspect` lists the tensors"
        raise MigrateError([error("MIG115", f"no tensor matches {p!r}", todo=todo) for p in sorted(idle)], Exit.USAGE)
    if not any(v.weight and v.weight.role == "parameter" and v.weight.trainable for v in graph.weights()):
        what = error("MIG313", "the package would have nothing to train", where=name, todo="see --trainable")
        raise MigrateError([what], Exit.UNSUPPORTED)


def _refuse_complex(graph: Graph) -> None:
    found = [v.weight.source for v in graph.weights() if v.weight and v.weight.trainable and "complex" in v.dtype]
    if found:
        todo = "keep its real and its imaginary part as two parameters, and join them with torch.complex"
        what = [error("MIG318", "a complex parameter is not trained", where=name, todo=todo) for name in found]
        raise MigrateError(what, Exit.UNSUPPORTED)


def train_settings(graph: Graph, options: Options, setup: TrainingSetup | None = None) -> Settings:
    """The loss, and the tables of train.toml that depend on the source or on the user; what the user names is stronger.

    Args:
        graph: what is trained; it is told what could not be carried over.
        options: of the run.
        setup: how the source's user trains it, where the source says so.
    """
    from migrate.codegen import Settings
    from migrate.training_setup import Carried, carry

    carried = carry(setup) if setup is not None else Carried()
    graph.notes.extend(carried.notes)
    fresh = has_placeholder_weights(graph)
    if fresh:
        graph.notes.append(NOT_TRAINED)
    rates = FRESH_RATES if fresh and _is_normalised(graph) else LEARNING_RATES
    name = "adamw" if options.optimizer == "auto" else options.optimizer
    guessed = any(v.weight and v.weight.kind == "running_mean" and not v.weight.source for v in graph.weights())
    tables = {
        "train": {"pretrained": not fresh, **({"freeze_statistics": True} if guessed else {})},
        "optimizer": {"name": name, "lr": rates[name]},
        "precision": {"mode": options.precision},
    }
    own_rule, own_loss = options.optimizer == "auto", options.loss == "auto"
    return Settings(
        loss=carried.loss if carried.loss is not None and own_loss else options.loss,
        train=tables | (carried.tables if own_rule else {}),
        carried=carried.whole and own_rule and own_loss,
    )


def rule_of(settings: Settings) -> str:
    """The optimizer's name."""
    return settings.train["optimizer"]["name"]


def _is_normalised(graph: Graph) -> bool:
    """Whether a normalisation with parameters of its own is among the layers."""
    return any(node.op.family == "norm" and node.op.learns for node in graph.nodes)
