"""What all commands do at their ends: silence, the files they wrote, a page in the browser."""

from __future__ import annotations

import sys
import warnings
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ..display import printable

Opened = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def check_opened(is_opened: bool, html: Path | None) -> None:
    """Raise ``ValueError`` for ``--open`` without a page."""
    if is_opened and html is None:
        raise ValueError("--open needs a page: give --html FILE, such as --html page.html")


def silence(is_quiet: bool) -> None:
    """Ignore the warnings of a command that is to be quiet."""
    if is_quiet:
        warnings.simplefilter("ignore", UserWarning)


def finish(paths: Iterable[Path | None], page: Path | None, quiet: bool) -> None:
    """Report which files were written, and open the page, if any, in the browser."""
    if not quiet and (written := [str(path) for path in paths if path]):
        print(printable(f"wrote {', '.join(written)}"), file=sys.stderr)
    show_page(page, page is not None)


def show_page(path: Path | None, is_opened: bool) -> None:
    """Open a page in the browser if that was asked for; print its path where there is none."""
    if path is None or not is_opened:
        return
    if not webbrowser.open(path.resolve().as_uri()):
        line = f"no browser can be opened here; the page is {path.resolve()}"
        print(printable(line), file=sys.stderr)
