"""Numbers as people read them."""

import pytest

from reports import units


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ns"), (1.234e-5, "12.3 us"), (4.5678e-3, "4.57 ms"), (2.0, "2.00 s"), (7261.4, "7,261 s"), (3e-10, "0 ns"),
     (float("inf"), "inf")],
)  # fmt: skip
def test_duration(seconds, text):
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (512, "512 B"), (1536, "1.50 KiB"), (46_871_347, "44.7 MiB"), (34_359_738_368, "32.0 GiB")],
)
def test_byte_size(count, text):
    assert units.byte_size(count) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0"), (3.14e-7, "3.1e-07"), (float("nan"), "nan"), (float("inf"), "inf")]
)
def test_error(value, text):
    assert units.error(value) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(1, 3, "33 %"), (1, 900, "0.1 %"), (0, 5, "0 %"), (1, 0, "-"), (5, 5, "100 %")]
)
def test_percent(part, whole, text):
    assert units.percent(part, whole) == text


def test_counts_and_shapes():
    assert units.plural(1, "check") == "1 check"
    assert units.plural(1234, "check") == "1,234 checks"
    assert units.shape(("batch", 3, 224)) == "[batch, 3, 224]"
    assert units.rate(0.012345) == "0.0123"
    assert units.rate(77_670.4) == "77,670"
