"""Score files of a few measures in a few cells, as the board reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from resemblance.boards import MeasureCard, ScoredCell, ScoreFile
from resemblance.boards.scoring import card_of
from resemblance.catalogue import get_measure

SERIES = "tiny"
SPECS = ("cka", "cka[estimator=debiased]", "procrustes", "jaccard", "angular_shape")
CELLS = {
    "resi": [
        *(
            ("accuracy", f"accuracy/spearman/{d}/digits/{i}")
            for d in ("vision", "graphs")
            for i in "abc"
        ),
        *(("output", f"output/jsd/{d}/digits/{i}") for d in ("vision", "graphs") for i in "ab"),
    ],
    "sensitivity": [("layers", f"vision/digits/resnet/{i}") for i in range(7)],
    "manifolds": [("rings", "tau"), ("clusters", "tau")],
}
ENVIRONMENT = {"resemblance": "0.1.0", "numpy": "2.0", "machine": "a machine, 2 cores"}


def cards(specs: Sequence[str] = SPECS) -> list[MeasureCard]:
    """The cards of measures of the catalogue, with what scores are drawn by."""
    return [card_of(get_measure(spec)) for spec in specs]


def files_of(
    measures: Sequence[MeasureCard] | None = None,
    *,
    seed: int = 0,
    suites: Sequence[str] = tuple(CELLS),
) -> tuple[ScoreFile, ...]:
    """A score file for every suite and measure; earlier measures have the better scores."""
    measures = cards() if measures is None else measures
    return tuple(_file(s, card, i, seed) for s in suites for i, card in enumerate(measures))


def _file(suite: str, card: MeasureCard, place: int, seed: int) -> ScoreFile:
    g = np.random.default_rng([seed, place, len(suite)])
    scores = [
        round(float(v), 6) for v in 1 - 0.2 * place + 0.3 * g.standard_normal(len(CELLS[suite]))
    ]
    cells = tuple(ScoredCell(t, c, v, (), False, "one") for (t, c), v in zip(CELLS[suite], scores))
    manifest, code = (hashlib.sha256(text.encode()).hexdigest() for text in (suite, card.spec))
    pack = f"{suite}-{SERIES}@1"
    return ScoreFile(pack, manifest, suite, card, code, 1.0 + place, ENVIRONMENT, cells)
