"""A `.pt2` is read as torch reads it, and nothing that it asks for is executed: every way in which torch would is a case."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.files_pt2 import load_pt2
from tests.migrate.frontends.pytorch.archives import members, program_bytes, program_with, saved, text_exchanged

MODEL, WEIGHTS, CONSTANTS = (
    "models/model.json",
    "data/weights/model_weights_config.json",
    "data/constants/model_constants_config.json",
)
NAME = re.compile(r"model(?=\.json|\.pt|_)")
SYMBOL = "Symbol('s77', positive=True, integer=True)"


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self.path, "executed")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that a payload would write."""
    return tmp_path / "mark"


def expression(mark: Path) -> str:
    return f"__import__('pathlib').Path('{mark}').write_text('executed') and Integer(3)"


def at(*keys: Any, value: Any) -> Callable[[Any], None]:
    """Sets an entry of a nested document."""

    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def spec(kind: str, context: Any) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    return json.dumps([1, {"type": kind, "context": json.dumps(context), "children_spec": [leaf, leaf]}])


SIGNATURE = ("graph_module", "module_call_graph", 0, "signature")
Exchange = Mapping[str, Any]
HOSTILE: dict[str, Callable[[Path], Exchange]] = {
    "size expression": lambda mark: {MODEL: text_exchanged(f"Mul(Integer(3), {SYMBOL})", expression(mark))},
    "expression by attribute": lambda mark: {MODEL: text_exchanged(SYMBOL, "Integer(3).__class__.mro()")},
    "endless power": lambda mark: {MODEL: text_exchanged(f"Mul(Integer(3), {SYMBOL})", "Pow(Pow(9, 64), 64)")},
    "large power": lambda mark: {MODEL: text_exchanged(f"Mul(Integer(3), {SYMBOL})", "9**999999999")},
    "operator": lambda mark: {MODEL: text_exchanged("torch.ops.aten.reshape.default", "torch.os.system")},
    "loaded library": lambda mark: {MODEL: text_exchanged("torch.ops.aten.reshape.default", "torch.ops.load_library")},
    "mapped file": lambda mark: {MODEL: text_exchanged("torch.ops.aten.reshape.default", "torch.ops.aten.from_file")},
    "name of an input": lambda mark: {
        MODEL: text_exchanged('"x"', f'"x=({expression(mark)})"'.replace("'", "\\u0027"))
    },
    "name of an argument": lambda mark: {MODEL: at(*SIGNATURE, "forward_arg_names", value=[f"x={expression(mark)}"])},
    "name of a tensor": lambda mark: dict.fromkeys(
        (MODEL, WEIGHTS), text_exchanged("linear.weight", 'linear.w\\") or print(\\"')
    ),
    "custom object": lambda mark: {
        CONSTANTS: at("config", "table", "path_name", value="custom_obj_0"),
        "data/constants/custom_obj_0": pickle.dumps(Payload(mark)),
    },
    "opaque object": lambda mark: {
        CONSTANTS: at("config", "table", "path_name", value="opaque_obj_0"),
        "data/constants/opaque_obj_0": pickle.dumps(Payload(mark)),
    },
    "pickled weight": lambda mark: {
        WEIGHTS: at("config", "shift", "use_pickle", value=True),
        "data/weights/weight_0": saved(Payload(mark)),
    },
    "older weights": lambda mark: {"data/weights/model.pt": saved({"shift": Payload(mark)})},
    "older constants": lambda mark: {"data/constants/model.pt": saved({"table": Payload(mark)})},
    "bomb of zeros": lambda mark: {
        WEIGHTS: at("config", "shift", "tensor_meta", "sizes", value=[{"as_int": 1 << 40}]),
        "data/weights/weight_2": b"",
    },
    "symbol to count to": lambda mark: {
        MODEL: at("range_constraints", value={"u99999999999": {"min_val": 0, "max_val": None}})
    },
    "no JSON": lambda mark: {MODEL: b"{"},
    "deep JSON": lambda mark: {MODEL: b"[" * 200_000},
    "another document": lambda mark: {MODEL: b"[1, 2]"},
    "no program": lambda mark: {MODEL: None, "data/aotinductor/model/lib.so": b"\x7fELF"},
    "weights missing": lambda mark: {WEIGHTS: None},
    "weight missing": lambda mark: {"data/weights/weight_0": None},
    "newer format": lambda mark: {"archive_version": b"99"},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_programs(case: str, tmp_path: Path, mark: Path) -> None:
    path = program_with(tmp_path / "model.pt2", HOSTILE[case](mark))
    with pytest.raises(MigrateError) as caught:
        load_pt2(path).module()(torch.zeros(2, 4))
    assert caught.value.diagnostics[0].code in ("MIG120", "MIG122")
    assert caught.value.status == Exit.INPUT
    assert not mark.exists()


HARMLESS: dict[str, Callable[[Path], Exchange]] = {
    "as it is": lambda mark: {},
    "guard": lambda mark: {MODEL: at("guards_code", value=[expression(mark)])},
    "sample inputs": lambda mark: {"data/sample_inputs/model.pt": saved(((Payload(mark),), {}))},
    "imported enumeration": lambda mark: {
        MODEL: at(
            *SIGNATURE,
            "out_spec",
            value=spec("builtins.dict", ["flat", {"__enum__": True, "fqn": "this:x", "name": "x"}]),
        )
    },
    "imported factory": lambda mark: {
        MODEL: at(
            *SIGNATURE,
            "out_spec",
            value=spec("collections.defaultdict", {"default_factory_module": "this", "default_factory_name": "s"}),
        )
    },
    "class of the user": lambda mark: {MODEL: at(*SIGNATURE, "out_spec", value=spec("mine.Output", ["flat", "twice"]))},
    "compiled library": lambda mark: {"data/aotinductor/model/lib.so": b"\x7fELF"},
    "graphics device": lambda mark: {
        MODEL: text_exchanged('"type": "cpu"', '"type": "cuda"'),
        WEIGHTS: text_exchanged('"type": "cpu"', '"type": "cuda"'),
    },
    "another name": lambda mark: {
        new: value
        for key, value in members(program_bytes()).items()
        for new, value in ((key, None), (NAME.sub("net", key), value))
        if NAME.search(key)
    },
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_could_run_is_left_out(case: str, tmp_path: Path, mark: Path) -> None:
    program = load_pt2(program_with(tmp_path / "model.pt2", HARMLESS[case](mark)))
    original = torch.export.load(io.BytesIO(program_bytes()))
    x = torch.randn(5, 4)
    found, expected = program.module()(x), original.module()(x)
    found = list(found.values()) if isinstance(found, dict) else list(found)
    assert all(torch.equal(a, b) for a, b in zip(found, expected.values(), strict=True))
    assert program.state_dict.keys() == original.state_dict.keys()
    assert not mark.exists()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_older_layout(tmp_path: Path, mark: Path) -> None:
    parts = members(program_bytes())
    original = torch.export.load(io.BytesIO(program_bytes()))
    content = {
        "version": b"8.14",
        "serialized_exported_program.json": parts[MODEL],
        "serialized_state_dict.pt": saved(dict(original.state_dict)),
        "serialized_constants.pt": saved({"table": torch.arange(2.0)}),
        "serialized_example_inputs.pt": saved(((torch.zeros(3, 4),), {})),
    }

    def write(name: str) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, data in content.items():
                archive.writestr(member, data)
        return tmp_path / name

    x = torch.randn(5, 4)
    found = load_pt2(write("old.pt2")).module()(x)
    assert torch.equal(found["flat"], original.module()(x)["flat"])
    content["serialized_state_dict.pt"] = saved({"shift": Payload(mark)})
    with pytest.raises(MigrateError, match="MIG122"):
        load_pt2(write("hostile.pt2"))
    assert not mark.exists()
