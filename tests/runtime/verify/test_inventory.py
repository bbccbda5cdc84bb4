"""The inventory names what is missing, added or changed."""

import pytest
from torch import nn

from runtime.verify import inventory_of
from runtime.verify.inventory import check_inventory


def model():
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda m: None, "7 tensors, 4 trainable"),
        (lambda m: m.__setitem__(0, nn.Linear(3, 2, bias=False)), "0.bias is missing"),
        (lambda m: m.append(nn.PReLU()), "2.weight is not expected"),
        (lambda m: m.__setitem__(0, nn.Linear(4, 2)), "0.weight has shape (2, 4), expected (2, 3)"),
        (lambda m: m[0].weight.requires_grad_(False), "0.weight has trainable False, expected True"),
        (lambda m: m[0].half(), "0.weight has dtype float16, expected float32"),
    ],
)
def test_inventory(change, detail):
    changed = model()
    change(changed)
    check = check_inventory(changed, inventory_of(model()))
    assert detail in check.detail and check.passed is detail.startswith("7 tensors")
