"""The commands that make a repository of results, add a measure to it, and verify it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .choices import SERIES
from .ending import bars, silence
from .executors import executors
from .inputs import check_choice, chosen_measures
from .options import ALL_JOBS, Help, commands_of
from .ranking import known_scores

if TYPE_CHECKING:
    from ..boards.repository import AuthorsCard
    from ..boards.submission import Submission
    from ..boards.verifying import Verified
    from ..measure import Measure
    from ..packs import Pack

SUBMIT = (
    "submit mine.py:my_measure --authors Ada --licence MIT --tuned-on none",
    "submit mine.py:my_measure --output results --card card.toml",
)
INIT = ("board init results",)
VERIFY = (
    "board verify --measure cka",
    "board verify results --base results-before --format json -o verified.json",
)
NONE = "none"
QUESTIONS = {
    "authors": "Authors, separated by commas",
    "licence": "Licence of the file",
    "tuned_on": "Packs or data sets on which it was tuned, separated by commas, or none",
}
LISTS = ("authors", "tuned_on")
SHOWN = 20  # differences that a terminal gets


def submit_command(
    measure: str,
    output: Path = Path("results"),
    card: Path | None = None,
    title: str | None = None,
    authors: list[str] | None = None,
    paper: str | None = None,
    bib: str | None = None,
    licence: str | None = None,
    tuned_on: list[str] | None = None,
    allow_failed_checks: bool = False,
    replace: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Check a measure, score it on the packs of a board, and add it to a repository of results.

    Nothing is sent anywhere: the git commands that remain are printed.
    """
    from ..boards.repository import packs_for
    from ..boards.submission import submit
    from ..checks import check_measure

    silence(quiet)
    tested = _only(chosen_measures([measure]) or [])
    options = {"title": title, "authors": authors, "paper": paper, "bib": bib}
    options |= {"licence": licence, "tuned_on": tuned_on}
    about = card_of_options(card, options, tested.label)
    packs = packs_for(output)
    flags: dict[str, Any] = {"allow_failed_checks": allow_failed_checks, "replace": replace}
    with executors(jobs) as (executor, _), bars(quiet) as progress:
        check = partial(check_measure, progress=progress)
        shared: dict[str, Any] = {"executor": executor, "progress": progress, "check": check}
        submission = submit(tested, output, about, packs=packs, **flags, **shared)
    _report(submission, packs, output, quiet)


def _only(measures: list[Measure]) -> Measure:
    if len(measures) != 1:
        raise ValueError("one measure is submitted at a time: give FILE.py:NAME")
    return measures[0]


def _report(submission: Submission, packs: tuple[Pack, ...], root: Path, quiet: bool) -> None:
    """Write the report of a submission, and print where it stands and what remains to be done."""
    from ..boards.report import joined_parts, report_text
    from ..boards.repository import REPORT
    from ..json_files import write_atomically
    from ..report.output import show

    known = known_scores(packs, root)
    others = [scores for scores in known if scores.measure.spec != submission.spec]
    where, shifts = joined_parts(others, submission)
    write_atomically(root / REPORT, report_text(submission, [*where, *shifts]))
    if quiet:
        return
    if where:
        show([*where, ""])
    print(f"wrote {len(submission.files)} files and {root / REPORT}\n\nTo publish them:\n")
    print("\n".join(f"  {line}" for line in _git_commands(submission, root)))


def _git_commands(submission: Submission, root: Path) -> list[str]:
    from ..boards.repository import REPORT

    git = shlex.join(["git", "-C", str(root)])
    branch = submission.spec.partition("[")[0]
    files = [path.relative_to(root).as_posix() for path in submission.files]
    return [
        f"{git} switch -c {branch}",
        f"{git} add {shlex.join(files)}",
        f"{git} commit -m {shlex.quote(f'Add {submission.spec}')}",
        f"{git} push -u origin {branch}",
        f"and open a pull request with the text of {root / REPORT}",
    ]


def card_of_options(file: Path | None, options: Mapping[str, object], label: str) -> AuthorsCard:
    """Return a card: what options say goes before what the file says, and what is missing is asked
    for on a terminal.

    Raises ``ValueError`` for what is missing where nobody can be asked.
    """
    from ..boards.repository import AuthorsCard, read_card

    card = read_card(file) if file is not None else AuthorsCard()
    chosen = {name: value for name, value in options.items() if value}
    entries: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()
    }
    card = card._replace(**entries)
    if not card.title:
        card = card._replace(title=label)
    missing = [n for n in ("authors", "licence") if not getattr(card, n)]
    missing += ["tuned_on"] if "tuned_on" not in chosen and file is None else []
    for name in missing:
        answer: dict[str, Any] = {name: _asked(name)}
        card = card._replace(**answer)
    return card._replace(tuned_on=tuple(t for t in card.tuned_on if t.strip().lower() != NONE))


def _asked(name: str) -> str | tuple[str, ...]:
    """Return an answer to what the options left open."""
    if not sys.stdin.isatty():
        option = f"--{name.replace('_', '-')}"
        more = " (none, if it was not tuned)" if name == "tuned_on" else ""
        raise ValueError(f"the card of a measure needs {option}{more}, or a --card that has it")
    answer: str = typer.prompt(QUESTIONS[name])
    if name in LISTS:
        return tuple(part.strip() for part in answer.split(",") if part.strip())
    return answer.strip()


# --------------------------------------------------------------------------------- the repository


def init_command(folder: Path, series: str = SERIES, quiet: bool = False) -> None:
    """Write the files of a new repository of results, with a workflow that verifies submissions."""
    from ..boards.repository import packs_for
    from ..boards.skeleton import init

    files = init(folder, packs_for(None, series))
    if not quiet:
        git = shlex.join(["git", "-C", str(folder)])
        print(f"wrote {len(files)} files in {folder}; to begin:")
        print(f"  {git} init\n  {git} add .\n  {git} commit -m 'Begin a board'")
        print(f"  {git} remote add origin ADDRESS\n  {git} push -u origin HEAD")


def verify_command(
    results: Path | None = None,
    base: Path | None = None,
    measure: list[str] | None = None,
    pack: list[str] | None = None,
    tolerance: float | None = None,
    seconds: float = 1800.0,
    memory: str = "half",
    jobs: int | None = None,
    format: str = "table",
    output: Path | None = None,
    quiet: bool = False,
) -> int:
    """Compute score files again, and compare them with what they state; exit with 1 if they differ.

    The measures of a repository are code that others wrote, and it is run, each in a process of its
    own that may start no others: verify a stranger's submission only where it can do no harm, such
    as in a job without secrets.
    """
    from ..boards.apart import Limits
    from ..boards.verifying import summary_of, verify_repository, verify_shipped
    from ..report.output import deliver

    check_choice("format", format, ("table", "json"))
    if results is None and base is not None:
        raise ValueError("--base is the state of a repository before: name the repository, too")
    silence(quiet)
    options: dict[str, Any] = {"measures": measure or (), "packs": pack or ()}
    options |= {} if tolerance is None else {"tolerance": tolerance}
    with bars(quiet) as progress:
        options["progress"] = progress
        if results is None:
            with executors(jobs) as (executor, _):
                verified = verify_shipped(**options, executor=executor)
        else:
            options |= {"base": base, "jobs": jobs or os.cpu_count() or 1}
            limits = Limits(seconds, memory)
            verified = verify_repository(results, **options, limits=limits)
    text = json.dumps(summary_of(verified), ensure_ascii=False, indent=1)
    deliver(f"{text if format == 'json' else _words(verified)}\n", output)
    return int(not verified.holds)


def _words(verified: Verified) -> str:
    count = len(verified.files)
    files = "1 score file" if count == 1 else f"{count} score files"
    if verified.holds:
        return f"{files} computed again: nothing differs by more than {verified.tolerance:g}"
    lines = [f"{fault.file}: {' '.join(fault.what.split())}" for fault in verified.faults[:SHOWN]]
    more = len(verified.faults) - SHOWN
    lines += [f"and {more} more"] if more > 0 else []
    return "\n".join(lines)


HELP: Help = {
    "jobs": ALL_JOBS,
    "submit.measure": "FILE.py:NAME, which is run.",
    "verify.measure": "Compute only this measure again (repeatable).",
    "submit.output": typer.Option("--output", "-o", help="The repository of results."),
    "card": "A TOML file with the entries of the options below.",
    "title": "Title; default: its label.",
    "authors": "An author (repeatable); asked for if missing.",
    "paper": "The address of its paper.",
    "bib": "The BibTeX entry of its paper.",
    "licence": "The licence of the file.",
    "tuned_on": "A pack or data set on which it was tuned, or none (repeatable); asked for if "
    "missing.",
    "allow_failed_checks": "Submit it although checks fail; it says so.",
    "replace": "Replace an earlier submission that was not published.",
    "folder": "A new or an empty folder.",
    "series": "The packs: one of each suite.",
    "results": typer.Argument(help="A repository of results; default: the scores of the library."),
    "base": "The repository as it was before: nothing in it may have changed, and only what is "
    "new is computed.",
    "pack": "Compute only on this pack, NAME@VERSION (repeatable).",
    "tolerance": typer.Option(
        min=0, help="How much a score may differ; default: 1e-6, or as the board has."
    ),
    "seconds": typer.Option(
        min=1, help="How long a measure of a repository may take, on all packs."
    ),
    "memory": 'How much memory it may take: "8GB", or "half" of what is available, which measures '
    "that run at a time share.",
}


commands = commands_of(("submit", submit_command, SUBMIT), help=HELP)
