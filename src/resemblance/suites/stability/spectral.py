"""Spectral deletion: what is left without the leading components (Raju 2026, Section 7.2, Tables 11
and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...measures import cka, procrustes, pwcka
from ...results.sections import Section
from ...statistics.rdm import unit
from ..experiments import Experiment, Part, Setting, measured
from .protocol import SEED, SIZES, SPLITS, compared, harmonic, split_score, without_leading
from .spectral_findings import Facts, conclude

PREPROCESSINGS = ("raw", "centred", "normalised", "whitened")
AT = 30  # components removed in Table 12


def _parts(setting: Setting) -> list[Part]:
    removed = SIZES[setting.size].removed
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
    every = {"what": "measure", "removed": list(removed), "seed": SEED + 100}
    return parts + [{**every, "measure": m} for m in measured(setting.measures)]


def _compute(setting: Setting, part: Part) -> dict[str, Any]:
    points, k, what = harmonic(part["seed"]), part["removed"], part["what"]
    if what == "measure":
        return compared(setting, part, points, [without_leading(points, count) for count in k])
    left, seed, splits = without_leading(points, k), part["seed"] + k, part["splits"]
    if what == "table 12":
        points, left = preprocessed(points, part["as"]), preprocessed(left, part["as"])
    found = {
        "shesha": split_score(left, seed, k=splits),
        "cka": float(cka(points, left, estimator="debiased")),
    }
    if what == "table 11":
        found |= {
            "pwcka": float(pwcka(points, left)),
            "procrustes": procrustes_similarity(points, left),
        }
    if what in ("table 11", "table 12"):
        found |= {"cka_biased": float(cka(points, left))}
    if what == "whitening":
        found |= {"whitened": split_score(preprocessed(left, "whitened"), seed, k=splits)}
    return found


def procrustes_similarity(x: np.ndarray, y: np.ndarray) -> float:
    """1 minus the disparity of Procrustes analysis with scaling: the squared nuclear norm of the
    aligned product."""
    return (1 - float(procrustes(x, y, squared=True)) / 2) ** 2


def preprocessed(points: np.ndarray, how: str) -> np.ndarray:
    """Return points as they are ("raw"), "centred", centred with rows of length 1 ("normalised"),
    or "whitened".

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


def _facts(found: Sequence[tuple[Part, Any]]) -> Facts:
    facts: Facts = {"table 11": {}, "script": {}, "whitening": {}, "table 12": {}, "measure": {}}
    for part, value in found:
        if part["what"] == "measure":
            facts["measure"][part["measure"][0]] = dict(value, removed=part["removed"])
        else:
            facts[part["what"]][part.get("as", part["removed"])] = value
    return facts


def _conclude(setting: Setting, found: Sequence[tuple[Part, Any]]) -> Section:
    return conclude(_facts(found), {m.spec: m.label for m in setting.measures})


SPECTRAL = Experiment("spectral", _parts, _compute, _conclude)
