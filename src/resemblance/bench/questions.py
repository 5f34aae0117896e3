"""The questions that the tests of the suites answer, and the readings of an experiment that are
shown next to its score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Question(NamedTuple):
    """A question of a user, and the tests that answer the question.

    ``name``: a word for programs. ``words``: completes "You want to know". ``quality``: the score
    of a task. ``tests``: (suite, test) pairs. ``is_ranked``: whether the scores rank measures;
    otherwise scores are only shown.
    """

    name: str
    words: str
    quality: str
    tests: tuple[tuple[str, str], ...]
    is_ranked: bool = True


QUESTIONS: tuple[Question, ...] = (
    Question(
        "training",
        "which models were trained alike",
        "AUPRC",
        (("resi", "labels"), ("resi", "shortcut"), ("resi", "augmentation")),
    ),
    Question("layers", "how far apart layers are", "Spearman", (("resi", "layers"),)),
    Question(
        "probes", "which layers a probe reads alike", "Spearman", (("sensitivity", "layers"),)
    ),
    Question(
        "deletion", "what deleted components cost", "Spearman", (("sensitivity", "deletion"),)
    ),
    Question(
        "finetuning",
        "how accurate models of one pretrained model are on shifted inputs",
        "Spearman",
        (("sensitivity", "finetuning"),),
    ),
    Question(
        "pretraining",
        "how accurate models of several pretrained models are on shifted inputs",
        "Spearman",
        (("sensitivity", "pretraining"),),
    ),
    Question(
        "outputs",
        "which models answer alike",
        "Spearman",
        (("resi", "accuracy"), ("resi", "output")),
        is_ranked=False,
    ),
    Question(
        "shapes",
        "how far the shape of a point cloud was changed",
        "Kendall, plateau",
        (("manifolds", "swiss roll"), ("manifolds", "rings"), ("manifolds", "clusters")),
    ),
    Question(
        "spectrum", "how many leading components are missing", "Spearman",
        (("stability", "spectral"),),
    ),
    Question(
        "damage", "how much damaged models have lost", "AUC, Spearman", (("stability", "canary"),),
        is_ranked=False,
    ),
)  # fmt: skip
# Words in the name of a task for a second reading of a comparison, which is shown next to the score
# and does not rank measures: Kendall's and Spearman's correlation of the same differences correlate
# by 0.99 over measures.
SECOND_READINGS = frozenset({"kendall"})


def is_ranked_reading(words: Iterable[str]) -> bool:
    """Whether a task, given its words, is the score of a comparison and not a second reading."""
    return SECOND_READINGS.isdisjoint(words)


def question_of(suite: str, test: str) -> Question:
    """Return the question that a test answers; the test itself for a test outside the list, such as
    a test of your own suite."""
    for question in QUESTIONS:
        if (suite, test) in question.tests:
            return question
    return Question(test, test, "score", ((suite, test),))
