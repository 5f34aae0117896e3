"""Fixtures shared by the tests."""

from __future__ import annotations

import functools
import gc
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
from factories import HANG_SECONDS
from factories.files import GOLDEN

from resemblance.base import arrays
from resemblance.intermediates import distances, heat, rectangles


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """``small_blocks()``: from now on, few samples fill several of the blocks in which things are
    computed."""

    def shrink() -> None:
        monkeypatch.setattr(arrays, "BLOCK_HEIGHT", 7)
        monkeypatch.setattr(distances, "MAX_GATHERED_NUMBERS", 1)
        monkeypatch.setattr(heat, "IDENTITY_COLUMNS_PER_BLOCK", 7)
        monkeypatch.setattr(rectangles, "BLOCK_ROWS", 5)
        monkeypatch.setattr(rectangles, "BLOCK_COLUMNS", 7)

    return shrink


@pytest.fixture(params=["", "small blocks"])
def any_blocks(request: pytest.FixtureRequest, small_blocks: Callable[[], None]) -> None:
    """Run a test twice: with blocks of the usual size, of which its samples fill one, and with many
    small blocks."""
    if request.param:
        small_blocks()


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures of a test; matplotlib warns of more than 20 open figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(autouse=True, scope="module")
def seeded_torch() -> None:
    """Give every file the same random numbers of PyTorch, once PyTorch is imported."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def seeded_torch_of_test(seeded_torch: None) -> None:
    """Give every test the same random numbers of PyTorch, once PyTorch is imported."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


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
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``once(name, make)``: the folder that ``make(folder)`` fills, once for all processes of a
    run; copy it before you change it."""
    from resemblance.base.locks import lock_folder

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def filled(name: str, make: Callable[[Path], object]) -> Path:
        place = shared / name
        place.mkdir(exist_ok=True)
        with lock_folder(place, patience=HANG_SECONDS):
            if not (place / "finished").exists():
                make(place / name)
                (place / "finished").touch()
        return place / name

    return filled


@pytest.fixture(scope="session")
def vision_study(once: Callable[..., Path]) -> Path:
    """A finished study of ReSi on the smallest vision models."""
    from resemblance.bench import run

    options = {"size": "slice", "domains": ["vision"], "measures": ["cka", "gulp"]}
    return once("study", lambda folder: run("resi", folder, **options))


@pytest.fixture(scope="session")
def tiny_board(once: Callable[..., Path]) -> Path:
    """Two tiny packs, and scores of four measures on them."""
    from factories.packs import write_board

    return once("board", write_board)


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
def window(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[browser.Browser]:
    """The browser of this process, without a window: see ``open_page`` and ``look``."""
    program = _browser(pytestconfig)
    if program is None:
        pytest.fail(f"no browser to open the page with: {browser.REMEDY}", pytrace=False)
    running = browser.Browser(program, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def open_page(window: browser.Browser) -> Callable[..., str]:
    """``open_page(path, fragment="", script="")``: the page after its scripts have run."""
    return window.open_page


@pytest.fixture(scope="session")
def look(window: browser.Browser) -> Callable[..., browser.Seen]:
    """``look(path, selectors=(), width=1280)``: what is shown, and read by the pointer."""
    return window.look


LEFT_OUT = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first in several processes, and leave out the tests that need
    a browser where there is none, unless ``CI=true``: the last line says which."""
    if hasattr(config, "workerinput"):
        seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
        items.sort(key=lambda item: (-seconds.get(item.path.name, 0), item.path))
    needing = [item for item in items if "window" in getattr(item, "fixturenames", ())]
    if not needing or os.environ.get("CI") == "true" or _browser(config):
        return
    items[:] = [item for item in items if item not in needing]
    config.hook.pytest_deselected(items=needing)
    config.stash[LEFT_OUT] = [item.nodeid for item in needing]
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = config.stash[LEFT_OUT]


def pytest_collection_finish() -> None:
    """Keep the modules out of later searches for garbage: a search takes half a second."""
    gc.freeze()


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


# ---------------------------------------------------------------------- the longest files first

SECONDS = Path(__file__).parent / "seconds.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-seconds", action="store_true", help=f"record in {SECONDS.name} what a file takes"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Seconds())


class Seconds:
    """Adds up how long the tests of each file take, and stores those of a second or more."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.files[Path(report.nodeid.split("::")[0]).name] += report.duration

    def pytest_sessionfinish(self) -> None:
        seconds = {file: round(total) for file, total in self.files.most_common() if total >= 1}
        SECONDS.write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")


# ------------------------------------------------------------- the tests that reach a line of code


def switch_context(item: pytest.Item, phase: str) -> None:
    """Tell coverage, where it runs, which test runs now, and in which phase."""
    coverage = sys.modules.get("coverage")
    if coverage and (running := coverage.Coverage.current()):
        running.switch_context(f"{item.nodeid}|{phase}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    switch_context(item, "setup")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    switch_context(item, "call")


@pytest.fixture
def call(capsys):
    """Run the command line in this process, of words or as it is typed: exit code, standard output,
    standard error."""

    def run(*words):
        from resemblance import cli

        typed = shlex.split(words[0]) if len(words) == 1 else map(str, words)
        code = cli.run([*typed])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(call, subtests):
    """``refused(table)``: each command of a table, a line "command | message", is a mistake that
    one line names."""

    def check(table):
        for line in table.strip().splitlines():
            words, message = line.strip().split(" | ")
            with subtests.test(words):
                code, out, err = call(*shlex.split(words))
                assert (code, out, err.count("\n")) == (2, "", 1)
                assert err.startswith("error: ")
                assert message in err

    return check
