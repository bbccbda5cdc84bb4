"""`python -m keras_cnn train | verify | export`."""

from __future__ import annotations

from pathlib import Path

from . import load_model
from .config import INPUTS, OUTPUTS, SIZES
from .data import dataset
from .loss import TARGETS, compute_loss
from .runtime.cli import main
from .runtime.package import Package

PACKAGE = Package(
    name="keras_cnn",
    directory=Path(__file__).resolve().parent,
    load_model=load_model,
    compute_loss=compute_loss,
    inputs=INPUTS,
    outputs=OUTPUTS,
    targets=TARGETS,
    sizes=SIZES,
    dataset=dataset,
)

if __name__ == "__main__":
    main(PACKAGE)
