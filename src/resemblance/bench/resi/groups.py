"""Choose groups of models with the intended behaviour: the accuracies of the groups must not
overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

GROUP_RULES = ("published", "separated")


class ModelGroup(NamedTuple):
    """A group of models with the same treatment: the accuracies of the models, and whether the
    group is used (``kept``).

    ``name``: of the group, such as "25%". ``criterion``: the inputs for the accuracies, "clean" or
    "augmented"; "none" without accuracies. ``note``: why the group is left out, or overlaps; ""
    without a remark.
    """

    test: str
    domain: str
    dataset: str
    architecture: str
    name: str
    strength: float
    accuracies: tuple[float, ...]
    criterion: str
    kept: bool
    note: str


def separated(accuracies: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Return the names in the largest set of groups without overlapping ranges of accuracy.

    ``accuracies``: by group, in the order of strength, the accuracies of the models. Among equally
    large sets, the function prefers a set with the first and the last group, then a set with the
    first group, then a set with the last group. This rule makes precise how the ReSi benchmark left
    out strengths without an effect (Klabunde et al. 2025, Appendix B).
    """
    ranges = {name: (min(values), max(values)) for name, values in accuracies.items()}
    names = list(ranges)
    max_size = len(_groups_disjoint_from((), ranges))
    for ends in (names[:1] + names[-1:], names[:1], names[-1:]):
        disjoint = _groups_disjoint_from(tuple(dict.fromkeys(ends)), ranges)
        if len(disjoint) == max_size:
            break
    else:
        disjoint = _groups_disjoint_from((), ranges)
    return tuple(name for name in names if name in disjoint)


def _groups_disjoint_from(
    required_names: tuple[str, ...], ranges: Mapping[str, tuple[float, float]]
) -> set[str]:
    """Return the names in the largest set of disjoint ranges that includes ``required_names``;
    further ranges are added by earliest end.

    ``ranges``: (low, high) by name. Empty if the required ranges overlap.
    """
    disjoint = dict[str, None]()
    for name in (*required_names, *sorted(ranges, key=lambda name: ranges[name][1])):
        low, high = ranges[name]
        if name in disjoint:
            continue
        if all(high < ranges[other][0] or ranges[other][1] < low for other in disjoint):
            disjoint[name] = None
        elif name in required_names:
            return set()
    return set(disjoint)


def choose_groups(
    family_key: tuple[str, str, str, str],
    members: Mapping[str, tuple[float, Sequence[Mapping[str, float]]]],
    rule: str = "separated",
) -> tuple[ModelGroup, ...]:
    """Return the groups of a test, with the decision about every group.

    ``rule``: ``"separated"`` keeps the largest set of groups whose accuracies do not overlap;
    ``"published"`` keeps all groups, and notes the overlapping groups. Both leave out groups of one
    model.

    ``family_key``: test, domain, dataset, architecture. ``members``: by group, the strength and the
    accuracies of every model: ``"test"`` on the inputs of the benchmark, and for augmentation also
    ``"augmented"``. The augmented accuracies decide if the clean accuracies separate fewer groups,
    because robustness is the purpose of augmentation. Without accuracies all groups are kept,
    unchecked.
    """
    singletons = {n: m for n, m in members.items() if len(m[1]) < 2}
    if singletons:
        remaining_groups = choose_groups(
            family_key, {n: m for n, m in members.items() if n not in singletons}, rule
        )
        singleton_groups = (
            ModelGroup(
                *family_key, n, m[0], (), "none", False, "left out: 1 model; at least 2 are needed"
            )
            for n, m in singletons.items()
        )
        return (*remaining_groups, *singleton_groups)
    clean_accuracies = _accuracies_by_group(members, "test")
    augmented_accuracies = _accuracies_by_group(members, "augmented")
    if clean_accuracies is None:
        return tuple(
            ModelGroup(
                *family_key, name, strength, (), "none", True, "accuracies unknown: not checked"
            )
            for name, (strength, _) in members.items()
        )
    criterion, accuracies, groups = "clean", clean_accuracies, separated(clean_accuracies)
    if augmented_accuracies is not None and len(separated(augmented_accuracies)) > len(groups):
        criterion = "augmented"
        accuracies = augmented_accuracies
        groups = separated(augmented_accuracies)
    return tuple(
        ModelGroup(
            *family_key,
            name,
            strength,
            accuracies[name],
            criterion,
            name in groups or rule == "published",
            _group_note(name, groups, accuracies, rule),
        )
        for name, (strength, _) in members.items()
    )


def _accuracies_by_group(
    members: Mapping[str, tuple[float, Sequence[Mapping[str, float]]]], key: str
) -> dict[str, tuple[float, ...]] | None:
    """Return the accuracies of a kind by group, a number per model; None if a model lacks the
    accuracy.

    ``members``: by group, a pair: a number, and the accuracies of every model, by kind. ``key``:
    the kind, "test" or "augmented".
    """
    if not all(key in model for _, models in members.values() for model in models):
        return None
    return {name: tuple(model[key] for model in models) for name, (_, models) in members.items()}


def _group_note(
    name: str, groups: Sequence[str], accuracies: Mapping[str, Sequence[float]], rule: str
) -> str:
    if name in groups:
        return ""
    nearest_group = min(
        groups or accuracies,
        key=lambda other: abs(np.mean(accuracies[other]) - np.mean(accuracies[name])),
    )
    overlap = f"its accuracies overlap with those of {nearest_group}"
    return f"left out: {overlap}" if rule == "separated" else f"{overlap}; compared all the same"
