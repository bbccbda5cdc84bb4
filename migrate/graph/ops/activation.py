"""Activations."""

from migrate.graph.ops import declare

F = "torch.nn.functional:"

for _name in (
    "relu", "gelu", "silu", "elu", "selu", "celu", "leaky_relu", "softplus", "softsign", "hardsigmoid",
    "hardswish", "hardtanh", "relu6", "mish", "logsigmoid", "softshrink", "hardshrink", "threshold", "softmax",
    "log_softmax", "glu",
):  # fmt: skip
    declare(_name, F + _name)
declare("prelu", F + "prelu", learns=(1,))
declare("sigmoid", "torch:sigmoid")
declare("tanh", "torch:tanh")
