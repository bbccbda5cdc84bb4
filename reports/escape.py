"""Makes any string harmless for a reader: a model's names are data, and never become markup, layout or terminal codes.

HTML markup is escaped by the templates themselves. Knows nothing of reports.
"""

from __future__ import annotations

import re
import unicodedata

NAME_LIMIT = 160  # a longer name is cut for people; the JSON report has it whole
# Control, format (direction marks), surrogate, private and unassigned characters; line and paragraph separators.
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
PLAIN_CODE = re.compile(r"[^`|\\ ]+( [^`|\\ ]+)*")
MARKDOWN_MARK = re.compile(
    r"[*\[\]~$`\\&<>|@]"  # emphasis, link, strike, formula, code, escape, HTML, table cell, mention
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # emphasis; an underscore inside a word is none
    r"|^[#+=-]|^\d(?=\d*[.)](?: |$))"  # heading, list
    r"|:(?=//)|(?<=www)\."  # addresses, which some readers make links of
)
BACKSLASHED = frozenset("*[]~$`_#+=-")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def visible(text: str) -> str:
    """One line of printable text: every character that steers a display is shown as its Python escape."""
    return "".join(ascii(c)[1:-1] if unicodedata.category(c) in HIDDEN_CATEGORIES else c for c in text)


def shorten(text: str, limit: int = NAME_LIMIT) -> str:
    """Cuts the middle out of a name that is too long to read, since both ends tell names apart."""
    if len(text) <= limit:
        return text
    head = (limit - 3) // 2
    return f"{text[:head]}...{text[len(text) - (limit - 3 - head) :]}"


def markdown_code(text: str) -> str:
    """A name as Markdown code, also in a table cell: a code span there can hold neither backtick nor pipe safely."""
    name = shorten(visible(text))
    if PLAIN_CODE.fullmatch(name):
        return f"`{name}`"
    quoted = "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in name)
    return f"<code>{quoted}</code>"


def markdown_text(text: str) -> str:
    """Prose in which nothing is markup: no emphasis, link, heading, list, table cell or HTML."""
    return MARKDOWN_MARK.sub(lambda mark: _quote(mark.group()), visible(text).strip(" "))


def _quote(mark: str) -> str:
    if mark in BACKSLASHED:
        return f"\\{mark}"
    return ENTITIES.get(mark, f"&#{ord(mark)};")
