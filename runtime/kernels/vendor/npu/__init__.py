"""Ascend, by torch_npu; written after its published signatures, untested on hardware."""
