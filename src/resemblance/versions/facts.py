"""Facts about the rows of two versions that no map explains: equal rows, other lengths, zeros,
copies, far rows, packed bits, other inputs. Facts are counted before maps are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import format_percent, join_words, list_names
from ..base.rng import generator
from .relation import MIN_RELATION_ROWS, RELATION_LEVEL, is_related
from .retrieval import Rows, column_medians
from .two_samples import energy_test, to_typical_units

# Share of the rows; a smaller share is no fact, except for zeros in one version and far rows.
MIN_FACT_SHARE = 0.01
FAR_ROW_RATIO = 1e6  # times the median distance from the centre
# Number of rows that estimate the centre and the typical values.
FACT_SAMPLE_ROWS = 500
# Times the rounding error of a value; directions that differ by less are equal.
PARALLEL_ROUNDING_FACTOR = 16
# Largest number of distinct values in coarsely rounded data: rows may be equal there although the
# inputs or the model changed.
MAX_COARSE_VALUES = 256
BITS_BY_TYPE = {"uint16": 16, "uint32": 32, "uint64": 64, "int32": 32, "int64": 64}  # bits by type
EXPLANATORY_FACTS = (
    "packed bits", "other inputs", "equal rows", "lengths", "leading columns", "chosen columns",
    "order of columns",
)  # fmt: skip
FEWEST_ROWS = 10  # fewest rows that identify columns
VersionNames = tuple[str, str]


@dataclass(frozen=True)
class Fact:
    """A fact about rows, found before any map is fitted: kind, number of rows concerned, number of
    all rows, a sentence, and a remedy."""

    kind: str
    count: int
    rows: int
    sentence: str
    remedy: str

    @property
    def explains(self) -> bool:
        """Whether the fact explains the change, in place of a map of all rows."""
        return self.kind in EXPLANATORY_FACTS

    @property
    def sentences(self) -> str:
        """The sentence of the fact, followed by the remedy."""
        return f"{self.sentence} {self.remedy}"


def has_copied_rows(facts: Sequence[Fact]) -> bool:
    """Return whether the facts include copies of rows; the caveats then do not repeat the
    copies."""
    return any(fact.kind == "copies" for fact in facts)


class RowStatistics(NamedTuple):
    """Statistics of the rows of a version: lengths, distances from the centre, and hashes, each
    (n,)."""

    name: str
    lengths: np.ndarray
    distances: np.ndarray
    hashes: np.ndarray


class RowPairComparison(NamedTuple):
    """Comparison of the rows of two versions at the same position, in the common columns."""

    equal: np.ndarray  # (n,), equal to the last bit of the lower precision
    parallel: np.ndarray  # (n,), not zero, and equal up to length
    factors: np.ndarray  # (n,), length of the second divided by length of the first
    is_some: np.ndarray  # (n,), zero in neither version


def find_version_facts(
    x: Rows, y: Rows, names: VersionNames = ("reference", "current version"), seed: int = 0
) -> tuple[Fact, ...]:
    """Return the facts about the rows of two versions of the same n samples, most important first.
    ``names``: the words for x and for y.

    Equal rows, rows equal up to length, and copies are facts if at least 1 % of the rows are
    affected, but not all rows: a map of all rows explains a change of all rows. A few rows of zeros
    are a fact if only one version has zeros. Packed bits, if any, are the only fact. Other inputs
    are a fact only without facts about equal rows.
    """
    bits = packed_bits(x, y, names)
    if bits is not None:
        return (bits,)
    pairs, sides = _scan_row_pairs(x, y, names)
    row_facts = _equal_row_facts(pairs, x, y, names)
    input_facts = () if row_facts else _other_inputs_fact(x, y, seed)
    return (
        *input_facts,
        *row_facts,
        *_zero_rows_fact(sides),
        *_copied_rows_fact(sides),
        *_far_rows_fact(sides),
    )


# ------------------------------------------------------------------------------ one pass over both


def _scan_row_pairs(
    x: Rows, y: Rows, names: VersionNames
) -> tuple[RowPairComparison, tuple[RowStatistics, RowStatistics]]:
    """Return the comparison of the rows at equal positions of two versions, and the row statistics
    of each version, from a single pass, block by block."""
    width, lower = min(x.width, y.width), max((x, y), key=_source_rounding)
    scales = [_power_of_two_scale(v) for v in (x, y)]
    centers = [
        column_medians(v.take(_evenly_spaced_rows(v))) * scale for v, scale in zip((x, y), scales)
    ]
    comparisons = []
    sides: tuple[list[Any], list[Any]] = ([], [])
    for start, a in x.blocks():
        b = y.part(start, start + len(a))
        comparisons.append(_compare_row_block(a[:, :width], b[:, :width], scales, lower))
        for v, scale, center, side in zip((a, b), scales, centers, sides):
            hashes, v = _row_hashes(v), v * scale
            side.append((_row_lengths(v), _row_lengths(v - center), hashes))
    x_statistics, y_statistics = (
        RowStatistics(n, *map(np.concatenate, zip(*s))) for n, s in zip(names, sides)
    )
    return RowPairComparison(*map(np.concatenate, zip(*comparisons))), (x_statistics, y_statistics)


def _compare_row_block(
    a: np.ndarray, b: np.ndarray, scales: list[float], lower: Rows
) -> tuple[Any, ...]:
    """Return four arrays (n,) about the rows at equal positions of two blocks (n, d): equal,
    parallel, length of b divided by length of a, zero in neither.

    ``scales``: the factor for a and for b that avoids overflow; the ratio of lengths is that of the
    unscaled rows. ``lower``: the version with the lower precision.
    """
    is_equal = (_cast_to_lower_precision(a, lower) == _cast_to_lower_precision(b, lower)).all(
        axis=1
    )
    a, b = a * scales[0], b * scales[1]
    lengths = _row_lengths(a), _row_lengths(b)
    is_some = (lengths[0] > 0) & (lengths[1] > 0)
    factors = np.divide(lengths[1], lengths[0], out=np.ones(len(a)), where=is_some)
    cosines = np.einsum("nd,nd->n", a, b)
    is_parallel = is_some & (cosines >= (1 - 1e-3) * lengths[0] * lengths[1])
    rows = np.flatnonzero(is_parallel)
    differences = b[rows] - factors[rows, None] * a[rows]
    slack = PARALLEL_ROUNDING_FACTOR * _source_rounding(lower) * lengths[1][rows]
    is_parallel[rows] = np.abs(differences).max(axis=1, initial=0.0) <= slack
    return is_equal, is_parallel, factors * (scales[0] / scales[1]), is_some


def _evenly_spaced_rows(x: Rows) -> np.ndarray:
    n = len(x.source)
    return np.linspace(0, n - 1, min(n, FACT_SAMPLE_ROWS)).astype(int)


def _power_of_two_scale(x: Rows) -> float:
    """Return the power of two that, as a factor, brings typical values near 1; 1 if the typical
    value is 0. The typical value is the median over rows of the largest magnitude."""
    size = float(np.median(np.abs(x.take(_evenly_spaced_rows(x))).max(axis=1)))
    return float(2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000)) if size else 1.0


def _source_dtype_name(x: Rows) -> str:
    return str(x.source.dtype).removeprefix("torch.")


def _source_rounding(x: Rows) -> float:
    digits = {"float32": 23, "float16": 10, "bfloat16": 7}
    return float(2.0 ** -digits.get(_source_dtype_name(x), 52))


def _cast_to_lower_precision(values: np.ndarray, lower: Rows) -> np.ndarray:
    with np.errstate(over="ignore"):
        if _source_dtype_name(lower) in ("float32", "float16"):
            return values.astype(_source_dtype_name(lower))
        return values


def _row_lengths(rows: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.einsum("nd,nd->n", rows, rows)))


def _row_hashes(rows: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of every row, (n,): the sum of products of the bits with odd numbers.
    ``rows``: (n, d) in float64."""
    integers = generator(0, "hashes of rows").integers(2**63, size=rows.shape[1], dtype=np.uint64)
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return np.einsum("nd,d->n", bits, 2 * integers + 1)


# --------------------------------------------------------------------------------------- the facts


def _is_notable_share(count: int, n: int) -> bool:
    return MIN_FACT_SHARE * n <= count < n


def _rows_in_words(count: int, n: int) -> str:
    """Return the number of rows as the first words of a sentence, for example "All 40 rows"."""
    return _format_row_count(count, n).capitalize()


def _format_row_count(count: int, n: int) -> str:
    if count == n:
        return f"all {n:,} rows"
    share = "over 99 %" if count > 0.995 * n else format_percent(count / n)
    return f"{count:,} of {n:,} rows ({share})"


def _equal_row_facts(
    pairs: RowPairComparison, x: Rows, y: Rows, names: VersionNames
) -> tuple[Fact, ...]:
    """Return facts about equal rows, about rows equal up to length, and about columns of one
    version that are columns of the other version; () if there are none, and for versions that are
    equal up to one factor in all rows. ``pairs``: the comparison of the rows at equal positions.
    ``names``: the words for x and for y."""
    n, rounding = len(pairs.equal), 64 * max(_source_rounding(x), _source_rounding(y))
    if x.width != y.width:
        leading = _leading_columns_fact(pairs, x, y, names, rounding)
        return leading or _chosen_columns(x, y, names, rounding)
    is_equal, is_parallel = pairs.equal & pairs.is_some, pairs.parallel & ~pairs.equal
    factors, n_parallel = pairs.factors[pairs.parallel], int(is_parallel.sum())
    if (is_equal | is_parallel | ~pairs.is_some).all():  # zeros are a separate fact
        is_one = not len(factors) or np.ptp(factors) <= rounding * factors.max()
        return () if is_one else (_other_lengths_fact(n_parallel, n, is_all=True),)
    if _is_notable_share(int(is_equal.sum()), n) and is_equal.sum() > 1:
        facts = [_equal_rows_fact(int(is_equal.sum()), n, x)]
    else:
        facts = []
    if n_parallel >= max(2, MIN_FACT_SHARE * n):
        facts.append(_other_lengths_fact(n_parallel, n, is_all=False))
    return tuple(facts) or _chosen_columns(x, y, names, rounding)


def _equal_rows_fact(count: int, n: int, x: Rows) -> Fact:
    values = x.take(_evenly_spaced_rows(x))
    remedy = (
        "Two models in one index? Embed the other rows with the same model. Or some inputs "
        "changed: compare the rows of changed = (reference != current).any(axis=1) alone."
    )
    if len(np.unique(values)) <= min(MAX_COARSE_VALUES, values.size // 4):
        remedy = "The values are few, so rows may be equal by rounding: compare before rounding."
    return Fact(
        "equal rows",
        count,
        n,
        f"{_rows_in_words(count, n)} are equal to the last bit in both versions, the others "
        "are not.",
        remedy,
    )


def _leading_columns_fact(
    pairs: RowPairComparison, x: Rows, y: Rows, names: VersionNames, rounding: float
) -> tuple[Fact, ...]:
    count, n = int(pairs.parallel.sum()), len(pairs.equal)
    if count < max(2, MIN_FACT_SHARE * n) or min(x.width, y.width) < 2:
        return ()
    factors = pairs.factors[pairs.parallel]
    wide_name, narrow_name = names if x.width > y.width else names[::-1]
    width, max_width = sorted((x.width, y.width))
    length_note = "" if np.ptp(factors) <= rounding * factors.max() else ", with other lengths"
    column_phrase = f"{width:,} of the {max_width:,} columns of the {wide_name}{length_note}"
    return (
        Fact(
            "leading columns",
            count,
            n,
            f"The {narrow_name} holds the first {column_phrase}, in {_format_row_count(count, n)}.",
            f"Cut the {wide_name} to {width:,} columns and normalise all rows of both: no "
            "re-embedding is needed.",
        ),
    )


def _chosen_columns(x: Rows, y: Rows, names: VersionNames, rounding: float) -> tuple[Fact, ...]:
    """Return the fact that a version consists of columns of the other version in new positions, or
    (). ``rounding``: the relative difference below which ratios of lengths are equal."""
    is_y_wider = y.width > x.width
    wide_rows, narrow_rows = (y, x) if is_y_wider else (x, y)
    wide_name, narrow_name = names[::-1] if is_y_wider else names
    sample_rows = _evenly_spaced_rows(x)
    columns = _columns_of(narrow_rows.take(sample_rows), wide_rows.take(sample_rows))
    if columns is None:
        return ()
    lower = max((x, y), key=_source_rounding)
    scales = [_power_of_two_scale(wide_rows), _power_of_two_scale(narrow_rows)]
    comparisons = []
    for start, block in wide_rows.blocks():
        narrow_block = narrow_rows.part(start, start + len(block))
        comparisons.append(_compare_row_block(block[:, columns], narrow_block, scales, lower))
    pairs = RowPairComparison(*map(np.concatenate, zip(*comparisons)))
    count, n = int(pairs.parallel.sum()), len(pairs.parallel)
    if count < max(2, MIN_FACT_SHARE * n):
        return ()
    factors = pairs.factors[pairs.parallel]
    is_one = np.ptp(factors) <= rounding * factors.max()
    length_note, normalize_note = (
        ("", "") if is_one else (", with other lengths", " and normalise all rows of both")
    )
    column_list = list_names(columns.tolist(), 5)
    is_same_width = wide_rows.width == narrow_rows.width
    column_phrase = (
        f"{narrow_rows.width:,} of the {wide_rows.width:,} columns of the {wide_name}, "
        f"{column_list} (from 0)"
    )
    remedy = f"Keep these columns of the {wide_name}"
    if is_same_width:
        column_phrase = f"the columns of the {wide_name} in another order, {column_list} (from 0)"
        remedy = f"Put the columns of the {wide_name} in this order"
    wide_argument, narrow_argument = (
        ("current", "reference") if is_y_wider else ("reference", "current")
    )
    expression = (
        f"{wide_argument}[:, np.corrcoef({narrow_argument}.T, "
        f"{wide_argument}.T)[:{narrow_rows.width}, {narrow_rows.width}:].argmax(axis=1)]"
    )
    return (
        Fact(
            "order of columns" if is_same_width else "chosen columns",
            count,
            n,
            f"The {narrow_name} holds {column_phrase}{length_note}, in "
            f"{_format_row_count(count, n)}.",
            f"{remedy}{normalize_note}: no re-embedding is needed. Columns that go "
            f"together are those that correlate most, {expression}.",
        ),
    )


def _columns_of(narrow_rows: np.ndarray, wide_rows: np.ndarray) -> np.ndarray | None:
    """Return, for every column of the narrower rows (n, d), the position of the wider column that
    correlates most, (d,).

    ``wide_rows``: (n, e), the same samples. Return None for fewer than 10 rows or 2 columns, if two
    narrower columns would share a wider column, if a constant column has no equal, or if all
    columns are in their positions.
    """
    if len(narrow_rows) < FEWEST_ROWS or narrow_rows.shape[1] < 2:
        return None
    a, b = (_in_unit_columns(v) for v in (narrow_rows, wide_rows))
    columns = np.asarray((a.T @ b).argmax(axis=1))
    is_constant, free_columns = ~a.any(axis=0), set(np.flatnonzero(~b.any(axis=0)).tolist())
    for column in np.flatnonzero(is_constant).tolist():  # such as units that are always zero
        candidates = [c for c in sorted(free_columns) if wide_rows[0, c] == narrow_rows[0, column]]
        if not candidates:
            return None
        columns[column] = candidates[0]
        free_columns.remove(candidates[0])
    is_in_place = np.array_equal(columns, np.arange(len(columns)))
    return None if is_in_place or len(set(columns.tolist())) < len(columns) else columns


def _in_unit_columns(rows: np.ndarray) -> np.ndarray:
    """Return new centred columns of length 1, (n, d), from ``rows`` (n, d); a column whose values
    are equal is zero."""
    is_constant = np.ptp(rows, axis=0) == 0
    centered = np.where(is_constant, 0.0, rows - rows.mean(axis=0))
    size = np.abs(centered).max(axis=0)
    centered /= np.where(size > 0, size, 1.0)
    return np.asarray(centered / np.where(size > 0, np.linalg.norm(centered, axis=0), 1.0))


def _other_lengths_fact(count: int, n: int, *, is_all: bool) -> Fact:
    change, subject = "Only the lengths of some rows changed", "these rows are"
    if is_all:
        change, subject = "Only the lengths changed", "both versions are"
    return Fact(
        "lengths",
        count,
        n,
        f"{change}: {_format_row_count(count, n)} point where they did, with another length; "
        f"normalised, {subject} equal.",
        "Normalise all rows of both: x / np.linalg.norm(x, axis=1, keepdims=True).",
    )


def packed_bits(x: Rows, y: Rows, names: VersionNames) -> Fact | None:
    """Return the fact that one version holds packed bits: bytes beside vectors of eight times the
    width, or wider integers, recognised by their data type. Return None for other data."""
    sides = ((names[0], x, y.width), (names[1], y, x.width))
    for name, rows, width in sides:
        if (size := BITS_BY_TYPE.get(_source_dtype_name(rows))) and rows.width == -(
            -width // size
        ) < width:
            return Fact(
                "packed bits",
                len(rows.source),
                len(rows.source),
                f"The {name} holds whole numbers of {size} bits, one for each {size} of the "
                f"{width:,} columns of the other: bits that are packed {size} to a number?",
                "Unpack them first: np.unpackbits(np.ascontiguousarray(vectors).view(np.uint8), "
                f"axis=1)[:, :{width}]; and compare bits with bits, such as vectors > 0.",
            )
        if rows.width == width or rows.width != -(-width // 8):
            continue
        values = rows.take(_evenly_spaced_rows(rows))
        low = -128.0 if values.min() < 0 else 0.0
        is_bytes = (values == np.rint(values)).all() and low <= values.min()
        if not is_bytes or values.max() > low + 255 or values.max() <= 1:
            continue
        array = "vectors" if low == 0 else "(vectors.astype(np.int16) + 128)"
        return Fact(
            "packed bits",
            len(rows.source),
            len(rows.source),
            f"The {name} holds bytes, one for each 8 of the {width:,} columns of the other: bits "
            "that are packed 8 to a byte?",
            f"Unpack them first: np.unpackbits({array}.astype(np.uint8), axis=1)[:, :{width}]; and "
            "compare bits with bits, such as vectors > 0.",
        )
    return None


def _other_inputs_fact(x: Rows, y: Rows, seed: int) -> tuple[Fact, ...]:
    n = len(x.source)
    indices = np.sort(generator(seed, "relation of rows").permutation(n)[:FACT_SAMPLE_ROWS])
    a, b = x.take(indices), y.take(indices)
    if n < MIN_RELATION_ROWS or is_related(a, b, seed):
        return ()
    statement = "no row matches the same row of the other version better than other rows"
    pooled = to_typical_units(np.concatenate([a, b])) if a.shape == b.shape else None
    if pooled is not None and energy_test(pooled, len(a), seed).pvalue > RELATION_LEVEL:
        return (
            Fact(
                "other inputs",
                n,
                n,
                f"Are the inputs different? The distributions agree, but {statement}.",
                "Pass the same inputs in the same order, or compare batches of different samples: "
                "paired=False, or --unpaired.",
            ),
        )
    return (
        Fact(
            "unrelated rows",
            n,
            n,
            f"{statement[0].upper()}{statement[1:]}.",
            "Check that the inputs and their order are the same.",
        ),
    )


def _format_side_counts(counts: Sequence[int], sides: Sequence[RowStatistics]) -> str:
    return join_words(
        f"{_format_row_count(c, len(s.hashes))} of the {s.name}" for c, s in zip(counts, sides) if c
    )


def _side_fact(
    kind: str, counts: Sequence[int], sides: Sequence[RowStatistics], predicate: str, remedy: str
) -> tuple[Fact, ...]:
    """Return one fact, in a tuple, about the rows of separate versions. The fact counts the rows of
    the version with more such rows; the sentence gives the two counts.

    ``kind``: of the fact. ``counts``: the number of such rows in each version. ``sides``: the rows
    of each version. ``predicate``: the end of the sentence. ``remedy``: the advice.
    """
    side = int(np.argmax(counts))
    text = f"{_format_side_counts(counts, sides)} {'is' if sum(counts) == 1 else 'are'} {predicate}"
    return (Fact(kind, counts[side], len(sides[side].hashes), text, remedy),)


def _any_notable_share(counts: Sequence[int], sides: Sequence[RowStatistics]) -> bool:
    return any(_is_notable_share(count, len(side.hashes)) for count, side in zip(counts, sides))


def _zero_rows_fact(sides: Sequence[RowStatistics]) -> tuple[Fact, ...]:
    """Return the fact about rows of zeros, in a tuple, or (). ``sides``: the rows of each version.
    A few zeros are a fact if only one version has zeros. A version of zeros only gives no fact."""
    counts = [int((side.lengths == 0).sum()) for side in sides]
    has_one = min(counts) == 0 < max(counts)
    if max(counts) == len(sides[int(np.argmax(counts))].hashes):
        return ()
    if not has_one and not _any_notable_share(counts, sides):
        return ()
    remedy = "Re-embed these inputs, or leave out the rows: x[~(x == 0).all(axis=1)]."
    noun = "a zero vector." if sum(counts) == 1 else "zero vectors."
    return _side_fact("zeros", counts, sides, noun, remedy)


def _copied_rows_fact(sides: Sequence[RowStatistics]) -> tuple[Fact, ...]:
    """Return the fact about nonzero rows with copies in the same version, in a tuple; () if copies
    are few."""
    counts = []
    for side in sides:
        _, inverse, times = np.unique(side.hashes, return_inverse=True, return_counts=True)
        counts.append(int(((times[inverse] > 1) & (side.lengths > 0)).sum()))
    if not _any_notable_share(counts, sides):
        return ()
    remedy = (
        "Look for inputs that repeat or for a default vector, and keep one row of each: "
        "np.unique(x, axis=0, return_index=True)[1]."
    )
    return _side_fact("copies", counts, sides, "duplicates of other rows.", remedy)


def _far_rows_fact(sides: Sequence[RowStatistics]) -> tuple[Fact, ...]:
    medians = [float(np.median(side.distances)) for side in sides]
    is_far = [(s.distances >= FAR_ROW_RATIO * size) & (size > 0) for s, size in zip(sides, medians)]
    counts = [int(rows.sum()) for rows in is_far]
    if not any(counts):
        return ()
    rows = np.unique(np.concatenate([np.flatnonzero(f) for f in is_far])).tolist()
    row_list = list_names(rows, 5)
    predicate = (
        "a million times farther from the centre than half of the rows: outliers that "
        f"account for all of the variance (row {row_list})."
    )
    return _side_fact(
        "far rows",
        counts,
        sides,
        predicate,
        "Check the inputs of these rows, or leave out the rows.",
    )


# ------------------------------------------------------------------------ batches of other samples


def find_batch_facts(
    x: Rows, y: Rows, names: VersionNames = ("reference", "current batch")
) -> tuple[Fact, ...]:
    """Return the facts about two batches of different samples and one width: rows that are in the
    two batches, zeros, copies, far rows. ``names``: the batches in sentences."""
    sides = [_batch_row_statistics(rows, name) for rows, name in zip((x, y), names)]
    is_shared = np.isin(sides[1].hashes, sides[0].hashes) & (sides[1].lengths > 0)
    shared_facts: tuple[Fact, ...] = ()
    count, m = int(is_shared.sum()), len(y.source)
    if count >= max(1, MIN_FACT_SHARE * m):
        shared_facts = (
            Fact(
                "shared rows",
                count,
                m,
                f"{_rows_in_words(count, m)} of the {names[1]} are rows of the {names[0]}, "
                "too, but the tests assume different samples.",
                "Leave these rows out of one batch, or compare the same samples in pairs: "
                "paired=True, without --unpaired.",
            ),
        )
    return (
        *shared_facts,
        *_zero_rows_fact(sides),
        *_copied_rows_fact(sides),
        *_far_rows_fact(sides),
    )


def _batch_row_statistics(x: Rows, name: str) -> RowStatistics:
    scale = _power_of_two_scale(x)
    center = column_medians(x.take(_evenly_spaced_rows(x))) * scale
    statistics = [
        (_row_lengths(v * scale), _row_lengths(v * scale - center), _row_hashes(v))
        for _, v in x.blocks()
    ]
    return RowStatistics(name, *map(np.concatenate, zip(*statistics)))
