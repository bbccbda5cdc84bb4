"""Checkpoints on disk: complete or absent, found again, pruned, and damaged ones refused."""

import hashlib
import json
import pickle

import pytest
import torch

from runtime.comm import World
from runtime.package import PackageError
from runtime.train import checkpoint

TENSORS = {"model/w": torch.arange(6.0).reshape(2, 3), "optimizer/step/w": torch.tensor(3.0), "rng": torch.arange(4)}


def write(root, step, keep=2):
    return checkpoint.save(root, step, dict(TENSORS), {"position": step * 4}, World(), keep)


def test_what_is_saved_is_loaded(tmp_path):
    tensors, state = checkpoint.load(write(tmp_path, 7))
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert (state["step"], state["position"]) == (7, 28)


def test_the_newest_are_kept_and_nothing_temporary_stays(tmp_path):
    for step in (1, 2, 10):
        write(tmp_path, step)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["latest", "step-00000002", "step-00000010"]
    assert checkpoint.find(tmp_path, "auto") == tmp_path / "step-00000010"


def test_a_save_that_fails_leaves_the_last_checkpoint_in_force(tmp_path, monkeypatch):
    good = write(tmp_path, 1)

    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(checkpoint.dcp, "save", fail)
    with pytest.raises(PackageError, match="no space left"):
        write(tmp_path, 2)
    assert checkpoint.find(tmp_path, "auto") == good
    monkeypatch.undo()
    write(tmp_path, 2)
    assert not list(tmp_path.glob("*.tmp"))


def test_finding(tmp_path):
    assert checkpoint.find(tmp_path, "auto") is None
    with pytest.raises(PackageError, match="no checkpoint there"):
        checkpoint.find(tmp_path, str(tmp_path))
    first, second = write(tmp_path, 1), write(tmp_path, 2)
    assert checkpoint.find(tmp_path / "elsewhere", str(tmp_path)) == second
    assert checkpoint.find(tmp_path / "elsewhere", str(first)) == first
    (tmp_path / "latest").write_text("step-00000009\n")
    with pytest.raises(PackageError, match="step-00000009"):
        checkpoint.find(tmp_path, "auto")


def rewrite(saved, metadata):
    """Replace `.metadata` and its hash, as it is where the writer itself was at fault."""
    (saved / ".metadata").write_bytes(metadata)
    state = json.loads((saved / "state.json").read_text())
    state["metadata_sha256"] = hashlib.sha256(metadata).hexdigest()
    (saved / "state.json").write_text(json.dumps(state))


class Planted:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return type(self.mark).touch, (self.mark,)


def test_replaced_metadata_is_refused_before_it_runs(tmp_path):
    saved = write(tmp_path, 1)
    (saved / ".metadata").write_bytes(pickle.dumps(Planted(tmp_path / "mark")))
    with pytest.raises(PackageError, match="not the file that was saved") as caught:
        checkpoint.load(saved)
    assert caught.value.status == 3 and not (tmp_path / "mark").exists()


@pytest.mark.parametrize("damage", ["state", "schema", "metadata", "cut", "gone", "tensors"])
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    saved = write(tmp_path, 1)
    if damage == "state":
        (saved / "state.json").write_text("{")
    elif damage == "schema":
        (saved / "state.json").write_text(json.dumps({"schema": 99}))
    elif damage == "metadata":
        (saved / ".metadata").unlink()
    elif damage == "cut":
        rewrite(saved, (saved / ".metadata").read_bytes()[:40])
    elif damage == "gone":
        rewrite(saved, b"cbuiltins\nno_such_class\n.")
    else:
        (saved / "__0_0.distcp").write_bytes(b"")
    with pytest.raises(PackageError) as caught:
        checkpoint.load(saved)
    assert caught.value.status == 3


def test_a_fresh_run_moves_the_earlier_one_aside(tmp_path):
    assert checkpoint.set_aside(tmp_path) is None
    write(tmp_path, 5)
    checkpoint.save_weights(tmp_path, {"w": TENSORS["model/w"]})
    aside = checkpoint.set_aside(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["earlier-1"]
    assert checkpoint.find(aside, "auto") == aside / "step-00000005" and (aside / "weights.safetensors").is_file()


def test_equal_weights_give_equal_bytes_and_tied_ones_are_written_twice(tmp_path):
    w = torch.ones(2, 2)
    first = checkpoint.save_weights(tmp_path / "a", {"w": w, "tied": w})
    second = checkpoint.save_weights(tmp_path / "b", {"tied": w, "w": w})
    assert first.read_bytes() == second.read_bytes()
