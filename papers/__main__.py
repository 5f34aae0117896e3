"""``python -m papers [NAME ...]``: run reproductions, store their results, write their tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from resemblance.base.json_files import write_atomically
from resemblance.cli.ending import progress_bars
from resemblance.engine.jobs import process_pool
from resemblance.report.page import write_page
from resemblance.sections.result import Result

from .reproductions import (
    NAMES,
    ROOT,
    SIZES,
    Paper,
    count_line,
    documents,
    index,
    joint_documents,
    papers,
    store,
    stored,
    stored_path,
)
from .resi import agreement, ranking
from .resi.ranks import compare_command

STUDIES = ROOT / "papers" / "studies"
COMMANDS = {"resi-compare": compare_command, "resi-published": agreement.main}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named papers, or all papers. At the default size, store the results, and write the
    files made from all stored results.

    ``resi-compare STUDY`` compares the ranks of any study of the ReSi suite with the published
    ranks. ``resi-published STUDY`` compares a study of the paper's models with the paper's tables.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:])
    options = _options(words)
    chosen = papers(options.names or NAMES)
    if options.study:
        (paper,) = chosen
        run_paper(paper, options.study, options)
        return 0
    for paper in () if options.write_only else chosen:
        result = run_paper(paper, STUDIES / f"{paper.name}-{options.size}", options)
        if options.size == "default":
            store(paper, result)
    for name, text in files_made().items() if options.size == "default" else ():
        write_atomically(ROOT / name, text)
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--size", choices=SIZES, default="default", help="only default is stored")
    parser.add_argument("--study", type=Path, help="run one paper in this folder; store nothing")
    parser.add_argument(
        "--only", action="append", metavar="EXPERIMENT", help="with --study; repeatable"
    )
    parser.add_argument("--jobs", "-j", type=int, default=1, help="processes")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress, no messages")
    parser.add_argument("--write-only", action="store_true", help="run nothing, write the files")
    options = parser.parse_args(arguments)
    if options.study and len(options.names) != 1:
        parser.error("--study is the folder of one paper: give its name")
    if options.only and not options.study:
        parser.error("--only runs a part of a paper, which is not stored: give --study FOLDER")
    return options


def run_paper(paper: Paper, folder: Path, options: argparse.Namespace) -> Result:
    """Run a paper in a folder, or resume there; write result.json and index.html, and print the
    number of claims per verdict."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    more = {"only": options.only} if options.only else {}
    with process_pool(options.jobs) as executor, progress_bars(options.quiet) as progress:
        size = paper.sizes[options.size]
        result = paper.run(folder, size=size, jobs=executor, progress=progress, **more)
    page = folder / "index.html"
    write_page(result, page, title=paper.heading, introduction=paper.citation)
    if not options.quiet:
        print(f"{paper.name}: {count_line(result)}\nOpen {page.resolve()}")
    return result


def files_made() -> dict[str, str]:
    """Return the files made from all stored results, by path from the root."""
    results = {p.name: (p, stored(p)) for p in papers() if stored_path(p).exists()}
    files: dict[str, str] = {}
    for paper, result in results.values():
        files |= documents(paper, result)
    return {
        **files,
        **joint_documents(results),
        agreement.PAGE: agreement.stored_page(),
        ranking.PAGE: ranking.page(),
        "papers/README.md": index(results),
    }


if __name__ == "__main__":
    sys.exit(main())
