"""Control flow: nodes that hold blocks, and changes of what the model holds.

`migrate/graph/control.py` makes the former, and says what their blocks take and give.
"""

from migrate.graph.ops import declare

declare("if_", "migrate.graph.interpret:run_if", blocks=2)
declare("loop", "migrate.graph.interpret:run_loop", blocks=1, learns_attributes=(2,))

declare("update", "runtime.functional.state:update", effect=True)
declare("count_batch", "runtime.functional.state:count_batch", effect=True)
