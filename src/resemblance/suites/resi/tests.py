"""The ReSi benchmark (Klabunde et al. 2025): which models are trained, and the six tests that they
make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from ...measures import disagreement, jensen_shannon
from ...representation import Representation
from ...sources.trained import ARCHITECTURES, DOMAINS, source
from ...subject import DEFAULTS, Recipe, Subject
from .grading import Case
from .groups import Group, choose_groups

TESTS: Mapping[str, str] = {
    "accuracy": "Accuracy correlation",
    "output": "Output correlation",
    "labels": "Label randomization",
    "shortcut": "Shortcut affinity",
    "augmentation": "Augmentation",
    "layers": "Layer monotonicity",
}
EVERY = {
    "labels": (0.25, 0.5, 0.75, 1.0),
    "shortcut": (0.0, 0.25, 0.5, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 0.75, 1.0),
}
EXTREMES = {"labels": (1.0,), "shortcut": (0.0, 1.0), "augmentation": (1.0,)}


@dataclass(frozen=True)
class Suite:
    """Which models are trained: ``seeds`` normal ones, and ``members`` per group and strength of
    the other settings."""

    name: str
    seeds: int
    members: int
    strengths: Mapping[str, Mapping[str, tuple[float, ...]]]


SUITES: Mapping[str, Suite] = {
    "slice": Suite("slice", 4, 2, dict.fromkeys(DOMAINS, EXTREMES)),
    "mini": Suite(
        "mini",
        10,
        5,
        {
            "graphs": {
                "labels": (0.25, 1.0),
                "shortcut": (0.0, 0.5, 1.0),
                "augmentation": (0.25, 1.0),
            },
            "language": {
                "labels": (0.75, 1.0),
                "shortcut": (0.0, 0.75, 1.0),
                "augmentation": (1.0,),
            },
            "vision": {
                "labels": (0.5, 0.75),
                "shortcut": (0.0, 0.75, 1.0),
                "augmentation": (0.25, 1.0),
            },
        },
    ),
    "standard": Suite("standard", 10, 5, dict.fromkeys(DOMAINS, EVERY)),
}


# ----------------------------------------------------------------------------- models to be trained


def recipes(suite: str, domains: Sequence[str] = DOMAINS) -> tuple[Recipe, ...]:
    """Return the recipe of every model of a suite, domain by domain.

    Raises ``ValueError`` for an unknown suite or domain.
    """
    if suite not in SUITES:
        raise ValueError(f"no suite {suite!r}; known: {', '.join(SUITES)}")
    for domain in domains:
        if domain not in DOMAINS:
            raise ValueError(f"no domain {domain!r}; known: {', '.join(DOMAINS)}")
    return tuple(
        chain.from_iterable(_recipes(SUITES[suite], domain) for domain in dict.fromkeys(domains))
    )


def _recipes(suite: Suite, domain: str) -> Iterable[Recipe]:
    trained, (dataset, architectures) = source(domain), ARCHITECTURES[domain]
    for architecture in architectures:
        if architecture not in trained.OPTIONS[suite.name]:
            continue
        options = trained.OPTIONS[suite.name][architecture]
        plan = [("normal", 0.0, suite.seeds)]
        plan += (
            [("layers", 0.0, suite.seeds)] if domain == "graphs" and architecture != "pgnn" else []
        )
        plan += [
            (s, strength, suite.members)
            for s, some in suite.strengths[domain].items()
            for strength in some
        ]
        if architecture == "pgnn":  # it has no edges to drop: its input is distances
            plan = [p for p in plan if p[0] != "augmentation"]
        for setting, strength, count in plan:
            for seed in range(count):
                yield Recipe(
                    domain, dataset, architecture, setting, strength, seed, options, trained.VERSION
                )


# -------------------------------------------------------------------------- the six tests on models


Family = tuple[str, str, str, str]  # domain, dataset, architecture, pooling


class Absence(NamedTuple):
    """A test that a set of models cannot make, and why."""

    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    reason: str


class Prepared(NamedTuple):
    """The cases that subjects make, what was decided about their groups, and the tests they cannot
    make."""

    cases: tuple[Case, ...]
    groups: tuple[Group, ...]
    absent: tuple[Absence, ...]


def six_tests(subjects: Iterable[Subject]) -> Prepared:
    """Return the six tests on subjects: those with the same domain, dataset, architecture and
    pooling belong together.

    Raises ``ValueError`` when two subjects are the same model by their traits.
    """
    families: dict[Family, list[Subject]] = defaultdict(list)
    for subject in subjects:
        subject = replace(subject, traits={**DEFAULTS, **subject.traits})
        traits = subject.traits
        family = (traits["domain"], traits["dataset"], traits["architecture"], traits["pooling"])
        if any(other.name == subject.name for other in families[family]):
            raise ValueError(
                f"two models are {subject.name!r}: setting, strength or seed must tell them apart"
            )
        families[family].append(subject)
    cases, groups, absent = list[Case](), dict[Group, None](), list[Absence]()
    for family, members in families.items():
        for test in TESTS:
            made = _test(test, family, members)
            cases += made.cases
            groups |= dict.fromkeys(made.groups)
            absent += made.absent
    return Prepared(tuple(cases), tuple(groups), tuple(absent))


def _test(test: str, family: Family, subjects: Sequence[Subject]) -> Prepared:
    make = {"accuracy": _by_accuracy, "output": _by_output, "layers": _by_layers}.get(
        test, _by_group
    )
    made = make(test, family, sorted(subjects, key=_order))
    return Prepared((), (), (Absence(test, *family, made),)) if isinstance(made, str) else made


def _order(subject: Subject) -> tuple[float, int]:
    return float(subject.traits["strength"]), int(subject.traits["seed"])


def _of_setting(subjects: Iterable[Subject], setting: str) -> list[Subject]:
    return [s for s in subjects if s.traits["setting"] == setting]


def _last(subjects: Iterable[Subject]) -> dict[str, Representation]:
    return {s.name: s.last for s in subjects}


def _one(case: Case) -> Prepared:
    return Prepared((case,), (), ())


def _by_accuracy(test: str, family: Family, subjects: Sequence[Subject]) -> Prepared | str:
    """Test 1: representations should differ as accuracies do (Eq. 4)."""
    models = [s for s in _of_setting(subjects, "normal") if s.traits.get("accuracy") is not None]
    if len(models) < 3:
        return f"{len(models)} normal models with known accuracy; at least 3 are needed"
    accuracy = np.array([s.traits["accuracy"] for s in models], float)
    expected = np.abs(accuracy[:, None] - accuracy[None, :]).round(
        12
    )  # equal differences stay equal
    return _one(
        Case(test, *family, "prediction", (_last(models),), {"spearman_accuracy": (expected,)})
    )


def _by_output(test: str, family: Family, subjects: Sequence[Subject]) -> Prepared | str:
    """Test 2: representations should differ as outputs do (Eqs. 5 and 6)."""
    models = [s for s in _of_setting(subjects, "normal") if s.outputs is not None]
    if len(models) < 3:
        return f"{len(models)} normal models with known outputs; at least 3 are needed"
    outputs = [Representation(s.outputs, s.name) for s in models]
    if len({r.shape[1] for r in outputs}) > 1:
        return "the outputs of the models have different numbers of classes"
    expected = {
        f"spearman_{name}": (
            np.array([[float(measure(x, y)) for y in outputs] for x in outputs]).round(12),
        )
        for name, measure in (("jsd", jensen_shannon), ("disagreement", disagreement))
    }
    return _one(Case(test, *family, "prediction", (_last(models),), expected))


def _by_group(test: str, family: Family, subjects: Sequence[Subject]) -> Prepared | str:
    """Tests 3 to 5: models of one group should differ less than models of different groups (Eq.
    7)."""
    treated = _of_setting(subjects, test)
    if not treated:
        return f"no models of the setting {test!r}"
    by_name: dict[str, list[Subject]] = defaultdict(list)
    for s in treated:
        by_name[f"{100 * s.traits['strength']:.6g}%"].append(s)
    if test != "shortcut":  # a shortcut model sees other inputs, so its zero is a group of its own
        size = max(len(members) for members in by_name.values())
        by_name = {"normal": _of_setting(subjects, "normal")[:size], **by_name}
    known = {name: (_order(m[0])[0], _accuracies(m)) for name, m in by_name.items() if m}
    groups = choose_groups((test, *family[:3]), known)
    kept = [g.name for g in groups if g.kept]
    if len(kept) < 2:
        why = Absence(
            test, *family, "fewer than two groups of at least 2 models behave differently"
        )
        return Prepared((), groups, (why,))
    models = [s for name in kept for s in by_name[name]]
    labels = [name for name in kept for _ in by_name[name]]
    case = Case(
        test, *family, "group", (_last(models),), {"auprc": (labels,), "conformity": (labels,)}
    )
    return Prepared((case,), groups, ())


def _accuracies(subjects: Iterable[Subject]) -> list[Mapping[str, float]]:
    """The accuracies of every model, by what they were measured on; empty for a model whose
    accuracy is unknown."""
    known = list[Mapping[str, float]]()
    for s in subjects:
        accuracy = s.traits.get("accuracy")
        known.append(
            {**s.traits.get("accuracies", {}), **({} if accuracy is None else {"test": accuracy})}
        )
    return known


def _by_layers(test: str, family: Family, subjects: Sequence[Subject]) -> Prepared | str:
    """Test 6: the farther apart two layers of a model are, the more they should differ (Eq. 8)."""
    models = _of_setting(subjects, "layers") or _of_setting(subjects, "normal")
    models = [s for s in models if len(s.layers) >= 3]
    if not models:
        return "no model with at least 3 layers"
    parts = tuple({f"{s.name}/{name}": r for name, r in s.layers.items()} for s in models)
    layers = tuple(len(part) for part in parts)
    return _one(Case(test, *family, "order", parts, {"spearman": layers, "conformity": layers}))
