"""The JSON report: its schema, its truth, its bytes."""

import json
import math
from dataclasses import replace

import jsonschema
import pytest

from reports import SCHEMA_PATH, SCHEMA_VERSION, ParityRow, facts, render_json, to_dict

SCHEMA = json.loads(SCHEMA_PATH.read_text(encoding="ascii"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema_version"] == {"const": SCHEMA_VERSION}


@pytest.mark.parametrize("kind", ["example", "check_example", "bare"])
def test_report_is_valid(kind, request):
    VALIDATOR.validate(json.loads(render_json(request.getfixturevalue(kind))))


def test_hostile_report_is_valid_and_keeps_every_character(hostile, hostile_text):
    text = render_json(hostile)
    assert text.isascii()
    document = json.loads(text)
    VALIDATOR.validate(document)
    assert document["mapping"][0]["operator"] == hostile_text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 0),
        (("verdict", "outcome"), "fine"),
        (("mapping", 0, "state"), "slow"),
        (("source", "name"), "/home/model.onnx"),
        (("prediction", "label"), "measured"),
        (("parity", 0, "error"), "small"),
        (("inventory", "weights", 0, "extra"), 1),
    ],
)
def test_schema_refuses(example, path, value):
    document = json.loads(render_json(example))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)


def test_schema_knows_every_state_and_outcome():
    definitions = SCHEMA["$defs"]
    assert set(definitions["mapping_row"]["properties"]["state"]["enum"]) == set(facts.State.__args__)
    assert set(definitions["verdict"]["properties"]["outcome"]["enum"]) == set(facts.Outcome.__args__)
    assert set(SCHEMA["properties"]["command"]["enum"]) == set(facts.Command.__args__)


def test_errors_that_json_cannot_say_are_spelt_out(example):
    rows = tuple(ParityRow(check="c", passed=False, error=e) for e in (math.nan, math.inf, -math.inf))
    document = json.loads(render_json(replace(example, parity=rows)), parse_constant=pytest.fail)
    assert [row["error"] for row in document["parity"]] == ["nan", "inf", "-inf"]
    VALIDATOR.validate(document)


def test_bytes_do_not_depend_on_the_order_of_counts(example):
    turned = dict(reversed(list(example.source.operators.items())))
    assert render_json(replace(example, source=replace(example.source, operators=turned))) == render_json(example)


def test_dict_is_the_document(example):
    assert to_dict(example) == json.loads(render_json(example))
