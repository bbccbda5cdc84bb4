"""Implementations made of PyTorch operators alone: candidates on every device."""
