"""What is linked into every emitted package: devices, kernels, communication, training and verification.

It imports torch, numpy, safetensors and itself, never the tool that wrote the package.
"""
