"""Each revision of each operator's schema that a handler reads has a case, which the emitted code computes.

A case is a call in the revision's own form (`versions/changed.py`, `versions/blocks.py`), or one of the family's table,
restated at an opset where the revision is in force.
"""

from __future__ import annotations

import datetime
import zlib
from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import onnx
import onnx.defs
import pytest
import torch
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotYet

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.registry import entries, find
from tests.migrate.frontends.onnx.emitted import Emitted
from tests.migrate.frontends.onnx.ops.cases import TOLERANCE, Case, expected, feeds_of, model_of
from tests.migrate.frontends.onnx.ops.test_control import engine
from tests.migrate.frontends.onnx.ops.test_emitted import ALL, NOT_SMOOTH, differentiate
from tests.migrate.frontends.onnx.versions.blocks import block_model
from tests.migrate.frontends.onnx.versions.changed import CASES, SAME_AS

Revision = tuple[str, str, int]  # domain, operator, since
DOMAINS = ("", "ai.onnx.ml")
QUARTER = datetime.datetime.now(tz=datetime.UTC).timetuple().tm_yday % 4
OLDEST = 7  # of the opsets that ONNX Runtime promises to take
EXCEPTED = {
    (
        "",
        "NonZero",
    ): "the size of its result depends on the data: of known inputs it is folded, which tables of shapes show",
    ("ai.onnx.ml", "LabelEncoder", 1): "it makes text of numbers or numbers of text",
}


@cache
def revisions() -> tuple[Revision, ...]:
    """Every revision of every operator that any handler reads."""
    read = {(entry.domain, entry.op_type) for entry in entries()}
    schemas = onnx.defs.get_all_schemas_with_history()
    return tuple(
        sorted((s.domain, s.name, s.since_version) for s in schemas if (s.domain, s.name) in read and not s.deprecated)
    )


@cache
def in_force(domain: str, op: str) -> tuple[int, ...]:
    """The versions at which an operator changed."""
    return tuple(since for where, name, since in revisions() if (where, name) == (domain, op))


def opset_of(revision: Revision) -> int:
    """Where it is in force: not before ONNX Runtime begins, if that leaves a choice."""
    domain, op, since = revision
    later = [v for v in in_force(domain, op) if v > since]
    newest = later[0] - 1 if later else max(since, OLDEST)
    return max(since, min(newest, OLDEST)) if not domain else since


def since_of(case: Case) -> int:
    """The version of the schema that a case is a call of; 0 where it is no operator of ONNX's own."""
    return max((v for v in in_force(case.domain, case.op) if v <= case.opset), default=0)


def takes(schema: onnx.defs.OpSchema, case: Case) -> bool:
    """Whether a revision has the form of a case."""
    given = sum(value is not None for value in case.inputs)
    return set(case.attributes) <= set(schema.attributes) and schema.min_input <= given <= schema.max_input


@cache
def tables() -> dict[tuple[str, str], list[Case]]:
    """The cases of the families by operator, and those of old forms before them."""
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in (*CASES, *(case for _, case in ALL)):
        found[case.domain, case.op].append(case)
    return found


def candidates(revision: Revision) -> list[Case]:
    """What may be run for a revision: what is written at it, else any case of that form."""
    domain, op, since = revision
    cases = tables()[domain, op]
    own = [c for c in cases if not domain and since_of(c) == since]
    schema = onnx.defs.get_schema(op, since, domain)
    restated = [replace(c, opset=opset_of(revision) if not domain else c.opset) for c in cases if takes(schema, c)]
    return own or restated


def has_case(revision: Revision) -> bool:
    """Whether anything is run for it."""
    domain, op, since = revision
    written = any((case.op, case.opset) == (op, since) for case, _ in SAME_AS) and not domain
    return written or (not domain and block_model(op, since) is not None) or bool(candidates(revision))


def numbers(case: Case, model: onnx.ModelProto) -> list[np.ndarray] | None:
    """What an engine computes that knows the form, if any does."""
    for name in dict.fromkeys((case.engine, "onnxruntime", "reference")):
        try:
            return expected(replace(case, engine=name), model)
        except Exception:  # each engine has errors of its own for what it does not know
            continue
    return None


def hold(case: Case, model: onnx.ModelProto, wanted: list[np.ndarray]) -> None:
    """The emitted code gives these numbers, and gradients that differences confirm."""
    feeds = feeds_of(case)
    emitted = Emitted(model, {name: v.shape for name, v in feeds.items() if not (case.free and name == "i0")})
    tensors = [torch.from_numpy(v.copy()) for v in feeds.values()]
    for got, want in zip(emitted(*tensors), wanted, strict=True):
        assert (tuple(got.shape), got.numpy(force=True).dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got.numpy(force=True), want, rtol=TOLERANCE, atol=TOLERANCE)
    if case.gradient and not case.id.startswith(tuple(NOT_SMOOTH)):
        differentiate(emitted.in_float64(), tensors)


def run(revision: Revision) -> None:
    """The first candidate that any engine takes."""
    domain, _, since = revision
    for case in candidates(revision):
        model = model_of(case)
        if domain:
            model.opset_import[1].version = since
        if (wanted := numbers(case, model)) is not None:
            hold(case, model, wanted)
            return
    pytest.fail("no engine takes any of its cases")


def run_blocks(op: str, opset: int) -> None:
    """A model with graphs or sequences inside, against ONNX Runtime: a revision that it lacks only widened the types."""
    made = block_model(op, opset)
    assert made is not None
    model, inputs = made
    feeds = {value.name: np.asarray(v) for value, v in zip(model.graph.input, inputs, strict=True)}
    try:
        wanted = engine(model, inputs)
    except NotYet:
        older = block_model(op, in_force("", op)[-2])
        assert older is not None
        wanted = engine(older[0], inputs)
    outputs = Emitted(model, {name: v.shape for name, v in feeds.items()})(
        *(torch.from_numpy(v.copy()) for v in feeds.values())
    )
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(force=True), want, rtol=TOLERANCE, atol=TOLERANCE)


def rotating(revision: Revision) -> object:
    """A revision as a parameter; three quarters of them are slow."""
    domain, op, since = revision
    name = f"{domain}{op}-{since}"
    marks = () if zlib.crc32(name.encode()) % 4 == QUARTER else pytest.mark.slow
    return pytest.param(revision, id=name, marks=marks)


def written_in_tables(revision: Revision) -> bool:
    """Whether `ops/test_emitted.py` runs it."""
    domain, op, since = revision
    return any((case.op, case.domain, since_of(case)) == (op, domain, since) for _, case in ALL if not domain)


BLOCKS = [r for r in revisions() if not r[0] and block_model(r[1], r[2]) is not None and find(r[1], r[0], r[2])]
OLD = {(case.op, case.opset) for case, _ in SAME_AS}
REST = [r for r in revisions() if r not in BLOCKS and r[1:] not in OLD and not written_in_tables(r) and candidates(r)]


def test_every_revision_has_a_handler_and_a_case() -> None:
    known = [r for r in revisions() if r not in EXCEPTED and r[:2] not in EXCEPTED]
    assert [r for r in known if find(r[1], r[0], r[2]) is None] == []
    assert [r for r in known if not has_case(r)] == []


@pytest.mark.parametrize("revision", [rotating(r) for r in REST])
def test_a_call_in_the_form_of_the_revision(revision: Revision) -> None:
    run(revision)


@pytest.mark.parametrize("revision", [rotating(r) for r in BLOCKS])
def test_graphs_and_sequences_of_the_revision(revision: Revision) -> None:
    run_blocks(revision[1], opset_of(revision))


@pytest.mark.parametrize(("case", "today"), SAME_AS, ids=lambda c: c.id)
def test_an_old_form_means_what_todays_does(case: Case, today: Case) -> None:
    hold(case, model_of(case), expected(today, model_of(today)))


def test_sequences_of_unlike_lengths_in_the_first_scan_are_refused() -> None:
    made = block_model("Scan", 8)
    assert made is not None
    made[0].graph.input.append(onnx.helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [2]))
    made[0].graph.node[0].input[0] = "n"
    with pytest.raises(MigrateError, match="whose lengths differ"):
        load_onnx(made[0])
