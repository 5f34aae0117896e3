"""Fixtures shared by the tests."""

from __future__ import annotations

import functools
import html
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import browser
import numpy as np
import pytest
from factories.files import GOLDEN

from resemblance.views import distances, heat, rectangles


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """``small_blocks()``: from now on, few samples fill several of the blocks in which things are
    computed."""

    def shrink() -> None:
        monkeypatch.setattr(distances, "ROWS", 7)
        monkeypatch.setattr(distances, "GATHERED", 1)
        monkeypatch.setattr(heat, "COLUMNS", 7)
        monkeypatch.setattr(rectangles, "ROWS", 5)
        monkeypatch.setattr(rectangles, "COLUMNS", 7)

    return shrink


@pytest.fixture(params=["", "small blocks"])
def any_blocks(request: pytest.FixtureRequest, small_blocks: Callable[[], None]) -> None:
    """Run a test twice: with blocks of the usual size, of which its samples fill one, and with many
    small blocks."""
    if request.param:
        small_blocks()


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
  const readout = under.closest("figure, .plate")?.querySelector(".readout")
    ?? (under.closest("#maps") && document.getElementById("maps-readout"));
  if (readout) return readout.textContent;
  return under.closest(":has(> title)")?.querySelector(":scope > title").textContent ?? "";
};
const scrolls = e => e.scrollHeight > e.clientHeight + 1
    && ["auto", "scroll"].includes(getComputedStyle(e).overflowY);
addEventListener("load", () => requestAnimationFrame(() => {
  const hidden = [...document.querySelectorAll("main *")].filter(scrolls)
    .map(e => e.tagName + "." + e.className);
  const wide = document.documentElement.scrollWidth;
  document.body.dataset.told = JSON.stringify({ said: SELECTORS.map(said), hidden, wide });
}));
</script>"""


class Seen(NamedTuple):
    """What a browser shows of a page: a text for every mark under the pointer, what scrolls inside,
    and its width."""

    said: list[str]
    hidden: list[str]
    wide: int


@pytest.fixture
def look(open_page: Callable[..., str]) -> Callable[..., Seen]:
    """``look(page, folder, selectors=(), width=1280)``: point at the first mark of every selector
    in a browser."""
    return functools.partial(_seen, open_page)


def _seen(
    open_page: Callable[..., str],
    page: Path,
    folder: Path,
    selectors: Sequence[str] = (),
    width: int = 1280,
) -> Seen:
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8")
    )
    asking = ASK.replace("SELECTORS", json.dumps(list(selectors)))
    (folder / "asked.html").write_text(
        text.replace("</body>", asking + "</body>"), encoding="utf-8"
    )
    frame = f'<iframe src="asked.html" style="width:{width}px;height:1000px;border:0"></iframe>'
    tell = (
        "<script>const wait = setInterval(() => { const told = "
        "frames[0].document.body?.dataset.told;"
    )
    tell += "if (told) { document.body.dataset.seen = told; clearInterval(wait); } }, 50);</script>"
    (folder / "frame.html").write_text(f"<body style='margin:0'>{frame}{tell}</body>")
    flags = "--allow-file-access-from-files", "--window-size=1400,1100"
    for patience in (
        10**4,
        10**5,
        10**6,
        10**6,
    ):  # virtual ms, which may pass before a busy machine shows the page
        dom = open_page(folder / "frame.html", flags=(*flags, f"--virtual-time-budget={patience}"))
        if told := re.findall(r'data-seen="([^"]*)"', dom):
            return Seen(**json.loads(html.unescape(told[0])))
    raise AssertionError(f"the browser did not show {page}")


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


@pytest.fixture(scope="session")
def vision_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of ReSi on the smallest vision models, made once for all processes of a run:
    copy it before you change it."""
    from resemblance.suites.resi import run
    from resemblance.suites.study import alone

    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "vision"
    shared.mkdir(exist_ok=True)
    with alone(shared, patience=600):
        if not (shared / "study" / "result.json").exists():
            run(shared / "study", size="slice", domains=["vision"], measures=["cka", "gulp"])
    return shared / "study"


# ------------------------------------------------------------------------ tests that open a browser


@functools.cache
def _found() -> str | None:
    try:
        return browser.find()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def _browser(config: pytest.Config) -> str | None:
    """The browser: looked for where it is first needed, in one process for all."""
    given = getattr(config, "workerinput", None)
    return _found() if given is None else given["browser"]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["browser"] = _found()


@pytest.fixture(scope="session")
def open_page(pytestconfig: pytest.Config) -> Callable[..., str]:
    """``open_page(path, fragment="")``: the page after its script has run, in a browser without a
    window."""
    found = _browser(pytestconfig)
    if found is None:
        pytest.fail(f"no browser to open the page with: {browser.REMEDY}", pytrace=False)
    return functools.partial(browser.opened, found)


LEFT_OUT = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need a browser where there is none, unless ``CI=true``: the last
    line says which."""
    needing = [item for item in items if "open_page" in getattr(item, "fixturenames", ())]
    if not needing or os.environ.get("CI") == "true" or _browser(config):
        return
    items[:] = [item for item in items if item not in needing]
    config.hook.pytest_deselected(items=needing)
    config.stash[LEFT_OUT] = [item.nodeid for item in needing]
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    left_out = Counter(Path(name.split("::")[0]).name for name in config.stash.get(LEFT_OUT, []))
    if left_out and not hasattr(config, "workeroutput"):
        tests = ", ".join(f"{count} of {file}" for file, count in sorted(left_out.items()))
        config.get_terminal_writer().line(
            f"Left out for want of a browser: {tests}. To run them, {browser.REMEDY}."
        )


@pytest.fixture
def call(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*words):
        from resemblance import cli

        code = cli.run([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
