"""The stability suite: do measures detect deletions, and warn before accuracy is lost?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.catalogue import preset
from resemblance.comparison.comparison import Comparison, measure_info
from resemblance.comparison.provenance import environment_versions
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.intermediates.points import unit_rows_of_array
from resemblance.sections.result import Result
from resemblance.sections.sections import Section
from resemblance.sections.values import finite_or_none
from resemblance.statistics.rdm import double_precision_rows

from ..case import Case, Part, task_name
from ..page import frame_sections, groups_by_test, noise_remark
from ..pinned import FrozenFeatures, Reduction, pack_facts
from ..ranks import add_scores
from ..reliability import RELIABILITY
from ..scoring import ComparisonsByPart, failed_comparisons, mean_comparison_seconds
from ..study import purpose
from ..suite import Outcome, Suite, SuiteRun, score_tasks
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
from .page import canary_section, deletion_section, stability_labels, stability_score_columns
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
    "Leading components are deleted from a representation one after the other, and the weights of "
    "trained networks are perturbed more and more. A measure should follow both, after Raju 2026 "
    "(arXiv 2601.09173)."
)
EXPERIMENTS = ("spectral", "canary")
# The paper divides distances between shapes of size 1 by these numbers.
PAPER_DIVISORS = {ROOT_PROCRUSTES: 2**0.5, SQUARED_PROCRUSTES: 2.0}


# ----------------------------------------------------------------------------------- what is tested


class StabilityInputs(NamedTuple):
    """The inputs of the experiments: the representation for deletions (``points``), and perturbed
    models (``seen``); None for an experiment outside the run.

    ``reliabilities``: by task name, if stored in a pack. ``absent``: why models are missing.
    """

    size: str
    points: np.ndarray | None
    seen: Sequence[PerturbationOutcome] | None
    reliabilities: Mapping[str, float] = {}
    absent: Mapping[str, str] = {}


def prepare_stability_inputs(run: SuiteRun) -> StabilityInputs:
    """Train and perturb the models of a run, and return the inputs of the chosen experiments."""
    return StabilityInputs(
        run.size,
        harmonic_representation(HARMONIC_SEED) if "spectral" in run.only else None,
        prepare(run.folder, run.size, run.executor, run.show) if "canary" in run.only else None,
        absent=untrainable_domains(stability_recipes(run.size).domains),
    )


def stability_inputs_from_pack(pinned: FrozenFeatures) -> StabilityInputs:
    points = np.load(pinned.folder / HARMONIC_FILE, allow_pickle=False).astype(np.float64)
    facts, outcomes = pinned.facts, list(read_copies_from_pack(pinned.folder))
    return StabilityInputs(facts["size"], points, outcomes, facts.get(RELIABILITY, {}))


def write_stability_inputs(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the layers of perturbed models, and the representation for deletions, into a pack;
    return the facts that the pack stores.

    ``study``: the folder of the study. ``pack``: the folder with the content of the pack. The
    reliabilities of the losses are the reliabilities of the study with all its inputs.
    """
    size = purpose(study).size
    outcomes = list(stored_outcomes(study, size))
    write_copies_to_pack(pack, outcomes, reduction)
    np.save(pack / HARMONIC_FILE, harmonic_representation(HARMONIC_SEED).astype(np.float32))
    cases = cases_of_copies(outcomes, list(map(outcome_as_part, outcomes)))
    reliabilities = {task_name(c.cell): c.reliability for c in cases}
    return pack_facts(size, plain_models(size), reliabilities)


def stability_tasks(content: StabilityInputs) -> list[Case]:
    """Return the tasks that rank measures: the deletion, and the perturbations with some loss of
    accuracy."""
    return [*_deletion_cases(content), *_copy_cases(content)]


def _deletion_cases(content: StabilityInputs) -> list[Case]:
    return [] if content.points is None else [deletion_case(content.points, content.size)]


def _copy_cases(content: StabilityInputs, parts: Sequence[Part] = ()) -> list[Case]:
    outcomes = content.seen or ()
    return cases_of_copies(
        outcomes, parts or list(map(outcome_as_part, outcomes)), content.reliabilities
    )


def evaluate_stability_inputs(run: SuiteRun, content: StabilityInputs) -> Outcome:
    """Run all comparisons of the suite at once; return the result, and by section the facts for
    judging claims: a comparison for "spectral", the perturbed models for "canary". ``content``: the
    inputs of the experiments."""
    outcomes = content.seen or ()
    drifts = tuple(m for m in run.measures if m.spec in DRIFT_MEASURES)
    parts = list(map(outcome_as_part, outcomes))
    units = [_scale_rows_to_unit_norm(part) for part in parts] if drifts else []
    deletions, copies = _deletion_cases(content), _copy_cases(content, parts)
    model_cases = [Case("canary", (part.name,), TRACKING_RULE, (part,)) for part in parts]
    unit_cases = [Case("drifts", (u.name,), TRACKING_RULE, (u,), measures=drifts) for u in units]
    labels = stability_labels(map(measure_info, run.measures))
    scored = score_tasks(run, [*deletions, *copies], [*model_cases, *unit_cases], labels)
    comparisons, scores = scored.comparisons, scored.scores
    valued = {c: e for c, e in scored.overview.cells.items() if {*e[0].values()} - {None}}
    overview = scored.overview._replace(cells=valued)
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
    page = frame_sections(
        overview,
        sections,
        stability_score_columns(scores),
        mean_comparison_seconds(timed_cases, comparisons, lambda case: case.test),
        failed_comparisons(timed_cases, comparisons, lambda case: (case.test, case.cell[0])),
        groups=groups_by_test(scored.cases),
        kind="experiment",
    )
    result = Result(
        "stability",
        content.size,
        page,
        overview.names,
        provenance=environment_versions(),
        facts=_stability_facts(content),
        caveats=tuple(_noise_remarks(copies)),
        title=STABILITY_TITLE,
        about=STABILITY_INTRODUCTION,
    )
    return Outcome(result, facts)


def _scale_rows_to_unit_norm(part: Part) -> Part:
    """Return a copy of the part with the rows of every representation scaled to length 1, as for
    the drifts of the paper."""
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
    the models.

    ``parts``: the comparison of every outcome. ``units``: the same with rows of length 1; []
    without drift measures.
    """
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
    """Return the data sets, models and number of seeds of perturbed models as texts, by their
    description."""
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
            "The reliability of the losses of accuracy on other inputs is unknown: the answers of "
            "the perturbed models are not saved."
        )


SUITE = Suite(
    "stability",
    STABILITY_TITLE,
    prepare_stability_inputs,
    stability_tasks,
    sizes=SIZES,
    measures=MEASURES,
    experiments=EXPERIMENTS,
    evaluate=evaluate_stability_inputs,
    write_pack=write_stability_inputs,
    read_pack=stability_inputs_from_pack,
)
