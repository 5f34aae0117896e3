"""Stability and similarity apart: pairs with both, either or neither (Raju 2026, Section 7.1.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, as_printed, judged, number, spread
from resemblance.grounding import spearman
from resemblance.measures import cka
from resemblance.results.figures import Chart, Line
from resemblance.results.sections import Rows, Section, Table
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured

from .protocol import SEED, SIZES, SPLITS, mixture, split_score

THRESHOLD, PAIRS = 0.4, 15
ABOUT = (
    "If stability were similarity by another name, one could not have either without the other. "
    "Pairs are made of all four kinds: a stable representation and a copy with little noise; two "
    "unrelated stable ones; two unrelated noises; a noise and a copy of it. Their seeds are those "
    "of the author's script, and each has 200 samples, 256 features."
)


class Quadrant(NamedTuple):
    """A kind of pair: its seeds, and the paper's mean and deviation of stability and similarity."""

    title: str
    stable: bool
    similar: bool
    seeds: tuple[int, int]
    stability: tuple[float, float]
    similarity: tuple[float, float]


QUADRANTS: Mapping[str, Quadrant] = {
    "Q1": Quadrant("stable, similar", True, True, (1000, 1000), (0.701, 0.003), (0.998, 0.000)),
    "Q2": Quadrant(
        "stable, not similar", True, False, (2000, 3000), (0.701, 0.004), (0.001, 0.010)
    ),
    "Q3": Quadrant(
        "not stable, not similar", False, False, (4000, 5000), (0.001, 0.003), (-0.001, 0.010)
    ),
    "Q4": Quadrant(
        "not stable, similar", False, True, (6000, 6000), (-0.001, 0.005), (0.978, 0.000)
    ),
}


def _parts(config: RunConfig) -> list[Part]:
    pairs, uses = range(SIZES[config.size].pairs), measured((cka,))
    return [
        {
            "quadrant": name,
            "seeds": [SEED + q.seeds[0] + i, SEED + q.seeds[1] + i],
            "splits": SPLITS,
            "uses": uses,
        }
        for name, q in QUADRANTS.items()
        for i in pairs
    ]


def _compute(config: RunConfig, part: Part) -> dict[str, float]:
    name, (first, second), k = part["quadrant"], part["seeds"], part["splits"]
    x, y = pair(name, first, second)
    scores = [split_score(x, first, k=k)]
    if name != "Q1":  # the script takes the stability of the first alone there
        scores.append(split_score(y, second, k=k))
    return {
        "stability": float(np.mean(scores)),
        "similarity": float(cka(x, y, estimator="debiased")),
    }


def pair(name: str, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two representations of a pair in a quadrant."""
    random = np.random.default_rng(first)
    if name == "Q4":
        x = random.standard_normal((200, 256))
        return x, x + 0.15 * random.standard_normal(x.shape)
    if name == "Q1":
        x = mixture(0.9, first)
        return x, x + 0.1 * random.standard_normal(x.shape)
    share = 0.9 if name == "Q2" else 0.1
    return mixture(share, first), mixture(share, second)


Facts = Mapping[str, Sequence[Mapping[str, float]]]


def _complete(facts: Facts) -> None:
    if min(map(len, facts.values())) < PAIRS:
        raise NoData("the numbers of the paper are of 15 pairs in each quadrant")


def _means(name: str) -> Any:
    quadrant = QUADRANTS[name]

    def judge(facts: Facts) -> Evidence:
        _complete(facts)
        same, written = [], []
        for quantity, printed in (
            ("stability", quadrant.stability),
            ("similarity", quadrant.similarity),
        ):
            values = [v[quantity] for v in facts[name][:PAIRS]]
            same += [
                as_printed(float(np.mean(values)), printed[0]),
                as_printed(float(np.std(values)), printed[1]),
            ]
            written.append(spread(values))
        if name != "Q4":
            return Evidence(" / ".join(written), tuple(same))
        accepted = [v["stability"] < THRESHOLD < v["similarity"] for v in facts[name][:PAIRS]]
        return Evidence(
            f"{' / '.join(written)}; {sum(accepted)} of {PAIRS} accepted", (*same, all(accepted))
        )

    return judge


def _dissociation(facts: Facts) -> Evidence:
    _complete(facts)
    pairs = [v for name in QUADRANTS for v in facts[name][:PAIRS]]
    x, y = (np.array([v[quantity] for v in pairs]) for quantity in ("stability", "similarity"))
    rho = float(spearman(x, y).value)
    note = (
        "the texts contradict each other: 0.204 in 7.1.4, 0.22 in 2.2, 0.20 in Figure 6, 0.087 in "
        "7.2"
    )
    return Evidence(f"ρ = {number(rho)} over {len(pairs)} pairs", (as_printed(rho, 0.204),), note)


def _printed(quadrant: Quadrant) -> str:
    shown = (
        f"{number(mean)} ± {number(sd)}" for mean, sd in (quadrant.stability, quadrant.similarity)
    )
    return f"{' / '.join(shown)}; authors' code the same"


_CLAIMS = (
    *(
        (f"S{7 + i}", f"{name}, {q.title}: stability / debiased CKA", _printed(q), _means(name))
        for i, (name, q) in enumerate(QUADRANTS.items())
    ),
    (
        "S11",
        "Stability and similarity go apart over all quadrants",
        "ρ = 0.204, 0.22 or 0.087; authors' code 0.204",
        _dissociation,
    ),
)


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    facts: dict[str, list[Any]] = {name: [] for name in QUADRANTS}
    for part, value in done:
        facts[part["quadrant"]].append(value)
    lines = tuple(
        Line(f"{name}: {q.title}", tuple((v["stability"], v["similarity"]) for v in facts[name]))
        for name, q in QUADRANTS.items()
    )
    chart = Chart(
        "quadrants", "Pairs in four quadrants", "stability", "debiased CKA", lines, joined=False
    )
    rows: Rows = tuple(
        (
            name,
            q.title,
            float(len(facts[name])),
            *(spread([v[n] for v in facts[name]]) for n in ("stability", "similarity")),
        )
        for name, q in QUADRANTS.items()
    )
    table = Table(
        "means",
        "Mean and deviation",
        ("quadrant", "kind", "pairs", "stability", "debiased CKA"),
        rows,
    )
    return Section(
        "quadrants",
        "Stability without similarity",
        ABOUT,
        (table,),
        (chart,),
        judged(_CLAIMS, facts),
    )


QUADRANT_PAIRS = Experiment("quadrants", _parts, _compute, _conclude)
