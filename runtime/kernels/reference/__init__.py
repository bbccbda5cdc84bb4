"""The plain PyTorch meaning of each kernel, one file each; the oracle of every other implementation."""
