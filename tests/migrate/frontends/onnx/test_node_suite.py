"""ONNX's own node cases: every one passes or is refused, as the record says from which the documentation is made."""

import datetime
import zlib
from collections import Counter

import pytest

from tests.migrate.frontends.onnx.node_suite import cases, recorded, run

TOTAL = 1884  # of onnx 1.23.2
QUARTER = datetime.datetime.now(tz=datetime.UTC).timetuple().tm_yday % 4  # another one each day


def held(chosen: range) -> None:
    record = recorded()
    for case in cases():
        if zlib.crc32(case.name.encode()) % 4 in chosen:
            result = run(case)
            kept = record[case.name]
            stale = (
                f"{case.name}: run `python -m tests.migrate.frontends.onnx.node_suite --write`, and look at the diff"
            )
            assert (result.status, result.reason) == (kept["status"], kept["why"]), stale


def test_the_record_holds_every_case_and_none_is_wrong() -> None:
    counts = Counter(row["status"] for row in recorded().values())
    assert sum(counts.values()) == TOTAL
    assert set(counts) == {"passed", "refused"}


@pytest.mark.filterwarnings("ignore")
def test_a_quarter_of_the_cases_gives_what_the_record_says() -> None:
    held(range(QUARTER, QUARTER + 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_case_gives_what_the_record_says() -> None:
    held(range(4))
