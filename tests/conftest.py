"""Fixtures shared by the tests."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from resemblance.measure import Measure

GOLDEN = Path(__file__).parent / "golden"


def for_few_samples(m: Measure) -> Measure:
    """The measure with no more neighbours than small data have."""
    return m.where(k=10) if m.min_samples > 100 else m


def on_terminal(act: Callable[[], object], columns: int, name: str = "stdout") -> str:
    """What is printed to a terminal of so many columns while ``act`` runs, on standard output or standard error."""
    import fcntl  # not on Windows
    import pty
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    received: list[bytes] = []
    reader = threading.Thread(target=_receive, args=(master, received))
    reader.start()
    with pytest.MonkeyPatch.context() as patch, open(slave, "w", encoding="utf-8") as stream:
        patch.setattr(sys, name, stream)
        patch.setenv("TERM", "dumb")
        act()
    reader.join()
    os.close(master)
    return b"".join(received).decode().replace("\r\n", "\n")


def _receive(master: int, received: list[bytes]) -> None:
    while True:
        try:
            received.append(os.read(master, 65536))
        except OSError:  # nobody writes any more
            return


def assert_fits(act: Callable[[], object], capsys: pytest.CaptureFixture[str], columns: int = 80) -> str:
    """Check that a terminal gets every word of what a pipe gets, whole, and no longer line; return what it gets."""
    act()
    piped = capsys.readouterr().out
    shown = on_terminal(act, columns)
    lines = [line for line in shown.splitlines() if not line.startswith("Open ")]  # a path is to be copied
    assert max(map(len, lines)) <= columns
    few, all_words = ({word for word in text.split() if set(word) != {"─"}} for text in (shown, piped))
    assert few <= all_words  # none is cut
    assert all_words - few <= {"claim", "verdict"}  # what is left out: headings where every claim is a block
    return shown


ASK = """<script>
const middle = mark => {  // of a line a point near its beginning, of anything else the middle
  if (mark.getPointAtLength && !mark.closest(".marks") && getComputedStyle(mark).fill === "none")
    return mark.getPointAtLength(mark.getTotalLength() / 10).matrixTransform(mark.getScreenCTM());
  const box = mark.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
};
const said = selector => {
  const mark = document.querySelector(selector);
  if (!mark) return "nothing is " + selector;
  mark.scrollIntoView({ block: "center" });
  const { x, y } = middle(mark), under = document.elementFromPoint(x, y);
  if (!under) return "nothing is under the pointer";
  for (const kind of ["pointerover", "pointermove"])
    under.dispatchEvent(new PointerEvent(kind, { bubbles: true, clientX: x, clientY: y }));
  const readout = under.closest(".plate")?.querySelector(".readout") ?? document.getElementById("maps-readout");
  if (under.closest(".plate, #maps") && readout) return readout.textContent;
  return under.closest(":has(> title)")?.querySelector(":scope > title").textContent ?? "";
};
const scrolls = e => e.scrollHeight > e.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowY);
addEventListener("load", () => requestAnimationFrame(() => {
  const hidden = [...document.querySelectorAll("main *")].filter(scrolls).map(e => e.tagName + "." + e.className);
  const wide = document.documentElement.scrollWidth;
  document.body.dataset.told = JSON.stringify({ said: SELECTORS.map(said), hidden, wide });
}));
</script>"""


class Seen(NamedTuple):
    """What a browser shows of a page: a text for every mark under the pointer, what scrolls inside, and its width."""

    said: list[str]
    hidden: list[str]
    wide: int


def look(page: Path, folder: Path, selectors: Sequence[str] = (), width: int = 1280) -> Seen:
    """Open a page in a browser without a window, and point at the first mark of every selector."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert browser, "no browser to open the page with: install chromium (apt-get install chromium)"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    asking = ASK.replace("SELECTORS", json.dumps(list(selectors)))
    (folder / "asked.html").write_text(text.replace("</body>", asking + "</body>"), encoding="utf-8")
    frame = f'<iframe src="asked.html" style="width:{width}px;height:1000px;border:0"></iframe>'
    tell = "<script>setInterval(() => { const told = frames[0].document.body?.dataset.told;"
    tell += "if (told) document.body.dataset.seen = told; }, 50);</script>"
    (folder / "frame.html").write_text(f"<body style='margin:0'>{frame}{tell}</body>")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    more = (
        f"--disable-component-update --disable-sync --user-data-dir={folder / 'profile'} --allow-file-access-from-files"
    )
    last = "--window-size=1400,1100 --virtual-time-budget=10000 --dump-dom"
    command = [browser, *flags.split(), *more.split(), *last.split(), (folder / "frame.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    (told,) = re.findall(r'data-seen="([^"]*)"', dom)
    return Seen(**json.loads(html.unescape(told)))


@pytest.fixture(scope="session")
def golden_inputs() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "resi_inputs.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def golden_outputs() -> dict:
    return json.loads((GOLDEN / "resi_outputs.json").read_text())


@pytest.fixture(scope="session")
def golden_definitions() -> dict:
    return json.loads((GOLDEN / "resi_paper_variants.json").read_text())


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
