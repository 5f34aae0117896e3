"""The reproduction of a paper: how to run it, the stored result of a run, and the files made from
the stored result.

A run at the default size is stored in ``papers/<name>/results/default.json``. The README of the
paper and the tables that the documentation includes (``docs/_generated/<name>-*.md``) are made from
the stored result, so no number in the files is typed.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import resemblance as rs
from resemblance.base.json_files import write_atomically
from resemblance.bench.answer_tables import measure_records, networks_sentence, question_records
from resemblance.bench.answers import RANDOM_UNITS
from resemblance.bench.ranking.ranking import ARCHITECTURES_SERIES
from resemblance.sections.claims import NO_DATA, REPRODUCED, VERDICTS, Claim
from resemblance.sections.result import Result, result_document
from resemblance.sections.sections import Section

from .markdown import MADE, claims_table, decimal_table, table

ROOT = Path(__file__).parents[1]
NAMES = ("resi", "ding", "mka", "shesha")
SIZES = ("small", "default", "paper")
Tables = Mapping[str, str]  # by name, in Markdown


class Paper(NamedTuple):
    """A paper and its reproduction.

    ``run``: called with a folder and, by name, size, jobs and progress; returns a result with
    claims. ``sizes``: the suite's names of "small", "default" and "paper". ``kept``: the names of
    the tables to store; tables of a section "published" put the paper's numbers next to ours and
    appear in the README. ``tables``: returns the tables for the documentation, from a stored
    result. ``about``: the reproduced and the omitted parts of the paper, as paragraphs of Markdown.
    """

    name: str
    citation: str
    url: str
    run: Callable[..., Result]
    heading: str
    about: str
    sizes: Mapping[str, str] = dict(zip(SIZES, SIZES))
    kept: tuple[str, ...] = ()
    tables: Callable[[Result], Tables] = lambda result: {}


def papers(names: Iterable[str] = NAMES) -> tuple[Paper, ...]:
    """Return papers by name. Raises ``ValueError`` for a paper without a reproduction."""
    for name in names:
        if name not in NAMES:
            raise ValueError(f"no paper {name!r}; known: {', '.join(NAMES)}")
    return tuple(import_module(f"papers.{name}.reproduction").PAPER for name in names)


def stored_path(paper: Paper, root: Path = ROOT) -> Path:
    """Return the path of the stored result of a paper at its default size."""
    return root / "papers" / paper.name / "results" / "default.json"


def stored(paper: Paper, root: Path = ROOT) -> Result:
    """Return the stored result of a paper. Raises ``ValueError`` without a stored result."""
    return rs.load(stored_path(paper, root))


def store(paper: Paper, result: Result, root: Path = ROOT) -> Path:
    """Store the parts of a result that the README and the documentation need, and return the
    path."""
    origin = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "system": platform.system()}
    small = replace(
        result,
        sections=tuple(_trimmed(section, paper.kept) for section in result.sections),
        provenance={**result.provenance, **origin},
    )
    path = stored_path(paper, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        result_document(small), indent=1, ensure_ascii=False, allow_nan=False, default=dict
    )
    write_atomically(path, text + "\n")
    return path


def _trimmed(section: Section, names: Iterable[str]) -> Section:
    tables = tuple(t for t in section.tables if t.name in names)
    return section._replace(tables=tables, figures=(), scores={}, rules={}, reasons={})


# ------------------------------------------------------------------------------------ files made


def documents(paper: Paper, result: Result) -> dict[str, str]:
    """Return the files made from a stored result, by path from the root."""
    tables = {
        f"docs/_generated/{paper.name}-{name}.md": f"{MADE}\n\n{text}\n"
        for name, text in paper.tables(result).items()
    }
    return {f"papers/{paper.name}/README.md": readme(paper, result), **tables}


def readme(paper: Paper, result: Result) -> str:
    """Return the page of a paper: its claims and the results of a run, side by side."""
    parts = [
        MADE,
        f"# {paper.heading}",
        f"{paper.citation} <{paper.url}>",
        paper.about,
        f"```text\n$ python -m papers {paper.name}\n```",
        made_line(result),
        count_line(result),
    ]
    for section in result.sections:
        if section.claims:
            parts += [f"## {section.title}", claims_table(section.claims)]
        if section.name == "published":
            parts += [f"## {section.title}", section.about]
            for table in section.tables:
                parts += [f"### {table.title}", decimal_table(table), table.note]
    return "\n\n".join(filter(None, parts)) + "\n"


def made_line(result: Result) -> str:
    """Return version, date and machine of a run, in one sentence."""
    provenance = result.provenance
    libraries = ", ".join(f"{name} {version}" for name, version in provenance["libraries"].items())
    return (
        f"The numbers here: resemblance {provenance['resemblance']}, size `{result.size}`, "
        f"{provenance['date']}, Python {provenance['python']}, {libraries}, "
        f"{provenance['system']} on {provenance['machine']}."
    )


def count_line(result: Result) -> str:
    """Return the number of claims per verdict, in one sentence."""
    count = Counter(claim.verdict for claim in result.claims)
    verdicts = ", ".join(f"{count[v]} {v}" for v in VERDICTS if count[v])
    return f"{len(result.claims)} claims: {verdicts}."


def index(results: Mapping[str, tuple[Paper, Result]]) -> str:
    """Return the index of all papers: the number of claims per verdict, and the reasons why claims
    are not reproduced."""
    columns, rows, reasons = ("paper", *VERDICTS), [], []
    for paper, result in results.values():
        count = Counter(claim.verdict for claim in result.claims)
        link = f"[{paper.heading}]({paper.name}/README.md)"
        rows.append((link, *(str(count[v]) for v in VERDICTS)))
        failures = (c for c in result.claims if c.verdict not in (REPRODUCED, NO_DATA))
        lines = [_failure(claim) for claim in failures] or ["Everything is reproduced."]
        reasons += [f"## {paper.heading}", "\n".join(lines)]
    return "\n\n".join([MADE, "# Papers", ABOUT, table(columns, rows), *reasons]) + "\n"


def _failure(claim: Claim) -> str:
    why = f" Why: {claim.note}." if claim.note else ""
    text, ours = claim.claim.rstrip("."), claim.ours.rstrip(".")
    return f"- {claim.number} {text}: **{claim.verdict}**. Here: {ours}.{why}"


# ------------------------------------------------------------------ tables of docs/leaderboard.md


def joint_documents(results: Mapping[str, tuple[Paper, Result]]) -> dict[str, str]:
    """Return, by path from the root, the tables of the leaderboard on the packs that ship, and the
    table of the number of claims per verdict of every paper."""
    board = rs.leaderboard()
    questions = question_records(board.answers, board.labels)
    ranked = [answer for answer in board.answers if answer.has_intervals]
    measures = measure_records(ranked, board.labels, [row["spec"] for row in board.rows])
    columns = [verdict for verdict in VERDICTS if verdict != NO_DATA]
    verdicts = []
    for paper, of_paper in results.values():
        count = Counter(claim.verdict for claim in of_paper.claims)
        verdicts.append((paper.heading, *(str(count[v]) for v in columns)))
    tables = {
        **_tables_of_ten_networks(),
        "questions": _table_of_records(questions),
        "measures": _table_of_records(measures),
        "networks": networks_sentence(board.answers, board.labels),
        "verdicts": table(("paper", *columns), verdicts),
    }
    return {
        f"docs/_generated/joint-{name}.md": f"{MADE}\n\n{text}\n" for name, text in tables.items()
    }


def _tables_of_ten_networks() -> dict[str, str]:
    """Return the answers over ten networks, with seeds and with networks as the random unit."""
    tables = {}
    for unit in RANDOM_UNITS:
        board = rs.leaderboard(packs=ARCHITECTURES_SERIES, unit=unit)
        tables[f"ten-{unit}"] = _table_of_records(question_records(board.answers, board.labels))
    return tables


def _table_of_records(records: Sequence[Mapping[str, object]]) -> str:
    rows = [[str(entry or "–") for entry in record.values()] for record in records]
    return table(tuple(records[0]), rows)


ABOUT = """\
What papers about measures of representations claim, put to the test with this library on small
models, made data and shapes. The folders are no part of the installed package. Each has the judges
of one paper, which a suite takes as `claims`, the experiments that grade no measure, and a README
with the paper's numbers and ours side by side. `papers/data` has the numbers that the papers print.

`make papers` runs all of them and writes these pages and the tables of the documentation;
`make papers ARGS="shesha --size small"` tries one out. A claim is *reproduced* when all its parts
hold by a rule that can fail, *in part* when some do. Below, what is not reproduced as a whole, and
why."""
