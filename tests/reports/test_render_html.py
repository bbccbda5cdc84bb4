"""The HTML page: self-contained, accessible, and the same page whatever a model's names are."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from reports import ParityRow, charts, render_html, render_markdown
from reports.escape import shorten, visible
from reports.render_html import SECTIONS, TEMPLATES

VOID = {"meta", "rect", "line", "circle", "br"}
CSS = TEMPLATES.joinpath("report.css").read_text(encoding="ascii")
PALETTES = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)


class Page(HTMLParser):
    """Tags with their attributes, and the text of the page; an element that is not closed in order fails."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def shape(self) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in self.tags]

    def attributes(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.tags for key, value in attributes.items() if key == name]


@pytest.mark.parametrize("kind", ["example", "check_example", "bare"])
def test_page_is_self_contained_and_well_formed(kind, request):
    page = render_html(request.getfixturevalue(kind))
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in parsed.tags}
    assert all(href.startswith("#") for href in parsed.attributes("href"))
    assert not re.search(r"url\(|@import|https?:", page)
    policy = [
        a["content"] for tag, a in parsed.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


@pytest.mark.parametrize("kind", ["example", "check_example", "bare"])
def test_sections_are_all_there_and_linked(kind, request):
    parsed = Page(render_html(request.getfixturevalue(kind)))
    ids = parsed.attributes("id")
    assert len(ids) == len(set(ids))
    assert [i for i in ids if i in dict(SECTIONS)] == [name for name, _ in SECTIONS]
    assert [href[1:] for href in parsed.attributes("href")] == [name for name, _ in SECTIONS]


def test_charts_are_drawn_with_title_and_description(example):
    parsed = Page(render_html(example))
    drawings = [attributes for tag, attributes in parsed.tags if tag == "svg"]
    assert len(drawings) == 4
    assert {a["role"] for a in drawings} == {"img"}
    ids = set(parsed.attributes("id"))
    assert {"mapping-states", "parity-errors", "step-time", "memory"} <= ids
    assert all(set((a["aria-labelledby"] or "").split()) <= ids for a in drawings)


def test_every_table_names_its_columns(example):
    page = render_html(example)
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    assert len(tables) >= 6
    for table in tables:
        assert len(re.findall(r'<th scope="col"', table)) >= 2
        assert len(re.findall(r'<th scope="row">', table)) == table.count("<tr>") - 1


def test_figures_are_told(example):
    text = Page(render_html(example)).text
    for told in (
        "Verified against the source.",
        "reference target, no product",
        "412 us",
        "40.0 MiB",
        "7 of 7",
        "992",
        "94 %",
    ):
        assert told in text
    assert "predicted, not measured" in text


def test_a_failed_check_is_said_and_drawn(example):
    row = ParityRow(check="gradient of head", passed=False, error=3e-2, tolerance=1e-3)
    page = render_html(replace(example, parity=(row,)))
    assert '<span class="bad">failed</span>' in page
    assert '<circle class="cross"' in page


def test_hostile_names_change_no_element_of_the_page(hostile, hostile_text, make_hostile):
    parsed = Page(render_html(hostile))
    assert parsed.shape == Page(render_html(make_hostile("harmless"))).shape
    assert visible(hostile_text) in parsed.text
    assert shorten(hostile_text) != hostile_text or parsed.text.count(visible(hostile_text)) > 20
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066\ud800]", render_html(hostile))


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_equal_facts_give_equal_bytes(example, render):
    turned = dict(reversed(list(example.source.operators.items())))
    again = replace(example, source=replace(example.source, operators=turned), mapping=example.mapping[::-1])
    assert render(again) == render(example)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", PALETTES, ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(palette):
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", palette))
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    texts = ("ink", "soft", "link", "good", "warn", "bad")
    weak = {
        t: contrast(colours[t], colours[g])
        for t in texts
        for g in ("page", "fill")
        if contrast(colours[t], colours[g]) < 4.5
    }
    swatches = set(colours) - {*texts, "page", "fill", "line"}
    weak |= {s: contrast(colours[s], colours["page"]) for s in swatches if contrast(colours[s], colours["page"]) < 3}
    assert weak == {}


def test_every_tone_of_a_chart_has_a_colour():
    for tone in (*charts.BOUNDS, *charts.CHART_ORDER, "plain"):
        assert f".{tone} {{ --swatch: var(--{tone}); }}" in CSS
