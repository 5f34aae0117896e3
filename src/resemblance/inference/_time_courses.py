"""Score models at every time of recorded responses, with clusters of times over subjects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.formatting import count_with_noun
from ..base.progress import Progress, progress_reporter
from ..catalogue import get_measure
from ..comparison.comparison import Failure
from ..comparison.provenance import environment_versions
from ..contracts._measure import Measure
from ..data.inputs import is_single_input
from ..data.joining import condition_means
from ..data.layouts import as_trials, from_trials
from ..data.representation import Representation
from ..engine.jobs import Jobs, open_executor
from ..engine.workers import WorkerCall, run_calls
from ..measures._dissimilarities import dissimilarities
from ..significance.clusters import SignFlips, sign_flip_clusters
from ..significance.resampling import check_positive_integers
from ._score_models import ModelScores, score_models
from .nulls import format_labeled_pvalue
from .several_models import ModelScore
from .subject_scores import SubjectScores

WINDOW_AXES = "trials bins units"
CLUSTER_LEVEL = 0.05  # the largest p-value of a cluster that summaries and figures show
NO_CLUSTER_WORDS = f"no significant cluster of times above 0 (p at most {CLUSTER_LEVEL:g})"
INTERVAL_CAVEAT = "the intervals of "  # how the caveat about clipped intervals begins


def describe_time_span(start: float, stop: float) -> str:
    """Return "from -0.1 to 0.3", or "at 0.1" for a single time."""
    return f"at {start:g}" if start == stop else f"from {start:g} to {stop:g}"


class TimeCluster(NamedTuple):
    """Neighbouring times at which a model scores above 0, or unlike the model ``against``.

    ``against`` is "" for a cluster above 0. ``start`` and ``stop``: the first and the last time.
    ``mass``: the sum of t, negative where ``model`` scores lower. ``pvalue``: of the whole cluster,
    adjusted for all times and models of the test; the start and the stop are no tested onsets.
    """

    model: str
    against: str
    start: float
    stop: float
    mass: float
    pvalue: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TimeCourses(SubjectScores):
    """Scores of models at each time: the return value of :func:`score_models_over_time`.

    ``times`` (times,) are the centres of the windows. ``values`` (times, subjects, models) has the
    score of each subject; ``mean``, ``standard_error``, ``low`` and ``high`` (times, models)
    describe the means over subjects, with intervals for each time alone, clipped to the range of
    the score. ``ceiling`` (times, 3): the lower noise ceiling, its standard error, and the upper
    noise ceiling, as in :class:`ModelScores`, or None. ``clusters``: times above 0, for a measure
    with chance level 0; ``min_pvalue`` is the smallest p-value that a cluster can have.
    ``failures`` has the reason for each excluded subject.
    """

    times: np.ndarray
    ceiling: np.ndarray | None
    clusters: tuple[TimeCluster, ...]
    min_pvalue: float
    cluster_alpha: float
    n_permutations: int
    seed: int

    def summary(self) -> str:
        """Return a line for each model, with the highest mean and the significant clusters."""
        subjects = count_with_noun(len(self.subjects), "subject")
        times = count_with_noun(len(self.times), "time")
        span = describe_time_span(*self.times[[0, -1]])
        lines = [f"TimeCourses {subjects}, {times} {span}, by {self.title}"]
        width = max(map(len, self.models))
        for column, model in enumerate(self.models):
            place = int(self.mean[:, column].argmax())
            peak = f"largest {self.mean[place, column]:.3f} at {self.times[place]:g}"
            spans = [
                f"{describe_time_span(c.start, c.stop)} ({format_labeled_pvalue(c.pvalue)})"
                for c in self.clusters
                if c.model == model and c.pvalue <= CLUSTER_LEVEL
            ]
            words = f"above 0 {', '.join(spans)}" if spans else NO_CLUSTER_WORDS
            lines.append(f"  {model:{width}}  {peak}{f'; {words}' * self.is_0_by_chance}")
        return "\n".join([*lines, *self._notes()])

    def difference_clusters(self, a: str, b: str) -> tuple[TimeCluster, ...]:
        """Return clusters of times at which models ``a`` and ``b`` score differently.

        The test is two-sided, with the ``cluster_alpha``, the number of permutations and the seed
        of the result. Raises ``KeyError`` for an unknown name.
        """
        i, j = self._column(a), self._column(b)
        gaps = (self.values[:, :, i] - self.values[:, :, j])[:, :, None]
        flips = _flip_signs(gaps, self.cluster_alpha, self.n_permutations, self.seed, True)
        return _time_clusters(flips, self.times, (a,), b)

    def records(self) -> list[dict[str, Any]]:
        """Return a record per model and time, with all times of a model in sequence.

        A record has the keys "measure", "score", "model", "time", "value", "standard_error", "low",
        "high" and "pvalue_cluster". "score" is the name of the score, such as "similarity". "value"
        is the mean score over subjects. "pvalue_cluster" is the p-value of the cluster above 0 at
        this time; None outside clusters. A single time has no other p-value.
        """
        rows = []
        for column, model in enumerate(self.models):
            clusters = [cluster for cluster in self.clusters if cluster.model == model]
            for place, time in enumerate(self.times.tolist()):
                pvalues = [c.pvalue for c in clusters if c.start <= time <= c.stop]
                numbers = {
                    name: float(getattr(self, name)[place, column])
                    for name in ("mean", "standard_error", "low", "high")
                }
                rows.append(
                    {
                        "measure": self.measure,
                        "score": self.score,
                        "model": model,
                        "time": time,
                        "value": numbers.pop("mean"),
                        **numbers,
                        "pvalue_cluster": pvalues[0] if pvalues else None,
                    }
                )
        return rows

    def _places(self) -> dict[str, np.ndarray]:
        return {"time": self.times}


def score_models_over_time(
    models: Mapping[str, Any],
    subjects: Mapping[str, Any],
    *,
    axes: str | None = None,
    times: Any = None,
    width: int = 1,
    step: int | None = None,
    conditions: Any = None,
    runs: Any = None,
    noise: Any = None,
    measure: str | Measure = "rsa[rdm=sqeuclidean,compare=whitened_pearson]",
    score: ModelScore = "similarity",
    whole_blocks: Any = None,
    cluster_alpha: float = 0.05,
    n_permutations: int = 9999,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = True,
) -> TimeCourses:
    """Score models at every time of the responses of several subjects: a curve for each model.

    The scores at a time are :func:`score_models` of the mean responses in a window, with intervals
    for other subjects and other stimuli, and the noise ceiling of that time. For a measure with
    chance level 0, such as the default, clusters of times above 0 are tested by sign flips over
    subjects: t over subjects at each time; neighbouring times with t above its one-sided quantile
    of ``cluster_alpha`` are a cluster; the mass of a cluster is the sum of t; and the p-value is
    the share of sign patterns with a largest mass, over all times and models, at least as large
    (cluster-based permutation test). All sign patterns are visited if ``n_permutations`` is at
    least 2^subjects. ``cluster_alpha`` forms clusters: a smaller number favours short, strong
    effects; the level of the test does not depend on ``cluster_alpha``. A cluster is about other
    subjects who see the same stimuli.

    ``models``: a mapping of (conditions, features) arrays or representations. ``subjects``: a
    mapping of responses with three axes, named in order by ``axes``: trials (or conditions), bins
    and units, as in :func:`from_trials`. All subjects have the same number of bins.

    ``times``: the time of each bin, (bins,), for example in seconds; by default the coordinate of a
    DataArray, or else 0, 1, 2, ... ``width``: the number of bins of a window; the time of a window
    is the mean time of its bins. Windows begin ``step`` bins apart, by default 1.

    ``conditions``: a label for each trial; without conditions, the rows are the conditions. With
    ``runs`` (a label for each trial) or ``noise`` (a covariance of units), the dissimilarities of a
    window are cross-validated or weighed by noise, as in :func:`dissimilarities`. Each of the three
    may be a mapping by subject. Without ``runs``, noise adds to the dissimilarities of conditions
    with few trials, so a model of the numbers of trials would score above 0.

    ``measure``, ``score``, ``whole_blocks``, ``confidence_level``: as in :func:`score_models`; the
    default compares by correlation, because clusters above 0 need a chance level of 0. Where chance
    is not 0, there are no clusters above 0, but ``difference_clusters`` of two models. ``jobs`` and
    ``progress``: as in :func:`compare`; a worker computes a time.

    A subject without a score at some time is excluded, with the reason. Raises ``ValueError`` for
    responses without three axes, different numbers of bins, times that do not fit, windows longer
    than the responses, ``runs`` or ``noise`` without ``conditions`` or with a measure other than
    ``rsa``, and for the errors of :func:`score_models`.

    Reference: Maris and Oostenveld 2007; Cichy et al. 2014 for the comparison with models over
    time. Sassenhagen and Draschkow 2019: a cluster does not show when an effect begins.
    """
    m = get_measure(measure) if isinstance(measure, str) else measure
    if is_single_input(subjects) or not isinstance(subjects, Mapping):
        raise ValueError(
            "score_models_over_time: subjects is a mapping of names to responses: {'s1': X}"
        )
    labels = {"conditions": conditions, "runs": runs, "noise": noise}
    if conditions is None and (runs is not None or noise is not None):
        raise ValueError(
            "score_models_over_time: runs and noise need conditions, a label for each trial"
        )
    if (runs is not None or noise is not None) and m.name != "rsa":
        raise ValueError(
            "score_models_over_time: runs and noise give dissimilarities, which rsa compares; got "
            f"{m}"
        )
    responses = {
        str(name): as_trials(X, axes, "score_models_over_time") for name, X in subjects.items()
    }
    starts, centers = _window_starts(responses, subjects, times, width, step)

    def window_at(place: int) -> dict[str, Representation]:
        window = (starts[place], starts[place] + width)
        return {
            name: _responses_in_window(name, X, ids, window, labels, m)
            for name, (X, _, ids) in responses.items()
        }

    options: dict[str, Any] = {
        "measure": m, "score": score, "whole_blocks": whole_blocks,
        "confidence_level": confidence_level, "seed": seed, "progress": False,
    }  # fmt: skip
    with open_executor("score_models_over_time", jobs) as executor:
        results, failures = _scores_at_times(
            models, window_at, centers, options, executor, progress
        )
    return _time_courses(results, centers, failures, m, cluster_alpha, n_permutations, seed)


def _window_starts(
    responses: Mapping[str, Any], subjects: Mapping[str, Any], times: Any, width: int, step: Any
) -> tuple[list[int], np.ndarray]:
    """Return the first bin of each window, and the mean time of the bins of each window,
    (windows,).

    ``responses``: by subject, a tuple that begins with the responses (trials, bins, units).
    ``subjects``: by name, the arrays or DataArrays as the user gave them. ``times``: the time of
    every bin, (bins,), ascending; None for the times of the subjects. ``width``: bins per window.
    ``step``: bins from a start to the next start; None for 1. Raises ``ValueError`` for different
    numbers of bins, a window wider than all bins, and times that do not fit.
    """
    check_positive_integers("score_models_over_time", width=width, step=1 if step is None else step)
    counts = {name: int(X.shape[1]) for name, (X, _, _) in responses.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ValueError(
            f"score_models_over_time: all subjects need the same bins; got {listed}; cut the "
            "responses to the times that all have"
        )
    bins = next(iter(counts.values()), 0)
    if width > bins:
        raise ValueError(f"score_models_over_time: width={width} of responses with {bins} bins")
    times = _common_times(subjects, bins) if times is None else _numbers(times)
    if times.shape != (bins,) or not (np.diff(times) > 0).all() or not np.isfinite(times).all():
        raise ValueError(
            f"score_models_over_time: times must be {bins} increasing numbers, one for each bin; "
            f"got shape {times.shape}"
        )
    starts = list(range(0, bins - width + 1, 1 if step is None else step))
    return starts, np.array([times[start : start + width].mean() for start in starts])


def _numbers(times: Any) -> np.ndarray:
    """Return times as an array of floats; an array of shape (), NaN, for values that are no
    numbers."""
    try:
        return np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _common_times(subjects: Mapping[str, Any], bins: int) -> np.ndarray:
    """Return the times of the bins, (bins,): the coordinates of the subjects, or 0, 1, 2, ... if
    no subject has coordinates. Raises ``ValueError`` if two subjects have different times."""
    coordinates = {name: _coordinate_of_bins(X, bins) for name, X in subjects.items()}
    given = {name: times for name, times in coordinates.items() if times is not None}
    if not given:
        return np.arange(bins, dtype=float)
    first, times = next(iter(given.items()))
    for name, others in given.items():
        if times.shape != others.shape or not np.allclose(times, others, rtol=1e-6, atol=0):
            ranges = " and ".join(
                f"{n} has {t[0]:g} to {t[-1]:g}" for n, t in ((first, times), (name, others))
            )
            raise ValueError(
                f"score_models_over_time: subjects have different times: {ranges}; select the "
                "times that all have, or pass times="
            )
    return times


def _coordinate_of_bins(X: Any, bins: int) -> np.ndarray | None:
    """Return the coordinate "time" or "bin" of the DataArray ``X`` as floats, (bins,), durations in
    seconds; None without such a coordinate, and for other data. ``bins``: the number of bins, for
    errors.

    Raises ``ValueError`` for a coordinate that is neither numbers nor durations.
    """
    for name in getattr(X, "dims", ()):
        coordinate = X.coords.get(name) if str(name).rstrip("s") in ("time", "bin") else None
        if coordinate is None:
            continue
        values = np.asarray(coordinate)
        if values.dtype.kind == "m":
            return np.asarray(values / np.timedelta64(1, "s"), dtype=float)
        if values.dtype.kind not in "iuf":
            raise ValueError(
                f"score_models_over_time: the coordinate {str(name)!r} is neither numbers nor "
                f"durations but {values.dtype}; pass times= with {bins} numbers"
            )
        return np.asarray(values, dtype=float)
    return None


def _responses_in_window(
    name: str,
    X: Any,
    ids: Any,
    window: tuple[int, int],
    labels: Mapping[str, Any],
    measure: Measure,
) -> Representation:
    """Return subject ``name`` in the bins ``window`` = (start, stop): the mean responses of trials
    without conditions, the mean responses by condition, or, with runs or noise, dissimilarities of
    the conditions.

    ``X``: (trials, bins, units). ``ids``: of the trials, or None. ``labels``: conditions, runs and
    noise, by these names. ``measure``: names the kind of dissimilarities.
    """
    x = from_trials(X, pool="mean", window=window, axes=WINDOW_AXES, name=name, ids=ids)
    own = {key: _of_subject(value, name, key) for key, value in labels.items()}
    if own["conditions"] is None:
        return x
    if own["runs"] is None and own["noise"] is None:
        return condition_means(x, own["conditions"], name=name)
    kind = {**measure.defaults, **dict(measure.parameters)}["rdm"]
    return dissimilarities(x, rdm=kind, name=name, **own)


def _of_subject(value: Any, name: str, key: str) -> Any:
    """Return the labels or the noise ``key`` of subject ``name``: the entry of a mapping, or the
    value itself, which holds for all subjects. Raises ``ValueError`` for a mapping without the
    subject."""
    if not isinstance(value, Mapping):
        return value
    if name not in value:
        raise ValueError(f"score_models_over_time: {key} has no entry for the subject {name!r}")
    return value[name]


def _scores_at(models: Any, subjects: Any, options: Mapping[str, Any]) -> ModelScores:
    return score_models(models, subjects, **options)


def _scores_at_times(
    models: Any,
    window_at: Callable[[int], Mapping[str, Representation]],
    centers: np.ndarray,
    options: Mapping[str, Any],
    executor: Executor | None,
    progress: Progress,
) -> tuple[list[ModelScores], tuple[Failure, ...]]:
    """Return the scores at each time, of the subjects with scores at all times, and the reasons for
    excluded subjects.

    ``models``: representations or fitted models by name. ``window_at``: maps the position of a time
    to the subjects at this time, by name. ``centers``: the times, (times,). ``options``: keywords
    of ``score_models``. If a subject fails at some time, the function leaves the subject out and
    scores all times again.
    """
    failures: dict[str, Failure] = {}
    count = len(centers)
    while True:
        calls = (
            WorkerCall(
                f"time {place + 1} of {count}",
                _scores_at,
                (models, _without(window_at(place), failures), options),
            )
            for place in range(count)
        )
        done = {}
        with progress_reporter(progress, count, "score_models_over_time") as advance:
            for call, future in run_calls(calls, executor):
                done[call.name] = future.result()
                advance(1)
        results = [done[f"time {place + 1} of {count}"] for place in range(count)]
        lost = {
            failure.x: failure._replace(reason=f"{failure.reason} (time {center:g})")
            for center, result in zip(centers, results)
            for failure in result.failures
        }
        if not lost:
            return results, tuple(failures.values())
        failures |= lost


def _without(
    window: Mapping[str, Representation], failures: Mapping[str, Failure]
) -> dict[str, Representation]:
    """Return the entries of ``window``, subjects by name, that have not failed.

    Raises ``UndefinedError`` if the failures leave fewer than two.
    """
    kept = {name: x for name, x in window.items() if name not in failures}
    if failures and len(kept) < 2:
        reason = next(iter(failures.values())).reason
        raise UndefinedError(
            f"score_models_over_time: fewer than two subjects have scores; the first: {reason}"
        )
    return kept


def _time_courses(
    results: Sequence[ModelScores],
    times: np.ndarray,
    failures: tuple[Failure, ...],
    measure: Measure,
    cluster_alpha: float,
    n_permutations: int,
    seed: int,
) -> TimeCourses:
    first = results[0]
    values = np.stack([result.values for result in results])
    flips = _flip_signs(values, cluster_alpha, n_permutations, seed, False)
    clusters = _time_clusters(flips, times, first.models, "") if first.is_0_by_chance else ()
    caveats = dict.fromkeys(
        caveat
        for result in results
        for caveat in result.caveats
        if not caveat.startswith(INTERVAL_CAVEAT)
    )
    notes = []
    if not first.is_0_by_chance:
        notes.append(
            f"no clusters above 0: an unrelated model does not score 0 by {first.title}; "
            "difference_clusters compares two models"
        )
    elif flips.min_pvalue > CLUSTER_LEVEL:
        notes.append(
            f"a cluster of {len(first.subjects)} subjects cannot have a p-value below "
            f"{flips.min_pvalue:g}"
        )
    ceilings = [result.ceiling for result in results if result.ceiling is not None]
    return TimeCourses(
        measure=first.measure,
        score=first.score,
        subjects=first.subjects,
        models=first.models,
        times=times,
        values=values,
        mean=np.stack([result.mean for result in results]),
        standard_error=np.stack([result.standard_error for result in results]),
        low=np.stack([result.low for result in results]),
        high=np.stack([result.high for result in results]),
        ceiling=np.array(ceilings) if len(ceilings) == len(results) else None,
        clusters=clusters,
        min_pvalue=flips.min_pvalue,
        is_0_by_chance=first.is_0_by_chance,
        cluster_alpha=cluster_alpha,
        n_permutations=n_permutations,
        seed=seed,
        freedom=first.freedom,
        confidence_level=first.confidence_level,
        failures=failures,
        caveats=(*caveats, *notes),
        provenance=environment_versions(),
    )


def _flip_signs(
    values: np.ndarray, alpha: float, n_permutations: int, seed: int, two_sided: bool
) -> SignFlips:
    return sign_flip_clusters(
        values, alpha=alpha, n_permutations=n_permutations, seed=seed, two_sided=two_sided
    )


def _time_clusters(
    flips: SignFlips, times: np.ndarray, models: Sequence[str], against: str
) -> tuple[TimeCluster, ...]:
    return tuple(
        TimeCluster(
            models[c.column], against, float(times[c.start]), float(times[c.stop]), c.mass, c.pvalue
        )
        for c in flips.clusters
    )
