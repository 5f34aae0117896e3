"""Evaluate measures on subjects: compare what the cases need, grade it, and keep all of it."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...catalogue import get_measures, preset
from ...compare import compare_many
from ...comparison import Comparison, info_of, seconds_per_pair
from ...engine.work import Work
from ...measure import Measure
from ...results.result import Result
from ...subject import Subject
from ..study import Progress
from .cases import Prepared, six_tests
from .costs import advice, of_cases
from .facts import Evaluation, FailedComparisons, Matrices, Rows
from .grading import (
    FAILURES,
    PERMUTATIONS,
    PERMUTED,
    PRESETS,
    PROTOCOLS,
    UNRANKED,
    Case,
    Score,
    check_choice,
    grade,
)
from .groups import GROUPS
from .maps import Piece, Shapes, merged, pieces_of, scratch_folder, shapes_of
from .membership import PlannedTests
from .samples import check_samples, on_samples
from .sections import Judges, result_of


class Options(NamedTuple):
    """By which rules measures are scored and ranked."""

    protocol: str
    permute: str
    failures: str


class Compared(NamedTuple):
    """A case, and the comparison of each of its parts."""

    case: Case
    parts: tuple[Comparison, ...]


def evaluate(
    subjects: Iterable[Subject],
    *,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    groups: str = "separated",
    samples: int | None = None,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    claims: Judges | None = None,
) -> Result:
    """Evaluate measures by the six tests of the ReSi benchmark on subjects.

    Parameters
    ----------
    subjects : models seen on fixed inputs, from :func:`resemblance.read_subjects`,
        :func:`resemblance.subject_from_model` or elsewhere. Those that agree in domain, dataset,
        architecture and pooling are compared; ``setting``, ``strength`` and ``seed`` say which
        tests they make.
    measures : measures, names, specifications, presets. Default: the 24 of the benchmark, as
        ``protocol`` has them.
    protocol : ``"paper"`` (the definitions of Klabunde et al. 2025) or ``"resi-code"`` (what the
        authors' code computes).
    permute : what the permutation tests permute, ``"models"`` or ``"pairs"``; default by protocol.
    failures : ``"last"`` ranks a measure with failed comparisons behind all others of a cell
        (default of the first protocol); ``"unranked"`` ranks it by what is left, or not at all (of
        the second, which has no other).
    groups : ``"separated"`` compares the groups of models whose accuracies do not overlap,
        ``"published"`` all groups, and only notes which overlap.
    samples : on how many of the samples representations are compared, if on fewer than all. They
        are drawn once for a data set, the same for all its models. Accuracies and outputs, with
        which tests 1 and 2 compare, remain those of all samples.
    save : file that keeps every comparison, so that a later evaluation computes only what is new.
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with ("comparing", done, total) and ("grading", done, total).
    claims : by the name of a section, a function that judges the claims of a paper on the
        :class:`~resemblance.suites.resi.facts.Evaluation`.

    :func:`assess` returns the facts from which the result is made: every score with its p-value,
    and every comparison.
    """
    facts = assess(
        subjects,
        measures=measures,
        protocol=protocol,
        permute=permute,
        failures=failures,
        groups=groups,
        samples=samples,
        save=save,
        executor=executor,
        memory=memory,
        progress=progress,
    )
    return result_of(facts, claims)


def assess(
    subjects: Iterable[Subject],
    *,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    groups: str = "separated",
    planned: PlannedTests | None = None,
    samples: int | None = None,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
) -> Evaluation:
    """Return the facts behind :func:`evaluate`, whose parameters it has.

    ``planned``: which models make which tests; by default each makes all that it can.
    """
    options = options_of(protocol, permute, failures)
    check_choice("groups", groups, GROUPS)
    check_samples(samples)
    models = tuple(subjects)
    prepared = six_tests(models, groups=groups, planned=planned)
    wanted = get_measures(measures if measures is not None else preset(PRESETS[protocol]))
    show = progress or (lambda stage, done, total: None)
    shapes = shapes_of(models)
    with scratch_folder(save if shapes or samples else None) as folder:
        cases, shapes = on_samples(prepared.cases, shapes, samples, folder)
        run = partial(compare_many, save=save, executor=executor, memory=memory)
        warn = partial(_warn_of_hours, cases, shapes, wanted)
        compared = _compare_all(cases, shapes, wanted, run, folder, show, warn)
        facts = _graded(prepared, wanted, compared, options, show)
    return facts if samples is None else _with_samples(facts, samples)


def options_of(protocol: str, permute: str | None, failures: str | None) -> Options:
    """Return the rules that a protocol has where nothing else is given.

    Raises ``ValueError`` for words that do not exist or do not go together.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    options = Options(protocol, permute or PERMUTED[protocol], failures or UNRANKED[protocol])
    check_choice("permute", options.permute, PERMUTATIONS)
    check_choice("failures", options.failures, FAILURES)
    if (options.protocol, options.failures) == ("resi-code", "last"):
        raise ValueError(
            'the authors\' code ranks no failures last: failures="unranked" goes with '
            'protocol="resi-code"'
        )
    return options


def _compare_all(
    cases: Sequence[Case],
    shapes: Shapes,
    measures: Sequence[Measure],
    run: Callable[..., Sequence[Comparison]],
    folder: Path | None,
    progress: Progress,
    warn: Callable[[float], None],
) -> list[Compared]:
    """Compare all parts of all cases in one run, so that no case waits for the one before it.

    ``warn``: called before that with the share of the comparisons that is still to be done.
    """
    parts = [part for case in cases for part in case.parts]
    needed = [pieces_of(part, shapes, measures, folder) for part in parts]
    pieces = [piece for of_part in needed for piece in of_part]
    total = sum(map(_comparisons, pieces))
    works = [Work.of(piece.representations, piece.measures) for piece in pieces]

    def show(ready: int, missing: int) -> None:
        if not ready:
            warn(missing / total)
        progress("comparing", total - missing + ready, total)

    comparisons = iter(run(works, progress=show))
    progress("comparing", total, total)
    whole = (
        merged(part, of_part, tuple(islice(comparisons, len(of_part))), measures)
        for part, of_part in zip(parts, needed, strict=True)
    )
    return [Compared(case, tuple(islice(whole, len(case.parts)))) for case in cases]


def _warn_of_hours(
    cases: Sequence[Case], shapes: Shapes, measures: Sequence[Measure], share: float
) -> None:
    """Warn before comparisons that take very long; ``share``: of them, those still to be done."""
    if text := advice(partial(of_cases, cases, shapes), measures, share=share):
        warnings.warn(text, stacklevel=2)


def _comparisons(piece: Piece) -> int:
    """Return how many comparisons all pairs of a piece need."""
    count = len(piece.representations)
    pairs = count * (count - 1) // 2
    return sum(count + pairs * (1 if m.symmetric else 2) for m in piece.measures)


# ---------------------------------------------------------------------------------------- the facts


def _graded(
    prepared: Prepared,
    measures: Sequence[Measure],
    compared: Sequence[Compared],
    options: Options,
    progress: Progress,
) -> Evaluation:
    """Return the facts, with the score of every measure in every case."""
    scores = list[Score]()
    for position, (case, parts) in enumerate(compared):
        scores += grade(case, parts, protocol=options.protocol, permute=options.permute)
        progress("grading", position + 1, len(compared))
    return _evaluation(prepared, measures, compared, scores, options)


def _with_samples(facts: Evaluation, samples: int) -> Evaluation:
    """Return facts that say on how many samples representations were compared."""
    return facts._replace(provenance={**facts.provenance, "samples": samples})


def _evaluation(
    prepared: Prepared,
    measures: Sequence[Measure],
    compared: Sequence[Compared],
    scores: Iterable[Score],
    options: Options,
) -> Evaluation:
    return Evaluation(
        *options,
        measures=tuple(info_of(m) for m in measures),
        scores=tuple(scores),
        groups=prepared.groups,
        absent=prepared.absent,
        maps=tuple(_map(case, i, part) for case, parts in compared for i, part in enumerate(parts)),
        failed=tuple(failed for row in compared for failed in _failed(row)),
        seconds=_seconds(compared),
        provenance=_provenance(compared),
    )


def _provenance(compared: Sequence[Compared]) -> dict[str, Any]:
    """Return the versions used, and the fingerprint and shape of every representation."""
    if not compared:
        return {}
    first = compared[0].parts[0].provenance
    versions = {k: v for k, v in first.items() if k not in ("rows", "columns", "n_samples")}
    identities = {
        pooled_name(name, case.pooling): {**identity, "n_samples": part.provenance["n_samples"]}
        for case, parts in compared
        for part in parts
        for name, identity in part.provenance["rows"].items()
    }
    return {**versions, "representations": identities}


def pooled_name(name: str, pooling: str) -> str:
    """Return what a representation is called among those of all poolings of its model."""
    return f"{name} ({pooling})" if pooling else name


def _map(case: Case, part: int, comparison: Comparison) -> Matrices:
    expected = {
        quality: _rows(_expected(case.kind, by_part[part]))
        for quality, by_part in case.expectations.items()
    }
    values = {spec: _rows(matrix) for spec, matrix in comparison.values.items()}
    model = case.models[part] if case.models else ""
    return Matrices(case.test, *case.family, model, comparison.rows, values, expected)


def _expected(kind: str, expectation: Any) -> np.ndarray:
    """Return the expected differences as a matrix, whatever kind of expectation it is."""
    if kind == "prediction":
        return np.asarray(expectation, float)
    if kind == "group":
        return np.array([[float(a != b) for b in expectation] for a in expectation])
    positions = np.arange(expectation)
    return np.asarray(np.abs(positions[:, None] - positions[None, :]), float)


def _rows(matrix: np.ndarray) -> Rows:
    return tuple(tuple(map(float, row)) for row in matrix)


def _failed(row: Compared) -> list[FailedComparisons]:
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for part in row.parts:
        for failure in part.failures:
            reasons[failure.measure][failure.reason] += 1
    return [
        FailedComparisons(
            measure, row.case.test, *row.case.family, count.total(), count.most_common(1)[0][0]
        )
        for measure, count in reasons.items()
    ]


def _seconds(compared: Iterable[Compared]) -> dict[str, Mapping[str, float]]:
    """Return the mean seconds of a comparison, by domain and measure."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case, parts in compared:
        for part in parts:
            for measure, seconds in seconds_per_pair(part).items():
                times[case.domain][measure].append(seconds)
    return {
        domain: {measure: sum(spent) / len(spent) for measure, spent in by_measure.items()}
        for domain, by_measure in times.items()
    }
