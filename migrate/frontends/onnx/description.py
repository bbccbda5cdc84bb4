"""Facts of an ONNX file, and signs that an exporter or a simplifier took away what training needs."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx_ir as ir

from migrate.graph.description import Description

_SIMPLIFIERS = ("onnxsim", "onnx-simplifier", "onnxslim", "onnxoptimizer")
_NORMS = {"BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization"}
_CONTROL = {"If", "Loop", "Scan"}


def describe(model: ir.Model) -> Description:
    """Producer, opsets, operator counts and oddities."""
    counts = Counter(node.op_type for node in model.graph)
    producer = " ".join(filter(None, [model.producer_name, model.producer_version]))
    return Description(
        format="ONNX",
        producer=producer,
        opsets={domain or "ai.onnx": version for domain, version in sorted(model.opset_imports.items())},
        operators=dict(sorted(counts.items())),
        oddities=tuple(_oddities(model, counts, producer)),
    )


def _oddities(model: ir.Model, counts: Counter[str], producer: str) -> list[str]:
    found: list[str] = []
    convs = [node for node in model.graph if node.op_type == "Conv"]
    biased = [node for node in convs if len(node.inputs) > 2 and node.inputs[2] is not None]
    if len(convs) > 2 and len(biased) == len(convs) and not _NORMS & counts.keys():
        found.append("every convolution has a bias and there is no normalisation: it was probably folded at export")
    if not counts["Dropout"]:
        found.append("there is no Dropout: exporters drop it in evaluation mode")
    if counts["Constant"] > len(model.graph.initializers):
        found.append("weights are stored in Constant nodes")
    opset = model.opset_imports.get("", model.opset_imports.get("ai.onnx", 0))
    if opset > (newest := onnx.defs.onnx_opset_version()):
        found.append(f"opset {opset} is newer than {newest}, the newest known here: operators are read as of {newest}")
    written = " ".join([producer, *(f"{k} {v}" for k, v in model.metadata_props.items())]).lower()
    found += [f"the file went through {name}" for name in _SIMPLIFIERS if name in written]
    found += [f"control flow: {name} x {counts[name]}" for name in sorted(_CONTROL & counts.keys())]
    if all(not node.name for node in model.graph):
        found.append("nodes have no names: modules are laid out by position")
    return found
