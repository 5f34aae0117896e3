"""Evaluate measures on subjects: compare what the cases need, grade it, and keep all of it."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...catalogue import get_measures, preset
from ...comparison import Comparison, info_of
from ...measure import Measure
from ...results.result import Result
from ...subject import Subject
from ..case import Case, Part, Score
from ..families import ModelFamily
from ..feature_maps import scratch_folder
from ..scoring import Compared, compare_cases, scores_of, seconds_per_pair
from ..study import Progress
from .cases import Prepared, six_tests, with_reliabilities
from .costs import advice, of_cases
from .facts import Evaluation, FailedComparisons, Matrices, Rows
from .groups import GROUPS
from .membership import PlannedTests
from .rules import (
    FAILURES,
    PERMUTATIONS,
    PERMUTED,
    PRESETS,
    PROTOCOLS,
    UNRANKED,
    check_choice,
    rules_of,
)
from .samples import check_samples, on_samples
from .sections import Judges, result_of


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
    reliabilities: Mapping[str, float] | None = None,
    samples: int | None = None,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
) -> Evaluation:
    """Return the facts behind :func:`evaluate`, whose parameters it has.

    ``planned``: which models make which tests; by default each makes all that it can.
    ``reliabilities``: of what is expected, by the name of a cell, where they are known; by default
    from the outputs of the models.
    """
    options = options_of(protocol, permute, failures)
    check_choice("groups", groups, GROUPS)
    check_samples(samples)
    models = tuple(subjects)
    rules = rules_of(*options[:2])
    prepared = six_tests(models, groups=groups, planned=planned, rules=rules)
    wanted = get_measures(measures if measures is not None else preset(PRESETS[protocol]))
    has_maps = any(s.maps for s in models)
    with scratch_folder(save if has_maps or samples else None) as folder:
        cases = on_samples(prepared.cases, samples, folder)
        if reliabilities is not None:
            cases = with_reliabilities(cases, reliabilities)
        compared = compare_cases(
            cases,
            wanted,
            save=save,
            executor=executor,
            memory=memory,
            progress=progress,
            folder=folder,
            warn=partial(_warn_of_hours, cases, wanted),
        )
        scores = list[Score]()
        for position, case in enumerate(cases):
            scores += scores_of(case, compared)
            if progress:
                progress("grading", position + 1, len(cases))
        tests = list(dict.fromkeys((s.test, s.cell[2:]) for s in scores))
        specs = [m.spec for m in wanted]
        scores.sort(key=lambda s: (tests.index((s.test, s.cell[2:])), specs.index(s.measure)))
        facts = _evaluation(prepared._replace(cases=cases), wanted, compared, scores, options)
    if samples is None:
        return facts
    return facts._replace(provenance={**facts.provenance, "samples": samples})


def options_of(protocol: str, permute: str | None, failures: str | None) -> tuple[str, str, str]:
    """Return by which rules measures are scored and ranked: the protocol, what is permuted, and
    what becomes of failures, by default those of the protocol.

    Raises ``ValueError`` for words that do not exist or do not go together.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    permute, failures = permute or PERMUTED[protocol], failures or UNRANKED[protocol]
    check_choice("permute", permute, PERMUTATIONS)
    check_choice("failures", failures, FAILURES)
    if (protocol, failures) == ("resi-code", "last"):
        raise ValueError(
            'the authors\' code ranks no failures last: failures="unranked" goes with '
            'protocol="resi-code"'
        )
    return protocol, permute, failures


def _warn_of_hours(cases: Sequence[Case], measures: Sequence[Measure], share: float) -> None:
    """Warn before comparisons that take very long; ``share``: of them, those still to be done."""
    if text := advice(partial(of_cases, cases), measures, share=share):
        warnings.warn(text, stacklevel=2)


# ---------------------------------------------------------------------------------------- the facts


class ComparedPart(NamedTuple):
    """A part of a test as it was compared: by quality, with what is expected of it."""

    test: str
    family: ModelFamily
    by_quality: Mapping[str, Part]
    comparison: Comparison


def _evaluation(
    prepared: Prepared,
    measures: Sequence[Measure],
    compared: Compared,
    scores: Iterable[Score],
    options: tuple[str, str, str],
) -> Evaluation:
    parts = list(_parts(prepared.cases, compared))
    return Evaluation(
        *options,
        measures=tuple(info_of(m) for m in measures),
        scores=tuple(scores),
        groups=prepared.groups,
        absent=prepared.absent,
        maps=tuple(map(_map, parts)),
        failed=tuple(_failed(parts)),
        seconds=_seconds(parts),
        provenance=_provenance(parts),
    )


def _parts(cases: Iterable[Case], compared: Compared) -> Iterator[ComparedPart]:
    """Yield the parts of every test, in their order."""
    parts: dict[Any, dict[str, Part]] = defaultdict(dict)
    for case in cases:
        for part in case.parts:
            parts[case.test, ModelFamily(*case.cell[2:]), part.key][case.cell[1]] = part
    for (test, family, key), by_quality in parts.items():
        yield ComparedPart(test, family, by_quality, compared[key])


def _provenance(parts: Sequence[ComparedPart]) -> dict[str, Any]:
    """Return the versions used, and the fingerprint and shape of every representation."""
    if not parts:
        return {}
    first = parts[0].comparison.provenance
    versions = {k: v for k, v in first.items() if k not in ("rows", "columns", "n_samples")}
    identities = {
        pooled_name(name, part.family.pooling): {**identity, "n_samples": of["n_samples"]}
        for part in parts
        for of in (part.comparison.provenance,)
        for name, identity in of["rows"].items()
    }
    return {**versions, "representations": identities}


def pooled_name(name: str, pooling: str) -> str:
    """Return what a representation is called among those of all poolings of its model."""
    return f"{name} ({pooling})" if pooling else name


def _map(part: ComparedPart) -> Matrices:
    comparison, expected = part.comparison, part.by_quality.items()
    return Matrices(
        part.test,
        *part.family,
        model=next(iter(part.by_quality.values())).name,
        names=comparison.rows,
        values={spec: _rows(matrix) for spec, matrix in comparison.values.items()},
        expected={quality: _rows(_expected(of.expected)) for quality, of in expected},
    )


def _expected(expectation: np.ndarray | Sequence[str] | int) -> np.ndarray:
    """Return the differences that are expected of predictions, groups or layers as a matrix."""
    if isinstance(expectation, np.ndarray):
        return np.asarray(expectation, float)
    if isinstance(expectation, int):
        positions = np.arange(expectation)
        return np.asarray(np.abs(positions[:, None] - positions[None, :]), float)
    return np.array([[float(a != b) for b in expectation] for a in expectation])


def _rows(matrix: np.ndarray) -> Rows:
    return tuple(tuple(map(float, row)) for row in matrix)


def _failed(parts: Iterable[ComparedPart]) -> Iterator[FailedComparisons]:
    """Yield the failures of every measure in every test."""
    reasons: dict[tuple[str, ModelFamily], dict[str, Counter[str]]] = {}
    for part in parts:
        of_test = reasons.setdefault((part.test, part.family), defaultdict(Counter))
        for failure in part.comparison.failures:
            of_test[failure.measure][failure.reason] += 1
    for (test, family), by_measure in reasons.items():
        for measure, count in by_measure.items():
            most = count.most_common(1)[0][0]
            yield FailedComparisons(measure, test, *family, count.total(), most)


def _seconds(parts: Iterable[ComparedPart]) -> dict[str, Mapping[str, float]]:
    """Return the mean seconds of a comparison, by domain and measure."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for part in parts:
        for measure, seconds in seconds_per_pair(part.comparison).items():
            times[part.family.domain][measure].append(seconds)
    return {
        domain: {measure: sum(spent) / len(spent) for measure, spent in by_measure.items()}
        for domain, by_measure in times.items()
    }
