from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from migrate.errors import Exit, MigrateError
from migrate.opmap import list_targets, load_target, resolve
from migrate.opmap.profile import TARGETS


def test_targets_are_the_files_of_the_folder():
    assert {"cpu", "vendor_a", "vendor_b"} <= set(list_targets())
    assert [load_target(name).name for name in list_targets()] == list(list_targets())


def test_reference_targets_say_that_they_are_no_product():
    for name in ("vendor_a", "vendor_b"):
        target = load_target(name)
        assert target.kind == "reference"
        assert "reference target, no product" in target.title
        assert not any(figure.verified for figure in target.figures().values())


PRODUCTS = [name for name in list_targets() if load_target(name).kind == "product"]


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_claims_no_more_than_it_has_a_source_for(name: str):
    target = load_target(name)
    figures = target.figures()
    assert not any(figure.verified for figure in figures.values()), "nothing was measured on the device by us"
    assert all(figure.source for figure in figures.values())
    assert {"float32", "float16", "int64", "bool"} <= target.dtypes.keys()
    assert resolve(target)["operators"]["native"]
    assert target.environment, "what must be installed to train there"


def test_products_cover_each_family_of_accelerators():
    devices = {load_target(name).device.type for name in PRODUCTS}
    assert {"cuda", "npu", "mlu", "musa", "xpu", "mps"} <= devices


def test_an_unknown_figure_costs_nothing_and_is_null_for_the_package():
    target = load_target("cambricon_mlu590")
    assert (target.memory_bytes.known, target.memory_bytes.stated) == (False, None)
    assert target.memory_bandwidth.value == target.memory_bytes.value == math.inf
    assert target.links["host"].latency_seconds.value == 0
    document = json.loads(json.dumps(resolve(target), allow_nan=False))
    assert document["memory"] == {"bytes": None, "bandwidth": None}
    assert document["links"]["host"] == {"bandwidth": None, "latency_seconds": None}


def test_vendor_a_has_no_double_and_no_complex_and_vendor_b_has():
    a, b = load_target("vendor_a"), load_target("vendor_b")
    assert {"float16", "bfloat16", "float32", "int8"} <= a.dtypes.keys()
    assert not {"float64", "complex64", "complex128"} & a.dtypes.keys()
    assert "float64" in b.dtypes
    assert (a.matrix_tile, b.matrix_tile) == ((16, 16, 16), (16, 8, 16))


def test_listing_and_loading_targets_loads_no_framework():
    code = (
        "import sys, migrate.opmap as m; [m.resolve(m.load_target(t)) for t in m.list_targets()]; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "yaml", "onnx", "numpy"} & set(done.stdout.split())


def faulty(tmp_path: Path, old: str, new: str) -> list[str]:
    text = (TARGETS / "vendor_a.toml").read_text()
    assert old in text
    path = tmp_path / "vendor_a.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(MigrateError) as caught:
        load_target(path)
    assert caught.value.status == Exit.INPUT
    return [str(found) for found in caught.value.diagnostics]


FAULTS = [
    ("schema = 1", "schema = 9", "MIG414", "schema 9"),
    ("schema = 1", "schema = [", "MIG411", "TOML"),
    ('type = "vendora"\n', "", "MIG412", "device.type"),
    ('type = "vendora"', 'type = "vendor_a"', "MIG414", "letters"),
    ("host_fallback = false", 'host_fallback = "no"', "MIG413", "'no' is not a bool"),
    ("value = 1.6e12", "value = -1", "MIG414", "-1 is not a positive number"),
    ("value = 1.6e12", "value = true", "MIG414", "True is not a positive number"),
    ("tile = [16, 16, 16]", "tile = [16, 16]", "MIG414", "[16, 16]"),
    ("[links.host]", "[links.hosts]", "MIG412", "link to the host"),
    ("float32.peak_flops", "float31.peak_flops", "MIG414", "float31"),
    ('process_group = "gloo"', 'process_group = "gloo"\ncolour = "red"', "MIG415", "colour"),
    ('table = "vendor_a.tsv"', 'table = "nowhere.tsv"', "MIG418", "nowhere.tsv"),
    ('source = "chosen: HBM2e of published NPU training modules"', 'source = ""', "MIG414", "without a source"),
    ('name = "vendor_a"', 'name = "other"', "MIG414", "file's name"),
]


@pytest.mark.parametrize(("old", "new", "code", "words"), FAULTS)
def test_a_faulty_profile_is_refused_with_the_place(tmp_path: Path, old: str, new: str, code: str, words: str):
    found = faulty(tmp_path, old, new)
    assert any(line.startswith(code) and words in line for line in found), found


def test_all_faults_are_reported_at_once(tmp_path: Path):
    found = faulty(tmp_path, 'type = "vendora"\nprocess_group = "gloo"', 'type = "vendor_a"\ncolour = 1')
    assert [line[:6] for line in found] == ["MIG415", "MIG414", "MIG412"]


def test_an_unknown_target_names_the_known_ones():
    with pytest.raises(MigrateError, match=r"MIG410.*vendor_x.*vendor_a") as caught:
        load_target("vendor_x")
    assert caught.value.status == Exit.USAGE


def test_a_profile_of_the_users_own_with_its_table_beside_it(tmp_path: Path):
    text = (TARGETS / "vendor_a.toml").read_text().replace('"vendor_a"', '"mine"').replace("vendor_a.tsv", "mine.tsv")
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "mine.tsv").write_text("# mine\nadd.out\n")
    target = load_target(tmp_path / "mine.toml")
    assert (target.name, target.operators.table) == ("mine", tmp_path / "mine.tsv")


def test_a_profile_that_is_no_text_is_a_diagnostic(tmp_path: Path):
    path = tmp_path / "vendor_a.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(MigrateError, match="MIG411"):
        load_target(path)
