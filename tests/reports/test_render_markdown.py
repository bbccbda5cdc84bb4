"""MIGRATION.md: what it says, and that a model's names change nothing of its structure."""

from dataclasses import replace

from markdown_it import MarkdownIt

from reports import MappingRow, render_markdown

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HEADINGS = [
    "What this is",
    "What was changed, and why",
    "Operators on the target",
    "Comparison with the source",
    "Predicted speed and memory",
    "What is not verified",
    "Diagnostics",
    "What to do next",
]


def blocks(document: str) -> list[tuple[str, int]]:
    """The block structure: every token but the inline ones, with its depth."""
    return [(token.type, token.level) for token in PARSER.parse(document)]


def inlines(document: str) -> list[tuple[str, str]]:
    """All inline tokens as (type, content)."""
    return [(child.type, child.content) for token in PARSER.parse(document) for child in token.children or []]


def test_sections_in_order(example, bare):
    for report in (example, bare):
        lines = render_markdown(report).splitlines()
        assert [line[3:] for line in lines if line.startswith("## ")] == HEADINGS
        assert lines[0].startswith("# Migration of `")


def test_document_ends_in_one_newline_and_has_no_trailing_spaces(example, bare):
    for report in (example, bare):
        text = render_markdown(report)
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert all(line == line.rstrip() for line in text.splitlines())


def test_errors_predictions_and_gaps_are_told(example):
    text = render_markdown(example)
    assert "| Gemm with transB became nn.Linear (self.head = nn.Linear(64, 10)) |" in text
    assert "| 3.1e-07 | 1.0e-04 |" in text
    assert "These figures are **predicted**, not measured." in text
    assert "- Speed, predicted: 412 us a step, 77,670 samples/s at batch size 32" in text
    assert "- speed on the device: no such device is attached" in text
    assert "`python -m digits verify --device vendor_a`" in text
    assert "vendor\\_a" not in text


def test_what_is_missing_is_said_where_nothing_was_done(bare):
    text = render_markdown(bare)
    for said in ("Nothing was rewritten.", "The training step was not traced.", "Not verified: nothing was compared"):
        assert said in text


def test_long_lists_of_places_are_counted(example):
    row = MappingRow(operator="add", state="native", modules=tuple(f"layer{i}" for i in range(9)))
    assert "`layer0`, `layer1`, `layer2` and 6 more" in render_markdown(replace(example, mapping=(row,)))


def test_hostile_names_change_no_block(hostile, make_hostile):
    assert blocks(render_markdown(hostile)) == blocks(render_markdown(make_hostile("harmless")))


def test_hostile_names_stay_text(hostile):
    found = inlines(render_markdown(hostile))
    assert {kind for kind, _ in found} <= {
        "text",
        "code_inline",
        "html_inline",
        "strong_open",
        "strong_close",
        "softbreak",
    }
    assert {content for kind, content in found if kind == "html_inline"} <= {"<code>", "</code>"}
    assert "http://" not in "".join(line for line in render_markdown(hostile).split("`")[::2])
