"""Run the reproduction of a paper in a folder, and write its page."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from resemblance.cli.executors import processes
from resemblance.cli.progress import bars
from resemblance.report.page import write_page
from resemblance.results.result import Result

from .reproductions import SIZES, Paper, count_line


def run_paper(
    paper: Paper,
    folder: Path,
    *,
    size: str = "default",
    only: Iterable[str] | None = None,
    jobs: int = 1,
    quiet: bool = False,
) -> Result:
    """Run a paper in a folder, or continue there; write result.json and index.html, and say how
    many claims have which verdict.

    ``only``: names of experiments, where the paper has several.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    more = {"only": list(only)} if only else {}
    with processes(jobs) as executor, bars(quiet) as progress:
        result = paper.run(
            folder, size=paper.sizes[size], executor=executor, progress=progress, **more
        )
    page = folder / "index.html"
    write_page(result, page, title=paper.heading, introduction=paper.introduction)
    if not quiet:
        print(f"{paper.name}: {count_line(result)}\nOpen {page.resolve()}")
    return result


def command(paper: Paper, arguments: Sequence[str] | None = None) -> int:
    """The command of one paper: ``python -m papers.shesha run FOLDER``."""
    parser = argparse.ArgumentParser(f"python -m papers.{paper.name}", description=paper.heading)
    run = parser.add_subparsers(required=True).add_parser("run", help="run or continue in a folder")
    run.add_argument("folder", type=Path, help="a new folder, or that of a study to continue")
    run.add_argument("--size", choices=SIZES, default="default")
    run.add_argument("--only", action="append", help="only this experiment (repeatable)")
    add_common(run)
    run_paper(paper, **vars(parser.parse_args(arguments)))
    return 0


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that all commands of papers have."""
    parser.add_argument("--jobs", "-j", type=int, default=1, help="processes")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress, no messages")
