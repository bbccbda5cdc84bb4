"""Normalisations. `batch_norm` and `instance_norm` are written with the momentum of the running statistics in torch's sense."""

from migrate.graph.ops import declare

for _name in (
    "batch_norm",
    "instance_norm",
    "layer_norm",
    "group_norm",
    "rms_norm",
    "local_response_norm",
    "normalize",
):
    declare(_name, f"torch.nn.functional:{_name}")
