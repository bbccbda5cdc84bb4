"""What ONNX itself says against a model. Asked only where one could not be read: it needs the whole model as a message."""

from __future__ import annotations

import onnx
import onnx_ir as ir


def invalid(model: ir.Model) -> str:
    """Why the model breaks the operators' schemas, by strict inference of types and shapes; empty where it does not."""
    try:
        onnx.shape_inference.infer_shapes(ir.to_proto(model), check_type=True, strict_mode=True, data_prop=True)
    except Exception as fault:  # the checker's own kinds, and those of the message
        lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
        return (lines[-1] if lines else type(fault).__name__)[:300]
    return ""
