"""Golden packages keep every limit; the other sources are no worse than what is recorded of them."""

import importlib.util

import pytest

from tests.readability.record import examine, read
from tests.readability.sources import EXPORTS, GOLDEN, PLAIN, REAL, Source

RECORDED = {(record.kind, record.name): record for record in read()}


@pytest.mark.parametrize("source", GOLDEN, ids=lambda s: s.name)
def test_a_golden_package_keeps_the_limits(source: Source) -> None:
    record = examine(source)
    assert record.misses() == []
    assert record == RECORDED[source.kind, source.name], "run `python -m tests.readability`"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", [*REAL, *EXPORTS, *PLAIN], ids=lambda s: f"{s.kind}-{s.name}")
def test_a_source_is_as_readable_as_is_recorded(source: Source) -> None:
    if source.kind == "dynamo export" and importlib.util.find_spec("onnxscript") is None:
        pytest.skip("the dynamo exporter needs onnxscript")
    record, before = examine(source), RECORDED[source.kind, source.name]
    assert set(record.misses()) <= set(before.misses())
    assert record == before, "run `python -m tests.readability`"
