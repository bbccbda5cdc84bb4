"""The real models that tests work on: found in a git-ignored cache, or taken from the wheels that carry them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import onnx

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "models"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
# name -> requirement, member of its wheel
WHEELS = {
    "ppocr_det": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    "ppocr_rec": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
    "ppocr_cls": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "basic_pitch": ("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    "nudenet": ("nudenet==3.4.2", "nudenet/320n.onnx"),
    "silero_sequence": ("silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx"),
}
NAMES = (*WHEELS, *(path.stem for path in sorted(LIGHT.glob("*.onnx"))))


def model_path(name: str) -> Path:
    """The file of a model, downloaded where it is not there yet."""
    if name not in WHEELS:
        return LIGHT / f"{name}.onnx"
    requirement, member = WHEELS[name]
    path = CACHE / member
    if not path.exists():
        wheel = _wheel(requirement)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(member, CACHE)
    return path


def _wheel(requirement: str) -> Path:
    folder = CACHE / "wheels" / requirement
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), requirement]
        subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
