"""A benchmark as an experiment: one part for each family of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...measure import Measure
from ...results.codec import decode, encode
from ...results.sections import Section
from ...subject import Subject
from ..experiments import Experiment, Part, RunConfig, claims_of, measured
from ..families import ModelFamily
from .benchmarks import Benchmark
from .facts import FamilyFacts
from .grading import graded
from .sections import CONSTANT_MEASURE, benchmark_section
from .sets import Effort, fast_enough
from .subjects import Models, families, identity, missing_accuracies, without_nan

SLOW = "left out: it takes too long on so many samples"
ALL_SLOW = "all measures of this run take too long on so many samples"
VERSION = 3  # of what a part stores


class FamilyPart(NamedTuple):
    """Everything that the facts of one family depend on.

    ``models``: their identities by name. ``measures``: specifications and versions. ``slow``: the
    measures left out. ``left_out``: models and accuracies left out, and why. ``absent``: why the
    family does not take part.
    """

    family: ModelFamily
    models: Mapping[str, str] = {}
    measures: tuple[tuple[str, int], ...] = ()
    effort: tuple[int, ...] = ()
    slow: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}
    absent: str = ""


def experiment(
    benchmark: Benchmark, models: Models, effort: Effort, facts: dict[str, tuple[FamilyFacts, ...]]
) -> Experiment:
    """Return a benchmark as an experiment on trained models, or on a folder of the user.

    ``facts``: takes the facts of the benchmark when it is concluded.
    """
    recipes = tuple(r for r in models.recipes if r.setting == benchmark.setting)
    models = models._replace(recipes=recipes)

    def parts(config: RunConfig) -> list[Part]:
        members = families(models.read(config.folder))
        options = (benchmark, effort, config.measures, not models.folder)
        return [encode(_part(*options, *family)) for family in members.items()]

    def conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
        facts[benchmark.name], reasons = _results(done)
        of_benchmark = facts[benchmark.name]
        claims = claims_of(config, benchmark.name, of_benchmark) if of_benchmark else ()
        return benchmark_section(benchmark, of_benchmark, claims, reasons)

    compute = partial(_compute, benchmark, models, effort)
    return Experiment(benchmark.name, parts, compute, conclude, lambda config: recipes, VERSION)


def _part(
    benchmark: Benchmark,
    effort: Effort,
    tested: Sequence[Measure],
    are_trained: bool,
    family: ModelFamily,
    members: Sequence[Subject],
) -> FamilyPart:
    """Return the models, the measures and the effort that the facts depend on, or why there are
    none."""
    intact, left_out = without_nan(members, benchmark.setting)
    subjects = benchmark.choose(intact)
    if isinstance(subjects, str):
        return FamilyPart(family, left_out=left_out, absent=subjects)
    measures = fast_enough(tested, effort, subjects[0].last.shape[0])
    if not measures:
        slow = tuple(m.spec for m in tested)
        return FamilyPart(family, slow=slow, left_out=left_out, absent=ALL_SLOW)
    return FamilyPart(
        family,
        models={s.name: identity(s, are_trained) for s in subjects},
        measures=tuple((spec, version) for spec, version in measured(measures)),
        effort=tuple(effort),
        slow=tuple(m.spec for m in tested if m not in measures),
        left_out=left_out | missing_accuracies(subjects),
    )


def _compute(
    benchmark: Benchmark, models: Models, effort: Effort, config: RunConfig, part: Part
) -> Any:
    family: FamilyPart = decode(FamilyPart, part)
    if family.absent:
        return None
    members = {s.name: s for s in families(models.read(config.folder))[family.family]}
    subjects = [members[name] for name in family.models]
    sets, design = benchmark.sets(subjects, config.folder, effort)
    grades, differences = graded(sets, design, config, effort)
    facts = FamilyFacts(family.family, {m.spec: m.label for m in config.measures}, grades)
    if benchmark.observe and grades.cells:
        facts = benchmark.observe(facts, sets, differences)
    return encode(facts)


def _results(done: Sequence[tuple[Part, Any]]) -> tuple[tuple[FamilyFacts, ...], dict[str, str]]:
    """Return the facts of the families that have cells, and why something is not among them."""
    facts, reasons = list[FamilyFacts](), dict[str, str]()
    for document, value in done:
        part: FamilyPart = decode(FamilyPart, document)
        result = None if value is None else decode(FamilyFacts, value)
        reasons |= _reasons(part, result)
        if result is not None and result.grades.cells:
            facts.append(result)
    return tuple(facts), reasons


def _reasons(part: FamilyPart, facts: FamilyFacts | None) -> dict[str, str]:
    """Return why models, accuracies, measures or the whole family are not in the tables."""
    reasons = dict(part.left_out)
    if facts is None:
        return _under(part.family, reasons) | {part.family.title: part.absent}
    grades = facts.grades
    if not grades.cells:
        why = "; ".join(f"{what}: {reason}" for what, reason in grades.constant.items())
        return _under(part.family, reasons) | {part.family.title: why}
    reasons |= grades.constant
    reasons |= dict.fromkeys(part.slow, SLOW)
    reasons |= grades.failed
    reasons |= dict.fromkeys(grades.constant_measures, CONSTANT_MEASURE)
    return _under(part.family, reasons)


def _under(family: ModelFamily, reasons: Mapping[str, str]) -> dict[str, str]:
    return {f"{family.title}, {what}": why for what, why in reasons.items()}
