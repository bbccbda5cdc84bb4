"""The models that the PyTorch frontend is measured on, and the measurement: `make zoo` writes docs/pytorch_zoo.jsonl."""
