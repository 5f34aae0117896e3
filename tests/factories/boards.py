"""Made-up scores on packs, and boards of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import resemblance as rs
from resemblance.bench.ranking import Board, MeasureCard, PackScores, ScoredCell, board_of
from resemblance.bench.ranking.scoring import measure_card
from resemblance.catalogue import get_measure
from resemblance.contracts._measure import Measure

SERIES = "tiny"
SPECS = ("cka", "cka[estimator=debiased]", "procrustes", "jaccard", "angular_shape")
CELLS = {
    "resi": [
        *(("labels", f"labels/auprc/{d}/digits/{i}") for d in ("vision", "graphs") for i in "abc"),
        *(
            ("layers", f"layers/spearman/{d}/digits/{i}")
            for d in ("vision", "graphs")
            for i in "ab"
        ),
    ],
    "sensitivity": [("layers", f"vision/digits/resnet/{i}") for i in range(7)],
    "manifolds": [("rings", "tau"), ("clusters", "tau")],
}
ENVIRONMENT = {"resemblance": "0.1.0", "numpy": "2.0", "machine": "a machine, 2 cores"}

DOMAINS = ("vision/digits/resnet/mean", "language/docstrings/bert/cls", "graphs/stdlib/sage/node")
ALL_CELLS: dict[str, tuple[tuple[str, str], ...]] = {
    "resi": tuple(
        (test, f"{test}/{quality}/{domain}")
        for test, quality in (
            ("accuracy", "spearman_accuracy"),
            ("output", "spearman_jsd"),
            ("output", "spearman_disagreement"),
            ("labels", "auprc"),
            ("shortcut", "auprc"),
            ("augmentation", "auprc"),
            ("layers", "spearman"),
        )
        for domain in DOMAINS
    ),
    "sensitivity": tuple(
        (test, f"{domain}/{what}/spearman")
        for test, what in (
            ("layers", "probe"),
            ("deletion", "probe"),
            ("finetuning", "shifted"),
            ("pretraining", "shifted"),
        )
        for domain in DOMAINS
    ),
    "manifolds": (("swiss roll", "peak"), ("rings", "tau"), ("clusters", "tau")),
    "stability": (
        ("spectral", "order"),
        *(
            ("canary", f"{domain.partition('/')[0]}/model, {kind}")
            for domain in DOMAINS
            for kind in ("noise: AUC", "rounding: Spearman", "adapters: AUC")
        ),
    ),
}
Score = Callable[[str, str, str, str], float | None]  # of a measure, suite, test and cell


def cards(specs: Sequence[str] = SPECS) -> list[MeasureCard]:
    """The cards of measures of the catalogue, with what scores are drawn by."""
    return [measure_card(get_measure(spec)) for spec in specs]


def scores_of(
    measures: Sequence[MeasureCard] | None = None,
    *,
    seed: int = 0,
    suites: Sequence[str] = tuple(CELLS),
) -> tuple[PackScores, ...]:
    """Scores for every suite and measure; earlier measures have the better scores."""
    measures = cards() if measures is None else measures
    return tuple(_scores(s, card, i, seed) for s in suites for i, card in enumerate(measures))


def _scores(suite: str, card: MeasureCard, place: int, seed: int) -> PackScores:
    g = np.random.default_rng([seed, place, len(suite)])
    values = [
        round(float(v), 6) for v in 1 - 0.2 * place + 0.3 * g.standard_normal(len(CELLS[suite]))
    ]
    cells = (
        ScoredCell(t, c, v, (), False, "one", without=_without_seeds(suite, v, g))
        for (t, c), v in zip(CELLS[suite], values)
    )
    return _on_pack(f"{suite}-{SERIES}@1", suite, card, cells, 1.0 + place)


def _without_seeds(suite: str, value: float, g: np.random.Generator) -> dict[str, float]:
    """Return scores near the score, for five seeds; the models of manifolds have no seeds."""
    noise = 0.02 * g.standard_normal(5)
    return (
        {}
        if suite == "manifolds"
        else {f"{i}": round(float(value + e), 5) for i, e in enumerate(noise)}
    )


def board(score: Score, measures: Iterable[Measure] | None = None) -> Board:
    """A board on which a measure has these scores in all cells; by default all entries of the
    board."""
    scores = []
    for suite, cells in ALL_CELLS.items():
        for m in rs.preset("leaderboard") if measures is None else measures:
            values = [score(m.spec, suite, *cell) for cell in cells]
            scored = (
                ScoredCell(*cell, value, reason="" if value is not None else "it failed")
                for cell, value in zip(cells, values)
            )
            scores.append(_on_pack(f"{suite}-compact@1", suite, measure_card(m), scored))
    return board_of(scores)


def _on_pack(
    pack: str, suite: str, card: MeasureCard, cells: Iterable[ScoredCell], seconds: float = 1.0
) -> PackScores:
    manifest, code = (hashlib.sha256(text.encode()).hexdigest() for text in (suite, card.spec))
    return PackScores(pack, manifest, suite, card, code, seconds, ENVIRONMENT, tuple(cells))
