"""A suite: a benchmark of measures as data, and the one function that carries out every suite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..base.text import check_choice
from ..catalogue import get_measures
from ..comparison.comparison import measure_info
from ..comparison.provenance import environment_versions
from ..contracts._measure import Measure
from ..engine.jobs import Jobs, open_executor
from ..engine.memory import parse_bytes
from ..models.recipe import Recipe
from ..sections.headlines import headline, is_trial
from ..sections.result import Result
from ..sections.sections import Section
from .answer_tables import add_answers
from .case import Case, Score
from .packs import Pack
from .page import ScoreColumn, frame_sections, groups_by_test, noise_remark
from .pinned import FrozenFeatures, Reduction, pack_content
from .ranks import ScoreOverview, summarize_scores, tasks_with_rank_rules
from .scoring import (
    ComparisonsByPart,
    compare_cases,
    failed_comparisons,
    mean_comparison_seconds,
    scores_in_case,
)
from .study import (
    ClaimJudge,
    JoinPurposes,
    Purpose,
    StageProgress,
    add_claims,
    append_to_log,
    keep_wanted_purpose,
    save_purpose,
    study_folder,
)

PACK_MEASURES = ("default",)  # the default measures of a run on a pack


class SuiteRun(NamedTuple):
    """A run of a suite.

    ``measures``: the tested measures. ``usual``: the default measures of the suite; the page marks
    other measures. ``only``: the selected experiments. ``options``: the checked options that only
    this suite has. ``pack``: the content of a pack, if the run is on a pack. ``with_intervals``:
    also compute intervals and p-values of single experiments. ``purpose``: the purpose of this run;
    ``study``: the joint purpose of all runs in the folder. ``folder``: the folder of the study.
    """

    purpose: Purpose
    measures: tuple[Measure, ...]
    usual: tuple[Measure, ...]
    only: tuple[str, ...] = ()
    options: Any = None
    pack: FrozenFeatures | None = None
    with_intervals: bool = True
    executor: Executor | None = None
    memory: int | str = "half"
    progress: StageProgress | None = None
    study: Purpose = Purpose("")
    folder: Path = Path()

    @property
    def size(self) -> str:
        """The size of the run; on a pack, the size of the study behind the pack."""
        return self.purpose.size if self.pack is None else str(self.pack.facts.get("size", ""))

    @property
    def is_trial(self) -> bool:
        """Whether the run is a trial; a run on a pack or on a user's own models is no trial."""
        return self.purpose.models is None and is_trial(*self.purpose[:2])

    def show(self, stage: str, done: int, total: int) -> None:
        """Report progress, if the caller wants progress. ``done``, ``total``: amounts of work."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def compare(self, cases: Sequence[Case]) -> ComparisonsByPart:
        """Compare all parts of all tasks at once, and return the comparisons by the key of the
        part; the study keeps every comparison."""
        return compare_cases(
            cases,
            self.measures,
            save=self.folder / "comparisons.db",
            executor=self.executor,
            memory=self.memory,
            progress=self.progress,
        )


class ScoredTasks(NamedTuple):
    """The tasks that rank measures, all comparisons of a run, and the scores with their ranks."""

    cases: Sequence[Case]
    comparisons: ComparisonsByPart
    overview: ScoreOverview

    @property
    def scores(self) -> tuple[Score, ...]:
        """The score of every measure in every task."""
        return self.overview.scores


class Outcome(NamedTuple):
    """The result of a run.

    ``facts``: by section, the facts for judging claims. ``last``: the entries about the last run
    that the study keeps, JSON-serialisable.
    """

    result: Result
    facts: Mapping[str, Any] = {}
    last: Mapping[str, Any] | None = None


def _configure_without_options(run: SuiteRun, folder: Path | None) -> SuiteRun:
    """Return the run of a suite without options of its own."""
    return run


def _no_sections(inputs: Any, scored: ScoredTasks) -> Iterable[Section]:
    return ()


class Suite(NamedTuple):
    """A benchmark of measures: the inputs of its tasks, the tasks, and the sections of its page.

    ``prepare``: maps a run to the inputs of the tasks, such as trained models; ``run.folder`` keeps
    unfinished work. ``tasks``: maps the inputs to the tasks that rank measures. ``sections``: maps
    the inputs and the :class:`ScoredTasks` to sections between the scores and the run times of the
    page. ``title``, ``about``: the heading of the page and the paragraph below. ``sizes``: names of
    sizes; ``size`` is the default. ``measures``: the default measures. ``experiments``: names for
    the option ``only``.

    Suites with more needs have more functions. ``evaluate``: maps a run and the inputs to an
    :class:`Outcome`, instead of ``tasks`` and ``sections``. ``configure``: called with the run, the
    folder and the options that only this suite has; returns the run with checked options.
    ``judged``: the sections that claims can judge, if the sections are known before a run.
    ``join``: joins the purposes of two runs in the same folder. ``recipes``: maps the purpose of a
    study to the recipes of its models.

    For packs: ``write_pack`` writes the inputs of a finished study into a folder and returns the
    facts that the pack stores; ``read_pack`` returns the inputs from a pack.
    """

    name: str
    title: str
    prepare: Callable[[SuiteRun], Any]
    tasks: Callable[[Any], Iterable[Case]]
    sections: Callable[[Any, ScoredTasks], Iterable[Section]] = _no_sections
    about: str = ""
    sizes: Collection[str] = ("default",)
    size: str = "default"
    measures: Sequence[str | Measure] = ("default",)
    experiments: Sequence[str] = ()
    evaluate: Callable[[SuiteRun, Any], Outcome] | None = None
    configure: Callable[..., SuiteRun] = _configure_without_options
    judged: Collection[str] = ()
    join: JoinPurposes = keep_wanted_purpose
    recipes: Callable[[Purpose], Sequence[Recipe]] | None = None
    write_pack: Callable[[Path, Path, Reduction], dict[str, Any]] | None = None
    read_pack: Callable[[FrozenFeatures], Any] | None = None


def carry_out(
    suite: Suite,
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str | None = None,
    only: Iterable[str] | None = None,
    pack: Pack | None = None,
    with_intervals: bool = True,
    claims: Mapping[str, ClaimJudge] | None = None,
    jobs: Jobs = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    **options: Any,
) -> Result:
    """Run a suite in a folder, or continue an earlier run there, and return the result.

    The run prepares the inputs, compares, scores, judges claims and writes the result. ``folder``:
    None for a temporary folder. ``measures``: by default the measures of the suite, or with a pack
    the measures for packs. ``size``: by default the usual size of the suite. ``only``: names of
    experiments, by default all. ``pack``: the features to use instead of trained models.
    ``with_intervals``: whether to resample. ``claims``: by section, a judge of its claims.
    ``jobs``: the number of processes, or an executor. ``memory``: in bytes, or "half" of the free
    memory. ``options`` are the options that only this suite has.

    Raises ``ValueError`` for an unknown size, experiment, measure or section of claims, and if the
    folder holds a study of something else; ``TypeError`` for an unknown option.
    """
    parse_bytes(memory)
    place = None if folder is None else Path(folder)
    run = SuiteRun(
        Purpose(suite.name, size or suite.size),
        () if measures is None else tuple(get_measures(measures)),
        tuple(get_measures(suite.measures)),
        _chosen_experiments(suite, only),
        with_intervals=with_intervals,
        memory=memory,
        progress=progress,
    )
    if pack is None:
        if size is not None:
            check_choice(f"{suite.name}: size", size, suite.sizes)
        for section in (claims or ()) if suite.judged else ():
            check_choice(f"{suite.name}: section for claims", section, suite.judged)
        run = suite.configure(run, place, **options)
        run = run._replace(measures=run.measures or run.usual)
    else:
        content = pack_content(pack)
        tested = run.measures or tuple(get_measures(PACK_MEASURES))
        purpose = Purpose(suite.name, models=content.identity, more={"pack": str(content.folder)})
        run = run._replace(purpose=purpose, measures=tested, usual=tested, pack=content)
    with (
        open_executor("bench.run", jobs) as executor,
        study_folder(place, run.purpose, suite.join) as (study, study_purpose),
    ):
        run = run._replace(executor=executor, folder=study, study=study_purpose)
        if run.pack is None or suite.read_pack is None:
            inputs = suite.prepare(run)
        else:
            inputs = suite.read_pack(run.pack)
        evaluate = suite.evaluate or partial(evaluate_tasks, suite)
        result, facts, last = evaluate(run, inputs)
        result = add_answers(result)
        result = run.pack.named(result) if run.pack else add_claims(result, claims, facts)
        result.save(study / "result.json")
        if last is not None:
            save_purpose(study, study_purpose._replace(more={**study_purpose.more, "last": last}))
        counts = f"{len(result.sections)} sections, {len(result.claims)} claims"
        append_to_log(study, f"{suite.name}: {counts}")
    return result


def _chosen_experiments(suite: Suite, only: Iterable[str] | None) -> tuple[str, ...]:
    """Return the selected experiments ``only`` of a suite, in the order of the suite; by default
    all.

    Raises ``ValueError`` for a text, an empty list and an unknown experiment.
    """
    if only is None:
        return tuple(suite.experiments)
    names = () if isinstance(only, str) else tuple(only)
    if not names:
        raise ValueError(
            f"{suite.name}: only must be a list of some of {', '.join(suite.experiments)}; got "
            f"{only!r}"
        )
    for name in names:
        check_choice(f"{suite.name}: only", name, suite.experiments)
    return tuple(name for name in suite.experiments if name in names)


def score_tasks(
    run: SuiteRun,
    cases: Sequence[Case],
    also: Sequence[Case] = (),
    names: Mapping[str, str] | None = None,
) -> ScoredTasks:
    """Compare and score the tasks ``cases`` of a run.

    ``also``: further tasks to compare at the same time, without a score; the result has only their
    comparisons. ``names``: of the measures on the page, by specification; by default their labels.
    """
    comparisons = run.compare([*also, *cases])
    scores = [row for case in cases for row in scores_in_case(case, comparisons)]
    overview = summarize_scores(
        run.purpose.suite,
        scores,
        map(measure_info, run.measures),
        tasks_with_rank_rules(cases, scores),
        run.usual,
        is_trial=run.is_trial,
    )
    if names is not None:
        overview = overview._replace(names={spec: names[spec] for spec in overview.names})
    return ScoredTasks(cases, comparisons, overview)


def evaluate_tasks(suite: Suite, run: SuiteRun, inputs: Any) -> Outcome:
    """Score the tasks of a suite, and return the result with rankings, all scores, the suite's own
    sections, run times and failures.

    ``inputs``: the return value of ``suite.prepare``, or of ``suite.read_pack`` on a pack. The
    facts of every section are the scored tasks.
    """
    cases = list(suite.tasks(inputs))
    scored = score_tasks(run, cases)
    overview = scored.overview
    sections = frame_sections(
        overview,
        tuple(suite.sections(inputs, scored)),
        [ScoreColumn(case.test, case.cell, case.test, "/".join(case.cell)) for case in cases],
        mean_comparison_seconds(cases, scored.comparisons, lambda case: case.test),
        failed_comparisons(cases, scored.comparisons, lambda case: (case.test, case.models)),
        groups=groups_by_test(cases),
        keeps_scores=True,
    )
    noise = noise_remark({"/".join(case.key): case.reliability for case in cases})
    result = Result(
        suite.name,
        run.size,
        sections,
        overview.names,
        provenance=environment_versions(),
        conclusion=headline(overview.rankings, overview.names),
        caveats=(noise,) if noise else (),
        title=suite.title,
        about=suite.about,
    )
    return Outcome(result, dict.fromkeys((section.name for section in sections), scored))
