"""The stability suite: do measures see what was deleted, and warn before accuracy is lost?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.text import did_you_mean
from resemblance.catalogue import get_measures, preset
from resemblance.comparison.comparison import Comparison, info_of
from resemblance.comparison.provenance import environment
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.engine.memory import parse_bytes
from resemblance.intermediates.points import scaled_rows
from resemblance.sections.headlines import is_trial
from resemblance.sections.result import Result
from resemblance.sections.sections import Section
from resemblance.sections.values import known
from resemblance.statistics.rdm import rows

from ..case import Case, Part, cell_name
from ..page import failures_section, noise_remark, times_section
from ..pinned import Pinned, Reduction, remembered
from ..ranks import overview_of, scored_cells, with_scores
from ..reliability import RELIABILITY, is_reliable
from ..scoring import Compared, compare_cases, failures_of, scores_of, seconds_of
from ..study import Judge, Progress, Purpose, log, purpose, study_folder, with_claims
from .alarms import (
    DRIFTS,
    PROCRUSTES,
    SQUARED,
    DisturbedCopy,
    DisturbedModel,
    loss_p_value,
    trimmed,
)
from .models import PLANS, absent, plain_models, plan_of
from .page import canary_section, deletion_section, labels_of
from .spectral import SEED, WHOLE, case_of, harmonic
from .weights import (
    TRACKING,
    Observation,
    cases_of_copies,
    part_of,
    prepare,
    read_pack,
    stored,
    write_pack,
)

SIZES = tuple(PLANS)
SLOW = ("imd", "rtd")  # seconds for one pair
MEASURES: tuple[str | Measure, ...] = (
    "cka[estimator=debiased]",
    "cka",
    *DRIFTS,
    "rsa",
    "svcca",
    "distance_correlation",
    "cknna",
    "mutual_knn",
    "jaccard",
    "mka",
    "shape",
    "aligned_cosine",
    *(m for m in preset("default") if m.name not in SLOW),
)
TITLE = "The stability suite"
INTRODUCTION = (
    "Leading components are deleted from a representation one after the other, and the weights "
    "of trained networks are disturbed more and more. A measure should follow both, after Raju "
    "2026 (arXiv 2601.09173)."
)
EXPERIMENTS = ("spectral", "canary")
# a distance between shapes of size 1 is divided by this in the paper
AS_IN_PAPER = {PROCRUSTES: 2**0.5, SQUARED: 2.0}


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    claims: Mapping[str, Judge] | None = None,
) -> Result:
    """Run the stability suite in a folder, or continue there, and return its result.

    Parameters
    ----------
    folder : keeps trained models, the layers of disturbed ones, every comparison
        (``comparisons.db``) and the result (``result.json``); without it nothing is kept.
    measures : measures, names, specifications, presets that are put to the test. Default:
        ``MEASURES``, the drifts of the paper and the 24 of ReSi but IMD and RTD, which take seconds
        for one pair.
    size : ``"small"`` (under a minute, for trying out), ``"default"`` (minutes), or ``"paper"``
        (more levels of noise, more and larger models).
    only : names of experiments, "spectral" or "canary"; default: both.
    executor : a ``concurrent.futures`` executor; the result does not depend on it.
    memory : for views of representations at a time, as in :func:`resemblance.compare`; arrays are
        small here.
    progress : called with (stage, done, total); the stages are "training", "disturbing" and
        "comparing".
    claims : by the name of a section, a function that makes claims from its facts: from the
        comparison of "spectral", from the disturbed models of "canary".

    Raises ``ValueError`` for a size, an experiment or a measure that does not exist.

    Reference: Raju 2026, Sections 7.2 and 10. Its other experiments, and verdicts on its
    claims, are in the folder ``papers/shesha`` of the repository.
    """
    if size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(size, SIZES)}")
    parse_bytes(memory)
    chosen = set(EXPERIMENTS if only is None else only)
    for name in sorted(chosen - set(EXPERIMENTS)):
        raise ValueError(f"no experiment {name!r}{did_you_mean(name, EXPERIMENTS)}")
    usual = get_measures(MEASURES)
    tested = usual if measures is None else get_measures(measures)
    with study_folder(folder, Purpose("stability", size)) as (place, _):
        show = progress or (lambda stage, done, total: None)
        content = Content(
            size,
            harmonic(SEED) if "spectral" in chosen else None,
            prepare(place, size, executor, show) if "canary" in chosen else None,
            absent=absent(plan_of(size).domains),
        )
        options = {"executor": executor, "memory": memory, "progress": progress}
        result, facts = _result(place, content, tested, usual, **options)
        result = with_claims(result, claims, facts)
        _publish(place, result)
    return result


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through both experiments on the arrays of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    with study_folder(folder, Purpose("stability", models=pinned.identity)) as (place, _):
        result, _ = _result(place, _content_of(pinned), measures, measures, **options)
        result = pinned.named(result)
        _publish(place, result)
    return result


def _publish(place: Path, result: Result) -> None:
    result.save(place / "result.json")
    log(place, f"stability: {len(result.sections)} sections, {len(result.claims)} claims")


# ----------------------------------------------------------------------------------- what is tested


class Content(NamedTuple):
    """What measures are put to: the representation whose components are deleted, and disturbed
    models; None for an experiment that is not run.

    ``reliabilities``: by the name of a cell, where a pack says it. ``absent``: why models are not
    there.
    """

    size: str
    points: np.ndarray | None
    seen: Sequence[Observation] | None
    reliabilities: Mapping[str, float] = {}
    absent: Mapping[str, str] = {}


def _content_of(pinned: Pinned) -> Content:
    points = np.load(pinned.folder / WHOLE, allow_pickle=False).astype(np.float64)
    facts, seen = pinned.facts, list(read_pack(pinned.folder))
    return Content(facts["size"], points, seen, facts.get(RELIABILITY, {}))


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the layers of disturbed models, and the representation whose components are deleted,
    into a pack; return what the pack must remember.

    How far losses of accuracy repeat on other inputs is that of the study, with all its inputs.
    """
    size = purpose(study).size
    seen = list(stored(study, size))
    write_pack(pack, seen, reduction)
    np.save(pack / WHOLE, harmonic(SEED).astype(np.float32))
    cases = cases_of_copies(seen, list(map(part_of, seen)))
    reliabilities = {cell_name(c.cell): c.reliability for c in cases}
    return remembered(size, plain_models(size), reliabilities)


def cases_of(pinned: Pinned) -> list[Case]:
    """Return what the measures are ranked by: the deletion, and the disturbances of which some lose
    accuracy."""
    content = _content_of(pinned)
    cases = (*_deletions(content), *_copies(content))
    return [case for case in cases if is_reliable(case.reliability)]


def _deletions(content: Content) -> list[Case]:
    return [] if content.points is None else [case_of(content.points, content.size)]


def _copies(content: Content, parts: Sequence[Part] = ()) -> list[Case]:
    seen = content.seen or ()
    return cases_of_copies(seen, parts or list(map(part_of, seen)), content.reliabilities)


def _result(
    place: Path,
    content: Content,
    measures: Sequence[Measure],
    usual: Sequence[Measure],
    **options: Any,
) -> tuple[Result, dict[str, Any]]:
    """Compare all that measures are put to in one run, and return the result, and by section the
    facts that claims are judged by.

    ``options``: executor, memory and progress.
    """
    seen, drifts = content.seen or (), tuple(m for m in measures if m.spec in DRIFTS)
    parts = list(map(part_of, seen))
    units = [_with_unit_rows(part) for part in parts] if drifts else []
    deletions, copies = _deletions(content), _copies(content, parts)
    whole = [Case("canary", (part.name,), TRACKING, (part,)) for part in parts]
    on_units = [Case("drifts", (u.name,), TRACKING, (u,), measures=drifts) for u in units]
    wanted, file = [*deletions, *whole, *on_units, *copies], place / "comparisons.db"
    compared = compare_cases(wanted, measures, save=file, **options)
    scored = [*deletions, *copies]
    scores = [row for case in scored for row in scores_of(case, compared)]
    infos = [info_of(m) for m in measures]
    overview = overview_of(
        "stability",
        scores,
        infos,
        {c: of for c, of in scored_cells(scored, scores).items() if {*of[0].values()} - {None}},
        usual,
        is_trial=is_trial("stability", content.size),
    )
    labels = labels_of(infos)
    overview = overview._replace(names={spec: labels[spec] for spec in overview.names})
    sections, facts = list[Section](), dict[str, Any]()
    for (part,) in (case.parts for case in deletions):
        facts["spectral"] = compared[part.key]
        of_case = [row for row in scores if row.test == "spectral"]
        sections.append(deletion_section(compared[part.key], part.expected, of_case, overview))
    if content.seen is not None:
        facts["canary"] = _disturbed_models(seen, parts, units, compared)
        sections.append(canary_section(facts["canary"], content.absent, overview))
    for i, section in enumerate(sections):
        cells = {c: of for c, of in overview.cells.items() if c[0] == section.name}
        sections[i] = with_scores(section, cells)
    timed = [*deletions, *whole]
    sections.append(times_section(overview, seconds_of(timed, compared, lambda case: case.test)))
    if failed := failures_of(timed, compared, lambda case: (case.test, case.cell[0])):
        sections.append(failures_section(overview.names, failed))
    result = Result(
        "stability",
        content.size,
        tuple(sections),
        overview.names,
        provenance=environment(),
        facts=_facts_of(content),
        remarks=tuple(_remarks(copies)),
        title=TITLE,
        about=INTRODUCTION,
    )
    return result, facts


def _with_unit_rows(part: Part) -> Part:
    """Return a comparison on rows of length 1, as the drifts of the paper are."""
    sides = (part.rows, part.columns or {})
    first, others = (
        {name: Representation(scaled_rows(rows(x)), name) for name, x in of.items()} for of in sides
    )
    return part._replace(rows=first, columns=others)


def _disturbed_models(
    seen: Sequence[Observation], parts: Sequence[Part], units: Sequence[Part], compared: Compared
) -> list[DisturbedModel]:
    """Return what measures report of every model, in the order of the models."""
    models = dict[str, DisturbedModel]()
    for i, (of, part) in enumerate(zip(seen, parts)):
        comparison, name = compared[part.key], of.part["model"]
        differences = _differences(comparison)
        drifts = _differences(compared[units[i].key]) if units else {}
        copies = [
            DisturbedCopy(
                of.part["kind"],
                of.part["draw"],
                change.name,
                change.level,
                round(of.accuracy - change.accuracy, 12),
                loss_p_value(change.lost, change.gained),
                {spec: known(values[j]) for spec, values in differences.items()},
                {spec: known(v[j] / AS_IN_PAPER.get(spec, 1.0)) for spec, v in drifts.items()},
            )
            for j, change in enumerate(of.changes, 1)
        ]
        unchanged = {spec: known(values[0]) for spec, values in differences.items()}
        model = models.setdefault(name, DisturbedModel(name, of.accuracy, (), unchanged))
        models[name] = model._replace(points=(*model.points, *copies))
    return list(models.values())


def _differences(comparison: Comparison) -> dict[str, np.ndarray]:
    return {m.spec: trimmed(comparison.difference(m.spec)[0]) for m in comparison.measures}


def _facts_of(content: Content) -> dict[str, str]:
    """Return the data sets, models and seeds of disturbed models."""
    names = dict.fromkeys(of.part["model"] for of in content.seen or ())
    if not names:
        return {"models": "none are trained"}
    _, datasets, architectures, *_, seeds = (
        dict.fromkeys(of) for of in zip(*(n.split("/") for n in names))
    )
    return {
        "data sets": ", ".join(datasets),
        "models": f"{len(names)}: {', '.join(architectures)}",
        "seeds": str(len(seeds)),
    }


def _remarks(copies: Sequence[Case]) -> Iterator[str]:
    """Yield in which cells measures are not ranked since what is expected is noise, and in which
    it is not known whether it is."""
    if noise := noise_remark({"/".join(c.cell): c.reliability for c in copies}):
        yield noise
    if any(case.reliability is None for case in copies):
        yield (
            "How far losses of accuracy repeat on other inputs is not known: the answers of the "
            "disturbed models are not kept."
        )
