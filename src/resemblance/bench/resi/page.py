"""The result of a ReSi evaluation: a section for every question of a reader."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from resemblance.base.formatting import format_count, join_words
from resemblance.catalogue import preset
from resemblance.data.model_features import ModelFeatures
from resemblance.sections.claims import Claim
from resemblance.sections.figures import Figure, Strip, Strips
from resemblance.sections.headlines import (
    MAX_NAMES_IN_HEADLINE,
    USER_MODELS_NOTE,
    headline,
    warn_few_models,
)
from resemblance.sections.ranks import average_readings
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Table

from .. import page
from ..case import Case
from ..ranks import ScoreOverview, TaskKey, summarize_scores
from ..scoring import FailedComparisons, failed_comparisons, mean_comparison_seconds
from ..study import add_claims
from ..study_models import ModelFamily, display_names
from ..training import DOMAINS
from .cases import QUALITY_TITLES, TEST_TITLES
from .evaluation import Evaluation, assess
from .groups import ModelGroup
from .matrices import matrices_choice
from .paper import PAPER_SUBSETS
from .rules import PRESET_BY_PROTOCOL, resi_tasks_with_rules

JudgesByPaper = Mapping[str, Callable[[Evaluation], Iterable[Claim]]]
RESI_TITLE = "The ReSi benchmark of similarity measures"
ABOUT_RESI = (
    "A similarity measure compares the representations of the same inputs by two neural networks "
    "or two layers. Each measure is tested on networks with known relations: their accuracy, their "
    "outputs, their training, or the order of their layers. The better the differences of a "
    "measure agree with the known relations, the better its rank; 1 is best. A quality is a score "
    "of this agreement, such as a correlation, or conformity: the share of pairs of differences in "
    "the expected order. A task is one test of one family of models with one quality; measures are "
    "ranked in each task."
)
RESI_PAPER_CITATION = (
    "Klabunde et al., “ReSi: A Comprehensive Benchmark for Representational Similarity Measures”, "
    "ICLR 2025, arXiv 2408.00531"
)
PROTOCOL_WORDS: Mapping[str, str] = {
    "paper": "the definitions of the paper",
    "resi-code": "what the authors' code computes",
}
FAILURE_WORDS: Mapping[str, str] = {
    "last": "a measure with failed comparisons in a task is ranked behind all other measures",
    "unranked": "a measure with failed comparisons in a task is ranked by the remaining "
    "comparisons, or not at all",
}
TEST_EXPLANATIONS: Mapping[str, str] = {
    "accuracy": "Models differ in their random seed only; the more the accuracies of two of them "
    "differ, the more a measure should find their representations to differ (Spearman "
    "correlation, −1 to 1).",
    "output": "The same models; the more their outputs differ, by the Jensen-Shannon divergence "
    "of the probabilities (JSD) or by how often the predicted class differs (disagreement), the "
    "more the representations should (Spearman correlation, −1 to 1).",
    "labels": "Groups of models were trained with different shares of random labels; models of "
    "one group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "shortcut": "Groups of models were trained with shortcuts in their inputs that give away the "
    "label more or less often; models of one group should be more alike than models of different "
    "groups (AUPRC or conformity, 0 to 1).",
    "augmentation": "Groups of models were trained with more or less augmentation; models of one "
    "group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "layers": "Within a model, the farther apart two layers are, the more they should differ: "
    "distances in the right order (Spearman correlation, −1 to 1), or layers in between not "
    "farther than what encloses them (conformity, 0 to 1); the mean over models.",
}
# Selectors of columns, and the tests to which every selector applies.
QUALITY_CHOICES: Mapping[str, tuple[str, ...]] = {
    "output": ("output",),
    "tests of groups": ("labels", "shortcut", "augmentation"),
    "layers": ("layers",),
}
# The words of a task.
TASK_KEY_NAMES = ("test", "quality", "domain", "dataset", "architecture", "pooling")
TASK_DEFINITION = (
    "A task is one test on one architecture with one quality. The ranks of several readings of the "
    "same models, such as two poolings, are averaged to one task."
)


def evaluate(
    model_features: Iterable[ModelFeatures], *, claims: JudgesByPaper | None = None, **options: Any
) -> Result:
    """Evaluate measures by the six tests of the ReSi benchmark on models.

    Parameters
    ----------
    model_features : models evaluated on fixed inputs, from :func:`resemblance.read_models`,
        :func:`resemblance.extract_features` or elsewhere. Models with equal domain, dataset,
        architecture and pooling are compared; ``setting``, ``strength`` and ``seed`` determine the
        tests of a model.
    claims : by the name of a section, a function that judges the claims of a paper on the
        :class:`~resemblance.bench.resi.Evaluation`.
    measures : measures, names, specifications, presets. Default: the 24 measures of the benchmark,
        as defined by ``protocol``.
    protocol : ``"paper"`` (the definitions of Klabunde et al. 2025) or ``"resi-code"`` (the
        computations of the authors' code).
    permute : the unit of the permutation tests, ``"models"`` or ``"pairs"``; default by protocol.
    failures : ``"last"`` ranks a measure with failed comparisons behind all others of a task
        (default of the first protocol); ``"unranked"`` ranks the measure by the remaining
        comparisons, or not at all (default and only choice of the second protocol).
    groups : ``"separated"`` compares the groups of models whose accuracies do not overlap,
        ``"published"`` compares all groups, and notes the overlapping groups.
    max_samples : the number of samples of a representation to compare, if not all. Samples are
        drawn once per data set, the same for all its models. Accuracies and outputs, the reference
        of tests 1 and 2, remain those of all samples.
    save : file that keeps every comparison, so that a later evaluation computes only new
        comparisons.
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with ("comparing", done, total) and ("grading", done, total).

    :func:`assess` returns the evaluation behind the result: every score with its p-value, and every
    comparison.
    """
    evaluation = assess(model_features, **options)
    return add_judged_claims(result_of(evaluation), evaluation, claims)


def add_judged_claims(
    result: Result, evaluation: Evaluation, claims: JudgesByPaper | None
) -> Result:
    """Return a copy of the result of an evaluation with the claims of a paper judged on the
    evaluation. ``claims``: by the name of a section, a function from the evaluation to judged
    claims; None adds no claims."""
    facts = dict.fromkeys((section.name for section in result.sections), evaluation)
    return add_claims(result, claims, facts)


def result_of(evaluation: Evaluation) -> Result:
    """Return the result of an evaluation."""
    options = evaluation.options
    overview = summarize_scores(
        "resi",
        evaluation.scores,
        evaluation.measures,
        resi_tasks_with_rules(evaluation.scores, options),
        preset(PRESET_BY_PROTOCOL[options.protocol]),
        is_trial=evaluation.is_trial,
    )
    domains = evaluated_domains(evaluation)
    return Result(
        "resi",
        evaluation.size or USER_MODELS_NOTE,
        _resi_sections(evaluation, overview, domains),
        overview.names,
        provenance=_evaluation_provenance(evaluation, domains),
        facts={
            **_evaluated_models_facts(evaluation),
            "domains": ", ".join(domains),
            "protocol": options.protocol,
            **_evaluation_counts(evaluation, overview),
        },
        conclusion="" if overview.is_trial else headline(overview.rankings, overview.names),
        caveats=_resi_remarks(evaluation),
        title=RESI_TITLE,
        about=(
            f"{ABOUT_RESI} Evaluated by {PROTOCOL_WORDS[options.protocol]} "
            f"({RESI_PAPER_CITATION}); {FAILURE_WORDS[str(options.failures)]}."
        ),
    )


def evaluated_domains(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the evaluated domains: domains of the benchmark first, then other domains."""
    domains = dict.fromkeys(family.domain for family in evaluation.families())
    return (*(d for d in DOMAINS if d in domains), *(d for d in domains if d not in DOMAINS))


def _resi_sections(
    evaluation: Evaluation, overview: ScoreOverview, domains: Sequence[str]
) -> tuple[Section, ...]:
    stars_note = (
        "* p ≤ 0.05, ** p ≤ 0.01 for the correlations with accuracy and outputs, by permuting "
        f"{evaluation.options.permute}, not corrected for the many tests of this table."
    )
    sections = page.frame_sections(
        overview,
        tuple(_test_sections(evaluation, overview)),
        resi_score_columns(evaluation, domains),
        mean_comparison_seconds(evaluation.cases, evaluation.compared, lambda case: case.cell[2]),
        failed_in_evaluation(evaluation),
        groups={domain: partial(_is_of_domain, domain) for domain in domains},
        kind="domain",
        definition=TASK_DEFINITION,
        text_of=task_title,
        stars_note=stars_note,
        has_complete=evaluation.options.failures == "last",
        keeps_scores=True,
    )
    representations: dict[str, Mapping[str, object]] = {
        f"{name} ({part.family.pooling})" if part.family.pooling else name: {
            **identity,
            "n_samples": part.comparison.provenance["n_samples"],
        }
        for part in evaluation.parts()
        for name, identity in part.comparison.provenance["rows"].items()
    }
    if representations:
        families = "; ".join(map(str, evaluation.families()))
        inputs = page.compared_inputs_section(representations, f"Models: {families}.")
        return (*sections, inputs)
    return sections


def _is_of_domain(domain: str, cell: TaskKey) -> bool:
    return cell[2] == domain


def failed_in_evaluation(evaluation: Evaluation) -> list[FailedComparisons]:
    """Return the failed comparisons of every measure of the evaluation in every test; the test by
    its title."""

    def words(case: Case) -> tuple[str, str]:
        return TEST_TITLES[case.test], str(ModelFamily(*case.cell[2:]))

    names = {info.spec for info in evaluation.measures}
    failures = failed_comparisons(evaluation.cases, evaluation.compared, words)
    return [failure for failure in failures if failure.measure in names]


def _test_sections(evaluation: Evaluation, overview: ScoreOverview) -> Iterator[Section]:
    """Yield a section for every attempted test: matrices, groups, and scores."""
    for test, title in TEST_TITLES.items():
        reasons = {str(a.family): a.reason for a in evaluation.absent if a.test == test}
        groups = [g for g in evaluation.groups if g.test == test]
        choice = matrices_choice(evaluation, overview, test)
        scores = [s for s in evaluation.scores if s.test == test]
        tables = [group_table(groups)] if groups else []
        if scores:
            tables.append(page.data_table(overview, f"{test} scores", scores, TASK_KEY_NAMES))
        figures: list[Figure] = [choice] if choice else []
        figures += strips_of_groups(groups)
        if tables or figures or reasons:
            yield Section(
                test, title, TEST_EXPLANATIONS[test], tuple(tables), tuple(figures), reasons=reasons
            )


def task_title(cell: Sequence[str]) -> str:
    """Return the display name of a task: test and quality, then models. ``cell``: the words of the
    task, test, quality and the four words of the family."""
    test, quality, *family = cell
    word = quality.removeprefix("spearman").strip("_")
    addition = "" if word in test else f" ({QUALITY_TITLES[test].get(quality, word)})"
    return f"{TEST_TITLES.get(test, test)}{addition}, {ModelFamily(*family)}"


def resi_score_columns(evaluation: Evaluation, domains: Sequence[str]) -> list[page.ScoreColumn]:
    """Return the columns of the table of scores: by test, then by domain and models, a column per
    quality. ``domains``: the order of the domains."""
    reasons = {(a.test, a.family): a.reason for a in evaluation.absent}
    tasks = {(s.test, ModelFamily(*s.cell[2:])) for s in evaluation.scores} | reasons.keys()
    reliabilities = evaluation.reliabilities()
    families = sorted(evaluation.families(), key=lambda f: domains.index(f.domain))
    columns = []
    for test, title in TEST_TITLES.items():
        for family in (f for f in families if (test, f) in tasks):
            for quality, word in QUALITY_TITLES[test].items():
                cell = (test, quality, *family)
                reliability = reliabilities.get(cell)
                noise = ""
                if reliability is not None:
                    noise = f"; on other inputs it repeats by {reliability:.2f}"
                choices = {
                    name: word if test in tests else "" for name, tests in QUALITY_CHOICES.items()
                }
                choices |= {
                    d: str(family).removeprefix(f"{d} · ") if family.domain == d else ""
                    for d in domains
                }
                columns.append(
                    page.ScoreColumn(
                        test,
                        cell,
                        title,
                        family.short,
                        f"{title}, {word}: {family}{noise}",
                        choices,
                        reasons.get((test, family), page.NOT_EVALUATED_NOTE),
                    )
                )
    return columns


# ------------------------------------------------------------------------------------------- groups


def strips_of_groups(groups: Iterable[ModelGroup]) -> tuple[Strips, ...]:
    """Return the accuracies of the groups of a test, a figure per architecture.

    ``groups``: of a single test. Poolings of the same architecture with different accuracies have
    separate figures.
    """
    panels: dict[tuple[tuple[str, ...], int], list[ModelGroup]] = defaultdict(list)
    counts = Counter[tuple[str, ...]]()
    for group in groups:
        key = (group.domain, group.dataset, group.architecture)
        counts[*key, group.name] += 1
        panels[key, counts[*key, group.name]].append(group)
    return tuple(
        _accuracy_strips(str(_group_family(members[0])), number, members)
        for (_, number), members in panels.items()
    )


def _group_family(group: ModelGroup) -> ModelFamily:
    return ModelFamily(group.domain, group.dataset, group.architecture, "")


def _accuracy_strips(models: str, number: int, groups: Sequence[ModelGroup]) -> Strips:
    criterion = groups[0].criterion
    if criterion == "none":
        axis, note = "accuracy", "Accuracies are unknown: groups are not checked."
    else:
        axis = f"accuracy on {criterion} inputs"
        note = " ".join(f"{g.name}: {g.note}." for g in groups if g.note)
    name = f"groups {models}" + (f" {number}" if number > 1 else "")
    strips = tuple(Strip(g.name, g.accuracies, g.kept, g.note) for g in groups)
    return Strips(name, models, axis, strips, note)


def group_table(groups: Iterable[ModelGroup]) -> Table:
    """Return a table with the accuracies of every group of models, and the reason if a group was
    left out."""
    records = []
    for g in groups:
        a = g.accuracies
        ends = (math.fsum(a) / len(a), min(a), max(a)) if a else (None, None, None)
        models = {"test": TEST_TITLES[g.test], "models": _group_family(g).short, "group": g.name}
        accuracies = dict(zip(("accuracy", "from", "to"), ends))
        records.append({**models, **accuracies, "inputs": g.criterion, "": g.note})
    return Table.of(records, "groups", "Accuracies of the groups", is_closed=True)


# ------------------------------------------------------------------------------- what was evaluated


def _evaluation_counts(evaluation: Evaluation, overview: ScoreOverview) -> dict[str, str]:
    """Return the numbers of measures, ranked tasks and comparisons as texts, by their description.

    A task can be the mean of several readings of the same models. A comparison is a pair of
    different representations, counted once per measure, or twice for an asymmetric measure.
    """
    pairs = set[tuple[str, ...]]()
    for part in evaluation.parts():
        pairs |= {(*part.family, *sorted(pair)) for pair in combinations(part.comparison.rows, 2)}
    orders = sum(1 if info.symmetric else 2 for info in evaluation.measures)
    n_tasks, n_readings = len(average_readings(overview.ranks)), len(overview.ranks)
    averaged = f" (means of {n_readings} readings)" if n_readings > n_tasks else ""
    return {
        "measures": format_count(len(evaluation.measures)),
        "ranked tasks": f"{format_count(n_tasks)}{averaged}",
        "comparisons of different representations": format_count(len(pairs) * orders),
    }


def compared_models(evaluation: Evaluation) -> set[tuple[str, ...]]:
    """Return the tuples (domain, data set, architecture, name) of all compared models."""
    models = set[tuple[str, ...]]()
    for part in evaluation.parts():
        names = (part.model,) if part.model else part.comparison.rows
        models |= {(*part.family[:3], name) for name in names}
    return models


def _evaluated_models_facts(evaluation: Evaluation) -> dict[str, str]:
    """Return the data sets, models and number of seeds of the evaluation as texts, by their
    description."""
    families = dict.fromkeys(part.family[:3] for part in evaluation.parts())
    names = [display_names(dataset, architecture) for _, dataset, architecture in families]
    architectures = ", ".join(dict.fromkeys(architecture for _, architecture in names))
    models = compared_models(evaluation)
    seeds = {name.rpartition("/seed")[2] for *_, name in models if "/seed" in name}
    return {
        "data sets": ", ".join(dict.fromkeys(dataset for dataset, _ in names)) or "none",
        "models": f"{len(models)} compared: {architectures or 'none'}",
        **({"seeds": str(len(seeds))} if seeds else {}),
    }


def _resi_remarks(evaluation: Evaluation) -> tuple[str, ...]:
    """Return warnings to show before the numbers: few models, a subsample, missing models."""
    sizes = (len(p.comparison.rows) for p in evaluation.parts() if p.test != "layers")
    models_note = "" if evaluation.size else warn_few_models(max(sizes, default=0))
    folders = "; ".join(f"{folder} ({reason})" for folder, reason in evaluation.left_out.items())
    samples = evaluation.options.max_samples
    samples_note = (
        f"Compared on at most {samples} samples of every data set, drawn once; accuracies and "
        "outputs are those of all samples."
    )
    training_note = _untrained_models_remark(evaluation.untrained)
    if training_note and evaluation.size not in PAPER_SUBSETS:
        training_note += " The tests use the remaining models."
    texts = (
        models_note,
        samples_note if samples else "",
        f"Left out: {folders}." if folders else "",
        training_note,
        _left_out_groups_remark(evaluation.groups),
        _unranked_tasks_remark(evaluation),
    )
    return tuple(filter(None, texts))


def _untrained_models_remark(reasons: Mapping[str, str]) -> str:
    """Return a sentence that lists the models with failed training, by reason; "" without failures.
    ``reasons``: by the name of a model."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, reason in reasons.items():
        by_reason[reason].append(name)
    listing = "; ".join(
        f"{join_words(names, MAX_NAMES_IN_HEADLINE)} ({reason})"
        for reason, names in by_reason.items()
    )
    return f"{len(reasons)} models could not be trained: {listing}." if reasons else ""


def _left_out_groups_remark(groups: Iterable[ModelGroup]) -> str:
    """Return a sentence that lists the groups of models that are not compared; "" without such
    groups."""
    names = [
        f"{TEST_TITLES[g.test]} {g.name}, {_group_family(g)} ({g.note.removeprefix('left out: ')})"
        for g in groups
        if not g.kept
    ]
    return f"Groups that are not compared: {'; '.join(names)}." if names else ""


def _unranked_tasks_remark(evaluation: Evaluation) -> str:
    """Return a sentence that lists the tasks without a ranking, because the expected differences
    are mostly noise; "" without such tasks, and for the protocol "resi-code"."""
    if evaluation.options.protocol == "resi-code":
        return ""
    return page.noise_remark(
        {task_title(cell): value for cell, value in evaluation.reliabilities().items()}
    )


def _evaluation_provenance(evaluation: Evaluation, domains: Sequence[str]) -> dict[str, object]:
    """Return the scoring options, the domains, and the versions behind the evaluation."""
    options, first_part = evaluation.options, next(evaluation.parts(), None)
    provenance = dict(first_part.comparison.provenance) if first_part else {}
    for name in ("rows", "columns", "n_samples"):
        provenance.pop(name, None)
    return {
        "protocol": options.protocol,
        "failures": options.failures,
        "permute": options.permute,
        "domains": list(domains),
        **evaluation.origin,
        **provenance,
        **({"max_samples": options.max_samples} if options.max_samples else {}),
        **({"untrained": dict(evaluation.untrained)} if evaluation.untrained else {}),
    }
