"""What is emitted for the golden sources is what is committed, to the byte."""

from pathlib import Path

import pytest

from tests.golden import HERE, SOURCES, emitted


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.stem)
def test_the_golden_package_is_fresh(source: Path) -> None:
    committed = {str(p.relative_to(HERE)): p.read_text() for p in (HERE / source.stem).rglob("*") if p.is_file()}
    assert committed == emitted(source), "run `make golden` and review the difference"
