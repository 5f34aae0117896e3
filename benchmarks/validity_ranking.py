"""Studies of validity of the ranking of measures: made-up benchmarks with random models, and the
claims of ``resemblance.significance.jackknife`` about measures whose expected scores are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon
from validity_tests import LEVEL, Key, Numbers, Row, Study

from resemblance.significance import (
    JackknifeScores,
    differences_from,
    jackknife_deviations,
    may_be_best,
)

MEASURES = 16
BENCHMARKS = 200  # made-up benchmarks of every study
NETWORKS = 3
UNEQUAL = "four seeds, unequal noise"  # studies of scores with the mean 0
TIE = 1e-3  # expected scores with a smaller difference count as equal
TESTS = np.random.default_rng(5).standard_normal((NETWORKS, 3, 3, 4)) * 1.6  # centres of groups


class Scores(NamedTuple):
    """Scores (networks, tasks, measures), and scores without each seed (networks, seeds, tasks,
    measures)."""

    full: np.ndarray
    without: np.ndarray


Make = Callable[[np.random.Generator, np.ndarray], Scores]


def views(rng: np.random.Generator, points: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the view of every measure on points (n, d), (measures, n, d): the points with noise,
    of which measures in groups of four share 40 % of the variance."""
    family = rng.standard_normal((len(noise) // 4 + 1, *points.shape))
    return np.array(
        [
            points
            + size * (0.4**0.5 * family[k // 4] + 0.6**0.5 * rng.standard_normal(points.shape))
            for k, size in enumerate(noise)
        ]
    )


def grouping(rng: np.random.Generator, noise: np.ndarray, n_seeds: int = 5) -> Scores:
    """Three tests of three groups of seeds on every network, scored by AUPRC."""
    groups = np.repeat([0, 1, 2], n_seeds)
    seeds = np.tile(np.arange(n_seeds), 3)
    full = np.zeros((NETWORKS, 3, len(noise)))
    without = np.zeros((NETWORKS, n_seeds, 3, len(noise)))
    for network, test in np.ndindex(NETWORKS, 3):
        points = TESTS[network, test][groups] + rng.standard_normal((len(groups), 4))
        seen = views(rng, points, noise)
        distances = np.linalg.norm(seen[:, :, None] - seen[:, None], axis=-1)
        full[network, test] = auprc(distances, groups, seeds >= 0)
        for seed in range(n_seeds):
            without[network, seed, test] = auprc(distances, groups, seeds != seed)
    return Scores(full, without)


def auprc(distances: np.ndarray, groups: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the mean average precision over groups, (measures,), of distances (measures, n, n)."""
    rows = np.flatnonzero(kept)
    precisions = []
    for group in np.unique(groups):
        i, j = np.triu_indices(len(rows), 1)
        inside = groups[rows[i]] == group, groups[rows[j]] == group
        pairs = inside[0] | inside[1]
        values, alike = distances[:, rows[i[pairs]], rows[j[pairs]]], (inside[0] & inside[1])[pairs]
        hits = alike[np.argsort(values, axis=1)]
        precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        precisions.append((precision * hits).sum(axis=1) / alike.sum())
    return np.mean(precisions, axis=0)


def layers(rng: np.random.Generator, noise: np.ndarray, n_seeds: int = 10) -> Scores:
    """Two tests of models with seven layers on every network, scored by Spearman's correlation in
    every model."""
    n_layers = 7
    i, j = np.triu_indices(n_layers, 1)
    scores = np.zeros((NETWORKS, n_seeds, 2, len(noise)))
    for network, seed, test in np.ndindex(NETWORKS, n_seeds, 2):
        steps = np.cumsum(np.abs(rng.standard_normal((n_layers, 1))) * 0.6 + 0.3, axis=0)
        seen = views(rng, steps + 0.3 * rng.standard_normal((n_layers, 3)), noise)
        distances = np.linalg.norm(seen[:, i] - seen[:, j], axis=2)
        scores[network, seed, test] = spearman(distances, j - i)
    total = scores.sum(axis=1, keepdims=True)
    return Scores(scores.mean(axis=1), (total - scores) / (n_seeds - 1))


def finetuning(rng: np.random.Generator, noise: np.ndarray) -> Scores:
    """Eight shifts of 20 models on every network; the best model is the reference, and is dropped
    with its seed."""
    n_models, n_shifts = 20, 8
    full = np.zeros((NETWORKS, n_shifts, len(noise)))
    without = np.zeros((NETWORKS, n_models, n_shifts, len(noise)))
    for network in range(NETWORKS):
        points = rng.standard_normal((n_models, 3))
        seen = views(rng, points, noise)
        distances = np.linalg.norm(seen[:, :, None] - seen[:, None], axis=-1)
        for shift in range(n_shifts):
            direction = np.ones(3) + 0.5 * rng.standard_normal(3)
            accuracy = points @ direction + rng.standard_normal(n_models)
            full[network, shift] = from_best(distances, accuracy, np.arange(n_models))
            for model in range(n_models):
                kept = np.delete(np.arange(n_models), model)
                without[network, model, shift] = from_best(distances, accuracy, kept)
    return Scores(full, without)


def four_seeds(rng: np.random.Generator, noise: np.ndarray, networks: int = NETWORKS) -> Scores:
    """One task of four seeds on every network: the score of a measure is the mean over seeds of
    normal numbers with the spread ``noise``, so all measures are equally good."""
    scores = views(rng, np.zeros((networks, 4)), noise).transpose(1, 2, 0)[:, :, None]
    total = scores.sum(axis=1, keepdims=True)
    return Scores(scores.mean(axis=1), (total - scores) / 3)


def from_best(distances: np.ndarray, accuracy: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the correlation of the distances from the best kept model with lost accuracy."""
    best = kept[np.argmax(accuracy[kept])]
    return spearman(distances[:, best][:, kept], accuracy[best] - accuracy[kept])


def spearman(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of every row of values, (measures, n), with expectations."""
    a, b = rankdata(values, axis=1), rankdata(expected)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean()
    return (a @ b) / np.sqrt((a * a).sum(axis=1) * (b @ b))


def claims(make: Make, noise: np.ndarray, rng: np.random.Generator) -> Numbers:
    """Return the claims about one made-up benchmark, by measure; the first measure is the
    baseline."""
    made = make(rng, noise)
    deviations = [jackknife_deviations(w.mean(axis=1)) / len(made.full) for w in made.without]
    scores = JackknifeScores(made.full.mean(axis=(0, 1)), tuple(deviations))
    joint, single = differences_from(scores, 0), differences_from(scores, 0, is_joint=False)
    tasks = made.full.reshape(-1, len(noise))
    by_name = {
        "score": scores.means,
        "best": may_be_best(scores).astype(float),
        "low": joint.low,
        "high": joint.high,
        "single low": single.low,
        "single high": single.high,
        "over tasks": np.array([0.0, *over_tasks(tasks)]),
    }
    return {
        Key("", f"{m}", name): float(v[m]) for name, v in by_name.items() for m in range(len(v))
    }


def over_tasks(tasks: np.ndarray) -> np.ndarray:
    """Return for every measure but the first whether Wilcoxon's test over tasks separates it from
    the first, after Holm's correction: 1 better, -1 worse, 0 neither."""
    gaps = tasks[:, 1:] - tasks[:, :1]
    pvalues = np.array([wilcoxon(gap).pvalue for gap in gaps.T])
    order = np.argsort(pvalues)
    adjusted = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    is_rejected = np.zeros(len(pvalues), bool)
    is_rejected[order] = adjusted <= LEVEL
    return np.where(is_rejected, np.sign(gaps.mean(axis=0)), 0.0)


def promises(study: Study, results: Sequence[Numbers]) -> list[Row]:
    """Return how often claims hold, in percent. The expected score of a measure is its mean score
    over the benchmarks, the same for measures with equal noise."""
    noise = study.of_set.args[1]  # type: ignore[attr-defined]
    names = ("score", "best", "low", "high", "single low", "single high", "over tasks")
    table = {
        name: np.array([[r[Key("", f"{m}", name)] for m in range(len(noise))] for r in results])
        for name in names
    }
    means = table["score"].mean(axis=0)
    expected = np.array([means[noise == size].mean() for size in noise])
    if study.case.startswith(UNEQUAL):
        expected = np.zeros(len(noise))
    gaps, is_best = (expected - expected[0])[1:], expected >= expected.max() - TIE
    is_different = np.abs(gaps) > TIE
    inside, alone = (
        (table[low][:, 1:] <= gaps + 1e-9) & (gaps - 1e-9 <= table[high][:, 1:])
        for low, high in (("low", "high"), ("single low", "single high"))
    )
    found, found_alone = (
        (table[low][:, 1:] > 0) | (table[high][:, 1:] < 0)
        for low, high in (("low", "high"), ("single low", "single high"))
    )
    noisiest = np.argsort(noise[1:])[-(len(noise) // 4) :]
    by_task = table["over tasks"][:, 1:]
    wrong = (by_task != 0) & (np.sign(by_task) != np.where(is_different, np.sign(gaps), 0.0))
    numbers = {
        ("may be the best", "wrong"): 1 - table["best"][:, is_best].mean(),
        ("may be the best", "found"): _mean(1 - table["best"][:, ~is_best]),
        ("all against a baseline", "wrong"): 1 - inside.all(axis=1).mean(),
        ("all against a baseline", "found"): _mean(found[:, is_different]),
        ("one against a baseline", "wrong"): 1 - alone.mean(),
        ("one against a baseline", "found"): _mean(found_alone[:, is_different]),
        ("one of the noisiest quarter", "wrong"): 1 - alone[:, noisiest].mean(),
        ("one of the noisiest quarter", "found"): _mean(
            found_alone[:, noisiest][:, is_different[noisiest]]
        ),
        ("Wilcoxon and Holm over tasks", "wrong"): wrong.any(axis=1).mean(),
        ("Wilcoxon and Holm over tasks", "found"): _mean((by_task != 0)[:, is_different]),
    }
    return [
        Row(*study[:2], way, "", what, 100 * float(number), len(results))
        for (way, what), number in numbers.items()
    ]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else np.nan


def study_of(case: str, make: Make, noise: np.ndarray) -> Study:
    """Return the study of a kind of benchmark."""
    return Study("ranking", case, BENCHMARKS, partial(claims, make, noise), promises)


STUDIES = (
    study_of("groups of seeds, equal measures", grouping, np.full(MEASURES, 1.2)),
    study_of("groups of seeds, graded measures", grouping, np.linspace(0.5, 2.5, MEASURES)),
    study_of("layers, equal measures", layers, np.full(MEASURES, 0.6)),
    study_of("layers, graded measures", layers, np.linspace(0.3, 1.2, MEASURES)),
    study_of("shifted inputs, equal measures", finetuning, np.full(MEASURES, 1.2)),
    study_of("shifted inputs, graded measures", finetuning, np.linspace(0.5, 2.5, MEASURES)),
    study_of(
        "groups of four seeds, graded measures",
        partial(grouping, n_seeds=4),
        np.geomspace(0.3, 4.0, MEASURES),
    ),
    study_of(
        "layers of four seeds, graded measures",
        partial(layers, n_seeds=4),
        np.geomspace(0.1, 2.0, MEASURES),
    ),
    *(
        study_of(f"{UNEQUAL}, {name}", partial(four_seeds, networks=count), noise)
        for count, name in ((1, "one network"), (NETWORKS, "three networks"))
        for noise, name in (
            (np.geomspace(0.02, 0.4, MEASURES), name),
            (np.r_[np.full(MEASURES - 1, 0.05), 0.5], f"{name}, one noisy measure"),
        )
    ),
)
