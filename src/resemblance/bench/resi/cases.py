"""The six tests of the ReSi benchmark on models whose traits say which of them they can make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from resemblance.data.representation import Representation, Undefined
from resemblance.data.subject import Subject
from resemblance.measures import disagreement, jensen_shannon
from resemblance.models.recipe import Recipe, with_defaults

from ..case import Case, Part, cell_name
from ..reliability import BY_INPUT, reliability
from ..study_models import ModelFamily
from ..training import Members
from .groups import ModelGroup, choose_groups
from .rules import RULES, Rules

TESTS: Mapping[str, str] = {
    "accuracy": "Accuracy correlation",
    "output": "Output correlation",
    "labels": "Label randomization",
    "shortcut": "Shortcut affinity",
    "augmentation": "Augmentation",
    "layers": "Layer monotonicity",
}


# Of every test, the quality that is shown first and the others, in words
QUALITIES: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"spearman_accuracy": "Spearman"},
    "output": {"spearman_jsd": "JSD", "spearman_disagreement": "disagreement"},
    "labels": {"auprc": "AUPRC", "conformity": "conformity"},
    "shortcut": {"auprc": "AUPRC", "conformity": "conformity"},
    "augmentation": {"auprc": "AUPRC", "conformity": "conformity"},
    "layers": {"spearman": "Spearman", "conformity": "conformity"},
}
Models = tuple[str, str]  # a data set and an architecture
Design = Mapping[str, Members]  # by test, the models that make it; none where nobody makes it
SHOWN = 3  # names of models that are listed


class PlannedTests(NamedTuple):
    """What was planned: by data set and architecture, the models of every test; and which of them
    could not be trained, and why."""

    designs: Mapping[Models, Design] = {}
    failed: Sequence[tuple[Recipe, str]] = ()

    def design(self, family: ModelFamily) -> Design | None:
        """Return the tests of a family of models; None where nothing was planned."""
        return self.designs.get((family.dataset, family.architecture))


class Absence(NamedTuple):
    """A test that a set of models cannot make, and why."""

    test: str
    family: ModelFamily
    reason: str


class Prepared(NamedTuple):
    """The cases that subjects make, the decisions about groups, and the tests they cannot make."""

    cases: tuple[Case, ...]
    groups: tuple[ModelGroup, ...]
    absent: tuple[Absence, ...]


# Makes the cases of a test, of what is expected ("prediction", "group" or "order"), its parts, and
# by quality the expectation of every part, and its reliability where it depends on the inputs.
MakeCases = Callable[..., Prepared]


def six_tests(
    subjects: Iterable[Subject],
    *,
    groups: str = "separated",
    planned: PlannedTests | None = None,
    rules: Rules = RULES["paper"],
) -> Prepared:
    """Return the six tests on subjects, a case for each quality.

    Those with the same domain, dataset, architecture and pooling belong together. ``groups``: which
    groups of models are compared, see :func:`choose_groups`. ``planned``: what was planned, where
    a suite has planned it; else every model makes all tests that it can. ``rules``: of the scores.

    Raises ``ValueError`` when two subjects are the same model by their traits.
    """
    planned = planned or PlannedTests()
    families = _families(subjects)
    for family in families_without_models(planned, families):
        families[family] = []
    prepared = [
        _test(test, family, members, groups, planned, rules)
        for family, members in families.items()
        for test in TESTS
        if test in (planned.design(family) or TESTS)
    ]
    return Prepared(
        tuple(case for p in prepared for case in p.cases),
        tuple(dict.fromkeys(group for p in prepared for group in p.groups)),
        tuple(absence for p in prepared for absence in p.absent),
    )


def with_reliabilities(
    cases: Iterable[Case], reliabilities: Mapping[str, float]
) -> tuple[Case, ...]:
    """Return cases with the reliability that is known by their names; None for others."""
    return tuple(c._replace(reliability=reliabilities.get(cell_name(c.cell))) for c in cases)


def _families(subjects: Iterable[Subject]) -> dict[ModelFamily, list[Subject]]:
    families: dict[ModelFamily, list[Subject]] = defaultdict(list)
    for subject in subjects:
        subject = with_defaults(subject)
        traits = subject.traits
        family = ModelFamily(*(traits[name] for name in ModelFamily._fields))
        if any(other.name == subject.name for other in families[family]):
            raise ValueError(
                f"two models are {subject.name!r}: setting, strength or seed must tell them apart"
            )
        families[family].append(subject)
    return families


def _test(
    test: str,
    family: ModelFamily,
    subjects: Sequence[Subject],
    groups: str,
    planned: PlannedTests,
    rules: Rules,
) -> Prepared:
    make: Callable[[Sequence[Subject], MakeCases], Prepared | str] = {
        "accuracy": _by_accuracy,
        "output": _by_output,
        "layers": _by_layers,
    }.get(test) or partial(_by_group, test, family, groups)
    members = models_for(test, family, subjects, planned)
    outcome: Prepared | str = (
        members
        if isinstance(members, str)
        else make(sorted(members, key=_order), partial(_cases, test, family, rules))
    )
    if isinstance(outcome, str):
        return Prepared((), (), (Absence(test, family, outcome),))
    return outcome


def _cases(
    test: str,
    family: ModelFamily,
    rules: Rules,
    kind: str,
    parts: Sequence[Part],
    expected: Mapping[str, Sequence[Any]],
    reliabilities: Mapping[str, float | None] = {},
) -> Prepared:
    """Return a case for every quality of a test. ``expected``: by quality, of all parts."""
    cases = (
        Case(
            test,
            (test, quality, *family),
            rules[kind, quality.partition("_")[0]],
            tuple(part._replace(expected=of) for part, of in zip(parts, of_parts, strict=True)),
            "/".join(family[:3]),
            is_by_part=kind == "order",
            reliability=reliabilities.get(quality),
        )
        for quality, of_parts in expected.items()
    )
    return Prepared(tuple(cases), (), ())


def _order(subject: Subject) -> tuple[float, int]:
    return float(subject.traits["strength"]), int(subject.traits["seed"])


def _of_setting(subjects: Iterable[Subject], setting: str) -> list[Subject]:
    return [s for s in subjects if s.traits["setting"] == setting]


def _last(subjects: Sequence[Subject]) -> Part:
    """Return the last layers of models as what is compared."""
    last = {s.name: list(s.layers)[-1] for s in subjects}
    maps = {s.name: s.maps[last[s.name]] for s in subjects if last[s.name] in s.maps}
    return Part({s.name: s.last for s in subjects}, None, maps=maps)


def _by_accuracy(subjects: Sequence[Subject], cases: MakeCases) -> Prepared | str:
    """Test 1: representations should differ as accuracies do (Eq. 4)."""
    models = [s for s in _of_setting(subjects, "normal") if s.traits.get("accuracy") is not None]
    if len(models) < 3:
        return f"{len(models)} normal models with known accuracy; at least 3 are needed"
    accuracy = np.array([s.traits["accuracy"] for s in models], float)
    # rounded, so that equal differences stay equal
    expected = np.abs(accuracy[:, None] - accuracy[None, :]).round(12)
    name = "spearman_accuracy"
    return cases("prediction", [_last(models)], {name: [expected]}, {name: _of_accuracy(models)})


def _of_accuracy(models: Sequence[Subject]) -> float | None:
    """Return how far differences in accuracy repeat; None where answers are not known."""
    answers = [(s.outputs, s.labels) for s in models]
    correct = [o.argmax(axis=1) == y for o, y in answers if o is not None and y is not None]
    if len(correct) < len(models) or len({len(of_model) for of_model in correct}) > 1:
        return None
    first, second = np.triu_indices(len(models), 1)
    return reliability(np.array(correct, float), lambda means: abs(means[first] - means[second]))


def _by_output(subjects: Sequence[Subject], cases: MakeCases) -> Prepared | str:
    """Test 2: representations should differ as outputs do (Eqs. 5 and 6)."""
    models = [s for s in _of_setting(subjects, "normal") if s.outputs is not None]
    if len(models) < 3:
        return f"{len(models)} normal models with known outputs; at least 3 are needed"
    outputs = [Representation(s.outputs, s.name) for s in models]
    if len({r.shape[1] for r in outputs}) > 1:
        return "the outputs of the models have different numbers of classes"
    try:
        expected = {
            f"spearman_{name}": [
                np.array([[float(measure(x, y)) for y in outputs] for x in outputs]).round(12)
            ]
            for name, measure in (("jsd", jensen_shannon), ("disagreement", disagreement))
        }
        reliabilities = {
            f"spearman_{name}": reliability(
                np.array([of(x, y) for x, y in combinations(outputs, 2)])
            )
            for name, of in BY_INPUT.items()
        }
    except Undefined as error:
        return f"the outputs of the models cannot be compared: {error}"
    return cases("prediction", [_last(models)], expected, reliabilities)


def _by_group(
    test: str, family: ModelFamily, rule: str, subjects: Sequence[Subject], cases: MakeCases
) -> Prepared | str:
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
    accuracies = {name: (_order(m[0])[0], _accuracies(m)) for name, m in by_name.items() if m}
    groups = choose_groups((test, *family[:3]), accuracies, rule)
    names = [g.name for g in groups if g.kept]
    if len(names) < 2:
        why = "fewer than two groups of at least 2 models behave differently"
        return Prepared((), groups, (Absence(test, family, why),))
    models = [s for name in names for s in by_name[name]]
    labels = [name for name in names for _ in by_name[name]]
    expected = {"auprc": [labels], "conformity": [labels]}
    return cases("group", [_last(models)], expected)._replace(groups=groups)


def _accuracies(subjects: Iterable[Subject]) -> list[Mapping[str, float]]:
    """Return the accuracies of every model, by what they were measured on.

    Empty for a model whose accuracy is unknown.
    """
    accuracies = list[Mapping[str, float]]()
    for s in subjects:
        whole = s.traits.get("accuracy")
        accuracies.append(
            {**s.traits.get("accuracies", {}), **({} if whole is None else {"test": whole})}
        )
    return accuracies


def _by_layers(subjects: Sequence[Subject], cases: MakeCases) -> Prepared | str:
    """Test 6: the farther apart two layers of a model are, the more they should differ (Eq. 8)."""
    models = _of_setting(subjects, "layers") or _of_setting(subjects, "normal")
    models = [s for s in models if len(s.layers) >= 3]
    if not models:
        return "no model with at least 3 layers"
    parts = [
        Part(
            {f"{s.name}/{name}": x for name, x in s.layers.items()},
            None,
            name=s.name,
            maps={f"{s.name}/{name}": shape for name, shape in s.maps.items()},
        )
        for s in models
    ]
    layers = [len(part.rows) for part in parts]
    return cases("order", parts, {"spearman": layers, "conformity": layers})


# ----------------------------------------------------- which models make which tests, where planned


def takes(members: Members, setting: str, seed: int) -> bool:
    """Return whether a test compares the models of a setting and a seed."""
    return setting in members.settings and seed < members.each


def models_for(
    test: str, family: ModelFamily, subjects: Sequence[Subject], planned: PlannedTests
) -> list[Subject] | str:
    """Return the models that make a test, or why it cannot be made."""
    design = planned.design(family)
    if design is None:
        return list(subjects)
    members = design[test]
    if not members.each:
        return "the paper does not make this test on these models"
    failed = [
        (recipe, why)
        for recipe, why in planned.failed
        if tuple(recipe[:3]) == tuple(family[:3]) and takes(members, recipe.setting, recipe.seed)
    ]
    if failed:
        names = [recipe.name for recipe, _ in failed[:SHOWN]]
        more = f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        return f"models could not be trained: {', '.join(names)}{more} ({failed[0][1]})"
    return [s for s in subjects if takes(members, s.traits["setting"], s.traits["seed"])]


def families_without_models(
    planned: PlannedTests, families: Mapping[ModelFamily, object]
) -> Iterator[ModelFamily]:
    """Yield the planned families of which no model is there."""
    known = {tuple(family[:3]) for family in families}
    for recipe, _ in planned.failed:
        where = tuple(recipe[:3])
        if where not in known and (recipe.dataset, recipe.architecture) in planned.designs:
            known.add(where)
            yield ModelFamily(*recipe[:3], "")
