"""The golden file: read as written, equal bytes, and damaged ones refused."""

import json

import pytest
import torch
from torch import nn

from runtime.package import PackageError
from runtime.verify import GoldenCase, golden_gradients, inventory_of, read_golden, write_golden


def write(directory):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    x = torch.randn(2, 3)
    y = module(x).detach()
    plain = GoldenCase(name="batch2", inputs=(x,), outputs=(y, y.argmax(1)))
    moved = GoldenCase(name="moved", inputs=(x,), outputs=(y,), logits=(y,), seed=4, sigma=0.05)
    gradients = golden_gradients(module, plain)
    write_golden(directory, cases=[plain, moved], inventory=inventory_of(module), gradients=gradients)
    return plain, moved, inventory_of(module), gradients


def test_what_is_written_is_read(tmp_path):
    plain, moved, inventory, gradients = write(tmp_path)
    golden = read_golden(tmp_path)
    assert golden.inventory == inventory and golden.gradients == gradients
    assert (golden.cases[1].seed, golden.cases[1].sigma, golden.cases[0].logits) == (4, 0.05, ())
    assert torch.equal(golden.case("moved").logits[0], moved.logits[0])
    assert torch.equal(golden.case("batch2").outputs[1], plain.outputs[1])
    with pytest.raises(PackageError, match="there are batch2, moved"):
        golden.case("batch9")


def test_equal_arguments_give_equal_bytes(tmp_path):
    write(tmp_path / "a")
    write(tmp_path / "b")
    for name in ("golden.json", "golden.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_roles_are_in_the_inventory():
    module = nn.Sequential(nn.Linear(3, 2).requires_grad_(False), nn.BatchNorm1d(2))
    roles = {item.name: (item.role, item.trainable) for item in inventory_of(module)}
    assert roles["0.weight"] == ("parameter", False)
    assert roles["1.weight"] == ("parameter", True)
    assert roles["1.running_mean"] == ("buffer", False)


@pytest.mark.parametrize("damage", ["missing", "schema", "json", "tensors", "field"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    write(tmp_path)
    path = tmp_path / "golden.json"
    document = json.loads(path.read_text())
    if damage == "missing":
        path.unlink()
    elif damage == "schema":
        path.write_text(json.dumps(document | {"schema": 99}))
    elif damage == "json":
        path.write_text("{")
    elif damage == "tensors":
        (tmp_path / "golden.safetensors").write_bytes(b"")
    else:
        del document["cases"][0]["sigma"]
        path.write_text(json.dumps(document))
    with pytest.raises(PackageError) as caught:
        read_golden(tmp_path)
    assert caught.value.status == 3
