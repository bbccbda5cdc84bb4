"""What `migrate targets` and `migrate ops` print."""

from __future__ import annotations

import json

import pytest

from migrate import listing
from migrate.errors import Exit, MigrateError
from migrate.opmap import list_targets, load_target


def test_targets() -> None:
    lines = listing.targets(None, json=False).splitlines()
    assert [line.split()[0] for line in lines] == list(list_targets())
    found = json.loads(listing.targets(None, json=True))
    kinds = {t["name"]: t["kind"] for t in found}
    assert kinds.pop("cpu") == "host"
    assert kinds.pop("vendor_a") == kinds.pop("vendor_b") == "reference"
    assert set(kinds.values()) == {"product"}


@pytest.mark.parametrize("name", list_targets())
def test_a_target_shows_where_each_figure_comes_from(name: str) -> None:
    text, document = listing.targets(name, json=False), json.loads(listing.targets(name, json=True))
    figures = load_target(name).figures()
    assert set(document["figures"]) == set(figures)
    for key, figure in figures.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"{key} "))
        assert figure.source in line
        assert ("unknown" in line.split(figure.source)[0]) == (not figure.known)
        assert document["figures"][key][0] == figure.stated


def test_operators_of_a_target() -> None:
    document = json.loads(listing.target_ops("vendor_a", json=True))
    lines = dict(line.split() for line in listing.target_ops("vendor_a", json=False).splitlines())
    assert lines["addmm"] == "native" and "addmm" in document["native"]
    assert set(lines) == {*document["native"], *document["composite"]}


def test_operators_of_the_frontend() -> None:
    rows = json.loads(listing.frontend_ops("onnx", json=True))
    assert len({row["operator"] for row in rows}) >= 100
    softmax = [(row["since"], row["family"]) for row in rows if row["operator"] == "Softmax"]
    assert softmax == [(1, "activation"), (13, "activation")]
    assert len(listing.frontend_ops("onnx", json=False).splitlines()) == len(rows)


@pytest.mark.parametrize(("frontend", "operator"), [("keras", "Conv2D"), ("tensorflow", "FusedBatchNormV3")])
def test_operators_of_other_frontends(frontend: str, operator: str) -> None:
    rows = json.loads(listing.frontend_ops(frontend, json=True))
    assert operator in {row["operator"] for row in rows}
    assert not any(row["operator"].startswith("_") for row in rows)


@pytest.mark.parametrize("call", [listing.targets, listing.target_ops, listing.frontend_ops])
def test_an_unknown_name_is_refused(call) -> None:
    with pytest.raises(MigrateError) as caught:
        call("nothing", json=False)
    assert caught.value.status == Exit.USAGE
