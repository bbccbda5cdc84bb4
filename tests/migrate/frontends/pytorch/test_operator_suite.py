"""torch's own operators: each does what the record says from which the documentation is made, and few differ."""

import datetime
import zlib
from collections import Counter

import pytest

from tests.migrate.frontends.pytorch.operator_suite import database, recorded, run

PARTS = 16
TODAY = datetime.datetime.now(tz=datetime.UTC).timetuple().tm_yday % PARTS  # another one each day
STALE = "run `python -m tests.migrate.frontends.pytorch.operator_suite --write`, and look at the diff"
ROUNDED = {"bfloat16", "half"}  # a package trains in float32 what the source rounds on the way


def held(chosen: range) -> None:
    record = recorded()
    for name in database():
        if zlib.crc32(name.encode()) % PARTS in chosen:
            found = run(name)
            kept = record.get(name, {"status": None})["status"]
            assert (found and found.status) == kept, f"{name}: {found} ({STALE})"


def test_the_record_holds_every_operator_and_none_differs_unknown() -> None:
    rows = recorded()
    counts = Counter(row["status"] for row in rows.values())
    assert rows.keys() <= database().keys()
    assert {name for name, row in rows.items() if row["status"] == "differs"} == ROUNDED
    assert counts["equal"] >= 0.9 * len(rows)


@pytest.mark.filterwarnings("ignore")
def test_some_of_the_operators_do_what_the_record_says() -> None:
    held(range(TODAY, TODAY + 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_operator_does_what_the_record_says() -> None:
    held(range(PARTS))
