"""A hand-written package after the contract of docs/architecture.md, and ways to run it in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from runtime.package import Package, TensorSpec

RUNTIME = Path(__file__).parents[2] / "runtime"

INIT = """
from pathlib import Path

from safetensors.torch import load_file

from .model import Model


def load_model(pretrained=True):
    model = Model()
    weights = Path(__file__).parent / "weights.safetensors"
    if pretrained:
        model.load_state_dict(load_file(weights))
    return model.eval()
"""

MAIN = """
from pathlib import Path

from . import load_model
from .config import INPUTS, OUTPUTS, SIZES
from .data import dataset
from .loss import TARGETS, compute_loss
from .runtime.cli import main
from .runtime.package import Package

if __name__ == "__main__":
    main(
        Package(
            name="tiny",
            directory=Path(__file__).resolve().parent,
            load_model=load_model,
            compute_loss=compute_loss,
            inputs=INPUTS,
            outputs=OUTPUTS,
            targets=TARGETS,
            sizes=SIZES,
            dataset=dataset,
        )
    )
"""

CONFIG = """
from .runtime.package import TensorSpec

INPUTS = (TensorSpec(name="image", shape=("batch", 3, "size", "size")),)
OUTPUTS = (TensorSpec(name="scores", shape=("batch", 5)),)
SIZES = {"size": 8}
"""

MODEL = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.block = Block(8)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(8, 5)

    def logits(self, image):
        x = self.block(torch.relu(self.stem(image)))
        return self.head(self.dropout(x.mean((2, 3))))

    def forward(self, image):
        return torch.softmax(self.logits(image), -1)
"""

LOSS = """
import torch.nn.functional as F

from .runtime.package import TensorSpec

TARGETS = (TensorSpec(name="label", shape=("batch",), dtype="int64", high=5),)


def compute_loss(model, inputs, targets):
    return F.cross_entropy(model.logits(*inputs), targets[0])
"""

DATA = """
def dataset(settings):
    return None
"""

TRAIN = """
[train]
steps = 20
batch_size = 4
seed = 0

[optimizer]
name = "adamw"
lr = 1e-2

[schedule]
name = "cosine"
warmup_steps = 2
"""

# writes pretrained weights and the golden file with the package's own module as the source
PREPARE = """
from pathlib import Path

import torch
from safetensors.torch import save_file

from tiny import load_model
from tiny.config import INPUTS, SIZES
from tiny.runtime.verify import GoldenCase, golden_gradients, inventory_of, perturb, write_golden

torch.manual_seed(1)
model = load_model(pretrained=False)
with torch.no_grad():
    model.block.norm.running_mean.normal_()
    model.block.norm.running_var.uniform_(0.5, 2.0)
save_file(model.state_dict(), "tiny/weights.safetensors")


@torch.no_grad()
def case(name, batch, sigma=0.0, seed=0):
    changed = load_model()
    perturb(changed, seed, sigma)
    image = INPUTS[0].draw(SIZES, batch, torch.Generator().manual_seed(batch))
    return GoldenCase(
        name=name, inputs=(image,), outputs=(changed(image),), logits=(changed.logits(image),), seed=seed, sigma=sigma
    )


cases = [case(f"batch{n}", n) for n in (2, 3, 5)] + [case("moved1", 2, 0.01, 1), case("moved5", 2, 0.05, 2)]
model = load_model()
gradients = golden_gradients(model, cases[0])
write_golden(Path("checks"), cases=cases, inventory=inventory_of(model), gradients=gradients)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass
class Ran:
    status: int
    out: str
    err: str

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def losses(self) -> list[float]:
        return [step["loss"] for step in self.steps]


@dataclass
class Tiny:
    """The package on disk: `root` is the folder to run it in."""

    root: Path

    @property
    def directory(self) -> Path:
        return self.root / "tiny"

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.directory / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def python(self, *arguments: str) -> Ran:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=self.root, env=environment(), capture_output=True, text=True, timeout=120)
        return Ran(done.returncode, done.stdout, done.stderr)

    def run(self, *arguments: str) -> Ran:
        return self.python("-m", "tiny", *arguments)

    def torchrun(self, processes: int, *arguments: str) -> Ran:
        launcher = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        return self.python(*launcher, "-m", "tiny", *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tiny", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.root, env=environment(), stdout=pipe, stderr=pipe, text=True)


def write_tiny(root: Path) -> Tiny:
    directory = root / "tiny"
    directory.mkdir(parents=True)
    files = {
        "__init__.py": INIT,
        "__main__.py": MAIN,
        "config.py": CONFIG,
        "model.py": MODEL,
        "loss.py": LOSS,
        "data.py": DATA,
        "train.toml": TRAIN,
    }
    for name, text in files.items():
        (directory / name).write_text(text)
    (directory / "runtime").symlink_to(RUNTIME)
    return Tiny(root)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The package with weights and golden file; shared, so tests must not change it."""
    tiny = write_tiny(tmp_path_factory.mktemp("prepared"))
    ran = tiny.python("-c", PREPARE)
    assert ran.status == 0, ran.err
    return tiny


@pytest.fixture
def tiny(prepared: Tiny, tmp_path: Path) -> Tiny:
    """A copy of the package for one test to change and to train in."""
    copied = write_tiny(tmp_path / "package")
    (copied.directory / "weights.safetensors").write_bytes((prepared.directory / "weights.safetensors").read_bytes())
    (copied.root / "checks").symlink_to(prepared.root / "checks")
    return copied


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """A linear regression in this process, without anything on disk."""
    (tmp_path / "linear").mkdir()

    def load_model(pretrained: bool = True) -> nn.Module:
        torch.manual_seed(3)
        return nn.Linear(3, 2).eval()

    return Package(
        name="linear",
        directory=tmp_path / "linear",
        load_model=load_model,
        compute_loss=lambda model, inputs, targets: (model(*inputs) - targets[0]).square().mean(),
        inputs=(TensorSpec(name="x", shape=("batch", 3)),),
        outputs=(TensorSpec(name="y", shape=("batch", 2)),),
        targets=(TensorSpec(name="wanted", shape=("batch", 2)),),
    )
