"""What the passes cost grows with the nodes and not with their square: function calls are counted, so that no clock decides."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from benchmarks.deep import KINDS
from migrate.graph.passes import default_passes, run_passes
from migrate.options import Options
from migrate.sources import open_source


def calls_of_passes(path: Path) -> int:
    """How many Python functions the passes call on a file."""
    graph = open_source(path, Options()).graph
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        del frame, arg
        count += event == "call"

    sys.setprofile(note)
    try:
        run_passes(graph, default_passes())
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_nodes_are_twice_the_calls(kind: str, tmp_path: Path) -> None:
    write, _ = KINDS[kind]
    short, long = (calls_of_passes(write(tmp_path / f"{blocks}.onnx", blocks)) for blocks in (10, 20))
    assert long < 2.1 * short
