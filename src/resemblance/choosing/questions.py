"""What a user can ask, which tests of the suites ask the same, and what a measure must have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import NamedTuple

from ..boards.views import DOMAINS, IsChosen, domain_of
from ..claims import INVARIANCES, implied
from ..display import did_you_mean


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


def asking(question: Question, domains: Iterable[str] | None = None) -> IsChosen:
    """Return which cells of a board ask a question; those of some domains, if these are given."""
    of = None if domains is None else set(domains)

    def asks(suite: str, test: str, cell: str) -> bool:
        is_asked = not question.tests or (suite, test) in question.tests
        return is_asked and (of is None or domain_of(cell) in of)

    return asks


def skill(cell: str, score: float) -> float:
    """Return a score of a cell on one scale: 0 for one that chance gives, 1 for the best.

    Correlations are already; an area under the curve (AUC) has 0.5 by chance.
    """
    return 2 * score - 1 if cell.endswith("AUC") else score


# -------------------------------------------------------------------------------------------- needs


class Needs(NamedTuple):
    """What a user needs of a measure.

    ``invariant_to``: changes that must not move the value, with all that they imply. ``must_see``:
    changes that must move it. ``n``, ``d``: samples and features. ``budget``: seconds for so many
    ``pairs``.
    """

    invariant_to: frozenset[str] = frozenset()
    must_see: tuple[str, ...] = ()
    n: int | None = None
    d: int | None = None
    task: str | None = None
    domain: str | None = None
    metric: bool = False
    differentiable: bool = False
    symmetric: bool = False
    budget: float | None = None
    pairs: int = 1

    @property
    def size(self) -> tuple[int, int] | None:
        """Samples and features, where both are known."""
        return None if self.n is None or self.d is None else (self.n, self.d)

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["resemblance", "choose"]
        for option, names in (("invariant-to", _least(self)), ("must-see", self.must_see)):
            words += [f"--{option}", ",".join(names)] if names else []
        for option in ("n", "d"):
            value = getattr(self, option)
            words += [] if value is None else [f"-{option}", str(value)]
        for option in ("task", "domain", "budget"):
            value = getattr(self, option)
            words += [] if value is None else [f"--{option}", f"{value}"]
        words += ["--pairs", str(self.pairs)] if self.pairs != 1 else []
        flags = ("metric", "differentiable", "symmetric")
        return shlex.join(words + [f"--{flag}" for flag in flags if getattr(self, flag)])


def checked(
    invariant_to: str | Iterable[str], must_see: str | Iterable[str], needs: Needs
) -> Needs:
    """Return needs with these invariances and changes.

    Raises ``ValueError`` for a word or a name that does not exist, for numbers that are not
    positive, for a change that must both move the value and not, and for a budget without a size.
    """
    ignored, seen = _words(invariant_to), _words(must_see)
    for word in ignored:
        _check_word("invariant_to", word, INVARIANCES)
    for word in seen:
        _check_word("must_see", word, (*INVARIANCES, *SIGHTS))
    closed = implied(set(ignored))
    if clash := [word for word in seen if word in closed]:
        also = "" if clash[0] in ignored else f", which {', '.join(ignored)} implies"
        raise ValueError(f"must_see and invariant_to both have {clash[0]!r}{also}; drop one")
    question_of(needs.task)
    if needs.domain is not None:
        _check_word("domain", needs.domain, DOMAINS)
    for name, least in (("n", 2), ("d", 1), ("pairs", 1), ("budget", 0)):
        value, kind = getattr(needs, name), Real if name == "budget" else Integral
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if value is not None and not (is_number and value >= least):
            whole = "" if name == "budget" else " and a whole number"
            raise ValueError(f"{name} must be at least {least}{whole}; got {value!r}")
    for name in ("metric", "differentiable", "symmetric"):
        if not isinstance(value := getattr(needs, name), bool):
            raise ValueError(f"{name} must be True or False; got {value!r}")
    if needs.budget is not None and needs.size is None:
        raise ValueError("a budget needs n and d: what a measure costs depends on them")
    return needs._replace(invariant_to=closed, must_see=seen)


def _least(needs: Needs) -> tuple[str, ...]:
    """Return the fewest invariances that imply all."""
    closed = frozenset(needs.invariant_to)
    least = closed
    for name in INVARIANCES:
        least = least - {name} if implied(least - {name}) == closed else least
    return tuple(name for name in INVARIANCES if name in least)


def _words(words: str | Iterable[str]) -> tuple[str, ...]:
    several = words.split(",") if isinstance(words, str) else words or ()
    return tuple(dict.fromkeys(word.strip() for word in several if word.strip()))


def _check_word(what: str, word: str, known: Iterable[str]) -> None:
    if word not in known:
        raise ValueError(f"{what} cannot be {word!r}{did_you_mean(word, known)}")
