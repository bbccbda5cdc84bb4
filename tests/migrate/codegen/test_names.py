import keyword
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime
from migrate.codegen.names import Namespace, class_name, identifier, module_attributes, package_name, variables

HOSTILE = [
    'x"); import os #',
    "class",
    "",
    "1abc",
    "forward",
    "été",
    "a/b.c:0",
    "__init__",
    "\n",
    "'''",
    "match",
    "变量",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_become_identifiers(text: str) -> None:
    for made in (identifier(text), class_name(text), package_name(text)):
        assert made.isidentifier() and made.isascii() and not keyword.iskeyword(made)


@given(st.text())
def test_any_text_becomes_an_identifier(text: str) -> None:
    for made in (identifier(text), class_name(text), package_name(text)):
        assert made.isidentifier() and made.isascii() and not keyword.iskeyword(made) and not made.startswith("__")


@given(st.lists(st.text(max_size=6), max_size=12))
def test_claimed_names_differ_even_by_case_and_hide_nothing(texts: list[str]) -> None:
    space = Namespace(module_attributes())
    names = [space.claim(identifier(text)) for text in texts]
    assert len({name.lower() for name in names}) == len(names)
    assert not set(names) & module_attributes()


@pytest.mark.parametrize(
    ("text", "expected"), [("conv1", "conv1"), ("layer.0", "layer_0"), ("a b", "a_b"), ("été", "ete")]
)
def test_readable_names_stay(text: str, expected: str) -> None:
    assert identifier(text) == expected


@pytest.mark.parametrize("name", ["forward", "train", "type", "training", "logits", "parameters", "to"])
def test_attributes_of_modules_are_not_taken(name: str) -> None:
    assert Namespace(module_attributes()).claim(name) == f"{name}_"


def test_variables_hide_no_name_of_emitted_code() -> None:
    assert {"torch", "F", "math", "input", "self", "Tensor"} <= variables()


def test_variables_hide_no_family_of_the_runtime() -> None:
    families = {path.stem for path in Path(runtime.__path__[0], "functional").glob("*.py")}
    assert families and families <= variables()


@pytest.mark.parametrize("name", ["json", "random", "numpy", "torch", "report", "local", "test"])
def test_packages_hide_no_module_and_no_folder(name: str) -> None:
    assert package_name(name) == f"{name}_"


def test_class_names_are_camel_case() -> None:
    assert class_name("self_attn") == "SelfAttn"
    assert class_name("mlp") == "Mlp"
