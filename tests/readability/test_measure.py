"""What the numbers count, on texts that are bad on purpose."""

import pytest

from tests.readability.measure import measure

HEAD = "class Model(nn.Module):\n    def __init__(self) -> None:\n        super().__init__()\n"
FOUR = "x = self.{0}(x)\n        y = x + x\n        z = torch.cat((x, y))\n        x = F.relu(z)\n        "


def of(forward: str, members: str = "self.conv1 = nn.Conv2d(3, 4, 3)") -> dict[str, float]:
    text = f"{HEAD}        {members}\n\n    def forward(self, x):\n        {forward}\n"
    found = measure({"net/model.py": text, "net/config.py": "conv_17 = 33"})
    return {name: getattr(found, name) for name in ("op_number_names", "repeated_runs", "integers", "longest_forward")}


@pytest.mark.parametrize(
    ("forward", "name", "count"),
    [
        ("return self.conv1(x)", "op_number_names", 0),
        ("t_583 = self.conv1(x)\n        return t_583", "op_number_names", 1),
        ("x12 = self.conv1(x)\n        return x12", "op_number_names", 1),
        ("return x.permute(0, 3, 1, 2).mean(dim=3)", "integers", 0),
        ("return x.reshape(-1, 2)", "integers", 0),
        ("return self.layers[12](x)[:, 7]", "integers", 1),
        ("return x.reshape(-1, 49) + F.pad(x, (0, 3))", "integers", 2),
        (FOUR.format("a") + "return x", "repeated_runs", 0),
        (FOUR.format("a") + FOUR.format("b") + "return x", "repeated_runs", 1),
        (FOUR.format("a") + FOUR.format("b") + "return x", "longest_forward", 9),
    ],
)
def test_counts(forward: str, name: str, count: int) -> None:
    assert of(forward)[name] == count


def test_names_of_members_count_and_those_of_the_source_do_not() -> None:
    assert of("return x", "self.conv_17 = nn.Conv2d(3, 4, 3)")["op_number_names"] == 1
    text = f"{HEAD}        self.conv_17 = nn.Conv2d(3, 4, 3)\n\n    def forward(self, x):\n        return x\n"
    assert measure({"net/model.py": text}, frozenset({"conv_17"})).op_number_names == 0
