"""What a command or a function prints to a terminal, and writes into files."""

from __future__ import annotations

import os
import struct
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def on_terminal(
    act: Callable[[], object], columns: int, name: str = "stdout", terminal: str = "dumb"
) -> str:
    """What is printed to a terminal of so many columns while ``act`` runs, on standard output or
    standard error; the usual ``terminal`` has no colours."""
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
        patch.setenv("TERM", terminal)
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


def emitted(content: Any, kind: str) -> str:
    """Return what a command writes of a result into a file of this format."""
    from resemblance.report.output import write_output

    with tempfile.TemporaryDirectory() as folder:
        write_output(content, kind, Path(folder) / "written")
        return (Path(folder) / "written").read_text(encoding="utf-8")


def assert_fits(
    act: Callable[[], object], capsys: pytest.CaptureFixture[str], columns: int = 80
) -> str:
    """Check that a terminal shows every whole word of the piped output and no line over ``columns``
    characters; return the shown text."""
    act()
    piped = capsys.readouterr().out
    shown = on_terminal(act, columns)
    # A path is to be copied.
    lines = [line for line in shown.splitlines() if not line.startswith("Open ")]
    assert max(map(len, lines)) <= columns
    few, all_words = (
        {word for word in text.split() if set(word) != {"─"}} for text in (shown, piped)
    )
    assert few <= all_words  # none is cut
    assert all_words - few <= {
        "claim",
        "verdict",
    }  # what is left out: headings where every claim is a block
    return shown
