"""Control flow: nodes that hold blocks. `migrate/graph/control.py` makes them, and says what their blocks take and give."""

from migrate.graph.ops import declare

declare("if_", "migrate.graph.interpret:run_if", blocks=2)
declare("loop", "migrate.graph.interpret:run_loop", blocks=1, learns_attributes=(2,))
