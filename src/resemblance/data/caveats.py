"""Caveats about data: likely mistakes, and properties that make values, chance levels and intervals
doubtful. Single calls and all commands share the list."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..base.arrays import detach, row_blocks, to_numpy
from ..base.formatting import format_percent, join_words, list_names
from .columns import column_numbers
from .inputs import stimulus_of_each_row
from .representation import (
    Representation,
    as_representation,
    data_key,
    fingerprint,
    representation_title,
    unify_keys,
)

# The limit of n times a sample's share of the variance in x times the share in y. Above the limit,
# 95 % intervals contained the expected value in 69 to 98 % of data sets with few large samples; 30
# Gaussian samples of one feature rarely exceed the limit.
DOMINANT_PRODUCT = 2
HALF_OF_VARIANCE = 0.5  # the share of a feature or a sample that causes a caveat
UNREMARKABLE_SHARE = 0.25  # a smaller estimate or bound of a share rules the caveat out
# With fewer than 10 features or samples, only a share of 0.9 causes a caveat
MIN_ITEMS_FOR_HALF, MOST_OF_VARIANCE = 10, 0.9
SAMPLES_PER_NAMED_COPY = 20  # one duplicate per 20 samples, on all sides, causes a caveat
MAX_NAMED_REPRESENTATIONS = 3  # representations listed in a caveat
DIGEST_FEATURES = 16  # the first values of a row distinguish most rows
SAME_DATA_TOLERANCE = 1e-6  # relative to the largest number: above float32 rounding
ZERO_DIAGONAL_TOLERANCE = 1e-3  # relative to the largest entry
# Rows with at most this many distinct integers encode classes or ratings
MAX_CODE_LEVELS = 10
# A block of rows contains at most this many numbers
MAX_NUMBERS_TO_COPY = 2**18
MIN_SHARE_OF_VARIANCE = 0.1  # of the variance in the sum of squares, for accurate differences
DISSIMILARITY_CAVEAT = (
    "{name} is {n} x {n}, symmetric, zeros on the diagonal: a matrix of "
    "dissimilarities in place of features? Pass the features, or rs.from_dissimilarities(D) to rsa"
)
SIMILARITY_CAVEAT = (
    "{name} is {n} x {n} and symmetric, like a matrix of similarities (inner products, "
    "correlations) in place of features? Pass the features; for inner products G, with w, v = "
    "np.linalg.eigh(G), the features are v * np.sqrt(np.maximum(w, 0))"
)
RepresentationPair = tuple[int, int]  # positions among representations


def data_caveats(
    representations: Sequence[Representation], *, copies: bool = True
) -> tuple[str, ...]:
    """Return doubts about representations of the same samples; nothing for most data.

    Reordered columns come first, then duplicate samples, dissimilarity or similarity matrices, and
    features and samples with half of the variance. ``copies``: whether to report duplicate samples;
    a report that counts duplicates itself passes False.
    """
    suspects = [r for r in representations if _may_have_dominant_share(r)]
    features, samples = _dominance_caveats(suspects, [_variance_shares(r) for r in suspects])
    return (
        *reordered_column_caveats(representations),
        *(_copy_caveats(representations, None) if copies else ()),
        *_square_matrix_caveats(representations),
        *features,
        *samples,
    )


def chance_caveats(
    representations: Sequence[Representation],
    blocks: np.ndarray | None = None,
    pairs: Sequence[RepresentationPair] = (),
) -> tuple[str, ...]:
    """Return doubts about representations of the same samples, in the words of
    :func:`data_caveats`, and doubts about chance levels and intervals; () for most data.

    ``blocks``: the block of each sample, (n,); permutations and subsamples keep blocks whole; None
    for a block per sample. ``pairs``: the pairs with intervals, as positions in
    ``representations``.
    """
    shares = [_variance_shares(r) for r in representations]
    numbers = np.arange(len(shares[0].samples)) if blocks is None else blocks
    dominated = [
        *_dominant_sample_caveats(representations, [share.samples for share in shares], pairs)
    ]
    features, samples = _dominance_caveats(representations, shares)
    return (
        *reordered_column_caveats(representations),
        *_repeated_stimuli_caveats(representations, numbers),
        *_copy_caveats(representations, numbers),
        *_square_matrix_caveats(representations),
        *(dominated or samples),
        *features,
    )


def single_pair_caveats(
    x: Representation, y: Representation, largest_shares: tuple[float, float] | None
) -> tuple[str, ...]:
    """Return doubts about a pair of representations, in the words of :func:`data_caveats`, at a few
    percent of the cost of a measure; () for most pairs.

    ``largest_shares``: upper bounds of the share of any feature or sample in the variance of x, and
    of y; infinity without a known bound; None for a measure that does not weight features and
    samples by variance. Given dissimilarities and streams are only checked for reordered columns.
    Only NumPy arrays are checked for duplicate samples and for features and samples with half of
    the variance: a tensor may be on an accelerator, and is not copied. Pass ``X.cpu().numpy()`` to
    check a tensor.
    """
    pair = (x, y)
    if x.origin or x.signed or y.origin or y.signed:
        return reordered_column_caveats(pair)
    caveats = [*reordered_column_caveats(pair), *_square_matrix_caveats(pair)]
    if isinstance(x.source, np.ndarray) and isinstance(y.source, np.ndarray):
        caveats += _copy_caveats(pair, None)
        dominated = [
            r
            for r, share in zip(pair, largest_shares or ())
            if share >= UNREMARKABLE_SHARE and _may_have_dominant_share(r)
        ]
        if dominated:
            for texts in _dominance_caveats(dominated, [_variance_shares(r) for r in dominated]):
                caveats += texts
    return tuple(caveats)


def copied_sample_caveats(representations: Sequence[Representation]) -> tuple[str, ...]:
    """Return at most one sentence, in a tuple: the number of duplicate samples of
    ``representations``, on all sides or on one side; () for none."""
    return tuple(_copy_caveats(representations, None))


def square_and_copy_caveats(representations: Sequence[Representation]) -> tuple[str, ...]:
    """Return sentences on duplicate samples, on dissimilarity matrices, and on similarity matrices
    among ``representations``; () for none."""
    return (*_copy_caveats(representations, None), *_square_matrix_caveats(representations))


def variance_caveats(names: Sequence[str], shares: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return at most one sentence, in a tuple: each feature with half of the variance (among few
    features 90 %), by representation; () for none.

    ``names``: the representations. ``shares``: for each representation the share of the variance in
    every feature, (d,).
    """
    return tuple(
        _half_variance_caveats(
            names, shares, "feature", [map(str, range(len(values))) for values in shares]
        )
    )


def reordered_column_caveats(representations: Sequence[Representation]) -> tuple[str, ...]:
    """Return sentences on the representations with reordered columns, and the order; () for
    none."""
    orders = [(r.name, r.column_order) for r in representations if r.column_order]
    return describe_column_orders(orders) if orders else ()


def describe_column_orders(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a sentence per order with the representations whose columns were reordered. ``pairs``:
    the name of a representation and the words for the order."""
    orders: dict[str, list[str]] = {}
    for name, order in pairs:
        orders.setdefault(order, []).append(repr(name))
    return tuple(
        f"the columns of {list_names(names, MAX_NAMED_REPRESENTATIONS)} were put in the order "
        f"of {order}"
        for order, names in orders.items()
    )


def equal_data_caveats(
    representations: Sequence[Representation], roles: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return sentences on the representations that are equal to the last bit; () for none.

    ``roles``: a phrase for each representation, such as "the reference". Without roles the names
    are listed, and two representations of one name are one.
    """
    unify_keys(representations)
    groups: dict[str, list[int]] = {}
    for i, r in enumerate(representations):
        if not (r.signed or r.origin):
            groups.setdefault(data_key(r), []).append(i)
    phrases = roles or [repr(r.name) for r in representations]
    return tuple(
        f"{join_words(names, MAX_NAMED_REPRESENTATIONS)} are equal to the last bit: probably the "
        "same file twice"
        for group in groups.values()
        if len(names := [*dict.fromkeys(phrases[i] for i in group)]) > 1
    )


def shared_data_caveats(
    subjects: Sequence[Representation], models: Sequence[Representation]
) -> tuple[str, ...]:
    """Return sentences on the subjects with equal data up to a factor, and on the models that are
    equal to a subject; () for none."""
    groups: list[list[Representation]] = []
    for r in subjects:
        matching_group = next((group for group in groups if _hold_same_numbers(r, group[0])), None)
        if matching_group is None:
            groups.append([r])
        else:
            matching_group.append(r)
    group_phrases = [list_names(repr(r.name) for r in group) for group in groups if len(group) > 1]
    representatives = [group[0] for group in groups]
    matches = [
        (r, subject)
        for r in models
        for subject in representatives
        if _hold_same_numbers(r, subject)
    ]
    match_phrases = [f"{r.name!r} is {subject.name!r}" for r, subject in matches]
    caveats = []
    if group_phrases:
        caveats.append(
            "subjects have the same data: "
            f"{list_names(group_phrases, MAX_NAMED_REPRESENTATIONS)}; they count as one subject, "
            "so leave out the others"
        )
    if match_phrases:
        caveats.append(
            "models have the data of subjects: "
            f"{list_names(match_phrases, MAX_NAMED_REPRESENTATIONS)}; a model that is a subject "
            "scores 1 with itself, so leave it out on one side"
        )
    return tuple(caveats)


def _hold_same_numbers(x: Representation, y: Representation) -> bool:
    """Return whether two representations contain the same numbers in the same places, up to a
    positive factor and float32 rounding.

    True for equal fingerprints. Dissimilarities and streamed representations need equal
    fingerprints. With unequal fingerprints, False for different shapes, for numbers that are not
    finite, and if the first, the middle and the last row are zero in x or in y.
    """
    if fingerprint(x) == fingerprint(y):
        return True
    if x.shape != y.shape or any(r.signed or r.origin for r in (x, y)):
        return False
    a, b = _numpy_array(x), _numpy_array(y)
    for rows in ([0, len(a) // 2, len(a) - 1], slice(None)):  # three rows detect most differences
        x_rows, y_rows = a[rows].astype(float), b[rows].astype(float)
        lengths = np.linalg.norm(x_rows), np.linalg.norm(y_rows)
        if not 0 < min(lengths) <= max(lengths) < np.inf:
            return False
        x_rows, y_rows = x_rows / lengths[0], y_rows / lengths[1]
        if not np.abs(x_rows - y_rows).max() <= SAME_DATA_TOLERANCE * np.abs(x_rows).max():
            return False
    return True


def _numpy_array(x: Representation) -> np.ndarray:
    return to_numpy(detach(x.source))


# ------------------------------------------------------------------------------- repeats and copies


def duplicate_labels(X: object) -> np.ndarray:
    """Return for each sample the index of the row among the distinct rows, for ``whole_blocks=``.

    ``X``: an array or representation, (n, d). The labels, integers (n,), count from 0 in the order
    of first occurrence; samples with equal values have the same label, and -0 equals 0.

    Raises ``ValueError`` for data that are not an array (n, d) of real numbers.
    """
    source = _numpy_array(as_representation(X))
    numbers = dict[bytes, int]()
    prefixes = [row.tobytes() for row in source[:, :DIGEST_FEATURES] + 0]
    count = Counter(prefixes)
    keys = (
        prefix if count[prefix] == 1 else _row_digest(row) for prefix, row in zip(prefixes, source)
    )
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _row_digest(row: np.ndarray) -> bytes:
    return hashlib.blake2b((row + 0).tobytes(), digest_size=16).digest()


def _repeated_stimuli_caveats(
    representations: Sequence[Representation], blocks: np.ndarray
) -> Iterator[str]:
    """Yield at most one text: the numbers of samples and of stimuli, unless all rows of a stimulus
    are in one block. ``blocks``: the block of each sample, (n,)."""
    for ids in filter(None, (stimulus_of_each_row(r.ids) for r in representations)):
        numbers = {name: number for number, name in enumerate(dict.fromkeys(ids))}
        if _equal_rows_cross_blocks(np.array([numbers[name] for name in ids]), blocks):
            # Only blocks of equal size can be permuted
            is_balanced = len(set(Counter(ids).values())) == 1
            yield (
                f"{len(ids)} samples belong to {len(numbers)} stimuli, and repeats of a stimulus "
                "are not independent; "
                f"{'pass the stimulus of each sample as whole_blocks, or ' * is_balanced}average "
                "them (rs.condition_means)"
            )
            return


def _copy_caveats(
    representations: Sequence[Representation], blocks: np.ndarray | None
) -> Iterator[str]:
    """Yield at most one text: the number of duplicate samples, on all sides or on one side, unless
    duplicates are in one block.

    Rows that encode classes are equal without being duplicates. ``blocks``: the block of each
    sample, (n,); None for a block per sample.
    """
    candidates = [
        r
        for r in representations
        if _may_have_equal_rows(_numpy_array(r)) and not _is_integer_code(r)
    ]
    if not candidates:
        return
    n = representations[0].shape[0]
    block_labels = np.arange(n) if blocks is None else blocks
    rows = [duplicate_labels(r) for r in candidates]
    if len(rows) == len(representations):
        joint_labels = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(n)
        count = len(np.unique(joint_labels))
        if (
            _equal_rows_cross_blocks(joint_labels, block_labels)
            and SAMPLES_PER_NAMED_COPY * (n - count) >= n
        ):
            phrase = (
                f"{n - count} of {n} samples are duplicates of other samples: {count} distinct rows"
            )
            yield f"{phrase}; {_equal_rows_remedy(joint_labels, blocks is not None)}"
            return
    crossing = [
        (r.name, labels)
        for r, labels in zip(candidates, rows)
        if _equal_rows_cross_blocks(labels, block_labels)
    ]
    half_copies = [(name, labels) for name, labels in crossing if 2 * len(np.unique(labels)) <= n]
    if half_copies:
        phrase = list_names(
            [f"{len(np.unique(labels))} of {name}" for name, labels in half_copies],
            MAX_NAMED_REPRESENTATIONS,
        )
        yield (
            f"distinct rows of {n} samples: {phrase}; "
            f"{_equal_rows_remedy(half_copies[0][1], blocks is not None)}"
        )


def _may_have_equal_rows(source: np.ndarray) -> bool:
    """Return whether at least one row of ``source`` (n, d) in 20 may be a duplicate, judged by
    three columns: rows with different values in a column are different."""
    n, d = source.shape
    for column in (0, d // 2, d - 1):
        values = source[:, column].copy()
        values.sort()
        if SAMPLES_PER_NAMED_COPY * np.count_nonzero(values[1:] == values[:-1]) < n:
            return False
    return True


def _is_integer_code(x: Representation) -> bool:
    """Return whether rows consist of few distinct integers, as one-hot classes, labels and ratings
    do."""
    source = _numpy_array(x)
    return all(_are_whole_numbers(values) for values in (source[0], source)) and (
        x.shape[1] == 1 or len(np.unique(source)) <= MAX_CODE_LEVELS
    )


def _are_whole_numbers(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values == np.round(values)).all())


def _equal_rows_remedy(rows: np.ndarray, has_blocks: bool) -> str:
    """Return the remedy for equal rows; only blocks of equal size can be permuted. ``rows``: the
    label of each row, equal for equal rows. ``has_blocks``: whether the message is about
    permutations."""
    sizes = np.unique(np.unique(rows, return_counts=True)[1])
    is_block = has_blocks and len(sizes) == 1
    alternative = "leave out duplicates"
    if is_block:
        alternative = "pass their numbers as whole_blocks (rs.duplicate_labels)"
    return f"if these are repeats, not classes, average them (rs.condition_means) or {alternative}"


def _equal_rows_cross_blocks(rows: np.ndarray, blocks: np.ndarray) -> bool:
    """Return whether equal rows are in several blocks. ``rows``: the label of each row, equal for
    equal rows, (n,). ``blocks``: the block of each row, (n,)."""
    pairs = np.unique(np.stack([rows, blocks]), axis=1)
    return bool(len(np.unique(rows)) < pairs.shape[1])


# ---------------------------------------------------------------------- matrices taken for features


def _square_matrix_caveats(representations: Sequence[Representation]) -> Iterator[str]:
    """Yield a sentence that names the representations that look like dissimilarity matrices, and a
    sentence that names those that look like similarity matrices; nothing for none."""
    for text, is_of_kind in (
        (DISSIMILARITY_CAVEAT, _has_zero_diagonal),
        (SIMILARITY_CAVEAT, _is_similarity_matrix),
    ):
        matrices = [
            r for r in representations if is_symmetric_matrix(r) and is_of_kind(_numpy_array(r))
        ]
        if matrices:
            name = list_names([r.name for r in matrices], MAX_NAMED_REPRESENTATIONS) or "the array"
            yield text.format(name=name, n=matrices[0].shape[0])


def refuse_dissimilarities(caller: str, representations: Sequence[Representation]) -> None:
    """Raise ``ValueError``, which begins with ``caller``, if a representation is a dissimilarity
    matrix passed as features."""
    for x in representations:
        if x.signed is None and x.shape[0] == x.shape[1]:
            values = _numpy_array(x)
            if not values.diagonal().any() and np.array_equal(values, values.T):
                raise ValueError(
                    f"{caller}: {representation_title(x)} is a symmetric matrix with a zero "
                    "diagonal; for dissimilarities write rs.from_dissimilarities(D)"
                )


def is_symmetric_matrix(x: Representation) -> bool:
    """Return whether the features are a symmetric matrix with more than two distinct values, one
    row and one column for each sample.

    A matrix with two values is a graph's adjacency matrix, or encodes classes.
    """
    n, d = x.shape
    if n != d or n < 3 or x.signed or x.origin:
        return False
    matrix = _numpy_array(x)
    indices = [0, n // 2, n - 1]
    rows, columns = matrix[indices] * 1.0, matrix[:, indices].T * 1.0
    if not np.abs(rows - columns).max() <= 1e-3 * np.abs(rows).max():
        return False  # three rows and columns are enough to detect an asymmetric matrix
    slack = _asymmetry_tolerance(matrix)
    if not 0 < slack < np.inf or not np.allclose(matrix, matrix.T, rtol=0, atol=slack):
        return False
    return bool(((matrix != matrix.min()) & (matrix != matrix.max())).any())


def _asymmetry_tolerance(matrix: np.ndarray) -> float:
    """Return the largest difference between the two halves of a symmetric matrix computed in single
    precision or stored in a lower precision."""
    eps = max(np.finfo(np.float32).eps, np.finfo(np.result_type(matrix, np.float16)).eps)
    return 16 * float(eps * np.abs(matrix * 1.0).max())


def _has_zero_diagonal(matrix: np.ndarray) -> bool:
    """Return whether the diagonal of ``matrix`` (n, n) is zero up to rounding, which suggests a
    dissimilarity matrix.

    Every magnitude on the diagonal is at most ``ZERO_DIAGONAL_TOLERANCE`` times the largest
    magnitude in the matrix. True for a matrix of zeros.
    """
    max_value = float(np.abs(matrix * 1.0).max())
    return bool(np.abs(np.diagonal(matrix) * 1.0).max() <= ZERO_DIAGONAL_TOLERANCE * max_value)


def _is_similarity_matrix(matrix: np.ndarray) -> bool:
    """Return whether every entry of ``matrix`` (n, n) satisfies the Cauchy-Schwarz bound of inner
    products, given the diagonal, up to rounding; False for a diagonal that is zero
    (:func:`_has_zero_diagonal`), or for a negative entry of the diagonal."""
    diagonal = np.diagonal(matrix).astype(float)
    if (diagonal < 0).any() or _has_zero_diagonal(matrix):
        return False
    bounds = np.sqrt(np.outer(diagonal, diagonal))
    return bool((np.abs(matrix) <= bounds * (1 + 1e-6) + _asymmetry_tolerance(matrix)).all())


# ------------------------------------------------------------------------------- shares of variance


class VarianceShares(NamedTuple):
    """The shares of samples, (n,), and of features, (d,), in the summed squared distances from the
    mean; zeros if there is no variance, or for fewer than 10 samples."""

    samples: np.ndarray
    features: np.ndarray


def _variance_shares(x: Representation) -> VarianceShares:
    source = _numpy_array(x)
    with np.errstate(all="ignore"):
        mean = source.mean(axis=0, dtype=np.float64)
        height = max(1, MAX_NUMBERS_TO_COPY // source.shape[1])
        samples, features = np.empty(len(source)), np.zeros(source.shape[1])
        for start, stop in row_blocks(len(source), height):
            squares = np.square(source[start:stop] - mean)
            samples[start:stop] = squares.sum(axis=1)
            features += squares.sum(axis=0)
        total = float(samples.sum())
    # Among few samples, one sample often has most of the variance
    if not 0 < total < math.inf or len(source) < MIN_ITEMS_FOR_HALF:
        return VarianceShares(np.zeros(len(samples)), np.zeros(len(features)))
    return VarianceShares(samples / total, features / total)


def _may_have_dominant_share(x: Representation) -> bool:
    """Return whether a feature or a sample may have half of the variance, by sums over all rows.

    The sums take three passes, and no copy of the array. The result is also True for few samples,
    and where rounding makes the sums uncertain: for a mean that is large beside the spread, for a
    dtype other than float32 and float64, and for values that are not finite.
    """
    source = _numpy_array(x)
    if source.dtype not in (np.float32, np.float64):
        return True
    n = len(source)
    with np.errstate(all="ignore"):
        # BLAS sums columns in half the time of np.sum
        mean, lengths = np.full(n, 1 / n, source.dtype) @ source, np.vecdot(source, source)
        features = np.einsum("ij,ij->j", source, source) - n * mean * mean
        total = np.add.reduce(features)
        is_accurate = total > MIN_SHARE_OF_VARIANCE * np.add.reduce(lengths)
        # |a - b|^2 <= 2 |a|^2 + 2 |b|^2 bounds the squared distance of a sample from the mean
        largest = 2 * (np.maximum.reduce(lengths) + mean @ mean)
        largest = max(largest, np.maximum.reduce(features))
        return not (is_accurate and largest < UNREMARKABLE_SHARE * total)


def _half_variance_caveats(
    names: Sequence[str], shares: Sequence[np.ndarray], noun: str, labels: Sequence[Iterable[str]]
) -> Iterator[str]:
    """Yield at most one text: each feature or sample with half of the variance (among few features
    or samples: 90 %), by representation.

    ``shares``: for each representation the shares of features or of samples. ``noun``: "feature" or
    "sample". ``labels``: the names of the features or samples of each representation.
    """
    is_feature = noun == "feature"
    clauses = []
    for name, values, item_labels in zip(names, shares, labels):
        if len(values) > 1 and values.max() >= (
            HALF_OF_VARIANCE if len(values) >= MIN_ITEMS_FOR_HALF else MOST_OF_VARIANCE
        ):
            label = list(item_labels)[int(values.argmax())]
            clauses.append(
                f"{noun} {label} has {format_percent(values.max())} of the variance of {name}"
            )
    if clauses:
        remedy = "leave it out, or standardise the features," if is_feature else "leave it out"
        clause_list = list_names(clauses, MAX_NAMED_REPRESENTATIONS)
        yield f"{clause_list}: {remedy} to measure the similarity of the rest"


def _dominance_caveats(
    representations: Sequence[Representation], shares: Sequence[VarianceShares]
) -> tuple[list[str], list[str]]:
    """Return two lists of at most one sentence: the features, and the samples, with half of the
    variance. ``shares``: of each representation."""
    names = [r.name or "the array" for r in representations]
    positions = [map(str, range(r.shape[0])) for r in representations]
    features = [map(_feature_name, [r] * r.shape[1], range(r.shape[1])) for r in representations]
    return (
        [*_half_variance_caveats(names, [share.features for share in shares], "feature", features)],
        [*_half_variance_caveats(names, [share.samples for share in shares], "sample", positions)],
    )


def _feature_name(x: Representation, index: int) -> str:
    """Return the name of a feature, or the index if the names count from 0 in order."""
    numbers = None if x.features is None else column_numbers(x.features)
    is_place = x.features is None or (numbers is not None and numbers[index] == index)
    return str(index) if is_place or x.features is None else repr(x.features[index])


def _dominant_sample_caveats(
    representations: Sequence[Representation],
    shares: Sequence[np.ndarray],
    pairs: Sequence[RepresentationPair],
) -> Iterator[str]:
    """Yield at most one text: the sample with a dominant share of the variance on both sides of a
    pair.

    ``shares``: the shares of the samples, (n,), of each representation. ``pairs``: as positions in
    ``representations``.
    """
    if not pairs:
        return
    n = len(shares[0])
    max_products = {pair: (shares[pair[0]] * shares[pair[1]]).max() for pair in pairs}
    i, j = max(max_products, key=lambda pair: max_products[pair])
    if n * max_products[i, j] <= DOMINANT_PRODUCT:
        return
    sample = int((shares[i] * shares[j]).argmax())
    x, y = (f"{format_percent(shares[k][sample])} of {representations[k].name}" for k in (i, j))
    count = sum(n * share > DOMINANT_PRODUCT for share in max_products.values())
    pairs_note = (
        f"; {count} of {len(max_products)} pairs have such samples" if len(max_products) > 1 else ""
    )
    yield (
        f"sample {sample} has {x} and {y}, of the squared distances from the mean{pairs_note}: "
        "intervals may be far too narrow, except for measures of ranks and neighbours"
    )
