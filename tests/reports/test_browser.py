"""The page as headless Chromium shows it: nothing leaves it, nothing complains, and it fits narrow screens."""

import contextlib
import html
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from reports import render_html

pytestmark = pytest.mark.browser

WIDTHS = (320, 400, 768, 1200)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps", "--enable-logging=stderr",
    "--hide-scrollbars",
)  # fmt: skip
BROWSERS_OWN = (".google.com", ".googleapis.com", ".gvt1.com")  # clock, updates: no flag stops them all
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"
# Frames of fixed width stand for screens: a headless window is no narrower than 500 px.
WRAPPER = """<!doctype html><html><head><title>not measured</title></head><body>{frames}<script>
addEventListener("load", () => {{
  const seen = Array.from(document.querySelectorAll("iframe"), frame => {{
    const page = frame.contentDocument, body = frame.contentWindow.getComputedStyle(page.body);
    const drawn = Array.from(page.querySelectorAll("svg"), s => s.getBoundingClientRect());
    const boxes = Array.from(page.querySelectorAll("svg rect.fill, svg circle"), s => s.getBoundingClientRect().width);
    return {{width: page.documentElement.scrollWidth, background: body.backgroundColor, ink: body.color,
            drawings: drawn.filter(b => b.width > 200 && b.height > 10).length, marks: boxes.filter(w => w > 0).length,
            images: page.images.length, scripts: page.scripts.length}};
  }});
  document.title = JSON.stringify(seen);
}});
</script></body></html>"""


class Visit(NamedTuple):
    """What a page did: its final DOM, the console's lines, and the requests that reached the network."""

    dom: str
    console: list[str]
    requests: list[str]

    @property
    def measured(self) -> list[dict]:
        title = self.dom.split("<title>", 1)[1].split("</title>", 1)[0]
        return json.loads(html.unescape(title))


class Recorder(BaseHTTPRequestHandler):
    """A proxy that passes nothing on and keeps what was asked of it, but for what the browser asks by itself."""

    def answer(self) -> None:
        host = urlsplit(self.path if "//" in self.path else f"//{self.path}").hostname or self.path
        if not host.endswith(BROWSERS_OWN):
            self.server.requests.append(f"{self.command} {self.path}")  # type: ignore[attr-defined]
        self.send_error(502)

    do_GET = do_POST = do_CONNECT = do_HEAD = answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def recording_proxy() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def visit(page: str, folder: Path, *flags: str) -> Visit:
    """Opens the page from a file, with every request, to the loopback too, sent to the recorder."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "Chromium is not installed"
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    with recording_proxy() as proxy:
        network = (f"--proxy-server=127.0.0.1:{proxy.server_port}", "--proxy-bypass-list=<-loopback>")
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [chromium, *FLAGS, *flags, *network, profile, "--dump-dom", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return Visit(
            done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line], list(proxy.requests)
        )


def framed(page: str) -> str:
    quoted = html.escape(page)
    frames = "".join(f'<iframe style="width:{w}px;height:900px;border:0" srcdoc="{quoted}"></iframe>' for w in WIDTHS)
    return WRAPPER.format(frames=frames)


def about(requests: list[str], host: str) -> list[str]:
    return [request for request in requests if host in request]


def test_the_instruments_see_a_page_that_misbehaves(tmp_path):
    faults = '<img src="http://leak.test/x.png"><script>console.error("fault")</script><p style="width:900px">wide</p>'
    page = f"<!doctype html>{faults}"
    found = visit(page, tmp_path)
    assert about(found.requests, "leak.test")
    assert [line for line in found.console if "fault" in line]
    measured = visit(framed(page), tmp_path).measured
    assert [m["width"] > w for m, w in zip(measured, WIDTHS, strict=True)] == [True, True, True, False]


def test_the_page_is_quiet_and_whole(example, tmp_path):
    found = visit(render_html(example), tmp_path)
    assert found.requests == []
    assert found.console == []
    for part in (
        "next",
        "changes",
        "mapping",
        "parity",
        "prediction",
        "source",
        "weights",
        "unverified",
        "diagnostics",
    ):
        assert f'<section id="{part}">' in found.dom
    for chart in ("mapping-states", "parity-errors", "step-time", "memory"):
        assert f'<figure id="{chart}">' in found.dom
        assert f'aria-labelledby="{chart}-title {chart}-desc"' in found.dom


@pytest.mark.parametrize("kind", ["example", "check_example", "bare"])
def test_the_page_fits_every_width(kind, request, tmp_path):
    report = request.getfixturevalue(kind)
    found = visit(framed(render_html(report)), tmp_path)
    assert [m["width"] for m in found.measured] == list(WIDTHS)
    assert found.console == []
    # drawings, and marks in them: states, compared errors, operators, uses of memory
    charts = {"example": (4, 5 + 6 + 6 + 4), "check_example": (3, 6 + 6 + 4), "bare": (0, 0)}[kind]
    assert [(m["drawings"], m["marks"]) for m in found.measured] == [charts] * len(WIDTHS)


@pytest.mark.parametrize(("flag", "background"), [(LIGHT, "rgb(255, 255, 255)"), (DARK, "rgb(20, 23, 27)")])
def test_the_page_follows_the_colour_scheme(example, flag, background, tmp_path):
    measured = visit(framed(render_html(example)), tmp_path, flag).measured
    assert {m["background"] for m in measured} == {background}
    assert background not in {m["ink"] for m in measured}


def test_hostile_names_do_nothing(hostile, tmp_path):
    found = visit(framed(render_html(hostile)), tmp_path)
    assert found.requests == []
    assert found.console == []
    assert {(m["images"], m["scripts"]) for m in found.measured} == {(0, 0)}
    assert [m["width"] for m in found.measured] == list(WIDTHS)
