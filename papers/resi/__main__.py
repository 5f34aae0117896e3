"""Compare a study with the ReSi paper, or run the suite and judge the paper's conclusions.

::

    python -m papers.resi compare FOLDER [--domain vision] [--paper mka]
    python -m papers.resi run FOLDER [--size mini] [--domain vision]
    python -m papers.resi report FOLDER [-o page.html]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from papers.published import DOMAINS, PAPERS
from resemblance.report import write_page
from resemblance.report.output import show
from resemblance.report.terminal import claim_table, plain_table, without_data
from resemblance.results.result import Result
from resemblance.suites.resi import SIZES, load_facts, result_of, run

from .claims import CLAIMS
from .ranks import agreement_text, published_rows, published_section


def compare(study: Path, domain: str | None = None, paper: str = "resi") -> list[object]:
    """Return a table of the mean ranks of a study and the published ones, and how far the two
    orders agree."""
    rows = published_rows(load_facts(study), domain, paper)
    if not rows:
        where = f" in the domain {domain}" if domain else ""
        return [f"no measure of this study has a published rank{where}"]
    header = ("measure", "here", "published", "position", "published")
    lines = [
        (r.label, f"{r.ours:.1f}", f"{r.published:.1f}", str(r.position), str(r.position_published))
        for r in rows
    ]
    return [plain_table(header, lines, right=range(1, 5)), agreement_text(rows)]


def judged_result(study: Path) -> Result:
    """Return the result of a study with the conclusions of the paper and the published ranks."""
    facts = load_facts(study)
    result, rows = result_of(facts, CLAIMS), published_rows(facts)
    sections = (*result.sections, *([published_section(rows)] if rows else []))
    return replace(result, sections=sections)


def _run(options: argparse.Namespace) -> None:
    run(options.study, size=options.size, domains=options.domain or DOMAINS, claims=CLAIMS)
    _report(options)


def _report(options: argparse.Namespace) -> None:
    page = options.output or options.study / "paper.html"
    result = judged_result(options.study)
    write_page(result, page)
    show([claim_table(result), *without_data(result.claims), f"Open {page.resolve()}"])


def _compare(options: argparse.Namespace) -> None:
    show(compare(options.study, options.domain, options.paper))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command of this folder."""
    parser = argparse.ArgumentParser(prog="python -m papers.resi", description=__doc__)
    commands = parser.add_subparsers(required=True)
    comparing = commands.add_parser("compare", help="mean ranks of a study and the published ones")
    comparing.add_argument("--domain", choices=DOMAINS)
    comparing.add_argument("--paper", choices=tuple(PAPERS), default="resi")
    comparing.set_defaults(command=_compare)
    running = commands.add_parser("run", help="run the suite and judge the paper's conclusions")
    running.add_argument("--size", choices=tuple(SIZES), default="mini")
    running.add_argument("--domain", choices=DOMAINS, action="append")
    running.set_defaults(command=_run)
    reporting = commands.add_parser("report", help="judge a study that is there")
    reporting.set_defaults(command=_report)
    for command in (comparing, running, reporting):
        command.add_argument("study", type=Path)
    for command in (running, reporting):
        command.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    options.command(options)


if __name__ == "__main__":
    main()
