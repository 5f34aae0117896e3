"""The six tests of the ReSi benchmark; the traits of the models determine the possible tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.exceptions import UndefinedError
from resemblance.base.formatting import list_names
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import Representation
from resemblance.measures import disagreement, jensen_shannon
from resemblance.models.recipe import Recipe, add_default_traits

from ..case import Case, Part, add_reduced_parts, task_name
from ..reliability import DISAGREEMENTS_BY_INPUT, reliability
from ..study_models import ModelFamily
from ..training import SeedGroup
from .groups import ModelGroup, choose_groups
from .rules import RULES_BY_PROTOCOL, RulesByQuality

TEST_TITLES: Mapping[str, str] = {
    "accuracy": "Accuracy correlation",
    "output": "Output correlation",
    "labels": "Label randomization",
    "shortcut": "Shortcut affinity",
    "augmentation": "Augmentation",
    "layers": "Layer monotonicity",
}


# Display names of the qualities of every test, the main quality first.
QUALITY_TITLES: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"spearman_accuracy": "Spearman"},
    "output": {"spearman_jsd": "JSD", "spearman_disagreement": "disagreement"},
    "labels": {"auprc": "AUPRC", "conformity": "conformity"},
    "shortcut": {"auprc": "AUPRC", "conformity": "conformity"},
    "augmentation": {"auprc": "AUPRC", "conformity": "conformity"},
    "layers": {"spearman": "Spearman", "conformity": "conformity"},
}
DatasetAndArchitecture = tuple[str, str]  # data set and architecture
# By test, the models for the test; an empty group if no model takes part.
SeedGroupsByTest = Mapping[str, SeedGroup]
MAX_LISTED_MODELS = 3  # longer lists of model names are cut
MIN_CORRELATED_MODELS = 4  # without a seed, three models leave a single pair


class PlannedTests(NamedTuple):
    """A training plan.

    ``designs``: by data set and architecture, the models of every test. ``failed``: the recipes of
    failed trainings with their reasons.
    """

    designs: Mapping[DatasetAndArchitecture, SeedGroupsByTest] = {}
    failed: Sequence[tuple[Recipe, str]] = ()

    def design(self, family: ModelFamily) -> SeedGroupsByTest | None:
        """Return the planned tests of a family of models, by test; None for a family outside the
        plan."""
        return self.designs.get((family.dataset, family.architecture))


class SkippedTask(NamedTuple):
    """A test that is not made on a family of models, and the reason."""

    test: str
    family: ModelFamily
    reason: str


class TaskInputs(NamedTuple):
    """The tasks for a set of models, the decisions about groups of models, and the skipped
    tests."""

    cases: tuple[Case, ...]
    groups: tuple[ModelGroup, ...]
    absent: tuple[SkippedTask, ...]


# Builds the tasks of a test. Arguments: the kind of expectation ("prediction", "group" or "order"),
# the parts, and by quality the expectation of every part, and the reliability if the expectation
# depends on the inputs.
MakeCases = Callable[..., TaskInputs]


def six_tests(
    model_features: Iterable[ModelFeatures],
    *,
    groups: str = "separated",
    planned: PlannedTests | None = None,
    rules: RulesByQuality = RULES_BY_PROTOCOL["paper"],
) -> TaskInputs:
    """Return the tasks of the six tests on models, a task per quality.

    Models with the same domain, dataset, architecture and pooling form a family. ``groups``: which
    groups of models are compared, "separated" or "published" (see :func:`choose_groups`).
    ``planned``: the training plan of a suite; without a plan every model takes part in all possible
    tests. ``rules``: the scoring rules, by kind of expectation and quality.

    Raises ``ValueError`` if two models have the same traits.
    """
    planned = planned or PlannedTests()
    families = _models_by_family(model_features)
    for family in families_without_models(planned, families):
        families[family] = []
    inputs = [
        _prepare_test(test, family, members, groups, planned, rules)
        for family, members in families.items()
        for test in TEST_TITLES
        if test in (planned.design(family) or TEST_TITLES)
    ]
    return TaskInputs(
        tuple(case for p in inputs for case in p.cases),
        tuple(dict.fromkeys(group for p in inputs for group in p.groups)),
        tuple(absence for p in inputs for absence in p.absent),
    )


def add_reliabilities(
    cases: Iterable[Case], reliabilities: Mapping[str, float]
) -> tuple[Case, ...]:
    """Return copies of the tasks with the reliability from ``reliabilities``, by the name of the
    task; None for a task without an entry."""
    return tuple(c._replace(reliability=reliabilities.get(task_name(c.cell))) for c in cases)


def _models_by_family(
    model_features: Iterable[ModelFeatures],
) -> dict[ModelFamily, list[ModelFeatures]]:
    families: dict[ModelFamily, list[ModelFeatures]] = defaultdict(list)
    for features in model_features:
        features = add_default_traits(features)
        traits = features.traits
        family = ModelFamily(*(traits[name] for name in ModelFamily._fields))
        if any(other.name == features.name for other in families[family]):
            raise ValueError(
                f"two models are {features.name!r}: setting, strength or seed must tell them apart"
            )
        families[family].append(features)
    return families


def _prepare_test(
    test: str,
    family: ModelFamily,
    model_features: Sequence[ModelFeatures],
    groups: str,
    planned: PlannedTests,
    rules: RulesByQuality,
) -> TaskInputs:
    make: Callable[[Sequence[ModelFeatures], MakeCases], TaskInputs | str] = {
        "accuracy": _accuracy_test,
        "output": _output_test,
        "layers": _layer_test,
    }.get(test) or partial(_group_test, test, family, groups)
    members = models_in_test(test, family, model_features, planned)
    outcome: TaskInputs | str = (
        members
        if isinstance(members, str)
        else make(
            sorted(members, key=_by_strength_and_seed), partial(_test_cases, test, family, rules)
        )
    )
    if isinstance(outcome, str):
        return TaskInputs((), (), (SkippedTask(test, family, outcome),))
    return outcome


def _test_cases(
    test: str,
    family: ModelFamily,
    rules: RulesByQuality,
    kind: str,
    parts: Sequence[Part],
    expected: Mapping[str, Sequence[Any]],
    reliabilities: Mapping[str, float | None] = {},
) -> TaskInputs:
    """Return a task for every quality of a test on the models of a family.

    ``rules``: by kind and quality. ``kind``: of expectation, "prediction", "group" or "order".
    ``parts``: without expectation. ``expected``: by quality, the expectation of every part.
    ``reliabilities``: by quality.
    """
    cases = (
        Case(
            test,
            (test, quality, *family),
            rules[kind, quality.partition("_")[0]],
            tuple(
                add_reduced_parts(part._replace(expected=target))
                for part, target in zip(parts, targets, strict=True)
            ),
            "/".join(family[:3]),
            is_by_part=kind == "order",
            reliability=reliabilities.get(quality),
        )
        for quality, targets in expected.items()
    )
    return TaskInputs(tuple(cases), (), ())


def _by_strength_and_seed(features: ModelFeatures) -> tuple[float, int]:
    return float(features.traits["strength"]), int(features.traits["seed"])


def _models_in_setting(
    model_features: Iterable[ModelFeatures], setting: str
) -> list[ModelFeatures]:
    return [s for s in model_features if s.traits["setting"] == setting]


def _last_layers_part(model_features: Sequence[ModelFeatures]) -> Part:
    """Return a part that compares the last layers of the models with each other, by model name,
    without expectation. The units are the seeds."""
    last_layers = {s.name: list(s.layers)[-1] for s in model_features}
    maps = {
        s.name: s.maps[last_layers[s.name]] for s in model_features if last_layers[s.name] in s.maps
    }
    seeds = tuple(str(s.traits["seed"]) for s in model_features)
    return Part({s.name: s.last for s in model_features}, None, maps=maps, units=seeds)


def _accuracy_test(model_features: Sequence[ModelFeatures], cases: MakeCases) -> TaskInputs | str:
    """Return the task of test 1, or the reason why the models are not suited: representations
    should differ as accuracies do (Eq. 4). ``cases`` makes the task."""
    models = [
        s
        for s in _models_in_setting(model_features, "normal")
        if s.traits.get("accuracy") is not None
    ]
    if len(models) < MIN_CORRELATED_MODELS:
        return f"{len(models)} normal models with known accuracy; at least 4 are needed"
    accuracy = np.array([s.traits["accuracy"] for s in models], float)
    # rounding keeps equal differences equal
    expected = np.abs(accuracy[:, None] - accuracy[None, :]).round(12)
    name = "spearman_accuracy"
    return cases(
        "prediction",
        [_last_layers_part(models)],
        {name: [expected]},
        {name: _accuracy_reliability(models)},
    )


def _accuracy_reliability(models: Sequence[ModelFeatures]) -> float | None:
    """Return the reliability of accuracy differences over inputs; None if outputs or labels are
    unknown, or if the models have different numbers of inputs."""
    answers = [(s.outputs, s.labels) for s in models]
    is_correct = [o.argmax(axis=1) == y for o, y in answers if o is not None and y is not None]
    if len(is_correct) < len(models) or len({len(row) for row in is_correct}) > 1:
        return None
    first, second = np.triu_indices(len(models), 1)
    return reliability(np.array(is_correct, float), lambda means: abs(means[first] - means[second]))


def _output_test(model_features: Sequence[ModelFeatures], cases: MakeCases) -> TaskInputs | str:
    """Return the tasks of test 2, or the reason why the models are not suited: representations
    should differ as outputs do (Eqs. 5 and 6). ``cases`` makes the tasks."""
    models = [s for s in _models_in_setting(model_features, "normal") if s.outputs is not None]
    if len(models) < MIN_CORRELATED_MODELS:
        return f"{len(models)} normal models with known outputs; at least 4 are needed"
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
                np.array([function(x, y) for x, y in combinations(outputs, 2)])
            )
            for name, function in DISAGREEMENTS_BY_INPUT.items()
        }
    except UndefinedError as error:
        return f"the outputs of the models cannot be compared: {error}"
    return cases("prediction", [_last_layers_part(models)], expected, reliabilities)


def _group_test(
    test: str,
    family: ModelFamily,
    rule: str,
    model_features: Sequence[ModelFeatures],
    cases: MakeCases,
) -> TaskInputs | str:
    """Return the tasks of a test of groups (tests 3 to 5), or the reason why there is none: models
    of the same group should differ less than models of different groups (Eq. 7).

    ``test``: the setting of the models, such as "shortcut". ``rule``: which groups are compared,
    "separated" or "published" (see :func:`choose_groups`). ``model_features``: all models of the
    family. ``cases`` makes the tasks.
    """
    test_models = _models_in_setting(model_features, test)
    if not test_models:
        return f"no models of the setting {test!r}"
    by_name: dict[str, list[ModelFeatures]] = defaultdict(list)
    for s in test_models:
        by_name[f"{100 * s.traits['strength']:.6g}%"].append(s)
    # A shortcut model reads other inputs, so strength 0 is a group of its own and not "normal".
    if test != "shortcut":
        size = max(len(members) for members in by_name.values())
        by_name = {"normal": _models_in_setting(model_features, "normal")[:size], **by_name}
    accuracies = {
        name: (_by_strength_and_seed(m[0])[0], _model_accuracies(m))
        for name, m in by_name.items()
        if m
    }
    groups = choose_groups((test, *family[:3]), accuracies, rule)
    names = [g.name for g in groups if g.kept]
    if len(names) < 2:
        reason = "fewer than two groups of at least 2 models behave differently"
        return TaskInputs((), groups, (SkippedTask(test, family, reason),))
    models = [s for name in names for s in by_name[name]]
    labels = [name for name in names for _ in by_name[name]]
    expected = {"auprc": [labels], "conformity": [labels]}
    return cases("group", [_last_layers_part(models)], expected)._replace(groups=groups)


def _model_accuracies(model_features: Iterable[ModelFeatures]) -> list[Mapping[str, float]]:
    """Return a mapping per model from inputs of the evaluation ("test", ...) to accuracies; {} for
    a model without a known accuracy."""
    accuracies = list[Mapping[str, float]]()
    for s in model_features:
        test_accuracy = s.traits.get("accuracy")
        accuracies.append(
            {
                **s.traits.get("accuracies", {}),
                **({} if test_accuracy is None else {"test": test_accuracy}),
            }
        )
    return accuracies


def _layer_test(model_features: Sequence[ModelFeatures], cases: MakeCases) -> TaskInputs | str:
    """Return the tasks of test 6, or the reason why no model is suited. ``cases`` makes the tasks.

    Layers of one model should differ more the farther apart the layers are in depth (Klabunde et
    al. 2025, Eq. 8). A model needs at least three layers. Models of the setting "layers" are
    compared; without such models, normal models.
    """
    models = _models_in_setting(model_features, "layers") or _models_in_setting(
        model_features, "normal"
    )
    models = [s for s in models if len(s.layers) >= 3]
    if not models:
        return "no model with at least 3 layers"
    parts = [
        Part(
            {f"{s.name}/{name}": x for name, x in s.layers.items()},
            None,
            name=s.name,
            maps={f"{s.name}/{name}": shape for name, shape in s.maps.items()},
            units=(str(s.traits["seed"]),) * len(s.layers),
        )
        for s in models
    ]
    layers = [len(part.rows) for part in parts]
    return cases("order", parts, {"spearman": layers, "conformity": layers})


# ----------------------------------------------------- which models make which tests, where planned


def takes_part_in_test(members: SeedGroup, setting: str, seed: int) -> bool:
    """Return whether a test compares the models of a setting and a seed. ``members``: the models of
    the test; seeds count from 0."""
    return setting in members.settings and seed < members.each


def models_in_test(
    test: str, family: ModelFamily, model_features: Sequence[ModelFeatures], planned: PlannedTests
) -> list[ModelFeatures] | str:
    """Return the models of ``model_features`` for a test, or the reason if the test cannot be made.
    ``planned``: the training plan; without a plan for the family, all models take part."""
    design = planned.design(family)
    if design is None:
        return list(model_features)
    members = design[test]
    if not members.each:
        return "the paper does not make this test on these models"
    failures = [
        (recipe, reason)
        for recipe, reason in planned.failed
        if tuple(recipe[:3]) == tuple(family[:3])
        and takes_part_in_test(members, recipe.setting, recipe.seed)
    ]
    if failures:
        names = list_names((recipe.name for recipe, _ in failures), MAX_LISTED_MODELS)
        return f"models could not be trained: {names} ({failures[0][1]})"
    return [
        s
        for s in model_features
        if takes_part_in_test(members, s.traits["setting"], s.traits["seed"])
    ]


def families_without_models(
    planned: PlannedTests, families: Mapping[ModelFamily, object]
) -> Iterator[ModelFamily]:
    """Yield the planned families without any trained model: families of failed trainings that are
    not in ``families``. The pooling of a yielded family is ""."""
    keys = {tuple(family[:3]) for family in families}
    for recipe, _ in planned.failed:
        key = tuple(recipe[:3])
        if key not in keys and (recipe.dataset, recipe.architecture) in planned.designs:
            keys.add(key)
            yield ModelFamily(*recipe[:3], "")
