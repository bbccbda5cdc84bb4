"""ONNX operators, one file per family; each function reads one operator from one schema version on."""
