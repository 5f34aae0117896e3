"""Populations of networks, by their differences: clusters, and tests of groups."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.results import BaseResult
from ..base.rng import generator
from ..data.inputs import sample_order
from ..significance.labels import is_missing_label
from ..significance.multiple_testing import holm_adjust
from ..significance.permutation import count_at_least, pvalue_of
from ..significance.resampling import check_positive_integers

GROUP_TEST_PERMUTATIONS = 9999
DIVISIONS_PER_BATCH = 500  # permuted divisions per batch
MAX_TRIED_CLUSTERS = 10  # largest number of clusters tried
MAX_MEDOID_SWAPS = 1000
MIN_COST_REDUCTION = 1e-12  # share of the cost; a smaller gain is rounding error


class LeftOut(NamedTuple):
    """A representation left out of an analysis, with the reason."""

    name: str
    reason: str


# -------------------------------------------------------------------------------------- clusters


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(BaseResult):
    """Representations divided into clusters around medoids, by a measure.

    ``labels`` (n,): the clusters of ``names``, 0 to k - 1. ``medoids``: the names of the central
    representations, by cluster. ``silhouette`` (n,), -1 to 1: how much nearer a representation is
    to the own cluster than to the next cluster; 0 for the only member of a cluster. ``by_k``: the
    mean silhouette by number of clusters. Clustering never returns a single cluster;
    :meth:`resemblance.Comparison.permanova` tests whether there is more than one group.
    """

    names: tuple[str, ...]
    labels: np.ndarray
    medoids: tuple[str, ...]
    silhouette: np.ndarray
    by_k: Mapping[int, float]
    caveats: tuple[str, ...] = ()
    failures: tuple[LeftOut, ...] = ()

    def summary(self) -> str:
        """Return the clusters with their sizes, and the mean silhouette."""
        sizes = Counter(self.labels.tolist())
        members = ", ".join(f"{name} ({sizes[k]})" for k, name in enumerate(self.medoids))
        mean = self.silhouette.mean()
        return f"{len(self.medoids)} clusters around {members}; mean silhouette {mean:.2f}"

    def records(self) -> list[dict[str, Any]]:
        """Return one record per representation: name, cluster, medoid, silhouette."""
        rows = zip(self.names, self.labels.tolist(), self.silhouette.tolist())
        return [
            {"name": name, "cluster": k, "medoid": self.medoids[k], "silhouette": value}
            for name, k, value in rows
        ]


def cluster_by_medoids(names: tuple[str, ...], differences: np.ndarray, k: int | None) -> Clusters:
    """Return the representations ``names`` divided into ``k`` clusters by their differences (n, n),
    symmetric with a zero diagonal. With ``k=None``, the number from 2 to 10 with the largest mean
    silhouette counts.

    Raises ``ValueError`` for fewer than three representations or an impossible k, and
    :class:`UndefinedError` if all differences are 0.
    """
    from sklearn.metrics import silhouette_samples

    n = len(names)
    if n < 3:
        raise ValueError(f"clusters: {n} representations have values for all pairs; 3 are needed")
    if k is not None:
        check_positive_integers("clusters", k=k)
    if k is not None and not 2 <= k <= n - 1:
        raise ValueError(f"clusters: k of {n} representations is 2 to {n - 1}; got {k}")
    if not differences.any():
        raise UndefinedError(f"clusters: no two of the {n} representations differ")
    clusterings = {}
    for size in [k] if k is not None else range(2, min(MAX_TRIED_CLUSTERS, n - 1) + 1):
        medoids = find_medoids(differences, size)
        labels = differences[:, medoids].argmin(axis=1)
        labels[medoids] = np.arange(size)  # equal representations may be medoids of two clusters
        clusterings[size] = (
            medoids,
            labels,
            silhouette_samples(differences, labels, metric="precomputed"),
        )
    silhouettes = {size: float(silhouette.mean()) for size, (*_, silhouette) in clusterings.items()}
    medoids, labels, silhouette = clusterings[max(silhouettes, key=silhouettes.__getitem__)]
    return Clusters(names, labels, tuple(names[i] for i in medoids), silhouette, silhouettes)


def find_medoids(differences: np.ndarray, k: int) -> np.ndarray:
    """Return the positions of k medoids (k,), ascending, with a small sum of differences (n, n)
    between members and their nearest medoid.

    Reference: Kaufman and Rousseeuw 1990, chapter 2. BUILD adds the medoid with the largest gain;
    then SWAP exchanges a medoid with another member, the best exchange first, until no exchange
    gains.
    """
    medoids = [int(differences.sum(axis=0).argmin())]
    while len(medoids) < k:
        nearest = differences[:, medoids].min(axis=1)
        gains = np.maximum(nearest[:, None] - differences, 0).sum(axis=0)
        gains[medoids] = -1
        medoids.append(int(gains.argmax()))
    cost = differences[:, medoids].min(axis=1).sum()
    for _ in range(MAX_MEDOID_SWAPS):
        swaps = []
        for i in range(k):
            distances = differences[:, [*medoids[:i], *medoids[i + 1 :]]].min(axis=1)
            costs = np.minimum(distances[:, None], differences).sum(axis=0)
            costs[medoids] = np.inf
            swaps.append((float(costs.min()), i, int(costs.argmin())))
        best, i, member = min(swaps)
        if not best < cost * (1 - MIN_COST_REDUCTION):
            break
        cost, medoids[i] = best, member
    return np.sort(medoids)


# ---------------------------------------------------------------------------------------- groups


@dataclass(frozen=True, eq=False, repr=False)
class Permanova(BaseResult):
    """Whether networks of a group are closer to each other than to networks of other groups.

    ``f``: Anderson's pseudo-F, infinite if no group has a difference inside; ``share``: the share
    of the squared differences between the groups, 0 to 1. ``within`` and ``between``: the mean
    difference of two networks of the same group, and of different groups; ``inside``: the mean
    difference by group (NaN: a single network). ``pvalue``: the share of permutations of the labels
    with an F at least as large; ``is_exact``: whether all permutations were computed.
    ``min_pvalue``: the smallest p-value that the groups can give. The test also detects groups with
    equal centres and unequal spread: compare ``inside``.
    """

    names: tuple[str, ...]
    labels: tuple[Hashable, ...]
    f: float
    share: float
    within: float
    between: float
    inside: Mapping[Hashable, float]
    pvalue: float
    min_pvalue: float
    is_exact: bool
    differences: np.ndarray
    nested: tuple[Hashable, ...] | None
    n_permutations: int
    seed: int
    caveats: tuple[str, ...] = ()
    failures: tuple[LeftOut, ...] = ()

    def summary(self) -> str:
        """Return the groups with their sizes, the mean differences, F and p."""
        sizes = ", ".join(f"{label} ({n})" for label, n in Counter(self.labels).items())
        means = f"differences {self.within:.3g} within, {self.between:.3g} between"
        p = f"p {self.pvalue:.2g}, at least {self.min_pvalue:.2g}"
        return f"Permanova {sizes}: {means}; F {self.f:.3g}, {p}"

    def records(self) -> list[dict[str, Any]]:
        """Return a record per group with the mean difference inside, and a record ``all`` with the
        test: group, size, value, f, share, within, between, pvalue."""
        sizes = Counter(self.labels)
        names = ("f", "share", "within", "between", "pvalue")
        records = [
            {
                "group": str(label),
                "size": sizes[label],
                "value": None if math.isnan(value) else value,
            }
            | dict.fromkeys(names)
            for label, value in self.inside.items()
        ]
        test = {name: getattr(self, name) for name in names}
        return [*records, {"group": "all", "size": len(self.names), "value": self.within, **test}]

    def pairs(self) -> list[dict[str, Any]]:
        """Return one record per pair of groups, tested without the other groups: x, y, f, share,
        within, between, min_pvalue, pvalue, and pvalue_familywise, adjusted for the number of pairs
        (Holm 1979)."""
        records = []
        for x, y in itertools.combinations(dict.fromkeys(self.labels), 2):
            positions = [i for i, label in enumerate(self.labels) if label in (x, y)]
            result = permanova(
                tuple(self.names[i] for i in positions),
                self.differences[np.ix_(positions, positions)],
                [self.labels[i] for i in positions],
                nested=None if self.nested is None else [self.nested[i] for i in positions],
                n_permutations=self.n_permutations,
                seed=self.seed,
            )
            fields = ("f", "share", "within", "between", "min_pvalue", "pvalue")
            records.append({"x": x, "y": y} | {name: getattr(result, name) for name in fields})
        adjusted = holm_adjust(np.array([record["pvalue"] for record in records]))
        for record, pvalue in zip(records, adjusted.tolist()):
            record["pvalue_familywise"] = pvalue
        return records


def group_labels(role: str, rows: Sequence[str], labels: Any) -> dict[str, Hashable]:
    """Return the label of every name in ``rows``. ``labels``: a mapping by name, a sequence in the
    order of the rows, or a Series with names as index. Raises ``ValueError`` for missing labels;
    ``role`` names the argument."""
    if getattr(labels, "ndim", 1) != 1:
        raise ValueError(
            f"permanova: {role} must be a list with one entry for each representation, not a table"
        )
    remedy = ""
    if isinstance(names := sample_order(labels, role), tuple):
        labels, remedy = dict(zip(names, labels)), "; pass labels.tolist() if they are in its order"
    if isinstance(labels, Mapping):
        if missing := [name for name in rows if name not in labels]:
            raise ValueError(f"permanova: {role} has none for {missing[0]!r}{remedy}")
        return {name: labels[name] for name in rows}
    label_list = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if not all(isinstance(label, Hashable) for label in label_list):
        raise ValueError(f"permanova: {role} must be one word or number for each representation")
    if len(label_list) != len(rows):
        raise ValueError(
            f"permanova: {role} has {len(label_list)} entries for {len(rows)} representations"
        )
    return dict(zip(rows, label_list))


def permanova(
    names: tuple[str, ...],
    differences: np.ndarray,
    labels: Sequence[Hashable],
    *,
    nested: Sequence[Hashable] | None = None,
    n_permutations: int = GROUP_TEST_PERMUTATIONS,
    seed: int = 0,
) -> Permanova:
    """Return the test of groups by the differences (n, n) of their members, symmetric with a zero
    diagonal.

    ``names``, ``labels``: the name and the group of every member. ``nested``: the block of every
    member, or None. Raises ``ValueError`` for a missing label, fewer than two groups, and only
    groups of one member.
    """
    for name, label in (*zip(names, labels), *zip(names, nested or ())):
        if is_missing_label(label):
            raise ValueError(
                f"permanova: {name!r} has no label; give it one, or compare the others"
            )
    sizes = Counter(labels)
    counts = ", ".join(f"{label!r} {size}" for label, size in sizes.items())
    if len(sizes) < 2 or len(labels) == len(sizes):
        raise ValueError(
            "permanova: at least two groups are needed, and one with two networks; with values for "
            f"all pairs there are {counts}"
        )
    check_positive_integers("permanova", n_permutations=n_permutations)
    squares = differences**2
    total = squares.sum() / 2 / len(labels)
    kinds = list(sizes)
    observed = np.array([kinds.index(label) for label in labels])
    strata = _exchange_strata(observed, nested)
    count, smallest = _count_divisions(observed, strata, len(kinds))
    is_exact = count <= n_permutations
    divisions = _permuted_divisions(observed, strata, n_permutations, seed, is_exact)
    spreads = np.concatenate(
        [_within_group_squares(squares, batch, len(kinds)) for batch in divisions]
    )
    inner = float(_within_group_squares(squares, observed[None], len(kinds))[0])
    if is_exact:
        p = float(count_at_least(-inner, -spreads) / len(spreads))
    else:
        p, smallest = pvalue_of(-inner, -spreads), max(smallest, 1 / (1 + n_permutations))
    upper = np.triu_indices(len(labels), 1)
    is_same, distances = (observed[upper[0]] == observed[upper[1]]), differences[upper]
    ends = observed[upper[0]]
    ratio = (total - inner) / (len(kinds) - 1) * (len(labels) - len(kinds))
    if total == 0:  # all differences are 0
        inner = total = 1.0
    return Permanova(
        names=names,
        labels=tuple(labels),
        f=float(ratio / inner) if inner > 0 else math.inf,
        share=float(1 - inner / total),
        within=float(distances[is_same].mean()),
        between=float(distances[~is_same].mean()),
        inside={
            kind: float(distances[is_same & (ends == g)].mean()) if sizes[kind] > 1 else math.nan
            for g, kind in enumerate(kinds)
        },
        pvalue=p,
        min_pvalue=smallest,
        is_exact=is_exact,
        differences=differences,
        nested=None if nested is None else tuple(nested),
        n_permutations=n_permutations,
        seed=seed,
    )


def _within_group_squares(squares: np.ndarray, divisions: np.ndarray, groups: int) -> np.ndarray:
    """Return the sum of squares within groups, sum_g sum_{i < j in g} d_ij^2 / n_g, for each of
    the ``divisions`` (b, n) into groups 0, 1, ...: (b,). ``squares``: d_ij^2, (n, n). ``groups``:
    the number of groups."""
    total = np.zeros(len(divisions))
    for group in range(groups):
        members = (divisions == group).astype(float)
        total += ((members @ squares) * members).sum(axis=1) / 2 / members.sum(axis=1)
    return total


# Sets of exchangeable units; a unit is a list of positions of members.
ExchangeStrata = list[list[list[int]]]


def _exchange_strata(observed: np.ndarray, nested: Sequence[Hashable] | None) -> ExchangeStrata:
    """Return the strata: lists of units (lists of positions of members) that may be permuted
    within the stratum.

    ``observed``: the group of every member, (n,). ``nested``: the block of every member. Without
    blocks, all members are exchangeable. If every block has a single label, whole blocks are
    exchangeable. If a block has several labels, members are exchangeable within their block. Raises
    ``ValueError`` for whole blocks of different sizes.
    """
    if nested is None:
        return [[[i] for i in range(len(observed))]]
    if len(nested) != len(observed):
        raise ValueError(f"permanova: nested has {len(nested)} blocks for {len(observed)} networks")
    blocks: dict[Hashable, list[int]] = {}
    for i, block in enumerate(nested):
        blocks.setdefault(block, []).append(i)
    if any(len(set(observed[members].tolist())) > 1 for members in blocks.values()):
        return [[[i] for i in members] for members in blocks.values()]
    if len({len(members) for members in blocks.values()}) > 1:
        sizes = ", ".join(f"{block!r} {len(members)}" for block, members in blocks.items())
        raise ValueError(
            "permanova: blocks are permuted as wholes, so all blocks must have the same number of "
            f"networks; got {sizes}"
        )
    return [list(blocks.values())]


def _count_divisions(
    observed: np.ndarray, strata: ExchangeStrata, groups: int
) -> tuple[float, float]:
    """Return the number of different divisions of the members into groups, infinite above a
    billion, and the smallest p-value that all divisions can give. ``observed``: the group of every
    member; ``groups``: the number of groups.

    Groups with equal numbers of units in every stratum can exchange names without a new division.
    """
    counts = [
        np.bincount([observed[unit[0]] for unit in units], minlength=groups) for units in strata
    ]
    logarithm = sum(
        math.lgamma(sum(row) + 1) - sum(math.lgamma(size + 1) for size in row) for row in counts
    )
    count = round(math.exp(logarithm)) if logarithm < math.log(1e9) else math.inf
    equal_groups = Counter(zip(*(row.tolist() for row in counts)))
    return count, math.prod(math.factorial(size) for size in equal_groups.values()) / count


def _permuted_divisions(
    observed: np.ndarray, strata: ExchangeStrata, n_permutations: int, seed: int, is_exact: bool
) -> Iterator[np.ndarray]:
    """Yield divisions, the group of every member, in batches (b, n): all divisions if
    ``is_exact``, else ``n_permutations`` random divisions."""
    kinds = [[int(observed[unit[0]]) for unit in units] for units in strata]
    orders: Iterator[Sequence[Sequence[int]]]
    if is_exact:
        orders = itertools.product(
            *([*_multiset_permutations(Counter(labels))] for labels in kinds)
        )
    else:
        random = generator(seed, "groups", len(observed))
        orders = (
            [random.permutation(labels).tolist() for labels in kinds] for _ in range(n_permutations)
        )
    while batch := list(itertools.islice(orders, DIVISIONS_PER_BATCH)):
        divisions = np.empty((len(batch), len(observed)), int)
        for row, labels in enumerate(batch):
            for units, names in zip(strata, labels):
                for unit, name in zip(units, names):
                    divisions[row, unit] = name
        yield divisions


def _multiset_permutations(sizes: Counter[int]) -> Iterator[tuple[int, ...]]:
    """Yield the distinct permutations of a multiset; ``sizes``: how often each label occurs."""
    if not +sizes:
        yield ()
    for label in +sizes:
        for tail in _multiset_permutations(sizes - Counter([label])):
            yield label, *tail
