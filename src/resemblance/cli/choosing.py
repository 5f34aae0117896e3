"""The command that recommends measures: by options, or by the answers to a few questions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import typer

from ..choosing import DOMAINS, QUESTIONS, SIGHTS, Recommendation, recommend
from ..choosing.recommendation import COLUMNS, row_of
from ..claims import INVARIANCES
from ..display import did_you_mean
from ..report.explain import invariance_letters, letters_legend
from ..report.output import Output
from ..report.terminal import plain_table
from .options import Help, commands_of, writing

CHOOSE = (
    "choose --task function -n 1000 -d 256",
    "choose --invariant-to orthogonal,isotropic_scaling --must-see layers --metric",
    "choose --task drift --domain vision -n 500 -d 512 --budget 60 --pairs 66",
)
HEADER = (*COLUMNS[:5], "a pair", "ignores")
NUMBERS = (1, 2, 3, 4, 5)  # columns of them
GIVE = (
    "say what you need, such as --task function or --invariant-to orthogonal; "
    "`resemblance choose --help` lists all options, and in a terminal it asks"
)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)


@writing(("table", "json", "markdown"))
def choose_command(
    invariant_to: str = "",
    must_see: str = "",
    n: int | None = None,
    d: int | None = None,
    task: str | None = None,
    domain: str | None = None,
    metric: bool = False,
    differentiable: bool = False,
    symmetric: bool = False,
    budget: float | None = None,
    pairs: int = 1,
) -> Output:
    """Recommend measures for your case, by what they ignore and by their scores.

    The answer is the group of measures that cannot be told apart, with what argues against each.
    Without options, it asks.
    """
    claims = {"metric": metric, "differentiable": differentiable, "symmetric": symmetric}
    needs: dict[str, Any] = {"invariant_to": invariant_to, "must_see": must_see, "n": n, "d": d}
    needs |= {"task": task, "domain": domain, "budget": budget, "pairs": pairs} | claims
    asks = not any(v for name, v in needs.items() if name != "pairs")
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError(GIVE)
    recommendation = recommend(**(needs | _asked() if asks else needs))
    tables = parts(recommendation)
    if asks:
        tables += ["The same without questions:", f"  {recommendation.needs.command}"]
    return Output(tables, recommendation.document())


def parts(recommendation: Recommendation) -> list[Any]:
    """Return what to print: the answer, its measures, what argues against them, and the rest."""
    r, texts = recommendation, [recommendation.line, recommendation.evidence]
    rows = [row_of(c) for c in r.group]
    shown: list[Any] = [*texts, *(f"Note: {remark}." for remark in r.remarks)]
    if rows:
        lines = [(*row[:-2], invariance_letters(c.ignores)) for row, c in zip(rows, r.group)]
        shown += [plain_table(HEADER, lines, right=NUMBERS), f"Ignores: {letters_legend()}."]
    if r.machine and rows:
        shown.append(f"A pair: CPU time on one thread of {r.machine}.")
    shown += filter(None, (r.worth, r.rule))
    against = [(row[0], row[-1]) for row in rows]
    if against:
        shown.append(plain_table(("measure", "what argues against it"), against))
    others = [c.measure for c in r.candidates if not c.is_tied]
    if others:
        shown += [f"Behind these, best first: {_names(others)}", ""]
    reasons = [(reason, _names(specs)) for reason, specs in r.reasons().items()]
    if reasons:
        shown.append(plain_table(("excluded because it", "measures"), reasons))
    return shown


# ------------------------------------------------------------------------------------ the questions


class Query(NamedTuple):
    """A question of the terminal: what it asks, the answer by default, what "?" explains, and how
    an answer becomes a need."""

    need: str
    text: str
    default: str
    explanation: str
    read: Callable[[str], Any]


def _asked() -> dict[str, Any]:
    """Return the needs that follow from the answers to a few questions."""
    typer.echo('A few questions; Enter takes the answer in brackets, "?" explains.')
    needs: dict[str, Any] = {}
    for query in _queries():
        if query.need != "d" or needs["n"]:
            needs[query.need] = _answer(query)
    return needs if needs["n"] else needs | {"d": None}


def _answer(query: Query) -> Any:
    """Ask until there is an answer that can be used."""
    while True:
        text = str(typer.prompt(query.text, default=query.default)).strip()
        try:
            if text != "?":
                return query.read(text)
            typer.echo(query.explanation)
        except ValueError as error:
            typer.echo(f"  {error}")


def _queries() -> tuple[Query, ...]:
    tasks = "\n".join(f"  {q.name}: {q.text}" for q in QUESTIONS.values())
    sights = "\n".join(f"  {s.name}: {s.text}" for s in SIGHTS.values())
    return (
        Query("task", "What do you ask?", "any", f"{tasks}\n  any: all tests", _one_of(QUESTIONS)),
        Query(
            "invariant_to",
            "What must not count?",
            "orthogonal",
            f"  Any of {_names(INVARIANCES)}, by commas; or none.\n"
            "  orthogonal: rotations and reflections of the features, and so their order.",
            _some_of(INVARIANCES),
        ),
        Query(
            "must_see",
            "What must count?",
            "none",
            f"  The same words, or any of these, by commas:\n{sights}",
            _some_of((*INVARIANCES, *SIGHTS)),
        ),
        Query(
            "domain",
            "Which domain?",
            "any",
            f"  {_names(DOMAINS)}: only scores of it count, if there are enough; any: all.",
            _one_of(DOMAINS),
        ),
        Query("n", "How many samples?", "unknown", "  Rows of your arrays, or unknown.", _count),
        Query("d", "How many features?", "unknown", "  Columns, or unknown.", _count),
    )


def _one_of(names: Iterable[str]) -> Callable[[str], str | None]:
    known = (*names, "any")

    def read(text: str) -> str | None:
        _check_word(text, known)
        return None if text == "any" else text

    return read


def _some_of(names: Iterable[str]) -> Callable[[str], str]:
    known = (*names, "none")

    def read(text: str) -> str:
        words = [word.strip() for word in text.split(",") if word.strip()]
        for word in words:
            _check_word(word, known)
        return ",".join(word for word in words if word != "none")

    return read


def _check_word(word: str, known: Iterable[str]) -> None:
    if word not in known:
        raise ValueError(f"no answer {word!r}{did_you_mean(word, known)}")


def _count(text: str) -> int | None:
    if text == "unknown":
        return None
    if not text.isdecimal() or int(text) < 2:
        raise ValueError(f"a number of at least 2, or unknown; got {text!r}")
    return int(text)


HELP: Help = {
    "invariant_to": f"Changes that must not count, by commas: {_names(INVARIANCES)}.",
    "must_see": f"Changes that must count, by commas: those, or {_names(SIGHTS)}.",
    "n": typer.Option("-n", help="Number of samples."),
    "d": typer.Option("-d", help="Number of features."),
    "task": f"What you ask: {_names(QUESTIONS)}.",
    "domain": f"{_names(DOMAINS)}.",
    "metric": "Only metrics (triangle inequality).",
    "differentiable": "Only with gradients.",
    "symmetric": "Only symmetric ones.",
    "budget": "CPU seconds for all pairs; needs -n and -d.",
    "pairs": "Number of pairs that the budget is for.",
}


commands = commands_of(("choose", choose_command, CHOOSE), help=HELP)
