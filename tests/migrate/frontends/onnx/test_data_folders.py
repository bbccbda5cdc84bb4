"""ONNX's own model files: each is right or refused, as the record says from which the documentation is made."""

from collections import Counter

import pytest

from tests.migrate.frontends.onnx.data_folders import RIGHT, folders, recorded, run

TOTAL = 140  # of onnx 1.23.2
SOME = ("test_sequence_model3", "test_operator_params", "test_PReLU_1d_multiparam", "test_Conv2d", "test_GLU")


def test_the_record_holds_every_model_and_none_is_wrong() -> None:
    record = recorded()
    assert set(record) == {(folder.parent.name, folder.name) for folder in folders()}
    assert len(record) == TOTAL
    assert {row.status for row in record.values()} <= {*RIGHT, "refused"}
    unverified = [row.case for row in record.values() if row.status.startswith("trains") and row.verdict != "verified"]
    assert unverified == []


def test_what_is_refused_says_why() -> None:
    refused = Counter(row.why.split()[0] for row in recorded().values() if row.status == "refused")
    assert set(refused) <= {"MIG201", "MIG203"}


@pytest.mark.parametrize("folder", [f for f in folders() if f.name in SOME], ids=lambda f: f.name)
def test_some_are_as_the_record_says(folder) -> None:
    result, kept = run(folder), recorded()[folder.parent.name, folder.name]
    assert (result.status, result.why) == (kept.status, kept.why)


@pytest.mark.slow
@pytest.mark.parametrize("folder", list(folders()), ids=lambda f: f.name)
def test_every_one_is_as_the_record_says(folder) -> None:
    result, kept = run(folder), recorded()[folder.parent.name, folder.name]
    stale = f"{kept.case}: run `python -m tests.migrate.frontends.onnx.data_folders --write`, and look at the diff"
    assert (result.status, result.why) == (kept.status, kept.why), stale
