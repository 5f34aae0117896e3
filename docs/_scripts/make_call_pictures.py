"""Draw the walk of three calls through the rooms: docs/_static/call-compare.svg and two others.

A step has a room, a sentence, and the file to read first. ``python docs/_scripts/write_tables.py
calls`` writes the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "resemblance"
WIDTH, MARGIN, TEXT_LEFT = 400, 14, 30  # width of a picture, margin, and left edge of texts
LINE, GAP, PADDING = 17, 14, 10  # height of a line, gap between steps, padding of a step
MAX_CHARACTERS = 52  # characters of a line
BLUE, INK, MUTED, EDGE, CARD = "#0b62a4", "#1c2530", "#5c6875", "#c3ccd4", "#f4f6f8"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Step(NamedTuple):
    """A step of a call: the room, the work of the room, and a file of the room."""

    room: str
    work: str
    file: str


class Walk(NamedTuple):
    """The steps of a call in order, and the return value."""

    call: str
    steps: tuple[Step, ...]
    returned: str


WALKS = {
    "call-compare": Walk(
        "rs.compare(representations, measures=...)",
        (
            Step("data", "reads arrays with names: Representations", "inputs.py"),
            Step("contracts", "finds the measures with their declared properties", "_measure.py"),
            Step("engine", "plans blocks of pairs that fit the memory", "plan.py"),
            Step("engine", "runs blocks here, in processes, or on a cluster", "jobs.py"),
            Step("intermediates", "caches a quantity of one representation", "grams.py"),
            Step("measures", "applies the formula to each pair of a block", "kernel_alignment.py"),
            Step("comparison", "fills a matrix per measure: a value or a reason", "scores.py"),
        ),
        "Comparison",
    ),
    "call-evidence": Walk(
        "rs.evidence(representations, measures=...)",
        (
            Step("engine", "compares all pairs, as rs.compare does", "_compare.py"),
            Step("significance", "lists the permutations that the null hypothesis allows",
                 "orders.py"),
            Step("inference", "null distribution: exact moments, or permuted intermediates",
                 "nulls.py"),
            Step("measures", "values without each sample, by formula",
                 "leave_one_out/similarity_analysis.py"),
            Step("inference", "intervals from these values", "intervals.py"),
            Step("significance", "adjusts the p-values for all pairs", "multiple_testing.py"),
        ),
        "Evidence: values, chance, p-values, intervals",
    ),
    "call-compare-models": Walk(
        "resemblance compare-models a=A b=B --data D",
        (
            Step("cli", "reads the options and names every file that it reads", "models.py"),
            Step("models", "opens the models and reads the samples", "loading.py"),
            Step("models", "collects and pools the layers, batch by batch", "extraction.py"),
            Step("data", "puts layers and traits into ModelFeatures", "model_features.py"),
            Step("engine", "compares all layers, as rs.compare does", "_compare.py"),
            Step("inference", "adds p-values and intervals, as rs.evidence does",
                 "_evidence.py"),
            Step("sections", "states tables, figures and texts as data", "figures.py"),
            Step("report", "shows these data on a page and a terminal", "page.py"),
        ),
        "page, table, features and scores on disk",
    ),
}  # fmt: skip


def drawings() -> dict[str, bytes]:
    """Return the pictures by file name."""
    return {f"{name}.svg": _picture(walk).encode() for name, walk in WALKS.items()}


def _picture(walk: Walk) -> str:
    """Return a walk as SVG: the call, the steps from top to bottom, and the return value."""
    parts, y = [_text(walk.call, MARGIN, 26, MONO, INK, 12.5, 600)], 40.0
    for i, step in enumerate(walk.steps):
        if not (SOURCE / step.room / step.file).is_file():
            raise FileNotFoundError(
                f"the walk of {walk.call} names no file {step.room}/{step.file}"
            )
        lines = wrap(step.work, MAX_CHARACTERS)
        height = 2 * PADDING + LINE * (1 + len(lines))
        parts += _step_parts(i + 1, step, lines, y, height)
        y += height + GAP
        parts.append(_arrow(y - GAP, y - 2))
    parts.append(_text(walk.returned, TEXT_LEFT, y + 16, SANS, INK, 13, 640))
    height = y + 34
    words = "; ".join(f"{step.room} {step.work}" for step in walk.steps)
    label = escape(f"{walk.call}: {words}; returns {walk.returned}", quote=True)
    frame = f'<rect width="{WIDTH}" height="{height:g}" rx="10" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{label}">\n'
        + "\n".join([frame, *parts])
        + "\n</svg>\n"
    )


def _step_parts(
    number: int, step: Step, lines: list[str], y: float, height: float
) -> Iterator[str]:
    yield (
        f'<rect x="{MARGIN}" y="{y:g}" width="{WIDTH - 2 * MARGIN}" height="{height:g}" rx="7" '
        f'fill="{CARD}" stroke="{EDGE}"/>'
    )
    baseline = y + PADDING + 12
    yield _text(f"{number}  {step.room}/", TEXT_LEFT, baseline, MONO, BLUE, 12.5, 640)
    file = step.file.rpartition("/")[2]
    yield _text(file, WIDTH - TEXT_LEFT, baseline, MONO, MUTED, 10.5, 400, "end")
    for k, line in enumerate(lines, 1):
        yield _text(line, TEXT_LEFT, baseline + LINE * k, SANS, INK, 12.5)


def _text(
    words: str, x: float, y: float, font: str, color: str, size: float, weight: int = 400,
    anchor: str = "start",
) -> str:  # fmt: skip
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="{font}" font-size="{size:g}" '
        f'font-weight="{weight}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def _arrow(top: float, bottom: float) -> str:
    x = TEXT_LEFT + 4
    return (
        f'<path d="M{x} {top:g}V{bottom:g}m-4 -5l4 5l4 -5" fill="none" stroke="{MUTED}" '
        'stroke-width="1.3"/>'
    )
