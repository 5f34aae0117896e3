"""How often lower confidence bounds of recalls are too high, and how often an index upgrade with
too low a recall is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from scipy.stats import t
from validity_tests import Key, Numbers, Row, Study

import resemblance as rs
from resemblance.versions.recalls import mean_share_interval

RECALL_SETS, DECISION_SETS = 4000, 300


def failing(failure_rate: float, count: int, rng: np.random.Generator) -> Numbers:
    """Return whether lower bounds of a mean recall exceed the expected recall, and the distance of
    bound and expected recall.

    A rare kind of query finds nothing; all other queries find 97 % of ten documents.
    """
    recalls = rng.binomial(10, 0.97, count) / 10
    shares = np.where(rng.random(count) < failure_rate, 0.0, recalls)
    expected = 0.97 * (1 - failure_rate)
    student_bound = shares.mean() - t.isf(0.025, count - 1) * shares.std(ddof=1) / np.sqrt(count)
    numbers: Numbers = {}
    for method, low in (
        ("rs.upgrade_index", mean_share_interval(shares, 0.95)[0]),
        ("Student's t alone", student_bound),
    ):
        numbers[Key(method, "", "wrong")] = float(low > expected)
        numbers[Key(method, "", "distance")] = float(expected - low)
    return numbers


@cache
def index_of_kinds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the centres of twelve kinds of documents, and the vectors of 400 documents by two
    models."""
    rng = np.random.default_rng(1)
    centers = 1.5 * rng.standard_normal((12, 16))
    old_documents = centers[rng.integers(12, size=400)] + rng.standard_normal((400, 16))
    return centers, old_documents, old_documents + 0.05 * rng.standard_normal(old_documents.shape)


def queries_of_kinds(failure_rate: float, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return vectors of queries by two models. The new model confuses a share ``failure_rate`` of
    the queries with queries of another kind."""
    centers = index_of_kinds()[0]
    old_queries = centers[rng.integers(12, size=count)] + rng.standard_normal((count, 16))
    new_queries = old_queries + 0.05 * rng.standard_normal(old_queries.shape)
    other_queries = centers[rng.integers(12, size=count)] + rng.standard_normal((count, 16))
    return [
        old_queries,
        np.where(rng.random((count, 1)) < failure_rate, other_queries, new_queries),
    ]


@cache
def expected_recall(failure_rate: float) -> float:
    """Return the largest recall over all options of querying the old index, from 20,000 queries."""
    queries = queries_of_kinds(failure_rate, 20_000, np.random.default_rng(98))
    result = rs.upgrade_index(*index_of_kinds()[1:], *queries, target="old_model", progress=False)
    return max(o.old_model.value for o in result.options if o.old_model is not None)


def decisions(failure_rate: float, count: int, rng: np.random.Generator) -> Numbers:
    """Return whether ``rs.upgrade_index`` accepts an option with an expected recall 0.01 below
    ``min_recall``."""
    queries = queries_of_kinds(failure_rate, count, rng)
    min_recall = expected_recall(failure_rate) + 0.01
    options = {"target": "old_model", "min_recall": min_recall, "progress": False}
    result = rs.upgrade_index(*index_of_kinds()[1:], *queries, **options)
    is_accepted = result.option in ("keep", "orthogonal", "affine")
    return {Key("rs.upgrade_index", "", "accepted"): float(is_accepted)}


def of_recalls(study: Study, results: Sequence[Numbers]) -> list[Row]:
    """Return the percentage of data sets with a wrong bound, and the mean distance."""
    means = {key: float(np.mean([numbers[key] for numbers in results])) for key in results[0]}
    return [
        Row(*study[:2], *key, mean * (1 if key.what == "distance" else 100), len(results))
        for key, mean in means.items()
    ]


FAILING = (
    (0.0, 40), (0.0, 100), (0.05, 20), (0.05, 40), (0.05, 100), (0.05, 300),
    (0.02, 40), (0.02, 100), (0.02, 300), (0.01, 200),
)  # fmt: skip
STUDIES = (
    *(
        Study(
            "recalls",
            f"{100 * bad:g} % of queries fail, {count} queries",
            RECALL_SETS,
            partial(failing, bad, count),
            of_recalls,
        )
        for bad, count in FAILING
    ),
    *(
        Study(
            "accepted",
            f"{100 * bad:g} % of queries fail, {count} queries",
            DECISION_SETS,
            partial(decisions, bad, count),
            of_recalls,
        )
        for bad, count in ((0.05, 40), (0.05, 100), (0.02, 100))
    ),
)
