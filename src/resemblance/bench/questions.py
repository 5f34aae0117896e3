"""The questions that the tests of the suites answer."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A question of a user, and the tests that answer the question.

    ``name``: a word for programs. ``words``: completes "You want to know". ``quality``: the score
    of a task. ``tests``: (suite, test) pairs. ``unranked_reason``: why the scores are shown and
    rank no measure; "" for a question whose data decide.
    """

    name: str
    words: str
    quality: str
    tests: tuple[tuple[str, str], ...]
    unranked_reason: str = ""


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
        "nearly half of the measures are within 0.01 of the best",
    ),
)  # fmt: skip


def question_of(suite: str, test: str) -> Question:
    """Return the question that a test of a suite answers; for a test outside the list, such as a
    test of your own suite, a new question with the name of the test."""
    for question in QUESTIONS:
        if (suite, test) in question.tests:
            return question
    return Question(test, test, "score", ((suite, test),))
