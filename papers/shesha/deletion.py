"""What spectral deletion shows: the section with its tables, curves and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.judging import Evidence, NoData, as_printed, count, judged, number
from resemblance.grounding import spearman
from resemblance.measures import cka, procrustes, pwcka
from resemblance.results.figures import Chart, Line
from resemblance.results.sections import Rows, Section, Table
from resemblance.statistics.rdm import unit
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured
from resemblance.suites.stability.spectral import (
    REMOVED,
    compute_measure,
    conclude,
    curves_of,
    harmonic,
    measure_parts,
    without_leading,
)

from .protocol import SEED, SPLITS, split_score
from .published_values import printed

Facts = dict[str, dict[Any, Any]]
PREPROCESSINGS = ("raw", "centred", "normalised", "whitened")
AT = 30  # components removed in Table 12
COLUMNS: Mapping[str, str] = {
    "shesha": "feature split", "cka": "debiased CKA", "pwcka": "PWCKA",
    "procrustes": "1 − Procrustes disparity",
    "cka_biased": "CKA",
}  # fmt: skip
HALF, LONG = 0.5, 51  # "collapsed" is below a half; rows from no to 50 components
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


def _parts(config: RunConfig) -> list[Part]:
    removed = REMOVED[config.size]
    uses = measured((cka, pwcka, procrustes))
    parts: list[Part] = [
        {"what": what, "removed": k, "seed": seed, "splits": SPLITS, "uses": uses}
        for what, seed in (("table 11", SEED + 100), ("script", SEED + 200), ("whitening", SEED))
        for k in removed
    ]
    parts += [
        {
            "what": "table 12",
            "as": p,
            "removed": AT,
            "seed": SEED + 200,
            "splits": SPLITS,
            "uses": uses,
        }
        for p in PREPROCESSINGS
    ]
    return parts + measure_parts(config)


def _compute(config: RunConfig, part: Part) -> dict[str, Any]:
    if part["what"] == "measure":
        return compute_measure(config, part)
    points, k, what = harmonic(part["seed"]), part["removed"], part["what"]
    (left,), seed, splits = without_leading(points, [k]), part["seed"] + k, part["splits"]
    if what == "table 12":
        points, left = preprocessed(points, part["as"]), preprocessed(left, part["as"])
    scores = {
        "shesha": split_score(left, seed, k=splits),
        "cka": float(cka(points, left, estimator="debiased")),
    }
    if what == "table 11":
        scores |= {
            "pwcka": float(pwcka(points, left)),
            "procrustes": procrustes_similarity(points, left),
        }
    if what in ("table 11", "table 12"):
        scores |= {"cka_biased": float(cka(points, left))}
    if what == "whitening":
        scores |= {"whitened": split_score(preprocessed(left, "whitened"), seed, k=splits)}
    return scores


def procrustes_similarity(x: np.ndarray, y: np.ndarray) -> float:
    """Return 1 minus the disparity of Procrustes analysis with scaling.

    It is the squared nuclear norm of the aligned product.
    """
    return (1 - float(procrustes(x, y, squared=True)) / 2) ** 2


def preprocessed(points: np.ndarray, how: str) -> np.ndarray:
    """Return points "raw", "centred", "normalised" (also to rows of length 1), or "whitened".

    Whitening multiplies the centred points by (0.9 Σ + 0.1 I)^(-1/2). The identity is not scaled by
    the variances, so the result depends on the unit of the points; that is how the author's script
    has it.
    """
    if how == "raw":
        return points
    centred: np.ndarray = points - points.mean(axis=0)
    if how == "normalised":
        return unit(centred)
    if how == "whitened":
        covariance = 0.9 * (centred.T @ centred) / (len(points) - 1) + 0.1 * np.eye(points.shape[1])
        variances, axes = np.linalg.eigh(covariance)
        centred = centred @ ((axes / np.sqrt(variances)) @ axes.T)
    return centred


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    """Return the section of the suite with the tables, the figure and the claims of the paper."""
    of_measures = curves_of((p, value) for p, value in done if p["what"] == "measure")
    section = conclude(of_measures, {m.spec: m.label for m in config.measures})
    facts = _facts(done)
    return section._replace(
        about=ABOUT,
        tables=(_table_11(facts), _table_12(facts), _whitening(facts), *section.tables),
        figures=(_stability_chart(facts), *section.figures),
        claims=judged(_CLAIMS, facts),
    )


def _facts(done: Sequence[tuple[Part, Any]]) -> Facts:
    facts: Facts = {"table 11": {}, "script": {}, "whitening": {}, "table 12": {}}
    for part, value in done:
        if part["what"] != "measure":
            facts[part["what"]][part.get("as", part["removed"])] = value
    return facts


# ------------------------------------------------------------------------------- tables and figures


def _table_11(facts: Facts) -> Table:
    shown = {k: scores for k, scores in facts["table 11"].items() if k in SHOWN}
    rows: Rows = tuple(
        (str(k), *(float(scores[name]) for name in COLUMNS)) for k, scores in shown.items()
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


# ------------------------------------------------------------------------------------------- claims


def _cells(facts: Facts) -> Evidence:
    rows = facts["table 11"]
    same = [as_printed(rows[int(cell.at)][cell.quantity], cell.value) for cell in printed("11")]
    note = "the rows at 0, 1, 10, 30 and 50 of its 19 are recorded here, four numbers each"
    return Evidence(f"{count(same)} cells equal at the printed precision", (all(same),), note)


def _script(facts: Facts) -> Evidence:
    cells = [cell for cell in printed("test3") if int(cell.at) in facts["script"]]
    differences = [abs(facts["script"][int(cell.at)][cell.quantity] - cell.value) for cell in cells]
    return Evidence(
        f"{len(cells)} values, largest difference {max(differences):.0e}",
        (max(differences) < 5e-4,),
    )


def _first_below(facts: Facts, name: str) -> int:
    """Return the components removed when a value first falls below a half.

    Raises :class:`NoData` where rows before are missing.
    """
    rows = facts["table 11"]
    first = min((k for k in rows if rows[k][name] < HALF), default=-1)
    if first < 0 or first - 1 not in rows:
        raise NoData(f"{COLUMNS[name]}: the run lacks the rows around its fall")
    return first


def _collapse(facts: Facts) -> Evidence:
    firsts = {name: _first_below(facts, name) for name in ("cka", "pwcka", "procrustes", "shesha")}
    text = ", ".join(f"{COLUMNS[name]} {k}" for name, k in firsts.items())
    return Evidence(text, tuple(k == theirs for k, theirs in zip(firsts.values(), (1, 1, 1, 20))))


def _above(facts: Facts) -> Evidence:
    rows = facts["table 11"]
    if not set(range(LONG)) <= set(rows):
        raise NoData("the run lacks some numbers of components from 0 to 50")
    under = next(k for k in range(1, LONG) if rows[k]["shesha"] <= 0.4 or k == LONG - 1)
    return Evidence(
        f"until {under - 1}: {number(rows[under - 1]['shesha'])}, then "
        f"{number(rows[under]['shesha'])}; {number(rows[25]['shesha'])} at 25",
        (under >= 26,),
        "Table 11 of the paper has 0.387 at 25",
    )


def _more(facts: Facts) -> Evidence:
    value, similarity = (facts["table 11"][30][name] for name in ("shesha", "cka"))
    return Evidence(
        f"{number(value)} and {number(similarity)}",
        (similarity > 0 and value / similarity > 100,),
        "a ratio to a negative number says nothing",
    )


def _ablation(facts: Facts) -> Evidence:
    rows, cells = facts["table 12"], printed("12")
    same = [as_printed(rows[cell.at][cell.quantity], cell.value) for cell in cells]
    text = ", ".join(f"{how} {number(v['shesha'])}/{number(v['cka'])}" for how, v in rows.items())
    return Evidence(f"{text}; {count(same)} equal", (all(same),))


def _recovers(facts: Facts) -> Evidence:
    raw, white = facts["table 12"]["raw"], facts["table 12"]["whitened"]
    text = ", ".join(
        f"{kind} {number(raw[name])} → {number(white[name])}"
        for kind, name in (("debiased", "cka"), ("biased", "cka_biased"))
    )
    note = "true of biased CKA; the debiased value that Table 12 prints does not recover"
    return Evidence(text, (white["cka"] > 0.1, white["cka_biased"] > raw["cka_biased"] + 0.1), note)


def _whitened(facts: Facts) -> Evidence:
    rows = facts["whitening"]
    if len(rows) < LONG:
        raise NoData("the correlation of the paper is over all numbers of components from 0 to 50")
    rho = float(
        spearman(*(np.array([v[n] for v in rows.values()]) for n in ("shesha", "whitened"))).value
    )
    start = rows[0]["whitened"]
    return Evidence(
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


DELETION = Experiment("spectral", _parts, _compute, _conclude)
