"""What a user can ask, and which tests of the suites ask the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..display import did_you_mean
from ..suites import SUITES


class Question(NamedTuple):
    """A question to a measure, and the tests, by suite and name, that ask it too."""

    name: str
    text: str
    tests: tuple[tuple[str, str], ...]


class Sight(NamedTuple):
    """A change that is no invariance, and the cells that show whether a measure sees it: those of
    some tests whose names have a word."""

    name: str
    text: str
    tests: tuple[tuple[str, str], ...]
    word: str = ""


QUESTIONS: Mapping[str, Question] = {
    q.name: q
    for q in (
        Question(
            "function",
            "Do two models do the same?",
            (
                ("resi", "accuracy"),
                ("resi", "output"),
                ("sensitivity", "layers"),
                ("sensitivity", "deletion"),
            ),
        ),
        Question(
            "training",
            "Were two models trained on the same data and labels?",
            (("resi", "labels"), ("resi", "shortcut"), ("resi", "augmentation")),
        ),
        Question(
            "layers",
            "Which layer corresponds to which?",
            (("resi", "layers"), ("sensitivity", "layers")),
        ),
        Question(
            "robustness",
            "Will two models differ on inputs unlike those of training?",
            (("sensitivity", "finetuning"), ("sensitivity", "pretraining")),
        ),
        Question("drift", "Has a deployed model drifted?", (("stability", "canary"),)),
        Question(
            "geometry",
            "Do two clouds of samples have the same shape?",
            (
                ("manifolds", "swiss roll"),
                ("manifolds", "rings"),
                ("manifolds", "clusters"),
                ("stability", "spectral"),
            ),
        ),
    )
}
SIGHTS: Mapping[str, Sight] = {
    s.name: s
    for s in (
        Sight("layers", "other layers of a model", (("resi", "layers"), ("sensitivity", "layers"))),
        Sight("accuracy", "a difference in accuracy", (("resi", "accuracy"),)),
        Sight("outputs", "a difference in predictions", (("resi", "output"),)),
        Sight(
            "deleted components",
            "principal components that are deleted",
            (("sensitivity", "deletion"),),
        ),
        Sight("noise", "noise on the weights", (("stability", "canary"),), "noise"),
        Sight("rounding", "rounded weights", (("stability", "canary"),), "rounding"),
        Sight("adapters", "low-rank adapters", (("stability", "canary"),), "adapters"),
        Sight("merged rings", "rings that move onto each other", (("manifolds", "rings"),)),
        Sight("merged clusters", "clusters that join", (("manifolds", "clusters"),)),
    )
}
EVERYTHING = Question("", "Which measures do best in all tests?", ())


def question_of(task: str | None) -> Question:
    """Return the question of a name; without one, that of all tests."""
    if task is None:
        return EVERYTHING
    if task not in QUESTIONS:
        raise ValueError(f"no task {task!r}{did_you_mean(task, QUESTIONS)}")
    return QUESTIONS[task]


def is_asked(question: Question, suite: str, test: str) -> bool:
    """Say whether a test of a suite asks the question."""
    return (suite, test) in question.tests if question.tests else suite in SUITES


def skill(cell: str, score: float) -> float:
    """Return a score of a cell on one scale: 0 for one that chance gives, 1 for the best.

    Correlations are already; an area under the curve (AUC) has 0.5 by chance.
    """
    return 2 * score - 1 if cell.endswith("AUC") else score
