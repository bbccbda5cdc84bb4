"""What is measured of one model, the file of all of them, and their summary."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "pytorch_zoo.jsonl"
SIZES = {"timm": 200, "torch_nn": 169, "torchvision": 121, "transformers": 60}  # how many models a family has
MEASURES = ("outputs", "gradients", "keys", "curve", "trains")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A model: whether torch exports it, whether it converts, and what of the result equals the source.

    `reason` says why it is refused or what differs; `measured` is False where a limit of time or memory ended it.
    """

    family: str
    name: str
    exports: bool = False
    converts: bool = False
    outputs: bool = False
    gradients: bool = False
    keys: bool = False
    curve: bool = False
    trains: bool = False
    measured: bool = True
    reason: str = ""
    seconds: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether it converts and everything that is measured holds."""
        return self.converts and all(getattr(self, name) for name in MEASURES)


def read(path: Path = RESULTS) -> list[Record]:
    """The records of a file, by family and name."""
    if not path.exists():
        return []
    known = {field.name for field in fields(Record)}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return _sorted(Record(**{name: value for name, value in line.items() if name in known}) for line in lines)


def write(records: Iterable[Record], path: Path = RESULTS) -> None:
    """Write records, in the place of older ones of the same models."""
    kept = {(r.family, r.name): r for r in (*read(path), *records)}
    text = "".join(json.dumps(asdict(record)) + "\n" for record in _sorted(kept.values()))
    path.write_text(text, encoding="utf-8")


def _sorted(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (r.family, r.name))


def summary(records: list[Record]) -> str:
    """The figures with what they are shares of."""
    measured = [r for r in records if r.measured]
    exported = [r for r in measured if r.exports]
    lines = [f"{len(records)} models, {len(measured)} measured, torch.export refuses {len(measured) - len(exported)}"]
    converted = [r for r in exported if r.converts]
    lines.append(f"of the {len(exported)} others convert {_share(len(converted), len(exported))}")
    for name in MEASURES:
        lines.append(f"{name}: {_share(sum(getattr(r, name) for r in exported), len(exported))}")
    lines.append(f"equal in all: {_share(sum(r.equal for r in exported), len(exported))}")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"
