"""The packages whose models are measured: found in a folder of their own, which comes after the environment's.

torchvision and timm ask for a torch of their own; so they are installed without what they ask for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("MIGRATE_ZOO") or ROOT / ".cache" / "zoo")
INSTALLS = (("--no-deps", "torchvision", "timm"), ("transformers", "pillow"))


@cache
def find_packages() -> None:
    """Make torchvision, timm and transformers importable, downloaded where they are not there yet."""
    if not (FOLDER / "transformers").exists():
        for wanted in INSTALLS:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
            subprocess.run([*pip, "--target", str(FOLDER), *wanted], check=True)
    sys.path.append(str(FOLDER))
    os.environ["HF_HUB_OFFLINE"] = "1"
    _declare_operators()


def _declare_operators() -> None:
    """torchvision's compiled operators are built for one torch only; its import asks for their schemas alone."""
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)


_KEPT: list[torch.library.Library] = []
