"""Fixtures shared by the tests."""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from resemblance.measure import Measure

GOLDEN = Path(__file__).parent / "golden"


def for_few_samples(m: Measure) -> Measure:
    """The measure with no more neighbours than small data have."""
    return m.where(k=10) if m.min_samples > 100 else m


def on_terminal(act: Callable[[], object], columns: int) -> str:
    """What is printed to a terminal of so many columns while ``act`` runs."""
    import fcntl  # not on Windows
    import pty
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    received: list[bytes] = []
    reader = threading.Thread(target=_receive, args=(master, received))
    reader.start()
    with pytest.MonkeyPatch.context() as patch, open(slave, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stdout", stream)
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
