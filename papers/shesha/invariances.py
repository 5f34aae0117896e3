"""What the feature split is invariant to, and what it is not (Raju 2026, Section 7.1.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from papers.judging import Evidence, judged, number
from resemblance.results.sections import Rows, Section, Table
from resemblance.rng import generator
from resemblance.statistics.splits import basis_split
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured
from resemblance.suites.stability.spectral import FEATURES, SAMPLES

from .protocol import SEED, SPLITS, mixture, split_score

SHARES, NOISES, ROTATIONS = (0.3, 0.5, 0.7, 0.9), (0.0, 0.5, 1.0, 2.0, 4.0), 3
CHANGES: Mapping[str, str] = {
    "rotation": "random rotation, largest of 3",
    "scaling": "all values times 7.3",
    "constant": "the same number added to all features",
    "constant_cosine": "the same, cosine",
    "shift": "a vector added to all samples",
    "shift_cosine": "the same, cosine",
}
ABOUT = (
    "The paper says that stability does not change when the representation is rotated, scaled or "
    "shifted, and falls with noise. On its own mixtures of signal and noise that nearly holds: "
    "they look the same in all directions. Real representations do not. Here is one with "
    "independent features whose variances fall as 1/i²: on its own axes no half of the features "
    "knows of the other; after a rotation both hold a share of the few that matter. basis_split, "
    "which draws a random basis instead of features, says the same of both."
)


def _parts(config: RunConfig) -> list[Part]:
    mixtures: list[Part] = [{"share": share, "seed": SEED, "splits": SPLITS} for share in SHARES]
    return [
        *mixtures,
        {"share": None, "seed": SEED, "splits": SPLITS, "uses": measured((basis_split,))},
    ]


def _compute(config: RunConfig, part: Part) -> dict[str, Any]:
    seed, k = part["seed"], part["splits"]
    if part["share"] is not None:
        return _changed(mixture(part["share"], seed), seed, k)
    points = generator(seed, "power law").standard_normal((SAMPLES, FEATURES)) / np.arange(
        1, FEATURES + 1
    )
    turned = points @ _rotation(seed, 0)
    return {
        "before": split_score(points, seed, k=k),
        "after": split_score(turned, seed, k=k),
        "basis_before": basis_split(points),
        "basis_after": basis_split(turned),
    }


def _changed(points: np.ndarray, seed: int, k: int) -> dict[str, Any]:
    """How much the score changes by every kind of change, always with the same splits."""
    score, cosine = split_score(points, seed, k=k), split_score(points, seed, k=k, rdm="cosine")
    random = generator(seed, "shift")
    shift, noise = random.standard_normal(FEATURES), random.standard_normal(points.shape)
    turned = [split_score(points @ _rotation(seed, i), seed, k=k) for i in range(ROTATIONS)]
    return {
        "score": score,
        "rotation": max(abs(value - score) for value in turned),
        "scaling": abs(split_score(7.3 * points, seed, k=k) - score),
        "constant": abs(split_score(points + 0.5, seed, k=k) - score),
        "constant_cosine": abs(split_score(points + 0.5, seed, k=k, rdm="cosine") - cosine),
        "shift": abs(split_score(points + shift, seed, k=k) - score),
        "shift_cosine": abs(split_score(points + shift, seed, k=k, rdm="cosine") - cosine),
        "noise": [split_score(points + amount * noise, seed, k=k) for amount in NOISES],
    }


def _rotation(seed: int, draw: int) -> np.ndarray:
    q, r = np.linalg.qr(generator(seed, "rotation", draw).standard_normal((FEATURES, FEATURES)))
    turned: np.ndarray = q * np.sign(np.diag(r))
    return turned


Facts = Mapping[Any, Mapping[str, Any]]


def _below(name: str, bound: float, more: str, note: str = "") -> Any:
    def judge(facts: Facts) -> Evidence:
        changes = [facts[share][name] for share in SHARES]
        written = ", ".join(number(change, 4) for change in changes)
        other = (
            f"; {CHANGES[more]}: {', '.join(number(facts[s][more], 4) for s in SHARES)}"
            if more
            else ""
        )
        held = [change < bound for change in changes]
        if more:
            held += [facts[share][more] < bound for share in SHARES]
        return Evidence(
            f"{written} (α = 0.3, 0.5, 0.7, 0.9){other}",
            (all(held[: len(SHARES)]), all(held)),
            note,
        )

    return judge


def _rotations(facts: Facts) -> Evidence:
    isotropic = _below("rotation", 0.003, "")(facts)
    axes = facts[None]
    change = abs(axes["after"] - axes["before"])
    text = (
        f"mixtures {isotropic.ours}; independent axes with variances 1/i²: "
        f"{number(axes['before'], 4)} → {number(axes['after'])}, and basis_split "
        f"{number(axes['basis_before'])} → {number(axes['basis_after'])}"
    )
    note = (
        "holds for data that look the same in all directions only; version 4 of the paper no "
        "longer claims it, and says that the statistic is not invariant to rotations"
    )
    return Evidence(text, (all(isotropic.holds), change < 0.003), note)


def _noise(facts: Facts) -> Evidence:
    falls = [facts[share]["noise"] for share in SHARES]
    first, last = falls[-1][0], falls[-1][-1]
    held = all(b < a + 0.01 for curve in falls for a, b in pairwise(curve))
    text = (
        f"α = 0.9: {number(first)} → {number(last)} as noise grows from 0 to 4; it never rises by "
        "more than 0.01"
    )
    return Evidence(
        text if held else f"{text[: text.index(';')]}; it rises somewhere", (held, last < first)
    )


_SHIFT = "holds for a constant added to all features under correlation distance, which removes it"
_CLAIMS = (
    ("S14", "A rotation changes the score by less than 0.003", "Δ < 0.003; no script", _rotations),
    (
        "S14",
        "A scaling changes it by less than 0.002",
        "Δ < 0.002; no script",
        _below("scaling", 0.002, ""),
    ),
    (
        "S14",
        "A translation changes it by less than 0.001",
        "Δ < 0.001; no script",
        _below("constant", 0.001, "shift", _SHIFT),
    ),
    ("S14", "It falls as noise is added", "monotone; no script", _noise),
)


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    facts = {part["share"]: value for part, value in done}
    rows: Rows = tuple(
        (text, *(float(facts[s][name]) for s in SHARES)) for name, text in CHANGES.items()
    )
    columns = ("change", *(f"α = {share:g}" for share in SHARES))
    axes = facts[None]
    example = (
        ("feature split", axes["before"], axes["after"]),
        ("basis_split", axes["basis_before"], axes["basis_after"]),
    )
    tables = (
        Table("changes", "Change of the score, same splits", columns, rows),
        Table(
            "axes",
            "Independent features with variances 1/i²",
            ("statistic", "own axes", "rotated"),
            example,
        ),
    )
    return Section("invariances", "Invariances", ABOUT, tables, (), judged(_CLAIMS, facts))


INVARIANCES = Experiment("invariances", _parts, _compute, _conclude)
