"""``python -m papers [NAME ...]``: run reproductions, store their results, write their tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from resemblance.json_files import write_atomically

from .joint import joint_documents, verdicts
from .markdown import MADE
from .reproductions import (
    NAMES,
    ROOT,
    SIZES,
    Paper,
    documents,
    index,
    papers,
    store,
    stored,
    stored_path,
)
from .resi import agreement, budget_tables
from .running import add_common, run_paper

STUDIES = ROOT / "papers" / "studies"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the papers that are named, or all; return 1 if committed files are not those that the
    stored results make.

    ``resi-published STUDY`` compares a study of the paper's models with its tables instead.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["resi-published"]:
        return agreement.main(words[1:])
    options = _options(words)
    chosen = papers(options.names or NAMES)
    if not options.write_only:
        for paper in chosen:
            _run(paper, options)
    return _write() if options.size == "default" else _check()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--size", choices=SIZES, default="default", help="only default is stored")
    parser.add_argument("--studies", type=Path, default=STUDIES, help="a folder for the studies")
    add_common(parser)
    parser.add_argument("--write-only", action="store_true", help="run nothing, write the files")
    return parser.parse_args(arguments)


def _run(paper: Paper, options: argparse.Namespace) -> None:
    folder = _folder(paper, options)
    result = run_paper(paper, folder, size=options.size, jobs=options.jobs, quiet=options.quiet)
    if options.size == "default":
        store(paper, result)


def _folder(paper: Paper, options: argparse.Namespace) -> Path:
    studies: Path = options.studies
    return studies / f"{paper.name}-{options.size}"


def files_made() -> dict[str, str]:
    """The files that all stored results make, by path from the root."""
    results = {p.name: (p, stored(p)) for p in papers() if stored_path(p).exists()}
    files: dict[str, str] = {}
    for paper, result in results.values():
        files |= documents(paper, result)
    counts = verdicts((paper.heading, result.claims) for paper, result in results.values())
    return {
        **files,
        **joint_documents(),
        **budget_tables.pages(),
        agreement.PAGE: agreement.page(agreement.stored()),
        "docs/_generated/joint-verdicts.md": f"{MADE}\n\n{counts}\n",
        "papers/README.md": index(results),
    }


def _write() -> int:
    for name, text in files_made().items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(ROOT / name, text)
    return 0


def _check() -> int:
    stale = [
        name
        for name, text in files_made().items()
        if not (ROOT / name).exists() or (ROOT / name).read_text("utf-8") != text
    ]
    for name in stale:
        print(f"{name} is not what the stored results make: python -m papers --write-only")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
