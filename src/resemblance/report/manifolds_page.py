"""One self-contained HTML page of the manifold suite: it loads nothing from elsewhere, and
prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..results.headlines import size_words
from ..store import write_atomically
from ..suites.manifolds.claims import claims
from ..suites.manifolds.grades import Grade, ManifoldResult
from .manifolds_data import Line, failure_rows, figures, lines
from .manifolds_figures import cloud, panel
from .strip import strip
from .template import SIGNS, template

TITLE = "The manifold suite: measures on shapes whose similarity is known"
COLUMNS: Sequence[tuple[str, str, str]] = (  # field of a grade, heading, what it says
    (
        "rings",
        "τ rings",
        "Kendall's tau of the differences with the known order; 1 is right, −1 the opposite order",
    ),
    (
        "rings_conformity",
        "conf.",
        "share of pairs of comparisons in the right order; equal differences count half",
    ),
    ("clusters", "τ clusters", "Kendall's tau of the differences with the known order"),
    ("clusters_conformity", "conf.", "share of pairs of comparisons in the right order"),
    ("over_k", "over k", "coefficient of variation over numbers of neighbours; 0 is the best"),
    ("over_n", "over n", "coefficient of variation over numbers of samples; 0 is the best"),
    ("over_d", "over d", "coefficient of variation over numbers of features; 0 is the best"),
    ("lost", "lost", "mean value without any correspondence; of a similarity 0 is right"),
    (
        "kept",
        "kept",
        "value after the longest move over the value before, of a similarity; 1 is the best",
    ),
    ("peak", "peak r", "where the S-curve is most like the Swiss roll; 0.5 is right"),
)


class Entry(NamedTuple):
    """A cell of the table of grades: the number, as text, and how good it is from 0 to 1 (``None``:
    no colour)."""

    value: float | None
    text: str
    good: float | None


def write_manifolds_page(result: ManifoldResult, path: str | Path, *, title: str = TITLE) -> None:
    """Write what a run of the manifold suite found to one HTML file.

    The page has the shapes and the curves of Figures 1 to 3 and 6 to 9 of Islam et al. 2025, the
    claims of the paper with the numbers of this run and a verdict for each, the grades of every
    measure, times, and failures with reasons. Any measure can be shown or hidden. It needs no
    network; two calls with the same result write the same bytes, and a reader sees the old or the
    new file, never a part.

    Parameters
    ----------
    result : from :func:`resemblance.suites.manifolds.suite.run` or ``load_manifolds``.
    path : the file to write; its folder must exist.
    title : the heading.

    Needs the extra ``report``.

    Where we differ from the paper: distances are drawn as 1 - value / the largest of a diagram, not
    as exp(-value/γ) with a γ that was tuned and not reported.
    """
    write_atomically(Path(path), template("manifolds").render(title=title, **_content(result)))


def _content(result: ManifoldResult) -> dict[str, Any]:
    drawn, found = lines(result), claims(result)
    verdicts = {v: sum(c.verdict == v for c in found) for v in SIGNS}
    times = sorted(
        ((drawn[s], 1000 * result.seconds[s]) for s in drawn if s in result.seconds),
        key=lambda row: row[1],
    )
    return {
        "lines": list(drawn.values()),
        "claims": found,
        "verdicts": verdicts,
        "figures": [
            (f, [(c, cloud(c)) for c in f.clouds], [(p, panel(p)) for p in f.panels])
            for f in figures(result)
        ],
        "grades": [(drawn[g.measure], _entries(g, drawn[g.measure])) for g in result.grades()],
        "columns": COLUMNS,
        "strip": strip(facts(result), is_trial=result.is_trial),
        "is_trial": result.is_trial,
        "verdict": _verdict(result, drawn),
        "size": result.size,
        "comparisons": len(result.points),
        "times": times,
        "left_out": {drawn[s].text: why for s, why in result.left_out.items()},
        "failed": failure_rows(result),
        "settings": result.provenance,
    }


def facts(result: ManifoldResult) -> dict[str, str]:
    """Return what a run is of: suite, size, data, seeds."""
    seeds = len({p.seed for p in result.points if p.experiment == "perturbed"})
    return {
        "suite": "manifolds",
        "size": size_words("manifolds", result.size),
        "data": "point clouds drawn here",
        "models": "none",
        "seeds": str(seeds),
    }


def _verdict(result: ManifoldResult, drawn: Mapping[str, Line]) -> str:
    both = [
        g.measure for g in result.grades() if g.rings == 1 and g.clusters == 1
    ]  # NaN is no order
    middle = [g.measure for g in result.grades() if abs(g.peak - 0.5) <= 0.1]
    if not both:
        count = "1 measure" if len(drawn) == 1 else f"{len(drawn)} measures"
        return f"None of {count} puts both the rings and the clusters in the right order."
    named = [drawn[m].text for m in both]
    also = [drawn[m].text for m in both if m in middle]
    said = (
        f"Of {len(drawn)} measures, only {_listed(named)} put{'' if len(both) > 1 else 's'} both "
        "the rings and the "
    )
    said += "clusters in the right order"
    if not also:
        return f"{said}."
    who = ("they" if len(both) > 1 else "it") if also == named else _listed(also)
    return (
        f"{said}; {who} also find{'s' if len(also) == 1 else ''} the S-curve that unrolls the "
        "Swiss roll."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _entries(grade: Grade, line: Line) -> list[Entry]:
    return [_entry(name, getattr(grade, name), line.is_distance) for name, _, _ in COLUMNS]


def _entry(name: str, value: float, is_distance: bool) -> Entry:
    if math.isnan(value):
        return Entry(None, "–", None)
    places = (3 if abs(value) < 10 else 0) if name == "lost" else 2
    text = f"{value:.{places}f}"
    good = {
        "over_k": 1 - 2 * value,
        "over_n": 1 - 2 * value,
        "over_d": 1 - 2 * value,
        "lost": None if is_distance else 1 - 1.5 * abs(value),
        "peak": 1 - 2 * abs(value - 0.5),
    }.get(name, value)
    return Entry(value, text.replace("-", "−"), None if good is None else _between(good))


def _between(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 2)
