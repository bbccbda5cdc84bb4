"""Normalisations. The momentum of running statistics is meant in torch's sense."""

from migrate.graph.ops import declare

F = "torch.nn.functional:"
STATISTICS = ((1, "running_mean"), (2, "running_var"))

declare("batch_norm", F + "batch_norm", learns=(3, 4), statistics=STATISTICS, learns_attributes=(0,))
declare("frozen_batch_norm", F + "batch_norm", learns=(3, 4), statistics=STATISTICS)  # never on the batch's statistics
declare("instance_norm", F + "instance_norm", learns=(3, 4), statistics=STATISTICS, learns_attributes=(0,))
declare("layer_norm", F + "layer_norm", learns=(2, 3))
declare("group_norm", F + "group_norm", learns=(2, 3), learns_attributes=(0,))
declare("rms_norm", F + "rms_norm", learns=(2,))
declare("local_response_norm", F + "local_response_norm")
declare("normalize", F + "normalize")
declare("cross_channel_norm", "runtime.functional.norm:cross_channel_norm")
declare("lp_normalize", "runtime.functional.norm:lp_normalize")
