"""Compute the numbers of the tables: presets against recorded values, and chance."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import resemblance as rs

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
GOLDEN_CASES = {
    "pub01_gauss_indep": "Independent: two independent Gaussian representations, n = 200, d = 32",
    "pub02_rot_noise": "Related: the second is the first rotated, scaled, shifted, plus noise, n "
    "= 200, d = 32",
}

# ------------------------------------------------------------------------------------ the ReSi code


class ResiRow(NamedTuple):
    name: str
    default: float
    spec: str
    resi: float
    recorded: float


@cache
def golden(case: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(GOLDEN / "resi_inputs.npz") as arrays:
        return arrays[f"{case}__R"], arrays[f"{case}__Rp"]


def resi_rows(case: str) -> list[ResiRow]:
    """Return what the two presets give and what the ReSi code gave, for the 24 measures."""
    X, Y = golden(case)
    entries = json.loads((GOLDEN / "resi_outputs.json").read_text())["measures"][case][
        "measures"
    ].values()
    recorded = {entry["paper_name"]: entry["R_Rp"]["value"] for entry in entries}
    default, resi = (
        rs.compare([X], [Y], measures=rs.preset(name), progress=False)
        for name in ("default", "resi")
    )
    return [
        ResiRow(
            m.name, float(default[m][0, 0]), p.spec, float(resi[p][0, 0]), float(recorded[m.label])
        )
        for m, p in zip(rs.preset("default"), rs.preset("resi"), strict=True)
    ]


# ------------------------------------------------------------------------------------- chance level


def chance_levels() -> tuple[list[tuple[int, int]], list[tuple[rs.Measure, list[float]]]]:
    """Return the mean of each measure over 9 pairs of independent Gaussian representations of
    several sizes."""
    sizes = [(200, 20), (200, 200), (200, 800), (1000, 200)]
    chosen = [
        rs.cka,
        rs.cka.where(estimator="debiased"),
        rs.mean_cca,
        rs.svcca,
        rs.linear_regression,
        rs.procrustes,
        rs.aligned_cosine,
        rs.hard_correlation_match,
        rs.distance_correlation,
        rs.eigenspace_overlap,
        rs.rsa,
        rs.jaccard,
        rs.second_order_cosine,
        rs.second_order_cosine.where(of="distance"),
    ]
    found = [_independent(n, d, chosen) for n, d in sizes]
    return sizes, [(m, [comparison[m].mean() for comparison in found]) for m in chosen]


def _independent(n: int, d: int, measures: list[rs.Measure]) -> rs.Comparison:
    arrays = np.random.default_rng([n, d]).standard_normal((6, n, d))
    return rs.compare(list(arrays[:3]), list(arrays[3:]), measures=measures, progress=False)
