"""Permutations of the samples under a null hypothesis: of all samples, within groups, of whole
blocks, or shifts of a time series."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import count_with_noun, list_names
from ..base.rng import generator
from .labels import label_codes
from .permutation import count_at_least, count_orders
from .resampling import check_positive_integers

DESIGN_PERMUTATIONS = 999
MIN_WINDOW_SAMPLES = 4  # fewest samples of a window


class _ExchangeableUnits(NamedTuple):
    """The exchangeable units, samples or blocks. ``rows``: the rows of all units, one unit after
    another. For every unit: ``start``, its first position in ``rows``; ``size``, its number of
    samples; ``group``, the number of its group."""

    rows: np.ndarray
    start: np.ndarray
    size: np.ndarray
    group: np.ndarray

    def rows_of(self, units: np.ndarray) -> np.ndarray:
        """Return the rows of the units at positions ``units``, one unit after another."""
        size = self.size[units]
        offsets = self.start[units] - (np.cumsum(size) - size)
        return self.rows[np.arange(size.sum()) + np.repeat(offsets, size)]


@dataclass(frozen=True, eq=False)
class Design:
    """The permutations of n samples that are equally likely if two representations are unrelated.

    ``groups`` and ``whole_blocks`` are integers, one per sample: a permutation keeps every sample
    in its group, and moves whole blocks. ``shifts`` > 0 is for a time series: instead of a
    permutation, windows of n - 2 ``shifts`` samples are shifted against each other by up to
    ``shifts`` steps (Harris 2020). :func:`design_of` makes a design.
    """

    n: int
    groups: np.ndarray | None = None
    whole_blocks: np.ndarray | None = None
    shifts: int = 0
    n_permutations: int = DESIGN_PERMUTATIONS
    seed: int = 0

    @cached_property
    def count(self) -> float:
        """The number of permutations, or of nonzero shifts; infinite beyond a float."""
        if self.shifts:
            return 2 * self.shifts
        if self.is_free:
            return count_orders([self.n])
        return count_orders(np.bincount(self._units.group).tolist())

    @property
    def is_exhaustive(self) -> bool:
        """Whether the test visits all permutations, because there are at most
        ``n_permutations``."""
        return not self.shifts and self.count <= self.n_permutations

    @property
    def is_free(self) -> bool:
        """Whether all permutations of the samples are equally likely."""
        return self.groups is None and self.whole_blocks is None and not self.shifts

    @property
    def total(self) -> int:
        """The number of values of a measure under the null hypothesis.

        For a time series the number of shifts, without the shift 0 of the observed value. If all
        permutations are visited, the number of permutations, including the identity, which gives
        the observed value. Otherwise ``n_permutations``; the observed value is not counted.
        """
        return int(self.count) if self.shifts or self.is_exhaustive else self.n_permutations

    @property
    def attainable(self) -> float:
        """The smallest attainable p-value."""
        if self.shifts:
            return 1 / (self.shifts + 1)
        return 1 / self.total if self.is_exhaustive else 1 / (1 + self.n_permutations)

    def order(self, draw: int, name: str = "") -> np.ndarray:
        """Return the rows in permutation number ``draw``, (n,): ``X[order]`` is the permuted
        array. Draws are independent, so any worker can compute any draw.

        Representations with different ``name`` get independent permutations, unless all
        permutations are visited: draw 0 is then the identity. A unit moves to the position of
        another unit of its group, and the samples of a block keep their order.

        Raises ``ValueError`` for a time series, and ``IndexError`` for a draw that does not exist.
        """
        if self.shifts:
            raise ValueError("order: a time series has windows, not permutations")
        if draw < 0 or (self.is_exhaustive and draw >= self.total):
            raise IndexError(f"order: draw {draw} of {self.total}")
        units = self._units
        if self.is_exhaustive:
            unit_order = self._nth(draw)
        else:
            shuffled = generator(self.seed, "order", self.n, draw, name).permutation(
                len(units.size)
            )
            unit_order = shuffled[np.argsort(units.group[shuffled], kind="stable")]
        order = np.empty(self.n, dtype=np.intp)
        order[self._places] = units.rows_of(unit_order)
        return order

    def windows(self, draw: int) -> tuple[slice, slice]:
        """Return the rows of X and of Y that a shift compares; draw 0 is no shift, and draws 1 to
        ``total`` are shifts of -1, 1, -2, 2, ... steps.

        Raises ``ValueError`` for permutations, and ``IndexError`` for a draw that does not exist.
        """
        if not self.shifts:
            raise ValueError("windows: only a time series has windows")
        if not 0 <= draw <= self.total:
            raise IndexError(f"windows: draw {draw} of {self.total}")
        shift = (draw + 1) // 2 * (-1) ** draw
        start, stop = self.shifts, self.n - self.shifts
        return slice(start, stop), slice(start + shift, stop + shift)

    def pvalue(self, observed: float, drawn: np.ndarray) -> float:
        r"""Return the one-sided p-value of a value; larger values are further from the null
        hypothesis.

        .. math:: p = \frac{1 + \#\{i : v_i \ge v\}}{1 + m}

        ``drawn`` are the ``total`` values :math:`v_i` under all permutations or shifts. If all
        permutations are visited, the first value is the observed value, which is not counted again.
        A draw without a value (NaN) counts as at least as large. If the observed value is NaN, the
        p-value is NaN.

        For shifts, ``observed`` is the value on ``windows(0)``, and the two directions count as one
        (m is ``shifts``), as in the proof of Harris 2020. With m = 2 ``shifts``, series with one
        event in every ``shifts`` + 1 steps would have the smallest p-value, 1 / (2 ``shifts`` + 1),
        twice as often as allowed.

        References: Phipson and Smyth 2010; Harris 2020.
        """
        return float(self.pvalues(np.array([observed]), np.asarray(drawn, float)[:, None])[0])

    def pvalues(self, observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Return the one-sided p-values of ``observed`` values (tests,) among the ``drawn`` values
        (draws, tests), (tests,), each by the formula of :meth:`pvalue`; larger values are further
        from the null hypothesis."""
        null_values = drawn[1:] if self.is_exhaustive else drawn
        n_draws = self.shifts or len(null_values)
        pvalues = np.minimum(1.0, (1 + count_at_least(observed, null_values)) / (1 + n_draws))
        return np.where(np.isnan(observed), np.nan, pvalues)

    @cached_property
    def key(self) -> str:
        """The identifier of the permutations. The key does not depend on the number of draws,
        because the first draws are the same for any number."""
        if self.shifts:
            return f"shifts {self.shifts}"
        kinds = {"within": self.groups, "whole_blocks": self.whole_blocks}.items()
        parts = [f"{kind} {_labels_digest(labels)}" for kind, labels in kinds if labels is not None]
        return " ".join(["all orders" if self.is_exhaustive else f"orders {self.seed}", *parts])

    @property
    def words(self) -> str:
        """The design in a few words: "999 permutations within 5 groups"."""
        if self.shifts:
            return f"{self.total} shifts of a window of {self.n - 2 * self.shifts} samples"
        whole_blocks = (
            "" if self.whole_blocks is None else f" of {len(np.unique(self.whole_blocks))} blocks"
        )
        groups = "" if self.groups is None else f" within {len(np.unique(self.groups))} groups"
        return (
            f"{'all ' if self.is_exhaustive else ''}{self.total} permutations{whole_blocks}{groups}"
        )

    # ------------------------------------------------------------------ units that change places

    @cached_property
    def _units(self) -> _ExchangeableUnits:
        whole_blocks = np.arange(self.n) if self.whole_blocks is None else self.whole_blocks
        groups = np.zeros(self.n, dtype=np.intp) if self.groups is None else self.groups
        rows = np.argsort(whole_blocks, kind="stable")
        size = np.unique(whole_blocks, return_counts=True)[1]
        start = np.cumsum(size) - size
        group = np.unique(groups[rows[start]], return_inverse=True)[1]
        return _ExchangeableUnits(rows, start, size, group)

    @cached_property
    def _places(self) -> np.ndarray:
        """The rows of all units, group after group: the places that a permutation fills."""
        return self._units.rows_of(np.argsort(self._units.group, kind="stable"))

    def _nth(self, number: int) -> np.ndarray:
        """Return the unit numbers, group after group, in permutation ``number``, from 0, of all
        permutations; 0 is the given order."""
        unit_order = []
        for group in range(self._units.group.max() + 1):
            members = np.flatnonzero(self._units.group == group).tolist()
            number, rank = divmod(number, math.factorial(len(members)))
            for k in range(len(members) - 1, -1, -1):
                place, rank = divmod(rank, math.factorial(k))
                unit_order.append(members.pop(place))
        return np.array(unit_order)


def design_of(
    n: int,
    *,
    within: Any = None,
    whole_blocks: Any = None,
    time_series: bool = False,
    max_shift: int | None = None,
    n_permutations: int = DESIGN_PERMUTATIONS,
    seed: int = 0,
    caller: str = "evidence",
) -> Design:
    """Return the design: the permutations that the samples allow.

    ``within``: a label for every sample; permutations stay within groups of equal labels.
    ``whole_blocks``: a label for every sample; the samples of a block stay together and in their
    order, and blocks of one size (within a group, if there are groups) are permuted.
    ``time_series``: the samples are in the order of time, and windows are shifted by up to
    ``max_shift`` steps, by default n // 4. A single group, and blocks of one sample, are no
    restriction.

    Raises ``ValueError`` for labels that do not fit, for blocks of different sizes or across
    groups, for designs without a second permutation, for a time series with labels, for
    ``max_shift`` without a time series, and for ``n_permutations`` below 1.
    """
    check_positive_integers(caller, n_permutations=n_permutations)
    if not isinstance(time_series, bool | np.bool_):
        raise ValueError(
            f"{caller}: time_series must be True or False; got {time_series!r}. max_shift= sets "
            "the largest shift"
        )
    if max_shift is not None and not time_series:
        raise ValueError(f"{caller}: max_shift is for a time series; add time_series=True")
    if time_series:
        if not (within is None and whole_blocks is None):
            raise ValueError(
                f"{caller}: a time series is shifted as a whole; leave out within= and "
                "whole_blocks="
            )
        shifts = _time_shifts(n, max_shift, caller)
        return Design(n, shifts=shifts, n_permutations=n_permutations, seed=seed)
    groups = None if within is None else label_codes(caller, within, n, "within")
    units = None if whole_blocks is None else label_codes(caller, whole_blocks, n, "whole_blocks")
    if groups is not None and not groups.any():
        groups = None
    if units is not None and len(np.unique(units)) == n:
        units = None
    design = Design(n, groups, units, n_permutations=n_permutations, seed=seed)
    _check_block_sizes(design, caller)
    if design.count <= 1:
        restrictions = {"within=": groups, "whole_blocks=": units}
        why = " and ".join(name for name, labels in restrictions.items() if labels is not None)
        raise ValueError(
            f"{caller}: only one permutation is possible: "
            + (
                f"{why} leave no two units that can be permuted"
                if why
                else f"the data have {count_with_noun(n, 'sample')}"
            )
            + "; use larger groups, smaller blocks, or more samples"
        )
    return design


def _time_shifts(n: int, max_shift: int | None, caller: str) -> int:
    shifts = max(n // 4, 1) if max_shift is None else max_shift
    check_positive_integers(caller, max_shift=shifts)
    if n - 2 * shifts < MIN_WINDOW_SAMPLES:
        remedy = "more samples" if max_shift is None else "a smaller max_shift=, or more samples"
        raise ValueError(
            f"{caller}: shifts of up to {count_with_noun(shifts, 'step')} leave a window "
            f"of {n - 2 * shifts} of {n} samples, and {MIN_WINDOW_SAMPLES} are needed; give "
            f"{remedy}"
        )
    return shifts


def _check_block_sizes(design: Design, caller: str) -> None:
    """Raise ``ValueError`` unless blocks lie within groups and all blocks of a group have one
    size."""
    units = design._units
    if design.groups is not None:
        _check_blocks_in_groups(design.groups[units.rows], units, caller)
    order = np.lexsort((units.size, units.group))
    size, group = units.size[order], units.group[order]
    if ((np.diff(size) > 0) & (np.diff(group) == 0)).any():
        sizes = np.unique(size).tolist()
        raise ValueError(
            f"{caller}: blocks that are permuted must have one size; got "
            f"{list_names(sizes, 3)} samples; "
            f"cut them to {sizes[0]}, or give within= the size of each sample's block as its label"
        )


def _check_blocks_in_groups(groups: np.ndarray, units: _ExchangeableUnits, caller: str) -> None:
    low, high = (ufunc.reduceat(groups, units.start) for ufunc in (np.minimum, np.maximum))
    if (low < high).any():
        raise ValueError(
            f"{caller}: a block has samples of several groups; give within= labels that all "
            "samples of a block share"
        )


def _labels_digest(labels: np.ndarray) -> str:
    return hashlib.sha256(np.asarray(labels, dtype="<i8").tobytes()).hexdigest()[:12]
