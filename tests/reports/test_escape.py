"""Escaping, held against a Markdown parser: what goes in comes out as text and nothing else."""

import html
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports.escape import markdown_code, markdown_text, shorten, visible

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
NOT_HOLLOW = st.text(min_size=1, max_size=40).filter(lambda s: s.strip())
AWKWARD = st.text(alphabet="|\\`*_[]<>&~#-+=1.)$@:/a \n\u202e", min_size=1, max_size=25).filter(lambda s: s.strip())


def flatten(tokens: list[Token]) -> list[Token]:
    """All tokens, inline ones in place of their parent."""
    return [t for token in tokens for t in (flatten(token.children) if token.children else [token])]


def cells(document: str) -> list[str]:
    """The text of each cell of the body of the one table in a document; anything but text and code fails."""
    tokens = PARSER.parse(document)
    texts = []
    for place, token in enumerate(tokens):
        if token.type == "td_open":
            children = tokens[place + 1].children or []
            assert {c.type for c in children} <= {"text", "code_inline", "html_inline", "text_special"}
            assert {c.content for c in children if c.type == "html_inline"} <= {"<code>", "</code>"}
            texts.append("".join(c.content for c in children if c.type != "html_inline"))
    return texts


def in_table(cell: str) -> str:
    return f"| a | b |\n| --- | --- |\n| {cell} | end |\n"


def squeezed(text: str) -> str:
    """As a reader sees it: runs of spaces are one."""
    return " ".join(text.split(" ")).strip()


@pytest.mark.parametrize("quote", [markdown_text, markdown_code])
@settings(deadline=None)
@given(text=NOT_HOLLOW | AWKWARD)
def test_text_survives_a_table_cell_as_text(quote, text):
    first, second = cells(in_table(quote(text)))
    assert second == "end"
    assert squeezed(html.unescape(first)) == squeezed(html.unescape(visible(text)))


@pytest.mark.parametrize("quote", [markdown_text, markdown_code])
@pytest.mark.parametrize("prefix", ["", "- ", "1. "])
@settings(deadline=None)
@given(text=NOT_HOLLOW | AWKWARD)
def test_text_stays_one_paragraph(quote, prefix, text):
    tokens = flatten(PARSER.parse(f"{prefix}{quote(text)}\n\nend\n"))
    assert not {t.type for t in tokens} & {
        "heading_open",
        "link_open",
        "image",
        "em_open",
        "s_open",
        "fence",
        "html_block",
        "hr",
    }
    assert {t.content for t in tokens if t.type == "html_inline"} <= {"<code>", "</code>"}


@settings(deadline=None)
@given(text=st.text(max_size=60))
def test_visible_text_is_one_printable_line(text):
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert visible(shown) == shown


def test_visible_keeps_letters_of_any_script():
    assert visible("layer \u5c42 \u00e9") == "layer \u5c42 \u00e9"
    assert visible("a\nb\x1b[31m\u202e\ud800") == r"a\nb\x1b[31m\u202e\ud800"


def test_plain_names_stay_readable():
    assert markdown_code("/layer1/layer1.0/conv1/Conv") == "`/layer1/layer1.0/conv1/Conv`"
    assert (
        markdown_text("running_mean of 3 (2 * 4), 1e-5 -> nn.Linear")
        == r"running_mean of 3 (2 \* 4), 1e-5 -&gt; nn.Linear"
    )


@pytest.mark.parametrize("text", ["0.1.0", "1.5x", "-0.5", "version 2. of"])
def test_numbers_are_no_lists(text):
    assert html.unescape(markdown_text(text)).replace("\\", "") == text
    assert markdown_text("0.1.0") == "0.1.0"
    assert markdown_text("1. one") == "&#49;. one"


def test_shorten_keeps_both_ends_and_the_limit():
    cut = shorten("a" * 100 + "b" * 100, 21)
    assert cut == "a" * 9 + "..." + "b" * 9
    assert shorten("short", 21) == "short"
