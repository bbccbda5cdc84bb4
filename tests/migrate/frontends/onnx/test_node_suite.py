"""ONNX's own node cases: every one passes or is refused, and no fewer pass than did."""

from collections import Counter

import pytest

from tests.migrate.frontends.onnx.node_suite import cases, run

PASSED = 1710  # of the 1,884 cases of onnx 1.23.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_case_gives_other_numbers() -> None:
    results = [run(case) for case in cases()]
    assert [r for r in results if r.status in ("wrong", "crashed")] == []
    assert Counter(r.status for r in results)["passed"] >= PASSED
