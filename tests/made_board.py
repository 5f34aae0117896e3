"""A small board of made-up scores, for the tests of what reads boards."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import resemblance as rs
from resemblance.boards import Board, ScoredCell, ScoreFile, board_of
from resemblance.boards.scoring import card_of
from resemblance.measure import Measure

DOMAINS = ("vision/digits/resnet/mean", "language/docstrings/bert/cls", "graphs/stdlib/sage/node")
CELLS: dict[str, tuple[tuple[str, str], ...]] = {
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


def board(score: Score, measures: Iterable[Measure] | None = None) -> Board:
    """A board on which a measure has these scores; by default all entries of the board."""
    chosen = list(rs.preset("board") if measures is None else measures)
    return board_of(_file(m, suite, score) for suite in CELLS for m in chosen)


def _file(m: Measure, suite: str, score: Score) -> ScoreFile:
    cells = []
    for test, cell in CELLS[suite]:
        value = score(m.spec, suite, test, cell)
        cells.append(ScoredCell(test, cell, value, reason="" if value is not None else "it failed"))
    manifest = (suite * 64)[:64]
    environment = {"machine": "made up"}
    return ScoreFile(
        f"{suite}-compact@1", manifest, suite, card_of(m), "0" * 64, 1.0, environment, tuple(cells)
    )
