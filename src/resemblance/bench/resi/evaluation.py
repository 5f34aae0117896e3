"""Evaluate measures on models by the six tests: compare what the cases need, and score it."""

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
    """What an evaluation compared, and the scores of all measures in every case.

    ``size``: "slice", "mini", "standard", "paper-slice" or "paper"; empty for models of one's own.
    ``left_out``: of these, the folders that were not read, and why. ``untrained``: the models that
    could not be trained, and why. ``origin``: where the models come from.
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
        """Whether it is of a size that is only for trying out."""
        return is_trial("resi", self.size)

    def ranks(self) -> dict[TaskKey, dict[str, float]]:
        """Return the rank of each measure, by specification, for every cell that is ranked.

        1 is the best; equal scores share the best rank. A cell in which no measure has a value is
        left out.
        """
        cells = resi_tasks_with_rules(self.scores, self.options)
        ranks = {cell: rank_measures_of_task(*entry) for cell, entry in cells.items()}
        return {cell: measure_ranks for cell, measure_ranks in ranks.items() if measure_ranks}

    def reliabilities(self) -> dict[TaskKey, float]:
        """Return how far what is expected repeats on other inputs, for the cells where it depends
        on them."""
        return {s.cell: s.reliability for s in self.scores if s.reliability is not None}

    def only(self, families: Iterable[str]) -> Evaluation:
        """Return what was evaluated of the measures of some families, ranked among these.

        Raises ``ValueError`` when there is none of these families.
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
        """Return what was evaluated of some measures, by specification, ranked among these."""
        selection = set(specs)
        return self._replace(
            measures=tuple(m for m in self.measures if m.spec in selection),
            scores=tuple(s for s in self.scores if s.measure in selection),
        )

    def families(self) -> tuple[ModelFamily, ...]:
        """Return the families of models in the order in which they were evaluated."""
        score_families = (ModelFamily(*s.cell[2:]) for s in self.scores)
        part_families = (part.family for part in self.parts())
        return tuple(
            dict.fromkeys((*score_families, *part_families, *(a.family for a in self.absent)))
        )

    def parts(self) -> Iterator[ComparedPart]:
        """Yield the parts of every test, in their order."""
        parts: dict[Any, dict[str, Part]] = defaultdict(dict)
        for case in self.cases:
            for part in case.parts:
                parts[case.test, ModelFamily(*case.cell[2:]), part.key][case.cell[1]] = part
        for (test, family, key), by_quality in parts.items():
            yield ComparedPart(test, family, by_quality, self.compared[key])


class ComparedPart(NamedTuple):
    """A part of a test as it was compared, and by quality what is expected of it."""

    test: str
    family: ModelFamily
    by_quality: Mapping[str, Part]
    comparison: Comparison

    @property
    def model(self) -> str:
        """The model whose layers are compared; empty where models are."""
        return next(iter(self.by_quality.values())).name

    def expected(self, quality: str) -> np.ndarray:
        """Return the differences that are expected, as a matrix."""
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
    """Evaluate measures by the six tests of the ReSi benchmark on models; see
    :func:`resemblance.bench.resi.evaluate`, whose parameters it has.

    ``planned``: which models make which tests; by default each makes all that it can.
    ``reliabilities``: of what is expected, by the name of a cell, where they are known; by default
    from the outputs of the models. ``stored_only``: nothing is computed that ``save`` does not
    have.
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
    """Return which of n samples of a data set are compared, in their order, none twice.

    The same for all models: the draw depends on the name of the data set and the numbers only.
    """
    g = generator(0, "resi", "samples", dataset)
    return np.sort(g.choice(n, min(samples, n), replace=False))


def restrict_to_samples(
    cases: Sequence[Case], samples: int | None, folder: Path | None = None
) -> tuple[Case, ...]:
    """Return cases whose representations have at most so many samples.

    What is expected stays as it is: accuracies and outputs are those of all samples, since they
    are what a measure is held to, not what it sees. A representation with no more samples stays,
    too. ``folder``: where the others are kept; without it they stay in memory.
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
    """Return some rows of a representation, copied in blocks to a file if there is one."""
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
