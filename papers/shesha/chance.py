"""Values without any structure: independent noise (Raju 2026, Section 7.1.2), random baseline
(Table 10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count as counting
from typing import Any

import numpy as np

from papers.judging import Evidence, as_printed, judged, number, spread
from resemblance.measures import cka
from resemblance.results.sections import Entry, Section, Table
from resemblance.results.values import known
from resemblance.rng import generator
from resemblance.statistics.splits import basis_split, feature_split
from resemblance.statistics.supervised import variance_ratio
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured
from resemblance.suites.stability.spectral import FEATURES, SAMPLES, compared

from .protocol import SEED, SIZES, SPLITS, split_score

ABOUT = (
    "Noise has no geometry, so a statistic of stability should be 0, and two independent noises "
    "have nothing in common, so a measure should say so. Biased estimators do not: linear CKA of "
    "200 samples with 256 features is about 0.56. The values of all measures on the same pair "
    "show how far from their extreme they start."
)
BASELINE = {"feature_split": 0.0027, "variance_ratio": 0.0192, "z_score": 0.0060}  # Table 10


def _parts(config: RunConfig) -> list[Part]:
    pair: list[Part] = [
        {
            "what": "pair",
            "seed": SEED,
            "splits": SPLITS,
            "uses": measured((cka, feature_split, basis_split)),
        }
    ]
    uses = measured((variance_ratio,))
    draws = range(SIZES[config.size].draws + 1)
    baselines: list[Part] = [{"what": "baseline", "draw": i, "uses": uses} for i in draws]
    return (
        pair
        + baselines
        + [{"what": "measure", "measure": m, "seed": SEED} for m in measured(config.measures)]
    )


def _compute(config: RunConfig, part: Part) -> dict[str, Any]:
    if part["what"] == "baseline":
        return _baseline(part["draw"])
    random = np.random.default_rng(part["seed"])
    x, y = random.standard_normal((SAMPLES, FEATURES)), random.standard_normal((SAMPLES, FEATURES))
    if part["what"] == "measure":
        return compared(config, part, x, [y])
    biased, debiased = (
        float(cka(x, y, estimator=estimator)) for estimator in ("biased", "debiased")
    )
    author = split_score(x, part["seed"] + 100, k=part["splits"])
    return {
        "author": author,
        "debiased": debiased,
        "biased": biased,
        "ours": feature_split(x),
        "basis": basis_split(x),
    }


def _baseline(draw: int) -> dict[str, float]:
    """Scores of 500 random samples in 10 random classes; draw 0 is that of the author's script."""
    random = np.random.default_rng(SEED + 1010) if draw == 0 else generator(SEED, "baseline", draw)
    points, labels = random.standard_normal((500, 128)), random.integers(0, 10, 500)
    return {
        "feature_split": split_score(points, counting(SEED), k=30, rdm="cosine"),
        "variance_ratio": variance_ratio(points, labels),
        "z_score": z_score(points, labels),
    }


def z_score(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean over classes of (b - w) / (b + w).

    w is the mean distance of a class to its mean, b to that of all others.

    The "Shesha-Z" of Raju 2026, Tables 4 to 7 and 10. Points are (n, d), labels (n,).
    """
    scores = []
    for c in np.unique(labels):
        inside = points[labels == c]
        within = np.linalg.norm(inside - inside.mean(axis=0), axis=1).mean()
        between = np.linalg.norm(inside - points[labels != c].mean(axis=0), axis=1).mean()
        scores.append((between - within) / (between + within + 1e-8))
    return float(np.mean(scores))


def _similarity(facts: Mapping[str, Any]) -> Evidence:
    pair = facts["pair"]
    note = (
        "the package of the author calls an estimator debiased that is not: it keeps the diagonal"
    )
    text = f"{number(pair['debiased'], 4)}; biased {number(pair['biased'])}"
    return Evidence(text, (as_printed(pair["debiased"], -0.006),), note)


def _stability(facts: Mapping[str, Any]) -> Evidence:
    pair, printed = facts["pair"], -0.010
    text = f"{number(pair['author'], 4)}; with our splits {number(pair['ours'], 4)}"
    note = "the script gives −0.011 at the precision of print; the paper says −0.010"
    return Evidence(
        text, (abs(pair["author"] - printed) <= 0.001, abs(pair["author"]) < 0.05), note
    )


def _table_10(facts: Mapping[str, Any]) -> Evidence:
    first, *others = facts["baselines"]
    same = tuple(as_printed(first[name], value, 4) for name, value in BASELINE.items())
    more = "; ".join(f"{name} {spread([o[name] for o in others], 4)}" for name in BASELINE)
    text = ", ".join(f"{name} {number(first[name], 5)}" for name in BASELINE)
    return Evidence(f"{text}; {len(others)} other draws: {more}", same)


_CLAIMS = (
    (
        "S2",
        "Debiased CKA of two independent noises is 0",
        "−0.006; authors' code −0.0056",
        _similarity,
    ),
    ("S2", "The feature split of noise is 0", "−0.010; authors' code −0.0108", _stability),
    (
        "S12",
        "Random baseline (Table 10)",
        "FS 0.0027, variance 0.0192, z-score 0.0060; authors' code the same",
        _table_10,
    ),
)


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    of = defaultdict[str, list[Any]](list)
    for part, value in done:
        of[part["what"]].append(value)
    facts = {"pair": of["pair"][0], "baselines": of["baseline"]}
    labels = {m.spec: m for m in config.measures}
    specs = [part["measure"][0] for part, _ in done if part["what"] == "measure"]
    rows: list[tuple[Entry, ...]] = []
    reasons: dict[str, str] = {}
    for spec, value in zip(specs, of["measure"]):
        chosen = labels[spec]
        kind = "similarity" if chosen.larger_is_more_similar else "distance"
        rows.append((spec, kind, known(value["values"][0])))
        reasons |= {spec: value["reasons"][0]} if value["values"][0] is None else {}
    table = Table(
        "floors", "Measures of two independent noises", ("measure", "kind", "value"), tuple(rows)
    )
    statistics = tuple(
        (
            name,
            *(known(draw[name]) for draw in (of["baseline"][0],)),
            spread([d[name] for d in of["baseline"][1:]], 4),
        )
        for name in BASELINE
    )
    baseline = Table(
        "baseline",
        "Statistics of random points",
        ("statistic", "author's draw", "other draws"),
        statistics,
    )
    tables = (baseline, table) if rows else (baseline,)
    return Section(
        "chance", "Without structure", ABOUT, tables, (), judged(_CLAIMS, facts), {}, reasons
    )


CHANCE = Experiment("chance", _parts, _compute, _conclude)
