"""A model that was exported in training mode, turned to evaluation: what `eval()` is to a module.

Such a file draws its dropout anew at every run and normalises with the statistics of the batch, so it cannot be compared as it
is. The package's modules follow train() and eval(); the source is run as its evaluation.
"""

from __future__ import annotations

import onnx_ir as ir


def trains(node: ir.Node) -> bool:
    """Whether the node is a BatchNormalization or a Dropout that is set to training."""
    if node.op_type == "BatchNormalization":
        mode = node.attributes.get("training_mode")
        return mode is not None and bool(mode.value)
    return node.op_type == "Dropout" and len(node.inputs) > 2 and node.inputs[2] is not None


def in_evaluation(model: ir.Model) -> ir.Model:
    """The model itself where nothing trains, else a copy with those nodes set to evaluation."""
    if not any(trains(node) for node in model.graph.all_nodes()):
        return model
    copy = model.clone()
    for node in copy.graph.all_nodes():
        if not trains(node):
            continue
        if node.op_type == "Dropout":
            node.resize_inputs(2)
        else:
            node.attributes.pop("training_mode")
            node.resize_outputs(1)
    return copy
