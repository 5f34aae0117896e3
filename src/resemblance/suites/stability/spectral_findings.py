"""What spectral deletion shows: the section with its tables, curves and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...grounding import spearman
from ...results.claims import Found, NoData, judged
from ...results.figures import Chart, Line
from ...results.sections import Rows, Section, Table
from ...results.values import known
from .printed import printed
from .words import as_printed, count, number

Facts = dict[str, dict[Any, Any]]
COLUMNS: Mapping[str, str] = {
    "shesha": "feature split", "cka": "debiased CKA", "pwcka": "PWCKA",
    "procrustes": "1 − Procrustes disparity",
    "cka_biased": "CKA",
}  # fmt: skip
HALF, LONG = 0.5, 51  # "collapsed" is below a half; rows from no to 50 components
ROUNDING = 1e-9
BLIND = (
    "the same value whatever is removed: it sees only what a deletion keeps, such as the mean of "
    "the points, or fits fewer samples than features without error"
)
SHOWN = {*range(11), *range(15, 51, 5)}  # the rows of the paper
ABOUT = (
    "A representation of 200 samples and 256 features has singular values that fall as 100 / i; "
    "the leading principal components are deleted one after the other. What is left is compared "
    "with the whole by measures of similarity, and asked how stable it is by itself. Similarity "
    "is nearly gone with the first component, which holds 61 % of the variance. The stability of "
    "the rest falls slowly: what is left still lies along few directions. The two answer "
    "different questions, and the second is not the better answer to the first. The curves of all "
    "measures show how much of their largest difference they report after each deletion."
)


def conclude(facts: Facts, labels: Mapping[str, str]) -> Section:
    """Return the section that follows from what was found, with the curves of the measures in
    ``labels``."""
    curves = facts["measure"]
    reasons: dict[str, str] = {}
    for spec, found in curves.items():
        missing = [
            f"{k} removed: {why}" for k, why in zip(found["removed"], found["reasons"]) if why
        ]
        if not missing and not _shares(found):
            missing = [BLIND]
        reasons |= {spec: missing[0]} if missing else {}
    scores = {"order": {spec: _order(curves[spec]) for spec in labels}} if curves else {}
    tables = [_table_11(facts), _table_12(facts), _whitening(facts)]
    charts = [_stability_chart(facts)]
    if curves:
        tables.append(_sensitivities(curves, labels))
        charts.append(_measures_chart(curves, labels))
    claims = judged(_CLAIMS, facts)
    return Section(
        "spectral",
        "Spectral deletion",
        ABOUT,
        tuple(tables),
        tuple(charts),
        claims,
        scores,
        reasons,
    )


# ------------------------------------------------------------------------------- tables and figures


def _table_11(facts: Facts) -> Table:
    rows: Rows = tuple(
        (str(k), *(float(v[name]) for name in COLUMNS))
        for k, v in facts["table 11"].items()
        if k in SHOWN
    )
    return Table(
        "table_11",
        "Table 11: after deleting leading components",
        ("removed", *COLUMNS.values()),
        rows,
    )


def _table_12(facts: Facts) -> Table:
    names = ("shesha", "cka", "cka_biased")
    rows: Rows = tuple(
        (how, *(float(v[name]) for name in names)) for how, v in facts["table 12"].items()
    )
    note = (
        "Whitening brings CKA back only in its biased form; its debiased value, which the paper "
        "prints, stays negative."
    )
    columns = ("preprocessing", *(COLUMNS[name] for name in names))
    return Table(
        "table_12", "Table 12: 30 components deleted, by preprocessing", columns, rows, note
    )


def _whitening(facts: Facts) -> Table:
    rows: Rows = tuple(
        (str(k), v["shesha"], v["whitened"]) for k, v in facts["whitening"].items() if k in SHOWN
    )
    return Table(
        "whitening",
        "Stability as it is, and whitened",
        ("removed", "feature split", "whitened"),
        rows,
    )


def _stability_chart(facts: Facts) -> Chart:
    lines = [
        Line(title, tuple((float(k), float(v[name])) for k, v in facts["table 11"].items()))
        for name, title in COLUMNS.items()
    ]
    note = "Below the line a value counts as collapsed."
    return Chart(
        "figure_5",
        "Figure 5: stability and similarity",
        "components removed",
        "value",
        tuple(lines),
        note,
        threshold=HALF,
    )


def _shares(curve: Mapping[str, Any]) -> dict[int, float]:
    """Differences as shares of the largest, by number of components removed; without a spread there
    is none."""
    differences = {k: d for k, d in zip(curve["removed"], curve["differences"]) if d is not None}
    if not differences:
        return {}
    low, high = min(differences.values()), max(differences.values())
    size = max(1e-3, *(abs(value) for value in curve["values"] if value is not None))
    return (
        {k: (d - low) / (high - low) for k, d in differences.items()}
        if high - low > ROUNDING * size
        else {}
    )


def _measures_chart(curves: Mapping[str, Any], labels: Mapping[str, str]) -> Chart:
    lines = [
        Line(spec, tuple((float(k), s) for k, s in _shares(curves[spec]).items()))
        for spec in labels
    ]
    note = (
        "0: the smallest difference that the measure reports, 1: the largest. Measures without a "
        "value are left out."
    )
    shown = tuple(line for line in lines if line.points)
    title = "How soon measures see a deletion"
    return Chart(
        "measures",
        title,
        "components removed",
        "share of the largest difference",
        shown,
        note,
        threshold=HALF,
    )


def _sensitivities(curves: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    rows = []
    for spec in labels:
        shares = _shares(curves[spec])
        by = dict(zip(curves[spec]["removed"], curves[spec]["values"]))
        half = next((k for k, s in shares.items() if s >= HALF), None)
        at = (known(by.get(k)) for k in (0, 1, 10, 30, 50))
        rows.append((spec, *at, None if half is None else float(half), known(_order(curves[spec]))))
    columns = ("measure", "0", "1", "10", "30", "50", "half seen at", "order")
    note = (
        "“Half seen at”: components removed when half of the largest difference is reported. "
        "“Order”: rank correlation of differences with components removed."
    )
    return Table(
        "sensitivity", "Values of all measures by components removed", columns, tuple(rows), note
    )


def _order(curve: Mapping[str, Any]) -> float | None:
    """Spearman's correlation of differences with components removed; None where one is missing, or
    all are equal."""
    if None in curve["differences"] or not _shares(curve):
        return None
    return known(
        spearman(np.array(curve["differences"]), np.array(curve["removed"], dtype=float)).value
    )


# ------------------------------------------------------------------------------------------- claims


def _cells(facts: Facts) -> Found:
    rows = facts["table 11"]
    same = [as_printed(rows[int(cell.at)][cell.quantity], cell.value) for cell in printed("11")]
    note = "the rows at 0, 1, 10, 30 and 50 of its 19 are recorded here, four numbers each"
    return Found(f"{count(same)} cells equal at the printed precision", (all(same),), note)


def _script(facts: Facts) -> Found:
    cells = [cell for cell in printed("test3") if int(cell.at) in facts["script"]]
    differences = [abs(facts["script"][int(cell.at)][cell.quantity] - cell.value) for cell in cells]
    return Found(
        f"{len(cells)} values, largest difference {max(differences):.0e}",
        (max(differences) < 5e-4,),
    )


def _first_below(facts: Facts, name: str) -> int:
    """Components removed when a value first falls below a half. :class:`NoData` where rows before
    are missing."""
    rows = facts["table 11"]
    first = min((k for k in rows if rows[k][name] < HALF), default=-1)
    if first < 0 or first - 1 not in rows:
        raise NoData(f"{COLUMNS[name]}: the run lacks the rows around its fall")
    return first


def _collapse(facts: Facts) -> Found:
    firsts = {name: _first_below(facts, name) for name in ("cka", "pwcka", "procrustes", "shesha")}
    text = ", ".join(f"{COLUMNS[name]} {k}" for name, k in firsts.items())
    return Found(text, tuple(k == theirs for k, theirs in zip(firsts.values(), (1, 1, 1, 20))))


def _above(facts: Facts) -> Found:
    rows = facts["table 11"]
    if not set(range(LONG)) <= set(rows):
        raise NoData("the run lacks some numbers of components from 0 to 50")
    under = next(k for k in range(1, LONG) if rows[k]["shesha"] <= 0.4 or k == LONG - 1)
    return Found(
        f"until {under - 1}: {number(rows[under - 1]['shesha'])}, then "
        f"{number(rows[under]['shesha'])}; {number(rows[25]['shesha'])} at 25",
        (under >= 26,),
        "Table 11 of the paper has 0.387 at 25",
    )


def _more(facts: Facts) -> Found:
    value, similarity = (facts["table 11"][30][name] for name in ("shesha", "cka"))
    return Found(
        f"{number(value)} and {number(similarity)}",
        (similarity > 0 and value / similarity > 100,),
        "a ratio to a negative number says nothing",
    )


def _ablation(facts: Facts) -> Found:
    rows, cells = facts["table 12"], printed("12")
    same = [as_printed(rows[cell.at][cell.quantity], cell.value) for cell in cells]
    text = ", ".join(f"{how} {number(v['shesha'])}/{number(v['cka'])}" for how, v in rows.items())
    return Found(f"{text}; {count(same)} equal", (all(same),))


def _recovers(facts: Facts) -> Found:
    raw, white = facts["table 12"]["raw"], facts["table 12"]["whitened"]
    text = ", ".join(
        f"{kind} {number(raw[name])} → {number(white[name])}"
        for kind, name in (("debiased", "cka"), ("biased", "cka_biased"))
    )
    note = "true of biased CKA; the debiased value that Table 12 prints does not recover"
    return Found(text, (white["cka"] > 0.1, white["cka_biased"] > raw["cka_biased"] + 0.1), note)


def _whitened(facts: Facts) -> Found:
    rows = facts["whitening"]
    if len(rows) < LONG:
        raise NoData("the correlation of the paper is over all numbers of components from 0 to 50")
    rho = float(
        spearman(*(np.array([v[n] for v in rows.values()]) for n in ("shesha", "whitened"))).value
    )
    start = rows[0]["whitened"]
    return Found(
        f"{number(start)} at 0; ρ = {number(rho)}",
        (abs(start - 0.50) < 0.005, number(rho) in ("1.000", "0.999")),
    )


_CLAIMS: Sequence[Any] = (
    ("S3", "Table 11: Shesha, debiased CKA, PWCKA, Procrustes",
     "0 removed: 0.979/1/1/1, 1: 0.950/0.262/0.274/0.389, 10: 0.715/−0.027/0.016/0.055 ...; "
     "authors' code the same",
     _cells),
    ("S3", "The same deletions in the script of Section 7.1 (seed 520)",
     "authors' code: two values for each of 50 deletions", _script),
    ("S4", "Components removed when a value first falls below 0.5",
     "CKA 1, PWCKA 1, Procrustes 1, Shesha 20; authors' code the same", _collapse),
    ("S4", "Stability stays above 0.4 until 26 components are removed", "until 26", _above),
    ("S4", "Stability is 110 times debiased CKA at 30 removed", "110 times", _more),
    ("S5", "Table 12: stability / debiased CKA at 30 removed",
     "raw 0.276/−0.076, centred 0.417/−0.076, normalised 0.417/−0.083, whitened 0.316/−0.054; "
     "authors' code the same",
     _ablation),
    ("S5", "Whitening makes CKA recover", "CKA recovers", _recovers),
    ("S6", "Whitened stability starts near 0.50 and orders the deletions as stability does",
     "≈ 0.50; ρ = 1.000 (0.999 in the caption); authors' code 0.502, 1.000", _whitened),
)  # fmt: skip
