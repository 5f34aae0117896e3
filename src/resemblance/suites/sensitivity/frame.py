"""What the four benchmarks have in common: models by family, sets of representations, numbers, a
section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...results.claims import Found, judged
from ...results.figures import Bars, Chart
from ...results.sections import Section, Table
from ...subject import Recipe, Subject
from ..experiments import Experiment, Part, Setting, measured
from .grading import Design, Graded, Set, Work, graded, usable
from .sections import Finding, figures_of, scores_of, tables_of
from .settings import SIZES, Size
from .subjects import Family, Models, families, identity, sound, uneven

SILENT = (
    "all distances are equal up to rounding, so that there is nothing to rank; of centred "
    "representations of unit norm a measure of size or position sees nothing"
)
Sets = tuple[dict[str, Set], Design]
Judge = Callable[[Sequence[Finding]], Found]


class Benchmark(NamedTuple):
    """One of the four benchmarks.

    ``setting``: that of the models it is for. ``choose``: of the models of a family those that take
    part, or why there are none. ``sets``: what is compared, by layer, and what is shared.
    ``extra``: more that follows from the comparisons. ``show``: tables and charts of that.
    ``claims``: number, text, what the paper found, and judge.
    """

    name: str
    title: str
    about: str
    setting: str
    choose: Callable[[Sequence[Subject]], tuple[Subject, ...] | str]
    sets: Callable[[Sequence[Subject], Path, Size], Sets]
    claims: tuple[tuple[str, str, str, Judge], ...]
    extra: Callable[[Mapping[str, Set], Graded], dict[str, Any]] | None = None
    show: Callable[[Finding], tuple[tuple[Table, ...], tuple[Chart | Bars, ...]]] | None = None


def experiment(
    benchmark: Benchmark,
    models: Models,
    memory: int | str = "2GB",
    found: dict[str, list[Finding]] | None = None,
) -> Experiment:
    """Return a benchmark as an experiment on trained models, or on a folder of somebody's own.

    ``found``: takes the numbers of every family, by benchmark, when the experiment is concluded.
    """
    models = models._replace(
        recipes=tuple(r for r in models.recipes if r.setting == benchmark.setting)
    )
    return Experiment(
        benchmark.name,
        partial(_parts, benchmark, models),
        partial(_compute, benchmark, models, memory),
        partial(_conclude, benchmark, {} if found is None else found),
        partial(_recipes, models),
        version=2,
    )


def _recipes(models: Models, setting: Setting) -> Sequence[Recipe]:
    return models.recipes


def _parts(benchmark: Benchmark, models: Models, setting: Setting) -> list[Part]:
    """One part for every family: the models, the measures and the size that it depends on, or why
    there is none."""
    parts: list[Part] = []
    size = SIZES[setting.size]
    for family, members in families(models.read(setting.folder)).items():
        usable_ones, broken = sound(members, benchmark.setting)
        chosen = benchmark.choose(usable_ones)
        if isinstance(chosen, str):
            parts.append({"family": list(family), "absent": chosen, "left out": broken})
            continue
        broken |= uneven(chosen)
        samples = chosen[0].last.shape[0]
        measures = usable(setting.measures, size, samples)
        slow = [m.spec for m in setting.measures if m not in measures]
        parts.append(
            {
                "family": list(family),
                "models": {s.name: identity(s, bool(models.folder)) for s in chosen},
                "measures": measured(measures),
                "size": list(size),
                "slow": slow,
                "left out": broken,
            }
        )
    return parts


def _compute(
    benchmark: Benchmark, models: Models, memory: int | str, setting: Setting, part: Part
) -> Any:
    if "absent" in part:
        return None
    members = {s.name: s for s in families(models.read(setting.folder))[Family(*part["family"])]}
    subjects = [members[name] for name in part["models"]]
    size = Size(*part["size"])
    sets, design = benchmark.sets(subjects, setting.folder, size)
    found = graded(sets, design, Work(setting.folder, setting.measures, memory, size))
    if not found.numbers["cells"]:
        return {
            "absent": "; ".join(f"{what}: {why}" for what, why in found.numbers["constant"].items())
        }
    more = benchmark.extra(sets, found) if benchmark.extra else {}
    return {**found.numbers, **more, "labels": {m.spec: m.label for m in setting.measures}}


def _conclude(
    benchmark: Benchmark,
    every: dict[str, list[Finding]],
    setting: Setting,
    done: Sequence[tuple[Part, Any]],
) -> Section:
    reasons = dict[str, str]()
    found = every.setdefault(benchmark.name, [])
    for part, numbers in done:
        family = Family(*part["family"])
        reasons |= {f"{family.title}, {what}": why for what, why in part["left out"].items()}
        absent = part["absent"] if numbers is None else numbers.get("absent")
        if absent:
            reasons[family.title] = absent
            continue
        reasons |= {f"{family.title}, {what}": why for what, why in numbers["constant"].items()}
        found.append((family, numbers))
        slow = {
            f"{family.title}, {s}": "left out: it takes too long on so many samples"
            for s in part["slow"]
        }
        reasons |= slow | {
            f"{family.title}, {spec}": why for spec, why in numbers["failed"].items()
        }
        reasons |= {f"{family.title}, {spec}": SILENT for spec in numbers["silent"]}
    tables, charts = list[Table](), list[Chart | Bars]()
    for finding in found:
        if benchmark.show:
            more = benchmark.show(finding)
            tables += more[0]
            charts += more[1]
    tables = [t for finding in found for t in tables_of(finding)] + tables
    charts = [c for finding in found for c in figures_of(finding)] + charts
    claims = judged(benchmark.claims, found) if found else ()
    name, title, about = benchmark[:3]
    return Section(
        name, title, about, tuple(tables), tuple(charts), claims, scores_of(found), reasons
    )
