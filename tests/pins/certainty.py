"""How sure scores are, streams, and drift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import resemblance as rs
from resemblance.base.results import saved_document

from .data import layers

MEASURES = (
    *("cka", "cka[estimator=debiased]", "procrustes", "rsa", "mutual_knn", "linear_regression"),
    *("mean_cca", "magnitude_difference", "permutation_procrustes"),
)
STREAMED = ("cka[estimator=debiased]", "cka[kernel=cosine]", "aligned_cosine")
EVIDENCE = ("values", "chance", "chance_std", "pvalue", "low", "high", "standard_error")


def designs(n: int) -> dict[str, dict[str, Any]]:
    return {
        "samples": {},
        "drawn": {"null": "permutations"},
        "within": {"within": np.arange(n) % 3},
        "blocks": {"whole_blocks": np.arange(n) // 4},
        "series": {"time_series": True},
        "exhaustive": {"whole_blocks": np.arange(n) // 12},
    }


def evidence(scratch: Path) -> dict[str, Any]:
    """Chance, p-values and intervals by every design, and the questions that evidence answers."""
    arrays = layers()
    table: dict[str, Any] = {}
    for name, design in designs(60).items():
        result = rs.evidence(arrays, measures=MEASURES, n_permutations=99, progress=False, **design)
        table[name] = {spec: certainty(result, spec) for spec in MEASURES}
    table["answers"] = answers(
        rs.evidence(arrays, measures=MEASURES, n_permutations=99, progress=False)
    )
    table["sample_size"] = [
        *(rs.sample_size(min_similarity=similarity) for similarity in (0.05, 0.2, 0.5)),
        rs.sample_size(max_chance=0.05, dimensions=(10, 20)),
    ]
    return table


def certainty(result: rs.Evidence, spec: str) -> dict[str, Any]:
    tables = {name: getattr(result, name)(spec) for name in EVIDENCE[1:]} | {"values": result[spec]}
    for adjust in ("familywise", "fdr"):
        tables[f"pvalue_{adjust}"] = result.pvalue(spec, adjust)
    return {name: table.tolist() for name, table in tables.items()} | {
        "how": result.null_method(spec)
    }


def answers(result: rs.Evidence) -> dict[str, Any]:
    spec, one, other = "cka[estimator=debiased]", ("first", "mixed"), ("first", "noisy")
    difference = result.difference(spec, one, other)
    labels = np.arange(60) % 3
    return {
        "best": list(result.best(spec)),
        "difference": [float(part) for part in difference if np.isscalar(part)],
        "influence": result.influence(spec, *one).values.tolist(),
        "contributions": result.contributions(spec, *one, labels).values.tolist(),
        "curve": [list(point) for point in result.curve(spec, *one, n_resamples=3)],
        "sample_size": result.sample_size(spec, width=0.1).tolist(),
        "attainable": result.min_pvalue,
    }


def streams(scratch: Path) -> dict[str, Any]:
    """Return the scores of two merged streams, saved and read from a file, for every method."""
    arrays = layers()
    specs = [*(m.spec for m in rs.preset("all")), *STREAMED]
    table = {}
    for method, directions in (("gram", True), ("gram", False), ("qr", False)):
        parts = []
        for rows in (slice(0, 37), slice(37, None)):
            stream = rs.Stream(method, directions=directions)
            for start in range(0, 60, 16):
                batch = {name: x[rows][start : start + 16] for name, x in arrays.items()}
                if len(batch["first"]):
                    stream.update(batch)
            parts.append(stream)
        whole, rest = parts
        whole.merge(rest)
        whole.save(scratch / "stream.npz")
        read = rs.Stream.load(scratch / "stream.npz")
        able = [spec for spec in specs if is_streamed(read, spec)]
        result = read.compare(able)
        name = f"{method}{', directions' if directions else ''}"
        table[name] = {spec: result[spec].tolist() for spec in able}
    return table


def is_streamed(stream: rs.Stream, spec: str) -> bool:
    try:
        stream.compare([spec])
    except ValueError:
        return False
    return True


def drift(scratch: Path) -> dict[str, Any]:
    """The reports of four kinds of change, for each purpose."""
    rng = np.random.default_rng(10)
    labels = np.arange(160) % 4
    old = 2 * rng.standard_normal((4, 8))[labels] + rng.standard_normal((160, 8))
    turned = old @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    lost = old.copy()
    lost[labels == 1] += old[labels == 2].mean(axis=0) - old[labels == 1].mean(axis=0)
    changes = {
        "none": old + 0.01 * rng.standard_normal(old.shape),
        "rotation": turned + 0.05 * rng.standard_normal(old.shape),
        "noise": old + rng.standard_normal(old.shape),
        "class": lost,
    }
    table: dict[str, Any] = {}
    for purpose in ("index", "head", "geometry"):
        for name, new in changes.items():
            report = rs.drift(
                old, new, labels=labels, purpose=purpose, n_resamples=10, progress=False
            )
            table[f"{purpose}: {name}"] = document = saved_document(report)
            del document["provenance"], document["projection"]
    return table
