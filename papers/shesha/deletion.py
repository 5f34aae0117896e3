"""Spectral deletion: similarity and stability of a representation without its leading components
(Raju 2026, Section 7.2, Tables 11 and 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.judging import Evidence, NoData, as_printed, count, number
from papers.published import printed
from resemblance.bench.grounding import spearman
from resemblance.bench.stability.spectral import (
    REMOVED_COMPONENTS,
    delete_leading_components,
    harmonic_representation,
)
from resemblance.intermediates.points import unit_rows_of_array
from resemblance.measures import cka, procrustes, pwcka

from .models import Experiment, Run
from .synthetic import SEED, split_score

PREPROCESSINGS = ("raw", "centred", "normalised", "whitened")
AT = 30  # components removed in Table 12
COLUMNS: Mapping[str, str] = {
    "cka": "debiased CKA",
    "pwcka": "PWCKA",
    "procrustes": "1 − Procrustes disparity",
    "shesha": "feature split",
}
HALF, LONG = 0.5, 51  # a collapsed value is below a half; rows for 0 to 50 components
# By experiment and by components removed or preprocessing: values by name.
Facts = Mapping[str, Mapping[Any, Mapping[str, float]]]


def deletion(run: Run) -> Facts:
    """Return similarity and stability after deletions: for Table 11, for the script of Section 7.1,
    for whitening, and for Table 12."""
    removed = REMOVED_COMPONENTS[run.size]
    first, second, third = (harmonic_representation(SEED + more) for more in (100, 200, 0))
    of_first, of_second, of_third = (
        dict(zip(removed, delete_leading_components(points, removed)))
        for points in (first, second, third)
    )
    return {
        "table 11": {k: row_of_table_11(first, left, k) for k, left in of_first.items()},
        "script": {k: _compared(second, left, k) for k, left in of_second.items()},
        "whitening": {k: _whitened(left, k) for k, left in of_third.items()},
        "table 12": {how: _compared(second, of_second[AT], AT, how) for how in PREPROCESSINGS},
    }


def row_of_table_11(points: np.ndarray, left: np.ndarray, removed: int) -> dict[str, float]:
    """Return the four values of Table 11 for the points ``left`` after a deletion."""
    return {
        "cka": float(cka(points, left, estimator="debiased")),
        "pwcka": float(pwcka(points, left)),
        # With scaling, the similarity is the squared nuclear norm of the aligned product.
        "procrustes": (1 - float(procrustes(points, left, squared=True)) / 2) ** 2,
        "shesha": split_score(left, SEED + 100 + removed),
    }


def _compared(
    points: np.ndarray, left: np.ndarray, removed: int, how: str = "raw"
) -> dict[str, float]:
    points, left = preprocessed(points, how), preprocessed(left, how)
    return {
        "shesha": split_score(left, SEED + 200 + removed),
        "cka": float(cka(points, left, estimator="debiased")),
        "cka_biased": float(cka(points, left)),
    }


def _whitened(left: np.ndarray, removed: int) -> dict[str, float]:
    versions = {"shesha": left, "whitened": preprocessed(left, "whitened")}
    return {name: split_score(version, SEED + removed) for name, version in versions.items()}


def preprocessed(points: np.ndarray, how: str) -> np.ndarray:
    """Return points "raw", "centred", "normalised" (also to rows of length 1), or "whitened".

    Whitening multiplies the centred points by (0.9 Σ + 0.1 I)^(-1/2). As in the author's script,
    the identity is not scaled by the variances, so the result depends on the unit of the points.
    """
    if how == "raw":
        return points
    centered: np.ndarray = points - points.mean(axis=0)
    if how == "normalised":
        return unit_rows_of_array(centered)
    if how == "whitened":
        covariance = 0.9 * (centered.T @ centered) / (len(points) - 1) + 0.1 * np.eye(
            points.shape[1]
        )
        variances, axes = np.linalg.eigh(covariance)
        centered = centered @ ((axes / np.sqrt(variances)) @ axes.T)
    return centered


# ------------------------------------------------------------------------------------------- claims


DELETION = Experiment(
    name="spectral",
    title="Spectral deletion",
    about=(
        "A representation of 200 samples and 256 features has singular values that fall as 100 / "
        "i; the leading principal components are deleted one after the other. What is left is "
        "compared with the whole by measures of similarity, and asked how stable it is by "
        "itself. Similarity is nearly gone with the first component, which holds 61 % of the "
        "variance. The stability of the rest falls slowly: what is left still lies along few "
        "directions. The two answer different questions, and the second is not the better answer "
        "to the first."
    ),
    facts=deletion,
)


@DELETION.claim(
    "S3",
    "Table 11: Shesha, debiased CKA, PWCKA, Procrustes",
    "0 removed: 0.979/1/1/1, 1: 0.950/0.262/0.274/0.389, 10: 0.715/−0.027/0.016/0.055 ...; "
    "authors' code the same",
)
def table_11(facts: Facts) -> Evidence:
    rows = facts["table 11"]
    same = [as_printed(rows[int(cell.at)][cell.quantity], cell.value) for cell in printed("11")]
    note = "the rows at 0, 1, 10, 30 and 50 of its 19 are recorded here, four numbers each"
    return Evidence(f"{count(same)} cells equal at the printed precision", (all(same),), note)


@DELETION.claim(
    "S3",
    "The same deletions in the script of Section 7.1 (seed 520)",
    "authors' code: two values for each of 50 deletions",
)
def script(facts: Facts) -> Evidence:
    rows = facts["script"]
    cells = [cell for cell in printed("test3") if int(cell.at) in rows]
    largest = max(abs(rows[int(cell.at)][cell.quantity] - cell.value) for cell in cells)
    return Evidence(f"{len(cells)} values, largest difference {largest:.0e}", (largest < 5e-4,))


@DELETION.claim(
    "S4",
    "Components removed when a value first falls below 0.5",
    "CKA 1, PWCKA 1, Procrustes 1, Shesha 20; authors' code the same",
)
def collapse(facts: Facts) -> Evidence:
    firsts = {name: _first_below(facts["table 11"], name) for name in COLUMNS}
    text = ", ".join(f"{COLUMNS[name]} {k}" for name, k in firsts.items())
    return Evidence(text, tuple(k == theirs for k, theirs in zip(firsts.values(), (1, 1, 1, 20))))


def _first_below(rows: Mapping[int, Mapping[str, float]], name: str) -> int:
    """Return the number of components removed when a value first falls below a half. Raises
    ``NoData`` where the row before is missing."""
    first = min((k for k in rows if rows[k][name] < HALF), default=-1)
    if first < 0 or first - 1 not in rows:
        raise NoData(f"{COLUMNS[name]}: the run lacks the rows around its fall")
    return first


@DELETION.claim("S4", "Stability stays above 0.4 until 26 components are removed", "until 26")
def stability_above(facts: Facts) -> Evidence:
    rows = facts["table 11"]
    if not set(range(LONG)) <= set(rows):
        raise NoData("the run lacks some numbers of components from 0 to 50")
    under = next(k for k in range(1, LONG) if rows[k]["shesha"] <= 0.4 or k == LONG - 1)
    before, then, at_25 = (number(rows[k]["shesha"]) for k in (under - 1, under, 25))
    text = f"until {under - 1}: {before}, then {then}; {at_25} at 25"
    return Evidence(text, (under >= 26,), "Table 11 of the paper has 0.387 at 25")


@DELETION.claim("S4", "Stability is 110 times debiased CKA at 30 removed", "110 times")
def times(facts: Facts) -> Evidence:
    value, similarity = (facts["table 11"][AT][name] for name in ("shesha", "cka"))
    holds = similarity > 0 and value / similarity > 100
    note = "a ratio to a negative number says nothing"
    return Evidence(f"{number(value)} and {number(similarity)}", (holds,), note)


@DELETION.claim(
    "S5",
    "Table 12: stability / debiased CKA at 30 removed",
    "raw 0.276/−0.076, centred 0.417/−0.076, normalised 0.417/−0.083, whitened 0.316/−0.054; "
    "authors' code the same",
)
def table_12(facts: Facts) -> Evidence:
    rows = facts["table 12"]
    same = [as_printed(rows[cell.at][cell.quantity], cell.value) for cell in printed("12")]
    text = ", ".join(f"{how} {number(v['shesha'])}/{number(v['cka'])}" for how, v in rows.items())
    return Evidence(f"{text}; {count(same)} equal", (all(same),))


@DELETION.claim("S5", "Whitening makes CKA recover", "CKA recovers")
def recovers(facts: Facts) -> Evidence:
    raw, white = facts["table 12"]["raw"], facts["table 12"]["whitened"]
    text = ", ".join(
        f"{kind} {number(raw[name])} → {number(white[name])}"
        for kind, name in (("debiased", "cka"), ("biased", "cka_biased"))
    )
    note = "true of biased CKA; the debiased value that Table 12 prints does not recover"
    return Evidence(text, (white["cka"] > 0.1, white["cka_biased"] > raw["cka_biased"] + 0.1), note)


@DELETION.claim(
    "S6",
    "Whitened stability starts near 0.50 and orders the deletions as stability does",
    "≈ 0.50; ρ = 1.000 (0.999 in the caption); authors' code 0.502, 1.000",
)
def whitened_stability(facts: Facts) -> Evidence:
    rows = facts["whitening"]
    plain, whitened = (np.array([v[n] for v in rows.values()]) for n in ("shesha", "whitened"))
    rho, start = number(spearman(plain, whitened).value), rows[0]["whitened"]
    holds = abs(start - 0.50) < 0.005, rho in ("1.000", "0.999")
    return Evidence(f"{number(start)} at 0; ρ = {rho}", holds)
