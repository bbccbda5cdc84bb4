"""The registry: which handler reads which schema version, and how two registrations of one are met."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import onnx.defs
import pytest

from migrate.errors import MigrateError
from migrate.frontends.onnx.registry import Entry, entries, find, onnx_op
from migrate.graph.ir import Node, tensors_in
from tests.migrate.frontends.onnx import ops
from tests.migrate.frontends.onnx.ops.cases import Case, graph_of
from tests.migrate.frontends.onnx.versions import changed

MINIMUM = 100
ARITHMETIC = ("elementwise", "shape")  # what takes part in these is learned where its use says so, and is no layer


def schema_of(entry: Entry) -> onnx.defs.OpSchema:
    return onnx.defs.get_schema(entry.op_type, entry.since, entry.domain)


def schemas() -> list[onnx.defs.OpSchema]:
    """Every version, from the first that is read, of every operator that has a handler."""
    first: dict[tuple[str, str], int] = {}
    for entry in entries():
        key = (entry.domain, entry.op_type)
        first[key] = min(entry.since, first.get(key, entry.since))
    found = [s for s in onnx.defs.get_all_schemas_with_history() if not s.deprecated]
    return [s for s in found if s.since_version >= first.get((s.domain, s.name), 1 << 30)]


def test_a_hundred_operators_and_more_are_registered() -> None:
    assert len({(e.domain, e.op_type) for e in entries()}) >= MINIMUM


def test_the_newest_version_not_after_the_opset_is_found() -> None:
    before, after = find("Softmax", "", 12), find("Softmax", "", 13)
    assert before is not None and after is not None
    assert (before.since, after.since, find("Softmax", "", 99)) == (1, 13, after)


def test_an_operator_before_its_first_version_is_not_found() -> None:
    assert find("LayerNormalization", "", 16) is None
    assert find("NoSuchOperator", "", 20) is None


def cases() -> dict[tuple[str, str, int], list[Case]]:
    """The cases of the operators, by the version that reads them; of old versions those that the matrix of versions has."""
    modules = [importlib.import_module(f"{ops.__name__}.{m.name}") for m in pkgutil.iter_modules(ops.__path__)]
    found: dict[tuple[str, str, int], list[Case]] = {}
    for case in (case for module in modules for case in getattr(module, "CASES", [])):
        entry = find(case.op, case.domain, case.version if case.domain else case.opset)
        assert entry is not None
        found.setdefault((case.domain, case.op, entry.since), []).append(case)
    known = set(found)
    for case, _ in changed.SAME_AS:
        entry = find(case.op, case.domain, case.opset)
        if entry is not None and (key := (case.domain, case.op, entry.since)) not in known:
            found.setdefault(key, []).append(case)
    return found


def is_number(case: Case, index: int) -> bool:
    """Whether an input is one that layers are not trained in: whole numbers, or a scalar."""
    return np.asarray(case.inputs[index]).dtype.kind != "f" or np.asarray(case.inputs[index]).ndim == 0


def learned_inputs(case: Case) -> set[int]:
    """The inputs that are an argument in which a layer of the graph is trained, where they alone or all are weights."""
    numbers = tuple(i for i in case.constants if is_number(case, i))
    floats = [i for i, v in enumerate(case.inputs) if v is not None and not is_number(case, i)]
    found: set[str] = set()
    for weights in [*((i,) for i in floats), tuple(floats[1:])]:
        with suppress(MigrateError):  # what must be computed cannot be a weight
            graph = graph_of(replace(case, constants=(*weights, *numbers), free=()))
            found.update(name for node in graph.nodes for name in learned(node))
    return {i for i in floats if f"i{i}" in found}


def learned(node: Node) -> list[str]:
    """The weights in the arguments in which a layer is trained."""
    places = () if node.op.family in ARITHMETIC else node.op.learns
    values = [v for place in places if place < len(node.args) for v in tensors_in(node.args[place])]
    return [v.weight.source for v in values if v.weight is not None]


CASES = cases()


@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e.op_type}-{e.since}")
def test_what_a_handler_says_is_learned_is_what_its_graph_learns(entry: Entry) -> None:
    """Both ways, over the operator's cases: an input that a layer is trained in, and no other."""
    given = CASES.get((entry.domain, entry.op_type, entry.since), [])
    assert given or not entry.learns, "an operator that learns needs a case"
    found = {entry.input_name(index) for case in given for index in learned_inputs(case)}
    assert found == entry.learns


@pytest.mark.parametrize("entry", [e for e in entries() if e.arguments], ids=lambda e: f"{e.op_type}-{e.since}")
def test_the_inputs_are_taken_in_the_order_that_is_told(entry: Entry) -> None:
    for case in CASES[entry.domain, entry.op_type, entry.since]:
        constants = tuple(range(1, len(case.inputs)))
        (node, *rest) = graph_of(replace(case, constants=constants, free=())).nodes
        order = entry.arguments[node.op.name]
        if rest:
            continue  # a scale of another shape is applied after it
        weights = [(i, a.weight.source) for i, a in enumerate(node.args) if getattr(a, "weight", None) is not None]
        assert weights
        for place, source in weights:
            assert order[place] == entry.input_name(int(source.removeprefix("i")))


def test_an_input_that_the_handler_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match=r"onnx_other names inputs that it does not take: W"):

        @onnx_op("NoSuchOperator", learns=("W",))
        def onnx_other(b: object, X: object) -> None: ...


def test_registering_twice_raises_and_shows_both_places() -> None:
    with pytest.raises(ValueError, match=r"Softmax since 13 .*activation.onnx_softmax and .*onnx_other"):

        @onnx_op("Softmax", since=13)
        def onnx_other() -> None: ...


def specified() -> list[Entry]:
    """The handlers of operators that the specification has; ONNX Runtime's own schemas are not ours to read."""
    return [e for e in entries() if onnx.defs.has(e.op_type, e.domain)]


@pytest.mark.parametrize("entry", specified(), ids=lambda e: f"{e.op_type}-{e.since}")
def test_a_handler_knows_its_schema(entry: Entry) -> None:
    """It starts at a version of the schema, and takes each attribute with the schema's default."""
    schema = schema_of(entry)
    assert schema.since_version == entry.since
    for parameter in inspect.signature(entry.handler).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name in schema.attributes:
            check_default(parameter, schema.attributes[parameter.name])


@pytest.mark.parametrize("schema", schemas(), ids=lambda s: f"{s.name}-{s.since_version}")
def test_every_version_of_an_operator_is_read_whole(schema: onnx.defs.OpSchema) -> None:
    """The handler in force takes all inputs and all attributes, of versions that have no handler of their own too."""
    entry = find(schema.name, schema.domain, schema.since_version)
    assert entry is not None
    parameters = list(inspect.signature(entry.handler).parameters.values())[1:]
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    assert variadic or len(positional) >= len(schema.inputs)
    assert set(schema.attributes) <= entry.attributes


def check_default(parameter: inspect.Parameter, attribute: onnx.defs.OpSchema.Attribute) -> None:
    if attribute.required:
        return
    assert parameter.default is not parameter.empty
    declared = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else None
    if isinstance(declared, bytes):
        declared = declared.decode()
    if declared == "foward":  # the first schema of GRU misspells it
        declared = "forward"
    if declared is not None and parameter.default is not None:
        wanted = tuple(declared) if isinstance(declared, list) else declared
        assert parameter.default == pytest.approx(wanted) if isinstance(wanted, float) else parameter.default == wanted
