"""Products of matrices."""

from migrate.graph.ops import declare

declare("linear", "torch.nn.functional:linear", learns=(1, 2))
declare("bilinear", "torch.nn.functional:bilinear", learns=(2, 3))
declare("vdot", "torch:vdot")
declare("matmul", "operator:matmul", learns=(0, 1))
declare("einsum", "torch:einsum", learns=tuple(range(1, 53)))  # any operand; 52 letters name the axes
