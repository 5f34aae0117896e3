"""Evaluate measures with the six tests: compare the representations of all tasks, and score the
measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.arrays import as_array_like
from resemblance.base.rng import generator
from resemblance.catalogue import get_measures, preset
from resemblance.comparison.comparison import Comparison, MeasureInfo, measure_info
from resemblance.contracts._measure import Measure
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import Representation
from resemblance.sections.headlines import is_trial
from resemblance.sections.ranks import rank_measures_of_task

from ..case import Case, Part, Score
from ..feature_maps import scratch_folder
from ..ranks import TaskKey
from ..scoring import ComparisonsByPart, compare_cases, scores_in_case
from ..study import StageProgress
from ..study_models import ModelFamily
from .cases import PlannedTests, SkippedTask, add_reliabilities, six_tests
from .groups import ModelGroup
from .rules import PRESET_BY_PROTOCOL, ScoringOptions, resi_tasks_with_rules

COPIED_SAMPLES_PER_BLOCK = 256  # samples copied at a time


class Evaluation(NamedTuple):
    """The comparisons of an evaluation, and the scores of all measures in every task.

    ``compared``: by the key of a part. ``groups``: the decisions about groups of models.
    ``absent``: the skipped tests. ``size``: a size of the suite; empty for a user's own models.
    ``left_out``: folders of the user that contain no readable model, and the reasons.
    ``untrained``: models with failed training, and the reasons. ``origin``: the origin of the
    models, for the provenance.
    """

    options: ScoringOptions
    measures: tuple[MeasureInfo, ...]
    scores: tuple[Score, ...]
    cases: tuple[Case, ...] = ()
    compared: ComparisonsByPart = MappingProxyType({})
    groups: tuple[ModelGroup, ...] = ()
    absent: tuple[SkippedTask, ...] = ()
    size: str = ""
    left_out: Mapping[str, str] = {}
    untrained: Mapping[str, str] = {}
    origin: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        counts = f"{len(self.measures)} measures, {len(self.scores)} scores"
        return f"<Evaluation by the protocol {self.options.protocol}: {counts}>"

    @property
    def is_trial(self) -> bool:
        """Whether the size is a trial size."""
        return is_trial("resi", self.size)

    def ranks(self) -> dict[TaskKey, dict[str, float]]:
        """Return the rank of every measure in every ranked task, by task (``Score.cell``), then by
        specification.

        Rank 1 is the best; equal scores share the best rank. A task in which no measure has a value
        is left out.
        """
        cells = resi_tasks_with_rules(self.scores, self.options)
        ranks = {cell: rank_measures_of_task(*entry) for cell, entry in cells.items()}
        return {cell: measure_ranks for cell, measure_ranks in ranks.items() if measure_ranks}

    def reliabilities(self) -> dict[TaskKey, float]:
        """Return the reliability of the expected differences by task, only for tasks in which the
        expectation depends on inputs."""
        return {s.cell: s.reliability for s in self.scores if s.reliability is not None}

    def only(self, families: Iterable[str]) -> Evaluation:
        """Return the evaluation of the measures of some families of measures, such as "cca", ranked
        among each other.

        Raises ``ValueError`` if no measure belongs to these families.
        """
        selection = set(families)
        specs = {m.spec for m in self.measures if m.family in selection}
        if not specs:
            names = ", ".join(sorted({m.family for m in self.measures}))
            raise ValueError(
                f"no measure of {', '.join(sorted(selection))} in this result; it has {names}"
            )
        return self.among(specs)

    def among(self, specs: Iterable[str]) -> Evaluation:
        """Return the evaluation of the selected measures, by specification, ranked among each
        other."""
        selection = set(specs)
        return self._replace(
            measures=tuple(m for m in self.measures if m.spec in selection),
            scores=tuple(s for s in self.scores if s.measure in selection),
        )

    def families(self) -> tuple[ModelFamily, ...]:
        """Return the families of models in the order of the evaluation."""
        score_families = (ModelFamily(*s.cell[2:]) for s in self.scores)
        part_families = (part.family for part in self.parts())
        return tuple(
            dict.fromkeys((*score_families, *part_families, *(a.family for a in self.absent)))
        )

    def parts(self) -> Iterator[ComparedPart]:
        """Yield the compared parts of every test, in the order of the tests."""
        parts: dict[Any, dict[str, Part]] = defaultdict(dict)
        for case in self.cases:
            for part in case.parts:
                parts[case.test, ModelFamily(*case.cell[2:]), part.key][case.cell[1]] = part
        for (test, family, key), by_quality in parts.items():
            yield ComparedPart(test, family, by_quality, self.compared[key])


class ComparedPart(NamedTuple):
    """A compared part of a test, with the expected differences by quality."""

    test: str
    family: ModelFamily
    by_quality: Mapping[str, Part]
    comparison: Comparison

    @property
    def model(self) -> str:
        """The name of the model, if its layers are compared; empty if models are compared."""
        return next(iter(self.by_quality.values())).name

    def expected(self, quality: str) -> np.ndarray:
        """Return the matrix of expected differences for a quality, (rows, rows): the stored matrix;
        the distance of layer indices; or 0 within a group and 1 between groups."""
        expectation = self.by_quality[quality].expected
        if isinstance(expectation, np.ndarray):
            return np.asarray(expectation, float)
        if isinstance(expectation, int):
            positions = np.arange(expectation)
            return np.asarray(np.abs(positions[:, None] - positions[None, :]), float)
        return np.array([[float(a != b) for b in expectation] for a in expectation])


def assess(
    model_features: Iterable[ModelFeatures],
    *,
    measures: Iterable[str | Measure] | None = None,
    planned: PlannedTests | None = None,
    reliabilities: Mapping[str, float] | None = None,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    stored_only: bool = False,
    **options: Any,
) -> Evaluation:
    """Evaluate measures with the six tests of the ReSi benchmark; return all scores and
    comparisons.

    ``measures``: by default the measures of the protocol. ``planned``: which models take part in
    which tests; by default every model takes part in all possible tests. ``reliabilities``: known
    reliabilities of the expected differences, by task name; by default computed from the outputs of
    the models. ``save``: the file of stored comparisons, or None. ``memory``: in bytes, or "half"
    of the free memory. ``progress``: called with (stage, done, total). ``stored_only``: compute
    nothing that ``save`` lacks. ``options``: the fields of ``ScoringOptions``.
    """
    scoring_options = ScoringOptions(**options)
    models = tuple(model_features)
    cases, groups, skipped_tasks = six_tests(
        models, groups=str(scoring_options.groups), planned=planned, rules=scoring_options.rules
    )
    selection = get_measures(
        measures if measures is not None else preset(PRESET_BY_PROTOCOL[scoring_options.protocol])
    )
    needs_scratch = scoring_options.max_samples or any(s.maps for s in models)
    with scratch_folder(save if needs_scratch else None) as folder:
        cases = restrict_to_samples(cases, scoring_options.max_samples, folder)
        if reliabilities is not None:
            cases = add_reliabilities(cases, reliabilities)
        comparisons = compare_cases(
            cases,
            selection,
            save=save,
            executor=executor,
            memory=memory,
            progress=progress,
            folder=folder,
            stored_only=stored_only,
        )
        scores = list[Score]()
        for position, case in enumerate(cases):
            scores += scores_in_case(case, comparisons)
            if progress:
                progress("grading", position + 1, len(cases))
    tests = list(dict.fromkeys((s.test, s.cell[2:]) for s in scores))
    specs = [m.spec for m in selection]
    scores.sort(key=lambda s: (tests.index((s.test, s.cell[2:])), specs.index(s.measure)))
    infos = tuple(map(measure_info, selection))
    return Evaluation(
        scoring_options, infos, tuple(scores), cases, comparisons, groups, skipped_tasks
    )


# -------------------------------------------------------------------------------- on fewer samples


def choose_samples(dataset: str, n: int, samples: int) -> np.ndarray:
    """Return the sorted indices of ``samples`` compared samples, or of all n if n is smaller, drawn
    without replacement from n samples of the data set called ``dataset``.

    The draw depends only on the name of the data set and the two numbers, so all models have the
    same samples.
    """
    g = generator(0, "resi", "samples", dataset)
    return np.sort(g.choice(n, min(samples, n), replace=False))


def restrict_to_samples(
    cases: Sequence[Case], samples: int | None, folder: Path | None = None
) -> tuple[Case, ...]:
    """Return copies of the tasks ``cases`` whose representations have at most ``samples`` samples;
    the same tasks if ``samples`` is None.

    The expected differences stay: accuracies and outputs of all samples are the reference for a
    measure, not its input. A representation with at most ``samples`` samples is not copied.
    ``folder``: where copies are stored; without a folder copies stay in memory.
    """
    if samples is None:
        return tuple(cases)
    copies: dict[Representation, Representation] = {}
    for case in cases:
        for x in (x for part in case.parts for x in part.rows.values()):
            if x.shape[0] > samples and x not in copies:
                file = folder and folder / f"samples-{len(copies)}.npy"
                rows = choose_samples(ModelFamily(*case.cell[2:]).dataset, x.shape[0], samples)
                copies[x] = _copy_rows(x, rows, file)

    def small(part: Part) -> Part:
        return part._replace(rows={name: copies.get(x, x) for name, x in part.rows.items()})

    return tuple(case._replace(parts=tuple(map(small, case.parts))) for case in cases)


def _copy_rows(x: Representation, rows: np.ndarray, file: Path | None) -> Representation:
    """Return a representation of the rows with indices ``rows``: from a file, copied block by
    block, if ``file`` is given and the source is a NumPy array; otherwise in memory."""
    ids = None if x.ids is None else [x.ids[row] for row in rows]
    if file is None or not isinstance(x.source, np.ndarray):
        values = x.xp.take(x.source, as_array_like(rows, x.source), axis=0)
        return Representation(values, x.name, ids=ids, dtype=x.requested_dtype)
    shape = (len(rows), x.shape[1])
    copy = np.lib.format.open_memmap(file, "w+", dtype=x.source.dtype, shape=shape)
    for start in range(0, len(rows), COPIED_SAMPLES_PER_BLOCK):
        copy[start : start + COPIED_SAMPLES_PER_BLOCK] = x.source[
            rows[start : start + COPIED_SAMPLES_PER_BLOCK]
        ]
    copy.flush()
    return Representation(file, x.name, ids=ids, dtype=x.requested_dtype)
