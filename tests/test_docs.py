"""Generated pages are fresh, and what the documentation links to exists."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from docs.codes import CODE, GROUPS, find_codes
from docs.generate import DOCS, PAGES
from runtime.train.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_every_setting_of_a_run_is_explained() -> None:
    page = (DOCS / "training.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    told: set[str] = set()
    for row in rows:
        names = re.findall(r"`([\w.]+)`", row)
        table = names[0].partition(".")[0]
        told |= {name if "." in name else f"{table}.{name}" for name in names}
    known = {f"{table.name}.{f.name}" for table in fields(Settings) for f in fields(getattr(Settings(), table.name))}
    assert known - told == set()


def test_every_code_of_the_source_is_listed() -> None:
    """The collector reads calls; a code that is written anywhere else in the source must be one of those."""
    listed = find_codes(ROOT, ("migrate", "runtime"))
    source = (p.read_text() for package in ("migrate", "runtime", "reports") for p in (ROOT / package).rglob("*.py"))
    written = {code for text in source for code in CODE.findall(text)}
    assert written == set(listed)
    assert all(code[3] in GROUPS and entry.severities for code, entry in listed.items())


def test_codes_are_read_with_the_words_of_their_call(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "one.py").write_text(
        'def f(x):\n    what = "old"\n    what = f"{x} is bad"\n    error("MIG101", what)\n    what = "later"\n'
        'NOTE = Diagnostic(code="MIG301", severity="note", what="a note")\n'
    )
    found = find_codes(tmp_path, ("part",))
    assert {code: (list(e.words), e.severities) for code, e in found.items()} == {
        "MIG101": (["... is bad"], {"error"}),
        "MIG301": (["a note"], {"note"}),
    }
    assert found["MIG101"].modules == {"part.one"}
