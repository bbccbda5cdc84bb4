"""The document and the lines of a verification."""

import json
import math

from runtime.verify import Check, Outcome
from runtime.verify.outcome import measured


def outcome(*checks):
    return Outcome(package="p", device="d", checks=checks)


def test_all_checks_must_pass_and_there_must_be_some():
    assert outcome(measured("a", 1e-6, 1e-5)).passed
    assert not outcome(measured("a", 1e-6, 1e-5), Check(name="b", passed=False)).passed
    assert not outcome().passed


def test_nan_never_passes_and_stays_out_of_json():
    check = measured("a", math.nan, 1e-5)
    document = outcome(check).document()
    assert not check.passed and document["checks"][0]["error"] is None
    assert json.loads(json.dumps(document, allow_nan=False))["schema"] == 1


def test_lines_say_what_failed():
    lines = outcome(measured("a", 1.0, 1e-5), Check(name="b", passed=True, detail="all there")).lines()
    assert lines[0].startswith("FAIL") and lines[1] == "ok    b  all there" and lines[2].endswith("1 of 2 checks")
