"""Resampled scores (leave-one-out, leave-group-out, random halves) for intervals and
differences."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..comparison.comparison import Comparison, Failure
from ..contracts._measure import Measure
from ..data.representation import representation_title
from ..significance.orders import Design
from ..significance.resampling import N_HALVES, ResamplingKind, random_halves, sample_groups
from .jackknife import has_closed_form_jackknife
from .job_results import LEAVE_ONE_OUT, ResampledScores
from .layout import IndexPair
from .run import InferenceRun, RequiredPairs
from .tasks import JackknifeJob, SubsampleJob

# Values of neighbour and topology measures jump when single samples are left out, so a jackknife
# interval is too wide or too narrow. Random halves give intervals of the right width.
HALVED_FAMILIES = ("neighbors", "topology")
HALVED_MEASURES = ("mka", "kcka")
# Leave-one-out values take this multiple of the memory of the intermediates of one score.
JACKKNIFE_MEMORY_FACTOR = 4
PARTS_PER_CHUNK = 5  # subsets per stored result
MIN_REMAINING_SAMPLES = 3  # smallest number of samples in a subset
EQUAL_VALUES_TOLERANCE = 1e-9  # relative tolerance for rounding
UNDECLARED_REASON = (
    "no interval: nothing is declared about the function, so parts of the samples may vary in "
    "another way than the value; declare it with @rs.measure"
)
SAMPLES_PER_DIMENSION = 4  # canonical correlations with more samples use halves


class PartCells(NamedTuple):
    """The scores on subsets of the samples, (rows, columns, subsets), NaN without an interval.

    ``kind``: how the subsets are made. ``reasons``: why pairs have no score on some subset, and
    therefore no interval.
    """

    kind: ResamplingKind
    values: np.ndarray
    reasons: tuple[Failure, ...] = ()


def interval_kind(measure: Measure, design: Design, widest: int) -> ResamplingKind:
    """Return the resampling method for the interval of a measure. ``widest``: the largest number
    of features.

    "halves" for neighbour measures, topology and kernels of neighbours, and for canonical
    correlations with many samples; "left_out" if the measure has a closed form; otherwise "groups".
    Samples of a block, or of a stretch of a time series, are left out together. Halves of few
    blocks, and halves of few samples for the number of neighbours k, are too similar to each other,
    so groups are left out instead. Groups are also left out for values of held-out samples, because
    half of the samples would fit other maps.
    """
    if measure.held_out is not None:
        return "groups"
    are_halved = measure.family in HALVED_FAMILIES or measure.name in HALVED_MEASURES
    is_whole = design.whole_blocks is None and not design.shifts
    if not are_halved and is_whole and has_closed_form_jackknife(measure, design.n):
        return "left_out"
    are_halved |= measure.family == "cca" and design.n >= SAMPLES_PER_DIMENSION * widest
    is_few = design.whole_blocks is not None and len(np.unique(design.whole_blocks)) < N_HALVES
    # In halves of few samples nearly all samples are neighbours, so the scores vary too little.
    k = {"k": 0, **measure.defaults, **dict(measure.parameters)}["k"]
    is_few |= measure.family == "neighbors" and 4 * k > design.n
    return "halves" if are_halved and not design.shifts and not is_few else "groups"


def interval_parts(kind: ResamplingKind, design: Design) -> list[np.ndarray]:
    """Return subsets of the samples as row indices: random halves for "halves"; for other kinds,
    all samples without each group."""
    if kind == "halves":
        return random_halves(design.n, blocks=design.whole_blocks, seed=design.seed)
    groups = sample_groups(
        design.n, blocks=design.whole_blocks, series=bool(design.shifts), seed=design.seed
    )
    rows = np.arange(design.n)
    return [np.delete(rows, group) for group in groups]


def interval_step_count(kind: ResamplingKind, design: Design) -> int:
    """Return the number of progress steps for the interval of a pair: the chunks of subsets, or 1
    for leave-one-out values."""
    return 1 if kind == "left_out" else len(_part_chunks(kind, design))


def compute_resampled_scores(
    run: InferenceRun, comparison: Comparison, measures: Sequence[Measure], design: Design
) -> dict[str, PartCells]:
    """Compute the scores on subsets of the samples; return the scores by specification of the
    measure.

    A measure without declared claims, or with too few samples, has NaN and the reason. A measure
    without leave-one-out values for some pair leaves out groups instead.
    """
    layout = run.layout
    smallest = min(map(len, interval_parts("groups", design)))
    kinds = {m: interval_kind(m, design, layout.widest) for m in measures}
    fewest = {m: design.n // 2 if kind == "halves" else smallest for m, kind in kinds.items()}
    reasons = {
        m: _too_few_samples(design, fewest[m]) if m.is_declared else UNDECLARED_REASON
        for m in measures
        if fewest[m] < MIN_REMAINING_SAMPLES or not m.is_declared
    }
    cells = {m.spec: _cells_without_interval(run, m, comparison, reasons[m]) for m in reasons}
    run.advance(sum(len(layout.pairs(m)) * interval_step_count(kinds[m], design) for m in reasons))
    tables = _jackknife_tables(
        run,
        {
            m: layout.with_values(m, comparison[m.spec])
            for m in measures
            if kinds[m] == "left_out" and m not in reasons
        },
    )
    remaining_kinds: dict[Measure, ResamplingKind] = {
        m: "groups" if kinds[m] == "left_out" else kinds[m]
        for m in measures
        if m not in reasons and m not in tables
    }
    cells |= {m.spec: PartCells("left_out", tables[m]) for m in tables}
    cells |= dict(_scores_on_parts(run, remaining_kinds, comparison, design))
    return {
        spec: _drop_constant_pairs(comparison, spec, part_cells)
        for spec, part_cells in cells.items()
    }


def _drop_constant_pairs(comparison: Comparison, spec: str, cells: PartCells) -> PartCells:
    """Return the cells with NaN and a reason for pairs whose subsets all give one score that
    differs from the score of all samples.

    Such subsets are too small to show the variation of the score. If all scores on subsets equal
    the full score, the score is exact and the interval stays. ``spec``: the measure.
    """
    values, table = comparison[spec], cells.values
    size = EQUAL_VALUES_TOLERANCE * np.maximum(np.abs(values), np.abs(table).max(axis=-1))
    is_flat = (np.ptp(table, axis=-1) <= size) & (np.abs(table[..., 0] - values) > size)
    reason = (
        f"no interval by {cells.kind}: all parts have the same value, different from the "
        "score; use more samples"
    )
    table = np.where(is_flat[..., None], np.nan, table)
    places = np.argwhere(is_flat).tolist()
    constant_pairs = (
        Failure(spec, comparison.rows[i], comparison.columns[j], reason) for i, j in places
    )
    return PartCells(cells.kind, table, (*cells.reasons, *constant_pairs))


def _too_few_samples(design: Design, fewest: int) -> str:
    """Return a sentence that says why there is no interval; ``fewest``: the number of samples in
    the smallest subset.

    Two samples give no evidence of variation, because many measures have the same value for any two
    samples.
    """
    noun = "samples" if design.whole_blocks is None else "blocks"
    return f"no interval: {design.n} samples without some leave {fewest}; use more {noun}"


def _cells_without_interval(
    run: InferenceRun, m: Measure, comparison: Comparison, reason: str
) -> PartCells:
    """Return NaN for every pair on every subset of the samples, and ``reason`` for every pair with
    a score in ``comparison``."""
    layout = run.layout
    pairs = layout.with_values(m, comparison[m.spec])
    places = [place for pair in pairs for place in layout.cells(m, pair)]
    names = [(comparison.rows[i], comparison.columns[j]) for i, j in places]
    values = np.full((*layout.shape, layout.n), np.nan)
    return PartCells("groups", values, tuple(Failure(m.spec, *xy, reason) for xy in names))


# ---------------------------------------------------------------------------- leave-one-out values


def _jackknife_tables(
    run: InferenceRun, pairs: Mapping[Measure, list[IndexPair]]
) -> dict[Measure, np.ndarray]:
    """Return the leave-one-out values, (rows, columns, n), by measure; compute the missing values.
    ``pairs``: positions (x, y) by measure. Measures without values for some pair are not in the
    result."""
    missing = run.missing(pairs, ResampledScores, subsets=LEAVE_ONE_OUT)
    n_pairs = sum(len(run.layout.pairs(m)) for m in pairs)
    run.advance(n_pairs - sum(map(len, missing.values())))
    groups = math.ceil(math.sqrt(2 * run.n_chunks))
    rows, columns = run.layout.shape
    partners = rows - 1 if run.layout.is_square else 2 * rows * columns / (rows + columns)
    memory = run.options.memory // JACKKNIFE_MEMORY_FACTOR
    run.compute(run.blocks(missing, partial(JackknifeJob, partners), memory, groups), counted=True)
    tables = {m: _jackknife_table(run, m, pairs[m]) for m in pairs}
    return {m: table for m, table in tables.items() if table is not None}


def _jackknife_table(
    run: InferenceRun, m: Measure, pairs: Sequence[IndexPair]
) -> np.ndarray | None:
    """Return the leave-one-out values of ``pairs``, (rows, columns, n), NaN elsewhere; None if any
    pair lacks values.

    With None, all pairs of the measure use another resampling method.
    """
    layout = run.layout
    table = np.full((*layout.shape, layout.n), np.nan)
    for pair in pairs:
        numbers = run.result(m, pair, ResampledScores, subsets=LEAVE_ONE_OUT).values
        if len(numbers) != layout.n:
            return None
        for place in layout.cells(m, pair):
            table[place] = numbers
    return table


# ------------------------------------------------------------------------------- halves and groups


@lru_cache(maxsize=4)
def _part_chunks(kind: ResamplingKind, design: Design) -> Mapping[str, Sequence[np.ndarray]]:
    """Return the subsets, row indices, in chunks by name; a stored result holds the scores on the
    subsets of a chunk. Another list of subsets has another name."""
    parts, chunks = interval_parts(kind, design), dict[str, Sequence[np.ndarray]]()
    for start in range(0, len(parts), PARTS_PER_CHUNK):
        rows = parts[start : start + PARTS_PER_CHUNK]
        digest = hashlib.blake2b(b"".join(r.tobytes() for r in rows), digest_size=8).hexdigest()
        chunks[f"{kind} {digest}"] = rows
    return chunks


def _scores_on_parts(
    run: InferenceRun,
    kinds: Mapping[Measure, ResamplingKind],
    comparison: Comparison,
    design: Design,
) -> Iterator[tuple[str, PartCells]]:
    """Yield (specification, scores on subsets of the samples), measure by measure. ``kinds``: the
    resampling method of every measure."""
    layout = run.layout
    for kind in dict.fromkeys(kinds.values()):
        chunks, measures = _part_chunks(kind, design), [m for m in kinds if kinds[m] == kind]
        # The progress bar has already counted the attempted leave-one-out values.
        leave_one_out = [
            m for m in measures if interval_kind(m, design, layout.widest) == "left_out"
        ]
        for batch in (leave_one_out, [m for m in measures if m not in leave_one_out]):
            _compute_missing_parts(
                run, {m: layout.pairs(m) for m in batch}, chunks, counted=batch is not leave_one_out
            )
        for m in measures:
            yield m.spec, _collect_part_cells(run, m, kind, chunks, comparison)


def _compute_missing_parts(
    run: InferenceRun,
    requests: RequiredPairs,
    chunks: Mapping[str, Sequence[np.ndarray]],
    counted: bool,
) -> None:
    """Compute the scores on subsets that the run does not have yet, and keep the scores in the run.

    ``requests``: the pairs by measure. ``chunks``: lists of subsets (row indices) by the name of
    the stored result. ``counted``: whether the pairs advance the progress bar.
    """
    missing = {
        name: run.missing(requests, ResampledScores, len(chunks[name]), subsets=name)
        for name in chunks
    }
    n_missing = sum(len(pairs) for gaps in missing.values() for pairs in gaps.values())
    n_known = len(chunks) * sum(map(len, requests.values())) - n_missing
    run.advance(n_known if counted else 0)
    groups = math.ceil(math.sqrt(2 * run.n_chunks / len(chunks)))
    blocks = (
        block
        for gaps, names in run.group_chunks(missing)
        for block in run.blocks(
            gaps,
            partial(SubsampleJob, {name: chunks[name] for name in names}),
            run.options.memory // 2,  # half for all samples, half for a subset
            groups,
        )
    )
    run.compute(blocks, counted=counted)


def _collect_part_cells(
    run: InferenceRun,
    m: Measure,
    kind: ResamplingKind,
    chunks: Mapping[str, Sequence[np.ndarray]],
    comparison: Comparison,
) -> PartCells:
    """Return the stored scores of a measure on all subsets, (rows, columns, subsets), with reasons
    for missing scores.

    ``chunks``: lists of subsets (row indices) by the name of the stored result, from
    :func:`_part_chunks`. Raises ``KeyError`` for a name without a stored result.
    """
    layout, reasons = run.layout, list[Failure]()
    table = np.full((*layout.shape, sum(map(len, chunks.values()))), np.nan)
    for pair in layout.pairs(m):
        results = [run.result(m, pair, ResampledScores, subsets=name) for name in chunks]
        numbers = np.concatenate([result.values for result in results])
        why = next(filter(None, (result.note for result in results)), "")
        for end in pair:
            why = why.replace(f"{{{layout.tokens[end]}}}", representation_title(layout.all[end]))
        for i, j in layout.cells(m, pair):
            if len(numbers) == table.shape[-1]:
                table[i, j] = numbers
            if why:
                names = comparison.rows[i], comparison.columns[j]
                reasons.append(Failure(m.spec, *names, f"no interval by {kind}: {why}"))
    return PartCells(kind, table, tuple(reasons))
