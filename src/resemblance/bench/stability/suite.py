"""The stability suite: do measures detect deletions, and warn before accuracy is lost?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.text import check_choice, did_you_mean
from resemblance.catalogue import get_measures, preset
from resemblance.comparison.comparison import Comparison, measure_info
from resemblance.comparison.provenance import environment_versions
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.engine.memory import parse_bytes
from resemblance.intermediates.points import unit_rows_of_array
from resemblance.sections.headlines import is_trial
from resemblance.sections.result import Result
from resemblance.sections.sections import Section
from resemblance.sections.values import finite_or_none
from resemblance.statistics.rdm import double_precision_rows

from ..case import Case, Part, task_name
from ..page import failures_section, noise_remark, times_section
from ..pinned import FrozenFeatures, Reduction, pack_facts
from ..ranks import add_scores, summarize_scores, tasks_with_rank_rules
from ..reliability import RELIABILITY, is_reliable
from ..scoring import (
    ComparisonsByPart,
    compare_cases,
    failed_comparisons,
    mean_comparison_seconds,
    scores_in_case,
)
from ..study import (
    ClaimJudge,
    Purpose,
    StageProgress,
    add_claims,
    append_to_log,
    purpose,
    study_folder,
)
from .alarms import (
    DRIFT_MEASURES,
    ROOT_PROCRUSTES,
    SQUARED_PROCRUSTES,
    PerturbedCopy,
    PerturbedModel,
    loss_pvalue,
    round_to_ten_digits,
)
from .models import STABILITY_PLANS, plain_models, stability_recipes, untrainable_domains
from .page import canary_section, deletion_section, stability_labels
from .spectral import HARMONIC_FILE, HARMONIC_SEED, deletion_case, harmonic_representation
from .weights import (
    TRACKING_RULE,
    PerturbationOutcome,
    cases_of_copies,
    outcome_as_part,
    prepare,
    read_copies_from_pack,
    stored_outcomes,
    write_copies_to_pack,
)

SIZES = tuple(STABILITY_PLANS)
SLOW_STABILITY_MEASURES = ("imd", "rtd")  # these measures need seconds for a pair
MEASURES: tuple[str | Measure, ...] = (
    "cka[estimator=debiased]",
    "cka",
    *DRIFT_MEASURES,
    "rsa",
    "svcca",
    "distance_correlation",
    "cknna",
    "mutual_knn",
    "jaccard",
    "mka",
    "shape_distance",
    "aligned_cosine",
    *(m for m in preset("default") if m.name not in SLOW_STABILITY_MEASURES),
)
STABILITY_TITLE = "The stability suite"
STABILITY_INTRODUCTION = (
    "Leading components are deleted from a representation one after the other, and the weights "
    "of trained networks are disturbed more and more. A measure should follow both, after Raju "
    "2026 (arXiv 2601.09173)."
)
EXPERIMENTS = ("spectral", "canary")
# The paper divides distances between shapes of size 1 by these numbers.
PAPER_DIVISORS = {ROOT_PROCRUSTES: 2**0.5, SQUARED_PROCRUSTES: 2.0}


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    claims: Mapping[str, ClaimJudge] | None = None,
) -> Result:
    """Run the stability suite in a folder, or continue there, and return its result.

    Parameters
    ----------
    folder : keeps trained models, the layers of perturbed models, every comparison
        (``comparisons.db``) and the result (``result.json``); without a folder nothing is kept.
    measures : measures, names, specifications, presets to test. Default: ``MEASURES``, the drifts
        of the paper and the 24 of ReSi except IMD and RTD, which need seconds for a pair.
    size : ``"small"`` (under a minute, for trying out), ``"default"`` (minutes), or ``"paper"``
        (more levels of noise, more and larger models).
    only : names of experiments, "spectral" or "canary"; default: both.
    executor : a ``concurrent.futures`` executor; the result does not depend on the executor.
    memory : for intermediates of representations at a time, as in :func:`resemblance.compare`;
        arrays are small here.
    progress : called with (stage, done, total); the stages are "training", "disturbing" and
        "comparing".
    claims : by the name of a section, a function that makes claims from its facts. The facts of
        "spectral" are a comparison, the facts of "canary" the perturbed models.

    Raises ``ValueError`` for an unknown size, experiment or measure.

    Reference: Raju 2026, Sections 7.2 and 10. Its other experiments, and verdicts on its
    claims, are in the folder ``papers/shesha`` of the repository.
    """
    check_choice("size", size, SIZES)
    parse_bytes(memory)
    experiments = set(EXPERIMENTS if only is None else only)
    for name in sorted(experiments - set(EXPERIMENTS)):
        raise ValueError(f"no experiment {name!r}{did_you_mean(name, EXPERIMENTS)}")
    default_measures = get_measures(MEASURES)
    selection = default_measures if measures is None else get_measures(measures)
    with study_folder(folder, Purpose("stability", size)) as (place, _):
        show = progress or (lambda stage, done, total: None)
        content = StabilityInputs(
            size,
            harmonic_representation(HARMONIC_SEED) if "spectral" in experiments else None,
            prepare(place, size, executor, show) if "canary" in experiments else None,
            absent=untrainable_domains(stability_recipes(size).domains),
        )
        options = {"executor": executor, "memory": memory, "progress": progress}
        result, facts = _compare_inputs(place, content, selection, default_measures, **options)
        result = add_claims(result, claims, facts)
        _save_stability_result(place, result)
    return result


def run_pinned(
    pinned: FrozenFeatures, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through both experiments on the arrays of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    with study_folder(folder, Purpose("stability", models=pinned.identity)) as (place, _):
        result, _ = _compare_inputs(place, _inputs_from_pack(pinned), measures, measures, **options)
        result = pinned.named(result)
        _save_stability_result(place, result)
    return result


def _save_stability_result(place: Path, result: Result) -> None:
    result.save(place / "result.json")
    append_to_log(place, f"stability: {len(result.sections)} sections, {len(result.claims)} claims")


# ----------------------------------------------------------------------------------- what is tested


class StabilityInputs(NamedTuple):
    """The inputs of the experiments: the representation for deletions, and perturbed models; None
    for an experiment outside the run.

    ``reliabilities``: by task name, if stored in a pack. ``absent``: why models are missing.
    """

    size: str
    points: np.ndarray | None
    seen: Sequence[PerturbationOutcome] | None
    reliabilities: Mapping[str, float] = {}
    absent: Mapping[str, str] = {}


def _inputs_from_pack(pinned: FrozenFeatures) -> StabilityInputs:
    points = np.load(pinned.folder / HARMONIC_FILE, allow_pickle=False).astype(np.float64)
    facts, outcomes = pinned.facts, list(read_copies_from_pack(pinned.folder))
    return StabilityInputs(facts["size"], points, outcomes, facts.get(RELIABILITY, {}))


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the layers of perturbed models, and the representation for deletions, into a pack;
    return the facts that the pack stores.

    The reliabilities of the losses are the reliabilities of the study with all its inputs.
    """
    size = purpose(study).size
    outcomes = list(stored_outcomes(study, size))
    write_copies_to_pack(pack, outcomes, reduction)
    np.save(pack / HARMONIC_FILE, harmonic_representation(HARMONIC_SEED).astype(np.float32))
    cases = cases_of_copies(outcomes, list(map(outcome_as_part, outcomes)))
    reliabilities = {task_name(c.cell): c.reliability for c in cases}
    return pack_facts(size, plain_models(size), reliabilities)


def cases_of(pinned: FrozenFeatures) -> list[Case]:
    """Return the tasks that rank measures: the deletion, and the perturbations with some loss of
    accuracy."""
    content = _inputs_from_pack(pinned)
    cases = (*_deletion_cases(content), *_copy_cases(content))
    return [case for case in cases if is_reliable(case.reliability)]


def _deletion_cases(content: StabilityInputs) -> list[Case]:
    return [] if content.points is None else [deletion_case(content.points, content.size)]


def _copy_cases(content: StabilityInputs, parts: Sequence[Part] = ()) -> list[Case]:
    outcomes = content.seen or ()
    return cases_of_copies(
        outcomes, parts or list(map(outcome_as_part, outcomes)), content.reliabilities
    )


def _compare_inputs(
    place: Path,
    content: StabilityInputs,
    measures: Sequence[Measure],
    default_measures: Sequence[Measure],
    **options: Any,
) -> tuple[Result, dict[str, Any]]:
    """Run all comparisons of the suite at once; return the result, and by section the facts for
    judging claims.

    ``options``: executor, memory and progress.
    """
    outcomes, drifts = content.seen or (), tuple(m for m in measures if m.spec in DRIFT_MEASURES)
    parts = list(map(outcome_as_part, outcomes))
    units = [_scale_rows_to_unit_norm(part) for part in parts] if drifts else []
    deletions, copies = _deletion_cases(content), _copy_cases(content, parts)
    model_cases = [Case("canary", (part.name,), TRACKING_RULE, (part,)) for part in parts]
    unit_cases = [Case("drifts", (u.name,), TRACKING_RULE, (u,), measures=drifts) for u in units]
    all_cases, file = [*deletions, *model_cases, *unit_cases, *copies], place / "comparisons.db"
    comparisons = compare_cases(all_cases, measures, save=file, **options)
    ranked_cases = [*deletions, *copies]
    scores = [row for case in ranked_cases for row in scores_in_case(case, comparisons)]
    infos = [measure_info(m) for m in measures]
    overview = summarize_scores(
        "stability",
        scores,
        infos,
        {
            c: entry
            for c, entry in tasks_with_rank_rules(ranked_cases, scores).items()
            if {*entry[0].values()} - {None}
        },
        default_measures,
        is_trial=is_trial("stability", content.size),
    )
    labels = stability_labels(infos)
    overview = overview._replace(names={spec: labels[spec] for spec in overview.names})
    sections, facts = list[Section](), dict[str, Any]()
    for (part,) in (case.parts for case in deletions):
        facts["spectral"] = comparisons[part.key]
        case_scores = [row for row in scores if row.test == "spectral"]
        sections.append(
            deletion_section(comparisons[part.key], part.expected, case_scores, overview)
        )
    if content.seen is not None:
        facts["canary"] = _disturbed_models(outcomes, parts, units, comparisons)
        sections.append(canary_section(facts["canary"], content.absent, overview))
    for i, section in enumerate(sections):
        cells = {c: entry for c, entry in overview.cells.items() if c[0] == section.name}
        sections[i] = add_scores(section, cells)
    timed_cases = [*deletions, *model_cases]
    sections.append(
        times_section(
            overview, mean_comparison_seconds(timed_cases, comparisons, lambda case: case.test)
        )
    )
    if failures := failed_comparisons(
        timed_cases, comparisons, lambda case: (case.test, case.cell[0])
    ):
        sections.append(failures_section(overview.names, failures))
    result = Result(
        "stability",
        content.size,
        tuple(sections),
        overview.names,
        provenance=environment_versions(),
        facts=_stability_facts(content),
        caveats=tuple(_noise_remarks(copies)),
        title=STABILITY_TITLE,
        about=STABILITY_INTRODUCTION,
    )
    return result, facts


def _scale_rows_to_unit_norm(part: Part) -> Part:
    """Return a part with rows scaled to length 1, as for the drifts of the paper."""
    sides = (part.rows, part.columns or {})
    rows, columns = (
        {
            name: Representation(unit_rows_of_array(double_precision_rows(x)), name)
            for name, x in side.items()
        }
        for side in sides
    )
    return part._replace(rows=rows, columns=columns)


def _disturbed_models(
    outcomes: Sequence[PerturbationOutcome],
    parts: Sequence[Part],
    units: Sequence[Part],
    comparisons: ComparisonsByPart,
) -> list[PerturbedModel]:
    """Return the perturbed models with the differences and drifts of every measure, in the order of
    the models."""
    models = dict[str, PerturbedModel]()
    for i, (outcome, part) in enumerate(zip(outcomes, parts)):
        comparison, name = comparisons[part.key], outcome.part["model"]
        differences = _trimmed_differences(comparison)
        drifts = _trimmed_differences(comparisons[units[i].key]) if units else {}
        copies = [
            PerturbedCopy(
                outcome.part["kind"],
                outcome.part["draw"],
                change.name,
                change.level,
                round(outcome.accuracy - change.accuracy, 12),
                loss_pvalue(change.lost, change.gained),
                {spec: finite_or_none(values[j]) for spec, values in differences.items()},
                {
                    spec: finite_or_none(v[j] / PAPER_DIVISORS.get(spec, 1.0))
                    for spec, v in drifts.items()
                },
            )
            for j, change in enumerate(outcome.changes, 1)
        ]
        baseline = {spec: finite_or_none(values[0]) for spec, values in differences.items()}
        model = models.setdefault(name, PerturbedModel(name, outcome.accuracy, (), baseline))
        models[name] = model._replace(points=(*model.points, *copies))
    return list(models.values())


def _trimmed_differences(comparison: Comparison) -> dict[str, np.ndarray]:
    return {
        m.spec: round_to_ten_digits(comparison.dissimilarity(m.spec)[0])
        for m in comparison.measures
    }


def _stability_facts(content: StabilityInputs) -> dict[str, str]:
    """Return the data sets, models and seeds of perturbed models."""
    names = dict.fromkeys(item.part["model"] for item in content.seen or ())
    if not names:
        return {"models": "none are trained"}
    _, datasets, architectures, *_, seeds = (
        dict.fromkeys(item) for item in zip(*(n.split("/") for n in names))
    )
    return {
        "data sets": ", ".join(datasets),
        "models": f"{len(names)}: {', '.join(architectures)}",
        "seeds": str(len(seeds)),
    }


def _noise_remarks(copies: Sequence[Case]) -> Iterator[str]:
    """Yield remarks on tasks without a ranking, because the expected losses are mostly noise, and
    on tasks with unknown reliability."""
    if noise := noise_remark({"/".join(c.cell): c.reliability for c in copies}):
        yield noise
    if any(case.reliability is None for case in copies):
        yield (
            "How far losses of accuracy repeat on other inputs is not known: the answers of the "
            "disturbed models are not kept."
        )
