"""The whole way, on a small model: train in PyTorch, export to ONNX, check, convert, verify, fine-tune, export back.

The classifier is trained on the first half of its epochs only, so that fine-tuning has something to win. Every figure printed
is measured in this run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F

OUT = Path("demo_out")
PACKAGE = "digits"


class Classifier(nn.Module):
    """Two convolutions with BatchNorm, Dropout and a linear head, on 8x8 images."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.dropout(self.features(image).flatten(1))).softmax(-1)


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images in [0, 1] and labels, 1,200 for training and the rest for testing."""
    data = load_digits()
    images = (data.images / 16).astype("float32")[:, None]
    labels = data.target.astype("int64")
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:1200], order[1200:]
    return images[train], labels[train], images[test], labels[test]


def pretrain(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> None:
    """A short training, stopped early on purpose."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for start in range(0, 600, 50):
        image, label = torch.from_numpy(images[start : start + 50]), torch.from_numpy(labels[start : start + 50])
        loss = F.nll_loss(model(image).clamp_min(1e-9).log(), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def export(model: nn.Module, path: Path) -> None:
    """In training mode and without folding, so that BatchNorm and Dropout stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.zeros(2, 1, 8, 8),),
            path,
            dynamo=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
            input_names=["image"],
            output_names=["probabilities"],
            dynamic_axes={"image": {0: "batch"}, "probabilities": {0: "batch"}},
        )


def accuracy(path: Path, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of images that ONNX Runtime, running the file, gets right."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    (probabilities,) = session.run(None, {name: images})
    return float((probabilities.argmax(-1) == labels).mean())


def run(*command: str, cwd: Path | None = None) -> str:
    """Show a command, run it, and return what it printed; a failure ends the demo."""
    print(f"\n$ {' '.join(command)}", flush=True)
    program = (
        [sys.executable, *command[1:]]
        if command[0] == "python"
        else [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    )
    done = subprocess.run(program, cwd=cwd, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(done.returncode)
    return done.stdout


def fine_tune(package: Path, device: str) -> Path:
    """Train the package on the digits for 60 steps and export it; returns the ONNX file."""
    checkpoints = f"checkpoints_{device}"
    lines = run(
        "python", "-m", PACKAGE, "train", "--steps", "60", "--batch-size", "50", "--device", device, "--json",
        "--checkpoint-dir", checkpoints, "--set", "data.kind=npz", "--set", "data.path=../data", "--set", "optimizer.lr=3e-3",
        cwd=package,
    )  # fmt: skip
    losses = [json.loads(line)["loss"] for line in lines.splitlines() if line.startswith("{")]
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps on {device}")
    weights = next((package / checkpoints).rglob("weights.safetensors"))
    print(
        run(
            "python",
            "-m",
            PACKAGE,
            "export",
            f"{device}.onnx",
            "--weights",
            str(weights.relative_to(package)),
            cwd=package,
        )
    )
    return package / f"{device}.onnx"


def main() -> None:
    """Run it all in `demo_out/`."""
    shutil.rmtree(OUT, ignore_errors=True)
    (OUT / "data").mkdir(parents=True)
    images, labels, test_images, test_labels = digits()
    model = Classifier().train()
    pretrain(model, images, labels)
    source = OUT / "digits.onnx"
    export(model, source)
    export(model.eval(), OUT / "digits_eval.onnx")
    before = accuracy(OUT / "digits_eval.onnx", test_images, test_labels)

    print(run("migrate", "check", str(source), "--target", "vendor_a"))
    print(
        run("migrate", "convert", str(source), "--target", "vendor_a", "--out", str(OUT / PACKAGE), "--name", PACKAGE)
    )
    print(run("migrate", "verify", str(OUT / PACKAGE), "--device", "vendor_a"))

    np.savez(OUT / "data" / "digits.npz", image=images, target=labels)
    after = {
        device: accuracy(fine_tune(OUT / PACKAGE, device), test_images, test_labels) for device in ("vendor_a", "cpu")
    }
    print(f"\naccuracy on {len(test_labels)} unseen digits, by ONNX Runtime")
    print(f"  before fine-tuning       {before:6.1%}")
    for device, value in after.items():
        print(f"  fine-tuned on {device:<10} {value:6.1%}")
    print(f"\nthe package: {OUT / PACKAGE}   its report: {OUT / PACKAGE / 'report' / 'report.html'}")


if __name__ == "__main__":
    main()
