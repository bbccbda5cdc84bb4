"""The registry: which handler reads which schema version, and how two registrations of one are met."""

from __future__ import annotations

import inspect

import onnx.defs
import pytest

from migrate.frontends.onnx.registry import Entry, entries, find, onnx_op

MINIMUM = 100


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


def test_registering_twice_raises_and_shows_both_places() -> None:
    with pytest.raises(ValueError, match=r"Softmax since 13 .*activation.onnx_softmax and .*onnx_other"):

        @onnx_op("Softmax", since=13)
        def onnx_other() -> None: ...


@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e.op_type}-{e.since}")
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
    if declared is not None and parameter.default is not None:
        wanted = tuple(declared) if isinstance(declared, list) else declared
        assert parameter.default == pytest.approx(wanted) if isinstance(wanted, float) else parameter.default == wanted
