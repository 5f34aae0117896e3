"""The sensitivity suite (Ding et al. 2021): do measures respond to changes that affect function,
and to nothing else?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.comparison.provenance import environment_versions
from resemblance.contracts._measure import Measure
from resemblance.data.model_features import ModelFeatures
from resemblance.engine.workers import WorkerCall, run_calls
from resemblance.models.model_folder import list_unread_folders, read_models
from resemblance.models.recipe import Recipe, add_default_traits
from resemblance.sections.headlines import USER_MODELS_NOTE, warn_few_models
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

from ..case import Case
from ..page import frame_sections, groups_by_test
from ..pinned import PACK_MODELS_FOLDER, FrozenFeatures, Reduction, copy_model_to_pack, pack_facts
from ..ranks import add_scores
from ..reliability import LEAST_RELIABILITY, RELIABILITY, is_reliable
from ..scoring import (
    MOST_OFTEN_PREFIX,
    ComparisonsByPart,
    failed_comparisons,
    mean_comparison_seconds,
)
from ..study import append_to_log, purpose
from ..study_models import ModelFamily, is_written, study_models, train_plan
from ..suite import Outcome, ScoredTasks, Suite, SuiteRun, score_tasks
from ..training import DOMAINS, check_domains
from .cases import (
    BENCHMARKS,
    Benchmark,
    FamilySets,
    add_probe_answers,
    all_references_part,
    cases_of_family,
    probe_accuracies,
    reliability_key,
    rounded_differences,
    sets_by_family,
)
from .findings import PAPER_MEASURES, Findings, ding_label, findings_in_family
from .models import (
    SIZES,
    SensitivitySize,
    drop_settings_with_nan,
    models_by_family,
    sensitivity_recipes,
)
from .page import benchmark_section, sensitivity_score_columns, summary_section

__all__ = ["BENCHMARKS", "MEASURES", "SIZES", "SUITE", "configure_sensitivity"]

EQUAL_ACCURACIES_REASON = (
    "all models have {:.3f} there, so that no distance can follow it: left out for all measures"
)
EQUAL_DISTANCES_REASON = (
    "all distances are equal up to rounding, so nothing can be ranked: after centring and scaling, "
    "a measure of size or position is constant"
)
SLOW_MEASURE_REASON = "left out: too slow for this number of samples"
ALL_SLOW_REASON = "all measures of this run are too slow for this number of samples"
NO_MODELS_TEXT = "none that fit"
MEASURES: tuple[str, ...] = ("default", *PAPER_MEASURES.values(), "cka[estimator=debiased]", "mka")
SENSITIVITY_TITLE = "Sensitivity and specificity"
SENSITIVITY_INTRODUCTION = (
    "Do similarity measures respond to changes in function, and to nothing else? Four benchmarks "
    "after Ding, Denain and Steinhardt (2021): random starts and layers, deleted principal "
    "components, seeds of fine-tuning, seeds of pretraining. In each, distances from the best "
    "representation should be in the order of the differences in function. Naive p-values assume "
    "that pairs are independent; permuted ones and intervals allow for the seeds that models have "
    "in common."
)


class SensitivityOptions(NamedTuple):
    """The options of the sensitivity suite: the domains of the models to train, or the folder of a
    user's models (``source``) and the models in the folder."""

    domains: tuple[str, ...] = tuple(DOMAINS)
    source: str | None = None
    model_features: Sequence[ModelFeatures] = ()


class SensitivityInputs(NamedTuple):
    """The models of a run, the recipes of trained models (``plan``), and known reliabilities by
    task."""

    model_features: Sequence[ModelFeatures]
    size: SensitivitySize
    plan: Sequence[Recipe] = ()
    reliabilities: Mapping[str, float] = {}


def configure_sensitivity(
    run: SuiteRun,
    folder: Path | None,
    *,
    domains: Sequence[str] = tuple(DOMAINS),
    models: str | Path | None = None,
) -> SuiteRun:
    """Return a run with the options of the sensitivity suite.

    Parameters
    ----------
    run : the run without options of this suite.
    folder : the folder of the study; None for a run that stores nothing.
    domains : of the models that are trained: "graphs", "language", "vision".
    models : a folder of your own models instead (see :func:`resemblance.read_models`). A model
        takes part in all benchmarks for which it has the data, and the result gives the reason for
        every other benchmark. "normal" models with ``labels.npy`` take part in the first two
        benchmarks, "finetuned" models with ``accuracies`` on other inputs in the last two.

    Raises ``ValueError`` for an unknown domain or an empty list, and for a folder without models.
    """
    if isinstance(domains, str) or not list(domains):
        raise ValueError(
            f"sensitivity: domains must be a list of some of {', '.join(DOMAINS)}; got {domains!r}"
        )
    if models is None:
        check_domains(domains)
        return run._replace(options=SensitivityOptions(tuple(domains)))
    source = str(Path(models).resolve())
    model_features = [*map(add_default_traits, read_models(source))]
    options = SensitivityOptions((), source, model_features)
    return run._replace(options=options, purpose=run.purpose._replace(models=source))


def prepare_sensitivity_models(run: SuiteRun) -> SensitivityInputs:
    """Train the missing models of a run, or take the user's models; and add the answers of
    probes."""
    benchmarks, effort = _chosen_benchmarks(run), SIZES[run.size]
    plan, model_features = list[Recipe](), run.options.model_features
    if run.options.source is None:
        settings = {benchmark.setting for benchmark in benchmarks}
        recipes = sensitivity_recipes(run.size, run.options.domains)
        plan = [recipe for recipe in recipes if recipe.setting in settings]
        train_plan(run.folder, plan, run.executor, run.show)
        model_features = study_models(run.folder, plan)
    probed = _models_with_probes(model_features, benchmarks, effort, run)
    return SensitivityInputs(probed, effort, plan)


def sensitivity_models_from_pack(pinned: FrozenFeatures) -> SensitivityInputs:
    """Return the models of a pack; a pack has few samples, so slow measures take part too."""
    effort, folder = SIZES[pinned.facts["size"]], pinned.folder / PACK_MODELS_FOLDER
    return SensitivityInputs(
        [*map(add_default_traits, read_models(folder))],
        effort._replace(slow=effort.samples),
        reliabilities=pinned.facts.get(RELIABILITY, {}),
    )


def evaluate_sensitivity_models(run: SuiteRun, inputs: SensitivityInputs) -> Outcome:
    """Compare the models of all benchmarks, and resample the correlations.

    A task with unreliable expected differences is shown and not ranked. The reliability comes from
    halves of the test inputs; it is unknown for models without stored answers. The facts of a
    benchmark for claims are a tuple of :class:`~.findings.Findings`; the facts of "summary" are all
    findings by benchmark.

    Differences from the paper: features are centred, not samples, as in the authors' code. The
    reference of benchmark 2 is an undeleted representation, as in the code. Models, data and
    functionalities are small and available in every installation.

    Reference: Ding, Denain and Steinhardt 2021.
    """
    effort = inputs.size
    if not run.with_intervals:
        effort = effort._replace(n_resamples=1, permutations=1)
    sets = {b: sets_by_family(b, inputs.model_features, effort) for b in _chosen_benchmarks(run)}
    pairs = [(b.name, family_sets) for b, families in sets.items() for family_sets in families]
    cases = [
        case for pair in pairs for case in cases_of_family(*pair, effort, inputs.reliabilities)
    ]
    names = {m.spec: ding_label(m.spec, {m.spec: m.label}) for m in run.measures}
    scored = score_tasks(run, cases, names=names)
    findings = _findings_by_benchmark(pairs, scored, effort, run)
    origin = dict[str, object]()
    if run.pack:
        source: str | None = str(run.pack.folder / PACK_MODELS_FOLDER)
    else:
        source = run.options.source
        origin = {"models": source} if source else {"domains": list(run.options.domains)}
    result = Result(
        "sensitivity",
        run.size,
        _sensitivity_sections(sets, findings, scored, run),
        names,
        {b.name: _benchmark_seconds(cases, scored.comparisons, b.name) for b in sets},
        environment_versions() | origin,
        _sensitivity_facts(inputs.plan, pairs, run.pack),
        caveats=tuple(_sensitivity_remarks(inputs.model_features, source, cases, run.pack)),
        title=SENSITIVITY_TITLE,
        about=SENSITIVITY_INTRODUCTION,
    )
    return Outcome(result, findings | {"summary": findings})


def _chosen_benchmarks(run: SuiteRun) -> list[Benchmark]:
    return [benchmark for benchmark in BENCHMARKS if benchmark.name in run.only]


def _models_with_probes(
    model_features: Sequence[ModelFeatures],
    benchmarks: Iterable[Benchmark],
    size: SensitivitySize,
    run: SuiteRun,
) -> list[ModelFeatures]:
    """Return all models in the same order, with the answers of probes for the models of benchmarks
    1 and 2, computed on the executor of the run."""
    probed_models = dict[int, ModelFeatures]()
    for benchmark in (b for b in benchmarks if b.setting == "normal"):
        for members in models_by_family(model_features).values():
            selection = benchmark.choose(drop_settings_with_nan(members, benchmark.setting)[0])
            probed_models |= {} if isinstance(selection, str) else {id(s): s for s in selection}
    calls = [
        WorkerCall(f"probes of {s.name}", add_probe_answers, (s, size, run.folder / "probes"))
        for s in probed_models.values()
    ]
    run.show("probes", 0, len(calls))
    log = partial(append_to_log, run.folder)
    for position, (call, future) in enumerate(run_calls(calls, run.executor, log)):
        probed_models[id(call.arguments[0])] = future.result()
        run.show("probes", position + 1, len(calls))
    return [probed_models.get(id(s), s) for s in model_features]


def _findings_by_benchmark(
    pairs: Sequence[tuple[str, FamilySets]],
    scored: ScoredTasks,
    size: SensitivitySize,
    run: SuiteRun,
) -> dict[str, tuple[Findings, ...]]:
    """Return the findings by benchmark, a tuple with an entry per family, in the order of
    ``pairs``; nothing for a family without comparisons.

    ``pairs``: the name of a benchmark, and the sets of a family.
    """
    calls, findings = list[WorkerCall](), dict[tuple[str, ModelFamily], Findings]()
    labels, comparisons = {m.spec: m.label for m in run.measures}, scored.comparisons
    failures = failed_comparisons(scored.cases, comparisons, lambda c: (c.test, c.models))
    for benchmark, family_sets in pairs:
        parts = {
            layer: all_references_part(family_sets.sets[layer]) for layer, _ in family_sets.cells
        }
        differences = {
            layer: rounded_differences(comparisons[part.key])
            for layer, part in parts.items()
            if part.key in comparisons
        }
        reasons = {
            f.measure: f"{f.comparisons} comparisons failed{MOST_OFTEN_PREFIX}{f.reason}"
            for f in failures
            if (f.test, f.models) == (benchmark, family_sets.family.title)
        }
        if differences:
            arguments = (family_sets, labels, differences, reasons, size)
            calls.append(WorkerCall(benchmark, findings_in_family, arguments))
    run.show("resampling", 0, len(calls))
    for call, future in run_calls(calls, run.executor, partial(append_to_log, run.folder)):
        family_sets = call.arguments[0]
        findings[call.name, family_sets.family] = future.result()._replace(sets=family_sets)
        run.show("resampling", len(findings), len(calls))
    by_benchmark = defaultdict[str, tuple[Findings, ...]](tuple)
    for benchmark, family_sets in pairs:
        if (benchmark, family_sets.family) in findings:
            by_benchmark[benchmark] += (findings[benchmark, family_sets.family],)
    return dict(by_benchmark)


# ------------------------------------------------------------------------------- studies and packs


def write_sensitivity_models(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return the facts that the pack stores.

    ``study``: the folder of the study. ``pack``: the folder with the content of the pack. The
    accuracies of probes, on all samples, become traits of the models of the first two benchmarks:
    the accuracies are the reference for a measure, not its input. The reliabilities are the
    reliabilities of the study with all its inputs.
    """
    study_purpose = purpose(study)
    if study_purpose.models:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan = _trained_recipes(study, study_purpose.size)
    size = SIZES[study_purpose.size]
    model_features = []
    for recipe in plan:
        features, extra_traits = study_models(study, [recipe])[0], {}
        if recipe.setting == "normal":
            features = add_probe_answers(features, size, study / "probes")
            extra_traits = {"probes": probe_accuracies(features)}
        model_features.append(features)
        copy_model_to_pack(study, recipe, pack, reduction, _layers_of_first_pooling, **extra_traits)
    reliabilities = {
        reliability_key(c): c.reliability for c in _best_order_cases(model_features, size)
    }
    return pack_facts(study_purpose.size, plan, reliabilities)


def _trained_recipes(study: Path, size: str) -> list[Recipe]:
    """Return the recipes of compared models, for the domains that the study in the folder ``study``
    has in full; ``ValueError`` without such a domain."""
    trained_recipes = list[Recipe]()
    for domain in DOMAINS:
        plan = sensitivity_recipes(size, [domain])
        trained_recipes += plan if all(is_written(study, recipe) for recipe in plan) else ()
    if not trained_recipes:
        raise ValueError(f"{study} lacks models of every domain: finish the study first")
    return [recipe for recipe in trained_recipes if recipe.setting != "pretrained"]


def _layers_of_first_pooling(traits: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the layers of the first pooling; further poolings belong to the same models."""
    return dict(list(traits["layers"].items())[:1])


def sensitivity_tasks(inputs: SensitivityInputs) -> list[Case]:
    """Return the tasks that rank measures: the order of distances from the best representation, for
    every benchmark, family and functionality, with both correlations."""
    return _best_order_cases(inputs.model_features, inputs.size, inputs.reliabilities)


def _best_order_cases(
    model_features: Sequence[ModelFeatures], size: SensitivitySize, facts: Mapping[str, float] = {}
) -> list[Case]:
    """Return the tasks of all benchmarks, with the best representations as the only references.
    ``facts``: known reliabilities, by name of the task."""
    return [
        case
        for benchmark in BENCHMARKS
        for family_sets in sets_by_family(benchmark, model_features, size)
        for case in cases_of_family(benchmark.name, family_sets, facts=facts)
    ]


# ----------------------------------------------------------------------------------------- the page


def _sensitivity_sections(
    sets: Mapping[Benchmark, Sequence[FamilySets]],
    findings: Mapping[str, Sequence[Findings]],
    scored: ScoredTasks,
    run: SuiteRun,
) -> tuple[Section, ...]:
    cases, overview, sections = scored.cases, scored.overview, [summary_section(findings)]
    for benchmark, families in sets.items():
        name, reasons = benchmark.name, dict[str, str]()
        benchmark_findings = findings.get(name, ())
        by_family = {item.family: item for item in benchmark_findings}
        for family_sets in families:
            found = by_family.get(family_sets.family)
            reasons |= _exclusion_reasons(family_sets, found, run.measures)
        reasons |= _unranked_tasks(case for case in cases if case.test == name)
        section = benchmark_section(benchmark, benchmark_findings, reasons)
        ranked_cells = {c: entry for c, entry in overview.cells.items() if c[0] == name}
        sections.append(add_scores(section, ranked_cells))
    if not cases:
        return tuple(sections)
    return frame_sections(
        overview,
        sections,
        sensitivity_score_columns(cases),
        mean_comparison_seconds(cases, scored.comparisons, lambda case: case.cell[0]),
        failed_comparisons(cases, scored.comparisons, lambda case: (case.test, case.models)),
        groups=groups_by_test(cases),
        kind="benchmark",
    )


def _exclusion_reasons(
    family_sets: FamilySets, findings: Findings | None, measures: Sequence[Measure]
) -> dict[str, str]:
    """Return why models, accuracies, measures or the whole family are missing from the tables, by
    the title of the family and the name of the missing thing. ``findings``: None without
    comparisons."""
    reasons, title, constant = dict(family_sets.reasons), family_sets.family.title, dict[str, str]()
    for layer, members in family_sets.sets.items():
        for name, f in members.functionality.items():
            if (layer, name) not in family_sets.cells:
                place = name if len(family_sets.sets) == 1 else f"{layer}, {name}"
                constant[place] = EQUAL_ACCURACIES_REASON.format(f[0])
    family_reason = dict[str, str]()
    if findings is None:
        details = "; ".join(f"{subject}: {reason}" for subject, reason in constant.items())
        family_reason = {title: family_sets.absent or details or ALL_SLOW_REASON}
    else:
        slow_specs = {m.spec for m in measures} - set(findings.correlations.measures)
        reasons |= constant | dict.fromkeys(slow_specs, SLOW_MEASURE_REASON) | dict(findings.failed)
        reasons |= dict.fromkeys(findings.constant, EQUAL_DISTANCES_REASON)
    return {f"{title}, {subject}": text for subject, text in reasons.items()} | family_reason


def _unranked_tasks(cases: Iterable[Case]) -> dict[str, str]:
    """Return, by the name of a task in which measures are not ranked, the reason."""
    return {
        f"{case.models}, {case.cell[-2]}": (
            f"not ranked: on other inputs its expected differences have a reliability of "
            f"{case.reliability:.2f}, less than {LEAST_RELIABILITY}"
        )
        for case in cases
        if not is_reliable(case.reliability)
    }


def _benchmark_seconds(
    cases: Iterable[Case], comparisons: ComparisonsByPart, benchmark: str
) -> float:
    """Return the CPU time in seconds of the comparisons of a benchmark."""
    keys = {part.key for case in cases if case.test == benchmark for part in case.parts}
    return sum(sum(comparisons[key].seconds.values()) for key in keys if key in comparisons)


def _sensitivity_facts(
    plan: Sequence[Recipe], pairs: Iterable[tuple[str, FamilySets]], pinned: FrozenFeatures | None
) -> dict[str, str]:
    """Return the data sets, the models and the number of seeds as texts, by their description.

    ``plan``: the recipes of trained models. ``pairs``: the name of a benchmark, and the sets of a
    family.
    """
    if plan:
        architectures = ", ".join(dict.fromkeys(r.architecture for r in plan))
        return {
            "data sets": ", ".join(dict.fromkeys(r.dataset for r in plan)),
            "models": f"{len(plan)}: {architectures}",
            "seeds": str(len({r.seed for r in plan})),
        }
    members = [family_sets.family for _, family_sets in pairs if family_sets.cells]
    datasets = ", ".join(dict.fromkeys(family.dataset for family in members))
    architectures = ", ".join(dict.fromkeys(family.architecture for family in members))
    owner = f"of {pinned.identity}" if pinned else USER_MODELS_NOTE
    return {
        "data sets": datasets or "none",
        "models": f"{owner}: {architectures or NO_MODELS_TEXT}",
    }


def _sensitivity_remarks(
    model_features: Sequence[ModelFeatures],
    source: str | None,
    cases: Sequence[Case],
    pinned: FrozenFeatures | None,
) -> Iterator[str]:
    """Yield remarks for the reader: few user models, models left out, tasks without a ranking, and
    tasks with unknown reliability. ``source``: the folder of a user's models or of a pack."""
    if source:
        models_note = warn_few_models(
            max(map(len, models_by_family(model_features).values()), default=0)
        )
        folders = "; ".join(
            f"{name} ({reason})" for name, reason in list_unread_folders(source).items()
        )
        yield from filter(None, (models_note, f"Left out: {folders}." if folders else ""))
    count = sum(case.reliability is None for case in cases)
    if count:
        cause = f"{pinned.identity} does not say it" if pinned else "the models do not say it"
        yield (
            f"For {count} of {len(cases)} tasks the reliability of the expected differences on "
            f"other inputs is unknown: {cause}."
        )
    noise = sum(not is_reliable(case.reliability) for case in cases)
    if noise:
        yield (
            f"Not ranked: {noise} of {len(cases)} tasks, whose expected differences do not repeat "
            f"on other inputs (reliability below {LEAST_RELIABILITY})."
        )


SUITE = Suite(
    "sensitivity",
    SENSITIVITY_TITLE,
    prepare_sensitivity_models,
    sensitivity_tasks,
    sizes=SIZES,
    measures=MEASURES,
    experiments=[benchmark.name for benchmark in BENCHMARKS],
    evaluate=evaluate_sensitivity_models,
    configure=configure_sensitivity,
    recipes=lambda purpose: sensitivity_recipes(purpose.size, tuple(DOMAINS)),
    write_pack=write_sensitivity_models,
    read_pack=sensitivity_models_from_pack,
)
