"""What a pickle names is read from its instructions, in every protocol; nothing of it is executed."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from migrate.frontends.pytorch.files_pickle import PickleFault, read_legacy, read_pickle
from tests.migrate.frontends.pytorch.archives import saved


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self.path, "executed")


class Nested:
    class Inner:
        pass


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_calls_are_found_in_every_protocol(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    data = pickle.dumps({"weight": [1.0, 2], "x": [Payload(mark), Payload(mark)]}, protocol=protocol)
    facts = read_pickle(io.BytesIO(data))
    assert any("pathlib" in call for call in facts.calls), facts
    assert not facts.is_data and not mark.exists()
    pickle.loads(data)
    assert mark.exists(), "the payload is real"


def test_a_name_that_comes_from_the_memo() -> None:
    facts = read_pickle(io.BytesIO(pickle.dumps([Nested.Inner(), Nested.Inner], protocol=4)))
    assert facts.calls == (f"{__name__}.Nested.Inner",)


@pytest.mark.parametrize(
    "value",
    [
        nn.Linear(2, 2).state_dict(),
        {"model": nn.BatchNorm2d(2).state_dict(), "epoch": 3, "best": 0.5, "name": "net"},
        [torch.ones(2, dtype=torch.bfloat16), torch.Size((2, 3)), torch.float16, torch.device("cpu"), {1, 2}],
        {"step": np.float32(3), "table": np.zeros(3)},
        nn.Parameter(torch.ones(2)),
    ],
    ids=["state_dict", "checkpoint", "tensors", "numpy", "parameter"],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_data_is_data(value: Any, zipped: bool) -> None:
    data = saved(value, zipped=zipped)
    if zipped:
        import zipfile

        archive = zipfile.ZipFile(io.BytesIO(data))
        data = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
    assert read_legacy(io.BytesIO(data)).calls == ()


def test_a_module_in_the_old_format() -> None:
    calls = read_legacy(io.BytesIO(saved(nn.Sequential(nn.Linear(2, 2)), zipped=False))).calls
    assert "torch.nn.modules.container.Sequential" in calls and "torch.nn.modules.linear.Linear" in calls


@pytest.mark.parametrize("data", [b"", b"\x80\x02", b"\x80\x02cposix\nsys", b"\x80\x04\x8c\xffab", b"\x80\x02\xff."])
def test_broken_pickles(data: bytes) -> None:
    with pytest.raises(PickleFault):
        read_pickle(io.BytesIO(data))


def test_a_pickle_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migrate.frontends.pytorch.files_pickle.MAX_INSTRUCTIONS", 100)
    with pytest.raises(PickleFault, match="more than 100 instructions"):
        read_pickle(io.BytesIO(pickle.dumps(list(range(200)))))
