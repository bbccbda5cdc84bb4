"""Who uses a value: what is kept up to date is what would be counted anew."""

import pytest

from migrate.graph.ir import Graph
from migrate.graph.passes import join_moves as module
from migrate.graph.uses import Uses
from tests.migrate.graph.fusions.tables import parsed
from tests.migrate.graph.passes.test_join_moves import BECOMES, HEAD, STAYS, W

CASES = {name: text for name, (text, _) in BECOMES.items()} | STAYS


def counted(uses: Uses) -> list[dict[str, set[str]]]:
    """Names, without what nobody uses."""
    return [
        {
            value.name: {node.output.name for node in nodes if len(node.outputs) == 1}
            for value, nodes in users.items()
            if nodes
        }
        for users in (uses.tensors, uses.sizes)
    ]


@pytest.mark.parametrize("case", CASES)
def test_after_rewrites_it_is_as_counted_anew(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Uses] = []

    def remembered(graph: Graph) -> Uses:
        made.append(Uses(graph))
        return made[-1]

    monkeypatch.setattr(module, "Uses", remembered)
    graph = parsed(HEAD + W + CASES[case])
    module.join_moves(graph)
    assert counted(made[0]) == counted(Uses(graph))
