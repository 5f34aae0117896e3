"""Which orders of the samples a null hypothesis allows: all of them, those inside groups, those of
whole blocks, or shifts of a series in time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from ..rng import generator
from .estimates import check_whole
from .permutation import ROUNDING

DRAWS = 999


@dataclass(frozen=True, eq=False)
class Design:
    """The orders of n samples that are equally likely if two representations are unrelated.

    ``groups`` and ``blocks`` are numbers, one per sample: an order keeps each sample in its group,
    and moves blocks as wholes. ``shifts`` > 0 is for a series in time: instead of orders, windows
    of n - 2 ``shifts`` samples are moved against each other by up to so many steps (Harris 2020).
    Made by :func:`design_of`.
    """

    n: int
    groups: np.ndarray | None = None
    blocks: np.ndarray | None = None
    shifts: int = 0
    draws: int = DRAWS
    seed: int = 0

    @cached_property
    def count(self) -> float:
        """How many orders there are, or shifts other than none; infinite beyond a float."""
        if self.shifts:
            return 2 * self.shifts
        logarithm = sum(math.lgamma(len(units) + 1) for units in self._exchangeable)
        return round(math.exp(logarithm)) if logarithm < 30 else math.inf

    @property
    def is_exhaustive(self) -> bool:
        """Whether all orders are visited, because they are no more than ``draws``."""
        return not self.shifts and self.count <= self.draws

    @property
    def total(self) -> int:
        """How many values of a measure under the null hypothesis there are."""
        return int(self.count) if self.shifts or self.is_exhaustive else self.draws

    @property
    def attainable(self) -> float:
        """The smallest p-value there can be."""
        if self.shifts:
            return 1 / (self.shifts + 1)
        return 1 / self.total if self.is_exhaustive else 1 / (1 + self.draws)

    def order(self, draw: int, of: str = "") -> np.ndarray:
        """Return the rows in the order of a draw; each draw by itself, so any worker can.

        Representations of different names ``of`` get independent orders, unless all orders are
        visited.
        """
        if self.is_exhaustive:
            return self._arranged(next(islice(self._all(), draw, None)))
        random = generator(self.seed, "order", self.n, draw, of)
        return self._arranged([random.permutation(len(units)) for units in self._exchangeable])

    def windows(self, draw: int) -> tuple[slice, slice]:
        """Return the rows of X and of Y that a shift compares; the first draw is no shift."""
        shift = (draw + 1) // 2 * (-1) ** draw  # 0, -1, 1, -2, 2, ...
        start, stop = self.shifts, self.n - self.shifts
        return slice(start, stop), slice(start + shift, stop + shift)

    def p_value(self, observed: float, drawn: np.ndarray) -> float:
        """Return the p-value of a value, one-sided in the direction of larger ones.

        A draw without a value (NaN) counts as one that is as large. Of shifts, the two sides count
        as one, as in the proof of Harris 2020.
        """
        slack = ROUNDING * max(1.0, abs(observed))
        reached = int((~(np.asarray(drawn) < observed - slack)).sum())
        if self.shifts:
            return min(1.0, (1 + reached) / (self.shifts + 1))
        if self.is_exhaustive:
            return reached / len(drawn)
        return (1 + reached) / (1 + len(drawn))

    @cached_property
    def key(self) -> str:
        """What identifies the orders, however many are drawn: the first ones are the same."""
        if self.shifts:
            return f"shifts {self.shifts}"
        kinds = {"within": self.groups, "blocks": self.blocks}.items()
        parts = [f"{kind} {_digest(labels)}" for kind, labels in kinds if labels is not None]
        return " ".join(["all orders" if self.is_exhaustive else f"orders {self.seed}", *parts])

    @property
    def is_free(self) -> bool:
        """Whether every order of the samples is as likely."""
        return self.groups is None and self.blocks is None and not self.shifts

    @property
    def words(self) -> str:
        """The design in a few words: "999 orders inside 5 groups"."""
        if self.shifts:
            return f"{self.total} shifts of a window of {self.n - 2 * self.shifts} samples"
        blocks = "" if self.blocks is None else f" of {len(np.unique(self.blocks))} blocks"
        groups = "" if self.groups is None else f" inside {len(np.unique(self.groups))} groups"
        return f"{'all ' if self.is_exhaustive else ''}{self.total} orders{blocks}{groups}"

    # ------------------------------------------------------------------ units that change places

    @cached_property
    def _units(self) -> list[np.ndarray]:
        """The rows of each block, or each row by itself."""
        if self.blocks is None:
            return list(np.arange(self.n)[:, None])
        return [np.flatnonzero(self.blocks == b) for b in np.unique(self.blocks)]

    @cached_property
    def _exchangeable(self) -> list[list[int]]:
        """The units of each group that change places with each other."""
        if self.groups is None:
            return [list(range(len(self._units)))]
        home = np.array([self.groups[rows[0]] for rows in self._units])
        return [np.flatnonzero(home == g).tolist() for g in np.unique(home)]

    def _arranged(self, places: Sequence[Any]) -> np.ndarray:
        order = np.empty(self.n, dtype=np.intp)
        for units, moved in zip(self._exchangeable, places):
            for unit, other in zip(units, moved):
                order[self._units[unit]] = self._units[units[other]]
        return order

    def _all(self) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield all orders; the first one leaves everything in its place."""
        return product(*(permutations(range(len(units))) for units in self._exchangeable))


def design_of(
    n: int,
    *,
    within: Any = None,
    blocks: Any = None,
    series: bool | int = False,
    draws: int = DRAWS,
    seed: int = 0,
    called: str = "evidence",
) -> Design:
    """Return the orders that samples allow.

    ``within``: a label for every sample; orders stay inside groups of equal labels. ``blocks``: a
    label for every sample; the samples of a block stay together and in their order, and blocks of
    one size (inside a group, if there are groups) change places. ``series``: the samples are in the
    order of time; True shifts by up to n // 4 steps, a number by up to that many.

    Raises ``ValueError`` for labels that do not fit, for blocks of different sizes or across
    groups, for designs without a second order, for a series with anything else, and for no draw.
    """
    check_whole(called, draws=draws)
    if series is not False and not (within is None and blocks is None):
        raise ValueError(f"{called}: a series is shifted as a whole; leave out within and blocks")
    if series is not False:
        return Design(n, shifts=_shifts(n, series, called), draws=draws, seed=seed)
    groups = None if within is None else _numbered(within, n, "within", called)
    units = None if blocks is None else _numbered(blocks, n, "blocks", called)
    design = Design(n, groups, units, draws=draws, seed=seed)
    if units is not None:
        _check_blocks(design, called)
    if design.count <= 1:
        raise ValueError(
            f"{called}: only one order is possible: every group has one sample or block; use "
            "larger groups"
        )
    return design


def _shifts(n: int, series: bool | int, called: str) -> int:
    shifts = n // 4 if series is True else series
    check_whole(called, series=shifts)
    if n - 2 * shifts < 4:
        raise ValueError(f"{called}: series={shifts} leaves no window of {n} samples; use fewer")
    return shifts


def _numbered(labels: Any, n: int, name: str, called: str) -> np.ndarray:
    array = np.asarray(labels.tolist() if hasattr(labels, "tolist") else list(labels))
    if array.shape != (n,):
        raise ValueError(
            f"{called}: {name} must be one label for each of the {n} samples; got shape "
            f"{array.shape}"
        )
    if (array.dtype.kind == "f" and np.isnan(array).any()) or (
        array.dtype == object and None in array
    ):
        raise ValueError(f"{called}: {name} has missing labels; leave those samples out")
    return np.unique(array, return_inverse=True)[1]


def _check_blocks(design: Design, called: str) -> None:
    for rows in design._units:
        if design.groups is not None and np.ptp(design.groups[rows]):
            raise ValueError(f"{called}: blocks must lie inside the groups of within")
    for units in design._exchangeable:
        sizes = sorted({len(design._units[u]) for u in units})
        if len(sizes) > 1:
            raise ValueError(
                f"{called}: blocks that change places must be of one size; got {sizes}; cut them "
                f"to {sizes[0]} samples, or give within= labels by size"
            )


def _digest(labels: np.ndarray) -> str:
    return hashlib.sha256(np.asarray(labels, dtype="<i8").tobytes()).hexdigest()[:12]
