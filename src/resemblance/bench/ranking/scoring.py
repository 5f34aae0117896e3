"""Score measures in all tasks of feature packs."""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path

from resemblance.base.user_modules import UserFileError
from resemblance.catalogue import get_measure
from resemblance.comparison.provenance import describe_machine, library_versions
from resemblance.contracts._measure import Measure
from resemblance.engine.workers import WorkerCall, run_calls, single_threaded

from ..case import Case, Score, seeds_of_case, task_name
from ..packs import Pack
from ..pinned import PackTask, pack_cases, pack_tasks
from ..scoring import score as suite_score
from ..study import StageProgress
from .score_file import MeasureCard, PackScores, ScoredCell
from .trivial import guess_scores, is_random_guessing

TOO_SLOW_REASON = "left out: too slow for this number of samples"
SCORE_DIGITS = 12  # stored scores are rounded to this number of digits
WITHOUT_DIGITS = 5  # digits of scores without a seed: they give standard errors, which need few
PACKS_STAGE = "packs"  # progress stage if worker processes report no stages


def score(
    pack: Pack,
    measure: str | Measure,
    *,
    memory: int | str = "half",
    progress: StageProgress | None = None,
) -> PackScores:
    """Run a measure on a pack, and return its scores.

    Scores are rounded to 12 digits. The tasks are the tasks of the pack, whatever the measure: a
    task without a score has a reason. ``progress``: called with a stage, the amount done, and the
    total amount.

    Raises ``ValueError`` for a measure of outputs, because packs contain layers; for a measure of
    repeats, because packs contain every sample once; and for a task outside the list of the pack, a
    sign of another version of the suite.
    """
    entry = get_measure(measure) if isinstance(measure, str) else measure
    if entry.family == "outputs":
        raise ValueError(
            f"{entry.spec} compares predictions of models, and packs hold their layers: choose a "
            "measure of representations"
        )
    if entry.takes == "repeats":
        raise ValueError(
            f"{entry.spec} needs repeats of each stimulus, and packs hold each sample once: "
            "choose a measure that needs no repeats"
        )
    start = time.process_time()
    cases = pack_cases(pack)
    if is_random_guessing(entry):
        rows = tuple(guess_scores(cases))
    else:
        rows = suite_score(cases, [entry], memory=memory, progress=progress)
    cells = score_pack_tasks(pack, cases, rows)
    seconds = time.process_time() - start
    timestamp = datetime.now(UTC).isoformat(timespec="seconds")
    return PackScores(
        pack.manifest.identity,
        pack.manifest.sha256,
        pack.manifest.suite,
        measure_card(entry),
        measure_code_hash(entry),
        round(seconds, 2),
        {**library_versions(), "machine": describe_machine(), "date": timestamp},
        cells,
    )


def score_pack_tasks(
    pack: Pack, cases: Iterable[Case], rows: Iterable[Score]
) -> tuple[ScoredCell, ...]:
    """Return the scores of a measure in all tasks of a pack, in the order of the pack;
    ``ValueError`` for a score in a task outside the list of the pack.

    ``cases``: the tasks of the pack as cases. ``rows``: the scores of the measure in the cases.
    """
    complete_tasks = {(c.test, task_name(c.cell)) for c in cases if c.rule.is_complete}
    rows_by_task = {(row.test, task_name(row.cell)): row for row in rows}
    expected = {(cell.test, cell.cell): cell for cell in pack_tasks(pack)}
    units = {(c.test, task_name(c.cell)): seeds_of_case(c) for c in cases}
    keys = sorted(
        key for key in rows_by_task.keys() - expected if not math.isnan(rows_by_task[key].value)
    )
    if keys:
        raise ValueError(
            f"{pack.manifest.identity} has no task {keys[0]}: the pack was built for another "
            "version of the suite; build the pack again"
        )
    return tuple(
        _score_pack_task(cell, rows_by_task.get(k), k in complete_tasks, units.get(k, ()))
        for k, cell in expected.items()
    )


def _score_pack_task(
    task: PackTask, row: Score | None, is_complete: bool, units: Iterable[str]
) -> ScoredCell:
    if row is None:
        parts = (math.nan,) * task.parts
        row = Score(task.test, (), "", "", math.nan, parts, reason=TOO_SLOW_REASON)
    return ScoredCell(
        task.test,
        task.cell,
        _round_score(row.value),
        tuple(map(_round_score, row.parts)) if task.parts else (),
        bool(row.failed) and not is_complete,
        task.models,
        row.reason or "",
        without={u: _round_score(row.without.get(u, math.nan), WITHOUT_DIGITS) for u in units},
    )


def _round_score(value: float, digits: int = SCORE_DIGITS) -> float | None:
    return None if math.isnan(value) else round(value, digits)


def measure_card(measure: Measure) -> MeasureCard:
    """Return the name, the version and the declared properties of a measure."""
    low, high = (float(end) if math.isfinite(end) else None for end in measure.range)
    return MeasureCard(
        measure.spec,
        measure.label,
        measure.name,
        measure.version,
        measure.family,
        measure.larger_is_more_similar,
        (low, high),
        measure.symmetric,
        measure.metric,
        measure.differentiable,
        tuple(sorted(measure.invariant_to)),
        measure.citation,
    )


def measure_code_hash(measure: Measure) -> str:
    """Return the SHA-256 of the code of a measure: its function, or the whole file for a user's own
    measure.

    Comments, docstrings and layout do not change the code.
    """
    if measure.function.__module__.partition(".")[0] == __package__.partition(".")[0]:
        text = inspect.getsource(measure.function)
    else:
        text = Path(inspect.getfile(measure.function)).read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Expr(ast.Constant(""))
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


# ----------------------------------------------------------------------- several measures and packs


def score_all(
    work: Sequence[tuple[Measure, Pack]],
    executor: Executor | None = None,
    progress: StageProgress | None = None,
) -> Iterator[PackScores]:
    """Yield the scores of every (measure, pack) pair in ``work``, in the order of completion.

    Every pair runs in a single process on a single thread, so that CPU times are comparable. Every
    warning is given once, whatever the number of packs and processes. ``progress``: called with a
    stage, the amount done, and the total amount.
    """
    calls = [
        WorkerCall(
            f"{measure.spec} on {pack.manifest.identity}",
            _score_with_warnings,
            (measure, pack, None if executor else _suite_progress(pack, progress)),
        )
        for measure, pack in work
    ]
    past_messages = set[tuple[type[Warning], str]]()
    for done, (_, future) in enumerate(run_calls(calls, executor), start=1):
        scores, messages = future.result()
        for category, text in [message for message in messages if message not in past_messages]:
            warnings.warn(text, category, stacklevel=2)
        past_messages.update(messages)
        yield scores
        if progress is not None:
            progress(PACKS_STAGE, done, len(work))


def _suite_progress(pack: Pack, progress: StageProgress | None) -> StageProgress | None:
    """Return a function (stage, done, total) that calls ``progress`` with the name of the suite
    before the stage, "SUITE: STAGE"; None if ``progress`` is None."""
    return progress and (
        lambda stage, done, total: progress(f"{pack.manifest.suite}: {stage}", done, total)
    )


def score_packs(
    packs: Iterable[Pack],
    measures: Iterable[Measure],
    executor: Executor | None = None,
    progress: StageProgress | None = None,
) -> tuple[PackScores, ...]:
    """Return the scores of all ``measures`` on all ``packs``, sorted by measure and then by pack,
    in the given orders. ``progress``: called with (stage, done, total)."""
    places, specs = list(packs), list(measures)
    work = [(measure, pack) for pack in places for measure in specs]
    order = {pack.manifest.identity: i for i, pack in enumerate(places)}
    ranks = {measure.spec: i for i, measure in enumerate(specs)}
    files = score_all(work, executor, progress)
    return tuple(sorted(files, key=lambda s: (ranks[s.measure.spec], order[s.pack])))


def _score_with_warnings(
    measure: Measure, pack: Pack, progress: StageProgress | None
) -> tuple[PackScores, list[tuple[type[Warning], str]]]:
    """Return the scores of a measure on a pack, and the distinct warnings of the run as (category,
    text)."""
    with single_threaded(), warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("once")
        try:
            scores = score(pack, measure, progress=progress)
        # SystemExit would end the command with success.
        except SystemExit as error:
            raise UserFileError(
                f"{measure.spec} ends the process, with {error.code!r:.80}"
            ) from error
    return scores, list(dict.fromkeys((w.category, str(w.message)) for w in records))
