"""Activations."""

from migrate.graph.ops import declare

F = "torch.nn.functional:"

for _name in (
    "relu", "gelu", "silu", "elu", "selu", "celu", "leaky_relu", "softplus", "softsign", "hardsigmoid",
    "hardswish", "hardtanh", "relu6", "mish", "logsigmoid", "softshrink", "hardshrink", "threshold", "glu",
):  # fmt: skip
    declare(_name, F + _name)
declare("prelu", F + "prelu", learns=(1,))
declare("softmax", F + "softmax", loss="cross_entropy")
declare("log_softmax", F + "log_softmax", loss="cross_entropy")
declare("sigmoid", "torch:sigmoid", loss="bce")
declare("tanh", "torch:tanh")
declare("rrelu", F + "rrelu", random=True)
