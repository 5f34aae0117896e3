"""One self-contained HTML page of the ReSi benchmark: it loads nothing from elsewhere, sorts its
tables, and prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import need
from ..measure import INVARIANCES
from ..results.headlines import RESAMPLING
from ..store import write_atomically
from ..suites.published import RankRow, order_agreement
from ..suites.resi.evaluation import ResiResult
from ..suites.resi.tests import TESTS
from . import resi_cells, resi_data, resi_figures
from .colours import colour_table
from .data import definition
from .numbers import number
from .strip import strip

TITLE = "The ReSi benchmark of similarity measures"
PROTOCOLS: Mapping[str, str] = {
    "paper": "the definitions of the paper",
    "resi-code": "what the authors' code computes",
}
FAILURES: Mapping[str, str] = {
    "last": "a measure with failed comparisons in a cell is ranked behind all others of that cell",
    "unranked": "a measure with failed comparisons in a cell is ranked by what is left, or not at "
    "all",
}
READING: Mapping[str, str] = {
    "accuracy": "Models differ in their random seed only; the more the accuracies of two of them "
    "differ, the more a measure should find their representations to differ (Spearman "
    "correlation, −1 to 1).",
    "output": "The same models; the more their outputs differ, by the Jensen-Shannon divergence "
    "of the probabilities (JSD) or by how often the predicted class differs (disagreement), the "
    "more the representations should (Spearman correlation, −1 to 1).",
    "labels": "Groups of models were trained with different shares of random labels; models of "
    "one group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "shortcut": "Groups of models were trained with shortcuts in their inputs that give away the "
    "label more or less often; models of one group should be more alike than models of different "
    "groups (AUPRC or conformity, 0 to 1).",
    "augmentation": "Groups of models were trained with more or less augmentation; models of one "
    "group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "layers": "Inside one model, the farther apart two layers are, the more they should differ: "
    "distances in the right order (Spearman correlation, −1 to 1), or layers in between not "
    "farther than what encloses them (conformity, 0 to 1); the mean over models.",
}
SHORT = {"isotropic_scaling": "scaling", "invertible_linear": "linear"}


def write_resi_page(
    result: ResiResult,
    path: str | Path,
    *,
    title: str = TITLE,
    published: Sequence[RankRow] | None = None,
) -> None:
    """Write everything that an evaluation found to one HTML file.

    The page has the ranking with intervals and by domain, every score, the matrices that were
    measured and expected, the accuracies of the groups, how often measures beat each other, run
    times, failures, claims and provenance. It needs no network and runs no foreign code; two calls
    with the same result write the same bytes, and a reader sees the old or the new file, never a
    part.

    Parameters
    ----------
    result : from :func:`resemblance.suites.resi.evaluation.evaluate` or ``load_resi``.
    path : the file to write; its folder must exist.
    title : the heading.
    published : mean ranks beside those of the paper, from
        :func:`resemblance.suites.published.compare_published`; without any, the page does not
        mention them.

    Needs the extra ``report``.

    Reference: Klabunde et al., "ReSi: A Comprehensive Benchmark for Representational Similarity
    Measures", ICLR 2025. Where we differ from its Figure 3 and Table 3: mean ranks have intervals,
    every model and quality can be chosen, and what is missing has a reason.
    """
    write_atomically(
        Path(path),
        _template().render(
            title=title,
            **_ranks(result),
            **_cells(result),
            **_rest(result),
            **_published(published),
        ),
    )


def matrices(exhibits: Iterable[resi_cells.Exhibit], measures: Sequence[str]) -> dict[str, Any]:
    """Return the matrices as compact data for the page: four digits, of symmetric ones the part
    from the diagonal up.

    Cases that measured the same share one entry of "values". A missing number is null.
    """
    values, places, cases = list[dict[str, Any]](), dict[str, int](), list[dict[str, Any]]()
    for exhibit in exhibits:
        parts = []
        for part in exhibit.parts:
            packed = {
                str(i): _packed(part.measured[m])
                for i, m in enumerate(measures)
                if m in part.measured
            }
            place = places.setdefault(str(packed), len(values))
            values += [packed] if place == len(values) else []
            expected = {quality: _packed(matrix) for quality, matrix in part.expected.items()}
            scores = {
                q: [_brief(found.get(m, math.nan)) for m in measures]
                for q, found in part.scores.items()
            }
            parts += [
                {
                    "title": part.title,
                    "labels": part.labels,
                    "values": place,
                    "expected": expected,
                    "scores": scores,
                }
            ]
        cases += [
            {"test": exhibit.test, "family": resi_data.family_text(exhibit.family), "parts": parts}
        ]
    return {"cases": cases, "values": values}


def _packed(matrix: np.ndarray) -> list[float | None]:
    same = np.array_equal(matrix, matrix.T, equal_nan=True)
    return [
        _brief(v)
        for v in (matrix[np.triu_indices(len(matrix))] if same else matrix.ravel()).tolist()
    ]


def _brief(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def _ranks(result: ResiResult) -> dict[str, Any]:
    """Return what the page shows of ranks: header, ranking, boxes, duels."""
    rows, domains = resi_data.standings(result), resi_data.domains_of(result)
    worst = float(
        max([*(rank for cell in result.ranks().values() for rank in cell.values()), len(rows), 2])
    )
    found = [(domain, resi_data.boxes(result, domain)) for domain in domains]
    ordered, sure = [row.name for row in rows if row.mean is not None], resi_data.before(result)
    return {
        "headline": resi_data.headline(result),
        "verdict": resi_data.verdict(result),
        "domains": domains,
        "strip": strip(
            resi_data.facts(result), is_trial=result.is_trial, remarks=resi_data.remarks(result)
        ),
        "resampling": RESAMPLING if any(row.behind for row in rows) else "",
        "is_trial": result.is_trial,
        "protocol": PROTOCOLS.get(result.protocol, result.protocol),
        "permute": result.permute,
        "failures": FAILURES.get(result.failures, result.failures),
        "standings": rows,
        "intervals": [resi_figures.interval(row, worst) for row in rows],
        "scale": resi_figures.interval_scale(worst),
        "boxes": [
            (d, resi_figures.boxes(b, worst, f"Ranks in the domain {d}"), b) for d, b in found if b
        ],
        "duels": resi_figures.duel_map(ordered, sure, resi_data.wins(result)) if sure else "",
    }


def _cells(result: ResiResult) -> dict[str, Any]:
    """Return what the page shows of scores: the table, and the matrices behind it."""
    exhibits = resi_cells.exhibits(result)
    names = {row.name.spec: row.name for row in resi_data.standings(result)}  # the best first
    examples = dict[str, Any]()
    for exhibit in sorted(exhibits, key=lambda e: list(TESTS).index(e.test)):
        if exhibit.test in examples:
            continue
        part, quality, measure = resi_cells.example(exhibit)
        word = resi_cells.QUALITIES[exhibit.test].get(quality, quality)
        words = ("expected", f"measured by {names[measure].text}")
        examples[exhibit.test] = (
            resi_data.family_text(exhibit.family),
            part.title,
            word,
            resi_figures.pair(part, quality, measure, words),
        )
    data = matrices(exhibits, list(names))
    qualities = {
        quality: word for group in resi_cells.QUALITIES.values() for quality, word in group.items()
    }
    told = [[n.text, n.text + (" (added)" if n.is_added else "")] for n in names.values()]
    return {
        "table": resi_cells.score_table(result),
        "examples": examples,
        "families": resi_data.families_of(result),
        "data": {
            **data,
            "measures": told,
            "tests": dict(TESTS),
            "qualities": qualities,
            "levels": resi_figures.LEVELS,
            "room": resi_figures.ROOM,
        },
    }


def _rest(result: ResiResult) -> dict[str, Any]:
    """Return what the page shows of groups, times, failures, claims and provenance."""
    panels = [(panel, resi_figures.strips(panel)) for panel in resi_data.panels(result)]
    times, claims = resi_data.times(result), resi_data.claims(result)
    spent = [ms for _, by_domain in times for ms in by_domain.values() if ms > 0]
    representations = result.provenance.get("representations", {})
    settings = {k: v for k, v in result.provenance.items() if k != "representations"}
    return {
        "panels": panels,
        "times": times,
        "fastest": min(spent, default=1),
        "slowest": max(spent, default=1),
        "time_domains": tuple(result.seconds),
        "failed": resi_data.failure_rows(result),
        "claims": claims,
        "meaning": {c.name.spec: text for c in claims if (text := definition(c.info))},
        "invariances": INVARIANCES,
        "settings": settings,
        "representations": representations,
        "absent": result.absent,
    }


def _published(rows: Sequence[RankRow] | None) -> dict[str, Any]:
    rows = list(rows or ())
    agreement = order_agreement(rows) if rows else None
    return {
        "published": rows,
        "agreement": agreement,
        "scatter": resi_figures.scatter(rows) if rows else "",
    }


def _template() -> Any:
    jinja2 = need("jinja2")
    here = Path(__file__).parent
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "two": two,
        "number": lambda value: number(value, 4),
        "shade": _log_shade,
    }
    environment.globals |= {
        "tests": TESTS,
        "qualities": resi_cells.QUALITIES,
        "reading": READING,
        "short": SHORT,
        "family_text": resi_data.family_text,
        "version_text": _as_text,
        "ramp": _ramp(),
        "css": "".join(
            (here / name).read_text(encoding="utf-8") for name in ("resi.css", "strip.css")
        ),
        "js": (here / "resi.js").read_text(encoding="utf-8"),
    }
    return environment.from_string((here / "resi.html.j2").read_text(encoding="utf-8"))


def two(value: float | None) -> str:
    """Write a number with two decimals and a real minus sign, a missing one as a dash."""
    if value is None:
        return "–"
    written = f"{value:,.2f}".replace(",", "\u202f")
    return written.replace("-0.00", "0.00").replace("-", "−")


def _log_shade(value: float, least: float, most: float) -> float:
    """Return where a positive number lies between two others on a logarithmic scale, 0 to 1."""
    if value <= 0 or most <= least:
        return 0.0
    return round(math.log(value / least) / math.log(most / least), 2)


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    return str(value)


def _ramp() -> list[str]:
    """Return the colours of a matrix, the last for what is alike."""
    return [f"rgb({r:.0f} {g:.0f} {b:.0f})" for r, g, b in 255 * colour_table(resi_figures.LEVELS)]
