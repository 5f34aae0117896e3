"""The jobs of inference: permuted scores, leave-one-out scores, scores on subsets, moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..comparison.scores import NO_MEMORY_REASON
from ..contracts._measure import Measure, no_diagnostics
from ..data.representation import Representation, pair_cache
from ..engine.plan import PairBlock
from ..engine.reasons import failure_reason, is_out_of_memory
from ..engine.scoring import score_block
from ..significance.orders import Design
from .jackknife import subsample_measure, subsample_representation
from .job_results import (
    LEAVE_ONE_OUT,
    NullDistribution,
    ResampledScores,
    SideMoments,
    measured_pair,
)
from .moments import MatrixSide, moment_profile
from .reorder import Permutation, permute_representation

RepresentationIndex = int  # position among the representations of a task
# x, y, and the position of a measure
PairMeasureIndex = tuple[RepresentationIndex, RepresentationIndex, int]
# x, y, and the positions of the measures
PermutedPair = tuple[RepresentationIndex, RepresentationIndex, list[int]]
SideLookup = Callable[
    [RepresentationIndex, RepresentationIndex], tuple[Representation, Representation]
]

PACKAGE = __name__.partition(".")[0] + "."
DRAWS_PER_CHUNK = 20  # draws per result; a killed run loses at most one result per pair


def requested_pairs(
    task: PairBlock,
) -> Iterator[tuple[RepresentationIndex, RepresentationIndex, list[int]]]:
    """Yield the positions of x and y among the representations of the task, with the positions of
    the measures to compute.

    Pairs with the same y follow each other.
    """
    offset, size = 0 if task.is_diagonal else len(task.rows), len(task.representations)
    todo = np.zeros((size, size, len(task.measures)), dtype=bool)
    for p, mask in enumerate(task.forward):
        todo[offset:, : len(task.rows), p] = mask.T
    for p, mask in enumerate(task.backward or ()):
        todo[: len(task.rows), offset:, p] |= mask.T
    for y, x in np.argwhere(todo.any(axis=-1)).tolist():
        yield x, y, np.flatnonzero(todo[y, x]).tolist()


@dataclass(frozen=True)
class PermutationJob:
    """Scores under a design, in the draws from ``start`` to ``stop``.

    ``key`` identifies the design, and ``tokens`` the representations of the block.
    """

    design: Design
    is_square: bool
    key: str
    start: int
    stop: int
    tokens: tuple[str, ...]

    def __call__(self, task: PairBlock) -> Iterator[list[NullDistribution]]:
        """Yield the scores of all pairs, chunk by chunk."""
        design, measures, pairs = self.design, task.measures, list(requested_pairs(task))
        window = np.arange(design.n)
        if design.shifts:
            window = window[design.windows(0)[0]]
            measures = tuple(subsample_measure(m, window, task.rows[0]) for m in measures)
        unmoved = cache(lambda x: subsample_representation(task.representations[x], window))
        cells = [(x, y, p) for x, y, positions in pairs for p in positions]
        pair_of_cell = [
            measured_pair(task.measures[p], self.tokens[x], self.tokens[y]) for x, y, p in cells
        ]
        for start in range(self.start, self.stop, DRAWS_PER_CHUNK):
            draws = range(start, min(start + DRAWS_PER_CHUNK, self.stop))
            values = np.empty((len(cells), len(draws)))
            for column, draw in enumerate(draws):
                sides = self._sides(task, draw, unmoved)
                values[:, column] = _pair_values(pairs, measures, sides)
            yield [
                NullDistribution(pair=pair, design=self.key, start=start, values=row)
                for pair, row in zip(pair_of_cell, values)
            ]

    @property
    def moves_both(self) -> bool:
        """Whether x and y are permuted independently, and not y alone.

        In an exhaustive design all representations have the same permutations, so permuting x and y
        would keep the pairing.
        """
        return self.is_square and not self.design.is_exhaustive

    def _sides(
        self, task: PairBlock, draw: int, unmoved: Callable[[RepresentationIndex], Representation]
    ) -> SideLookup:
        """Return a function from the positions of x and y to the permuted x and y of draw number
        ``draw``.

        ``unmoved`` maps the position of a representation to its unshifted window, for shifts only;
        the windows keep their intermediates from draw to draw.
        """
        design, representations = self.design, task.representations
        # A square keeps all permuted representations during a draw, a rectangle only one column.
        memoize = lru_cache(None if self.is_square else 2)
        if design.shifts:
            window, rows = (np.arange(design.n)[w] for w in design.windows(draw))
            shifted = memoize(
                lambda y: subsample_representation(representations[y], rows, ids_of=window)
            )
            return lambda x, y: (unmoved(x), shifted(y))
        # A user-defined measure may read the source.
        with_source = not all(m.function.__module__.startswith(PACKAGE) for m in task.measures)
        order = cache(lambda token: Permutation(design.order(draw, token)))

        @memoize
        def turned(place: RepresentationIndex) -> Representation:
            permutation = order(self.tokens[place] if self.is_square else "")
            return permute_representation(
                representations[place], permutation, with_source=with_source
            )

        if self.moves_both:
            return lambda x, y: (turned(x), turned(y))
        return lambda x, y: (representations[x], turned(y))


def _pair_values(
    pairs: Sequence[PermutedPair], measures: Sequence[Measure], sides: SideLookup
) -> list[float]:
    """Return the scores of ``pairs`` in one list, pair by pair and measure by measure; NaN outside
    the domain. ``sides``: returns the permuted x and y of two positions. The measures of a pair
    share the cache of the pair."""
    values = []
    for i, j, positions in pairs:
        x, y = sides(i, j)
        with pair_cache(x, y):
            values += [_value_or_nan(measures[p], x, y) for p in positions]
    return values


@dataclass(frozen=True)
class MomentJob:
    """Moment profiles of representations for a side; every representation is paired with itself."""

    side: MatrixSide
    tokens: tuple[str, ...]

    def __call__(self, task: PairBlock) -> Iterator[list[SideMoments]]:
        """Yield the numbers of every profile: all other fields, then the sums.

        A representation without a profile has no numbers, but the reason.
        """
        for place, _, positions in requested_pairs(task):
            x, token = task.representations[place], self.tokens[place]
            for m in (task.measures[p] for p in positions):
                numbers, note = np.zeros(0), ""
                try:
                    p = moment_profile(x, m, self.side)
                    numbers = np.concatenate([p[1:], p.sums])
                except UndefinedError as error:
                    note = str(error)
                yield [
                    SideMoments(
                        pair=measured_pair(m, token, token),
                        side=self.side,
                        values=numbers,
                        note=note,
                    )
                ]


@dataclass(frozen=True)
class JackknifeJob:
    """Leave-one-out values, with the claim ``leave_one_out`` of the measures.

    ``partners``: the number of comparisons per representation.
    """

    partners: float
    tokens: tuple[str, ...]

    def __call__(self, task: PairBlock) -> Iterator[list[ResampledScores]]:
        """Yield the n leave-one-out values of every pair, or no values and the reason."""
        cells = list(requested_pairs(task))
        rows = {p: self._rows(task, p, cells) for p in range(len(task.measures))}
        for i, j, positions in cells:
            x, y = (task.representations[k] for k in (i, j))
            for p in positions:
                m, row_products = task.measures[p], rows[p].get((i, j))
                kwargs = {} if row_products is None else {"rows": row_products}
                numbers, note = np.zeros(0), ""
                try:
                    with pair_cache(x, y):
                        numbers = (
                            np.asarray(m.leave_one_out(x, y, **kwargs))
                            if m.leave_one_out
                            else numbers
                        )
                except UndefinedError as error:
                    note = str(error)
                pair = measured_pair(m, self.tokens[i], self.tokens[j])
                yield [ResampledScores(pair=pair, subsets=LEAVE_ONE_OUT, values=numbers, note=note)]

    def _rows(
        self,
        task: PairBlock,
        p: int,
        cells: Sequence[tuple[RepresentationIndex, RepresentationIndex, list[int]]],
    ) -> dict[tuple[RepresentationIndex, RepresentationIndex], np.ndarray]:
        """Return, by pair, the inner products by rows, (n,), for pairs of the measure at position
        ``p`` that uses the products; {} for other measures. ``cells``: x, y and the positions of
        the measures."""
        representations, product = task.representations, task.measures[p].product
        if product is None or product.by_rows is None:
            return {}
        candidates = [(i, j) for i, j, positions in cells if p in positions]
        pairs = [
            (i, j)
            for i, j in candidates
            if product.by_rows(representations[i], representations[j], self.partners)
        ]
        return dict(zip(pairs, product.of_rows(representations, pairs))) if pairs else {}


@dataclass(frozen=True)
class SubsampleJob:
    """Scores on subsets of the samples.

    ``chunks``: lists of subsets (row indices), by the name of the subsets.
    """

    chunks: Mapping[str, Sequence[np.ndarray]]
    tokens: tuple[str, ...]

    def __call__(self, task: PairBlock) -> Iterator[list[ResampledScores]]:
        """Yield the scores of a pair on the subsets of a chunk, with the first reason for a missing
        score.

        If memory was too small, there are no scores, so that another run repeats the computation.
        """
        cells = [(x, y, p) for x, y, positions in requested_pairs(task) for p in positions]
        for subsets, parts in self.chunks.items():
            scores_by_part = [dict(self._scores(task, rows)) for rows in parts]
            for p, m in enumerate(task.measures):
                batch = []
                for x, y in (cell[:2] for cell in cells if cell[2] == p):
                    scores = [part_scores[x, y, p] for part_scores in scores_by_part]
                    note = next((reason for _, reason in scores if reason), "")
                    is_short = note.startswith(NO_MEMORY_REASON)
                    numbers = np.array([] if is_short else [value for value, _ in scores])
                    pair = measured_pair(m, self.tokens[x], self.tokens[y])
                    batch.append(
                        ResampledScores(pair=pair, subsets=subsets, values=numbers, note=note)
                    )
                yield batch

    def _scores(
        self, task: PairBlock, rows: np.ndarray
    ) -> Iterator[tuple[PairMeasureIndex, tuple[float, str]]]:
        """Yield, for every pair and measure, the positions of x, y and the measure in the task,
        with the score on the samples ``rows`` and the reason for a missing score, or ""."""
        first = task.rows[0]
        measures = tuple(
            _without_diagnostics(subsample_measure(m, rows, first)) for m in task.measures
        )
        position = {m.spec: p for p, m in enumerate(measures)}
        parts = [
            subsample_representation(x, rows, str(place))
            for place, x in enumerate(task.representations)
        ]
        part = task.on(parts[: len(task.rows)], parts[len(task.rows) :])
        for c in chain.from_iterable(score_block(part._replace(measures=measures, job=None))):
            for entry, ends in enumerate(zip(c.x.tolist(), c.y.tolist())):
                x, y = (int(c.data[end]) for end in ends)
                reason = c.reasons.get(entry, "")
                for place in {x, y} if reason else ():
                    reason = reason.replace(f"{{{place}}}", f"{{{self.tokens[place]}}}")
                yield (x, y, position[c.measure]), (float(c.values[entry]), reason)


def _without_diagnostics(measure: Measure) -> Measure:
    """Return a copy of the measure with the same scores, but without diagnostics, chance level and
    uninformative values."""
    key = "without diagnostics"
    if key not in vars(measure):
        vars(measure)[key] = replace(
            measure, chance=None, uninformative=None, diagnostics=no_diagnostics
        )
    kept: Measure = vars(measure)[key]
    return kept


def _value_or_nan(measure: Measure, x: Representation, y: Representation) -> float:
    """Return the score of x and y, or NaN if the measure has no value for the data.

    Lack of memory raises an exception, because it is no property of the data, and the file would
    keep the NaN.
    """
    try:
        with pair_cache(x, y):
            return float(scalar(measure.evaluate(x, y)))
    except Exception as error:
        if is_out_of_memory(error) or failure_reason(error, measure, x, y) is None:
            raise
        return np.nan
