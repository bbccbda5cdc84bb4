"""Products of matrices."""

from migrate.graph.ops import declare

declare("linear", "torch.nn.functional:linear")
declare("matmul", "operator:matmul")
declare("einsum", "torch:einsum")
