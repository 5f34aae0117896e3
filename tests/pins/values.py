"""Values: every measure, every statistic, and comparisons of several representations."""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import resemblance as rs
from resemblance.checks.data import generic_labels, with_repeats
from resemblance.checks.hostile import hostile_pairs
from resemblance.checks.trial import limit_neighbors

from . import TOLERANCE, is_equal
from .data import Pair, layers, outputs, pairs

# Numbers on which a formula branches, and what keeps the rest defined and fast on little data.
NUMBERS = {"ridge": (0.0, 0.01), "alpha": (0.0, 0.3, 1.0), "explained_variance": (0.6, 0.99)}
NUMBERS |= {"bandwidth": (0.5, 1.0), "shrinkage": (0.1, 0.5)}
SMALL = {"k": 5, "probes": 64, "repeats": 2, "projections": 20, "subsample": 30}
WIDTHS = ("cka[kernel=laplace,width=2.0]", "cka[kernel=rbf,width=2.0]", "mmd[width=2.0]")
HNSW = ("jaccard[k=5,search=hnsw]", "mutual_knn[k=5,search=hnsw]", "mka[k=5,search=hnsw]")
OUTPUTS = ("accuracy_difference", "disagreement", "jensen_shannon[outputs=probabilities]")
STATISTICS = [
    "feature_split[rdm=euclidean]",
    "sample_split[rdm=correlation]",
    "replicate[rdm=correlation]",
    "anchor_profile[anchors=(0, 3, 5)]",
    "supervised_alignment[rdm=cosine]",
    "class_separation[rdm=cosine]",
    "fisher_discriminant[form=eigenvalues]",
    "silhouette[rdm=euclidean]",
    "gbc[covariance=spherical]",
    "perturbation_coherence[form=spread]",
    "perturbation_coherence[controls=whitened]",
    "perturbation_coherence[controls=neighbors,k=5]",
    "perturbation_magnitude[unit=deviations]",
    "perturbation_spread[controls=whitened]",
    "perturbation_reproducibility[controls=halved]",
    "input_noise_stability[score=rdm]",
    "trial_split[parity=recording]",
    "temporal_drift[rdm=euclidean]",
    "centroid_drift[unit_rows=False]",
]


def specifications() -> list[str]:
    """Every measure of representations, with every combination of its choices."""
    specs = [m.spec for m in rs.preset("resi")]
    for m in rs.preset("all"):
        kinds = typing.get_type_hints(m.function)
        values: dict[str, Any] = {n: (False, True) for n in m.defaults if kinds[n] is bool}
        values |= {n: choices for n, choices in m.choices.items() if n != "search"}
        values |= {n: NUMBERS[n] for n in m.defaults if n in NUMBERS}
        small = m.with_parameters(**{n: number for n, number in SMALL.items() if n in m.defaults})
        specs.append(m.spec)
        for choice in itertools.product(*values.values()):
            with suppress(ValueError):  # parameters that do not go together
                specs.append(small.with_parameters(**dict(zip(values, choice))).spec)
    return list(dict.fromkeys([*specs, *HNSW, *WIDTHS]))


def value(function: Callable[[], float]) -> float | str:
    """A value, or why there is none: the data leave none, or the parameters do not fit them."""
    try:
        return float(function())
    except rs.UndefinedError:
        return "undefined"
    except ValueError:
        return "refused"


def both_ways(m: rs.Measure, x: Any, y: Any) -> list[float | str]:
    """A value, and that of the other order where it is another by more than rounding."""
    values = [value(partial(m, x, y)), value(partial(m, y, x))]
    return values[: 1 if is_equal(*values, TOLERANCE) else 2]


def measures(scratch: Path) -> dict[str, Any]:
    """The values of every measure and variant on six pairs, in both orders."""
    specs = specifications()
    table: dict[str, Any] = {
        name: {spec: both_ways(rs.get_measure(spec), pair.x, pair.y) for spec in specs}
        for name, pair in pairs().items()
    }
    data = outputs()
    for spec in OUTPUTS:
        m = rs.get_measure(spec)
        m = m.with_parameters(labels=tuple(data["labels"])) if "labels" in m.defaults else m
        table.setdefault("outputs", {})[spec] = both_ways(m, data["x"], data["y"])
    return table


def hostile(scratch: Path) -> dict[str, Any]:
    """Why measures have no value on data that break formulas: by case and reason, which ones."""
    measures = [limit_neighbors(m) for m in [*rs.list_measures(), *rs.preset("resi")]]
    table: dict[str, Any] = {}
    for case, pair in hostile_pairs().items():
        for m in dict.fromkeys(measures):
            try:
                m = (
                    m.with_parameters(labels=generic_labels(len(pair[0])))
                    if "labels" in m.defaults
                    else m
                )
                named = map(rs.Representation, pair, "XY")
                few = m.with_parameters(starts=2) if "starts" in m.defaults else m
                few.evaluate(*(with_repeats(m, r) for r in named))
            except ValueError as error:
                reason = re.sub(rf"^{m.name}(\[.*?\])?", "it", str(error))
                reasons = table.setdefault(case, {})
                reasons[reason] = (
                    f"{reasons.get(reason, '')} {m.name if 'labels' in m.defaults else m}".strip()
                )
    return table


def needed(pair: Pair) -> dict[str, Any]:
    """What statistics need besides a representation, by name."""
    weights = np.random.default_rng(9).standard_normal((pair.x.shape[1], 4))
    return {
        "labels": pair.labels,
        "conditions": np.arange(len(pair.x)) // 2 % 6,
        "replicate": pair.y,
        "control": pair.x[::-1] * 0.9 + 0.1,
        "encoder": lambda inputs: np.tanh(inputs @ weights),
        "projection": pair.y[:, :2],
        "classifier": np.resize(weights, (len(np.unique(pair.labels)), pair.x.shape[1])),
    }


def statistics(scratch: Path) -> dict[str, Any]:
    """The values of every statistic on six representations."""
    names = [*rs.list_statistics(), *map(rs.get_statistic, STATISTICS)]
    table = {}
    for name, pair in pairs().items():
        inputs = needed(pair)
        table[name] = {
            s.spec: value(partial(s, pair.x, **{n: inputs[n] for n in s.needs})) for s in names
        }
    table["intervals"] = dict(_intervals(pairs()["clusters"]))
    return table


def _intervals(pair: Pair) -> Iterator[tuple[str, Any]]:
    x, labels = pair.x, pair.labels
    for name in ("participation_ratio", "feature_split"):
        found = rs.stability.interval(name, x, n_resamples=20)
        yield f"interval of {name}", [found.value, found.low, found.high]
    found = rs.stability.interval("silhouette", x, labels=labels, n_resamples=20)
    yield "interval of silhouette", [found.value, found.low, found.high]
    null = rs.stability.permutation_null("centroid_drift", x, n_permutations=99)
    numbers = [null.value, null.mean, null.std, null.z, null.pvalue]
    yield "null of centroid_drift", numbers


def comparisons(scratch: Path) -> dict[str, Any]:
    """All that ``compare`` answers with the three presets, and which values it warns of."""
    table = {}
    for name in ("default", "resi", "all"):
        result = rs.compare(layers(), measures=rs.preset(name), progress=False)
        table[name] = {
            "values": {m.spec: result[m.spec].tolist() for m in result.measures},
            "numbers": {
                spec: {k: np.asarray(v).tolist() for k, v in of.items()}
                for spec, of in sorted(result.numbers.items())
            },
            "failures": sorted([f.measure, f.x, f.y] for f in result.failures),
            "caveats": sorted([c[0], c[1], c[2]] for c in result.pair_caveats),
        }
    return table
