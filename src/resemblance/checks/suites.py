"""Checks of a benchmark suite: a suite runs, resumes, reproduces its scores and names mistakes."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..base.exceptions import UndefinedError
from ..base.rendering import load_any_result
from ..base.results import BaseResult
from ..contracts._measure import Measure, measure
from .results import check_result
from .trial import Outcome

RUN_CHECK = "a run"
FAILING_REASON = "this measure always fails"
PACK_ROUNDING = 1e-6  # rounding of a score on a feature pack
SUITE_SCORES_METHOD = "scores"  # method of a suite's result that returns scores by task

Scores = Mapping[Any, Mapping[str, float | None]]  # by task and measure
RunSuite = Callable[..., Any]  # such as resemblance.bench.run for one benchmark
WritePack = Callable[[Path, Path], Any]  # (study, folder) -> feature pack


def check_suite(
    run: RunSuite,
    *,
    measures: Sequence[str] = ("cka", "procrustes"),
    write_pack: WritePack | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a suite, in folders that are removed afterwards.

    A run scores the measures, and its result passes :func:`check_result`. The folder of the study
    contains the result. A second run in the folder computes no comparison again. An interrupted run
    resumes with equal scores. A run without a folder, with two processes, has equal scores. An
    unknown measure, size or other word of an option is a ``ValueError`` with the word and the valid
    words. A feature pack gives the same scores as the study. A measure that fails is among the
    failures, with the reason, and the remaining measures keep their scores.

    Parameters
    ----------
    run : the suite, such as ``functools.partial(rs.bench.run, "manifolds")``. ``check_suite`` calls
        ``run`` with the folder of a study, or None, and with ``measures``, ``progress``, ``jobs``
        and the options; the result has ``scores()``, by task and measure.
    measures : two or more measures that the suite accepts.
    write_pack : called with the folder of a finished study and an empty folder; returns a feature
        pack. ``check_suite`` then calls ``run`` with ``pack`` and without options. Default: no
        packs.
    progress : called with (name, done, total) after every check.
    options : options of every run, such as ``size="small"``. Options with a word, or a list of
        words, are also tested with an unknown word.

    If a run fails, the result has only this outcome.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = _SuiteTrial(run, Path(folder), options, tuple(measures))
        checks = _suite_checks(trial, write_pack)
        outcomes = list[Outcome]()
        for outcome in _suite_outcomes(checks):
            outcomes.append(outcome)
            if progress:
                progress(outcome.check, len(outcomes), len(checks))
        return tuple(outcomes)


@dataclass
class _SuiteTrial:
    """A suite with the options. ``calls``: one None for every call of the counted measure.
    ``calls_by_step``: the number of calls so far, at every progress step of the first run.
    ``result``: the result of the first run."""

    run: RunSuite
    folder: Path
    options: Mapping[str, Any]
    measures: tuple[str, ...]
    calls: list[None] = field(default_factory=list)
    calls_by_step: list[int] = field(default_factory=list)
    result: Any = None

    @property
    def study(self) -> Path:
        return self.folder / "study"

    def start(self, study: Path | None, **options: Any) -> Any:
        """Run the suite with the measures and a measure that counts its calls; return the result.
        ``study``: the folder of the study, or None for no folder. ``options``: options of this run,
        in place of the same options of the suite."""
        selection = (*self.measures, _counted_measure(self.calls))
        return self.run(study, **{"measures": selection, **self.options, **options})

    def difference(self, result: Any) -> str:
        """Return the first difference between the scores of ``result`` and of the first run, in
        words, or ""."""
        return _difference(result.scores(), self.result.scores())


def _suite_checks(trial: _SuiteTrial, write_pack: WritePack | None) -> dict[str, partial[str]]:
    """Return the checks by name, in the order of execution. A check is called without arguments and
    returns the problem in words, or ""."""
    functions = {
        RUN_CHECK: _problem_of_run,
        "its result": _problem_of_result,
        "its study": _problem_of_study,
        "a second run": _problem_of_second_run,
        "an interruption": _problem_of_interruption,
        "two processes": _problem_of_processes,
    }
    checks = {name: partial(problem_of, trial) for name, problem_of in functions.items()}
    words = {"measures": trial.measures, **trial.options}
    for name, value in words.items():
        if isinstance(value, str) or (_is_list(value) and isinstance(value[0], str)):
            checks[f"unknown: {name}"] = partial(_problem_of_unknown_word, trial, name, value)
    if write_pack is not None:
        checks["a pack"] = partial(_problem_of_pack, trial, write_pack)
    # the last check, because it overwrites the result of the study
    checks["a measure that fails"] = partial(_problem_of_failing_measure, trial)
    return checks


def _suite_outcomes(checks: Mapping[str, partial[str]]) -> Iterator[Outcome]:
    for name, problem_of in checks.items():
        try:
            problem = problem_of()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        yield Outcome(name, "yes", not problem, problem)
        if problem and name == RUN_CHECK:
            return


# ------------------------------------------------------------------------------------------ checks


def _problem_of_run(trial: _SuiteTrial) -> str:
    def note_calls(*step: object) -> None:
        trial.calls_by_step.append(len(trial.calls))

    trial.result = trial.start(trial.study, progress=note_calls)
    is_result = isinstance(trial.result, BaseResult)
    if not (is_result and hasattr(trial.result, SUITE_SCORES_METHOD)):
        return f"it returns {type(trial.result).__name__}, which is no result with scores"
    scored = {
        spec
        for of_cell in trial.result.scores().values()
        for spec, value in of_cell.items()
        if not math.isnan(_number(value))
    }
    without_scores = [spec for spec in trial.measures if spec not in scored]
    return f"{without_scores[0]} has no score in any cell" if without_scores else ""


def _problem_of_result(trial: _SuiteTrial) -> str:
    failed = [o for o in check_result(trial.result) if o.holds is False]
    return "; ".join(f"{o.check}: {o.detail}" for o in failed)


def _problem_of_study(trial: _SuiteTrial) -> str:
    loaded = load_any_result(trial.study)
    return "" if loaded == trial.result else "the folder of the study holds another result"


def _problem_of_second_run(trial: _SuiteTrial) -> str:
    before = len(trial.calls)
    result = trial.start(trial.study)
    if again := len(trial.calls) - before:
        return f"{again} comparisons of {before} were computed again"
    return trial.difference(result)


class _InterruptedError(Exception):
    """The exception that stops a run."""


def _problem_of_interruption(trial: _SuiteTrial) -> str:
    """Interrupt a run at a step of its progress, after some comparisons, and resume the run. Return
    the problem, in words, or ""."""
    before, steps = len(trial.calls), trial.calls_by_step
    if not steps:
        return "it never calls progress"
    amid = [i for i, calls in enumerate(steps) if 0 < calls < steps[-1]]
    last_step = amid[len(amid) // 2] if amid else len(steps) // 2
    seen = list[object]()

    def interrupt(*step: object) -> None:
        seen.append(step)
        if len(seen) > last_step:
            raise _InterruptedError

    study = trial.folder / "interrupted"
    try:
        trial.start(study, progress=interrupt)
    except _InterruptedError:
        pass
    else:
        return "what its progress raises does not stop it"
    done = len(trial.calls) - before
    result = trial.start(study)
    again = len(trial.calls) - before - done
    if done and again >= steps[-1]:
        return f"{done} comparisons were made, and all {steps[-1]} are computed again"
    return trial.difference(result)


def _problem_of_processes(trial: _SuiteTrial) -> str:
    options = {"measures": trial.measures, **trial.options, "jobs": 2}
    scores = trial.run(None, **options).scores()
    return _difference(scores, _only(trial.result.scores(), trial.measures))


def _problem_of_failing_measure(trial: _SuiteTrial) -> str:
    failing = _failing_measure()
    result = trial.run(trial.study, measures=[*trial.measures, failing], **trial.options)
    names = (failing.spec, failing.label)
    reasons = [f.reason for f in result.failures if any(name in str(f) for name in names)]
    if not any(FAILING_REASON in reason for reason in reasons):
        return f"no failure names {failing.spec} with its reason: {result.failures!r:.300}"
    expected = _only(trial.result.scores(), trial.measures)
    return _difference(_only(result.scores(), trial.measures), expected)


def _problem_of_unknown_word(trial: _SuiteTrial, name: str, value: str | Sequence[str]) -> str:
    known = value if isinstance(value, str) else value[0]
    unknown = f"{known}x"
    wrong = unknown if isinstance(value, str) else [unknown]
    try:
        trial.run(None, **{"measures": trial.measures, **trial.options, name: wrong})
    except ValueError as error:
        named = unknown in str(error) and known in str(error).replace(unknown, "")
        return "" if named else f"the error does not name {unknown} and {known}: {error}"
    return f"{unknown} is taken"


def _problem_of_pack(trial: _SuiteTrial, write_pack: WritePack) -> str:
    folder = trial.folder / "pack"
    folder.mkdir()
    pack = write_pack(trial.study, folder)
    scores = trial.run(None, pack=pack, measures=trial.measures).scores()
    if not scores:
        return "a run on the pack has no scores"
    expected = _only(trial.result.scores(), trial.measures)
    return _difference(scores, {cell: expected.get(cell, {}) for cell in scores}, PACK_ROUNDING)


# --------------------------------------------------------------------------- measures and scores


def _counted_measure(calls: list[None]) -> Measure:
    """Return a measure that accepts any data and appends None to ``calls`` at each call."""

    @measure(
        label="Counted", family="descriptive", larger_is_more_similar=False, range=(0, math.inf),
        symmetric=True, citation="none", differentiable=False,
    )  # fmt: skip
    def counted(x: Any, y: Any) -> float:
        """Difference of the first numbers."""
        calls.append(None)
        return abs(float(x.array.flat[0]) - float(y.array.flat[0]))

    return counted


def _failing_measure() -> Measure:
    @measure(
        label="Failing", family="descriptive", larger_is_more_similar=False, range=(0, math.inf),
        symmetric=True, citation="none", differentiable=False,
    )  # fmt: skip
    def failing(x: Any, y: Any) -> float:
        """Nothing."""
        raise UndefinedError(FAILING_REASON)

    return failing


def _difference(scores: Scores, expected: Scores, rounding: float = 0.0) -> str:
    """Return the first difference between scores and expected scores, in words, or ""; None and NaN
    are equal. ``scores``, ``expected``: numbers by task, then by measure. ``rounding``: the allowed
    relative and absolute difference."""
    if scores.keys() != expected.keys():
        return f"it has the cells {list(scores)!r:.200} instead of {list(expected)!r:.200}"
    for cell, of_cell in expected.items():
        if scores[cell].keys() != of_cell.keys():
            return f"{cell}: it has the measures {list(scores[cell])} instead of {list(of_cell)}"
        for spec, value in of_cell.items():
            found = scores[cell][spec]
            if not _are_close(found, value, rounding):
                return f"{cell}: {spec} has {found} instead of {value}"
    return ""


def _only(scores: Scores, measures: Sequence[str]) -> dict[Any, dict[str, float | None]]:
    return {
        cell: {m: v for m, v in of_cell.items() if m in measures}
        for cell, of_cell in scores.items()
    }


def _are_close(value: float | None, other: float | None, rounding: float) -> bool:
    a, b = _number(value), _number(other)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=rounding, abs_tol=rounding)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value)
