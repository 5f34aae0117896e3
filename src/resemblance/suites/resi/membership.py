"""Which models make which tests, where a suite has planned them.

A test has as many models as were planned; without one of them it is not made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...sources.recipe import Recipe
from ...sources.training import Members
from ...subject import Subject
from ..families import ModelFamily

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
