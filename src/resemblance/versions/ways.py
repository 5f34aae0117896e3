"""Ways to serve queries of a new model from stored vectors of an old one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base.rng import generator
from .index_maps import IndexMap, fitted, freedom, index_map, too_few
from .index_options import WAYS
from .maps import Affine
from .stored import ChangedRows, Stored, are_unit, to_unit
from .upgrade_inputs import Task

MAPS = ("orthogonal", "affine")
FEWEST = 20  # documents to which maps are fitted


class Change(NamedTuple):
    """A change of stored vectors: of those of the index, and of the documents by both models, each
    of which is changed by a map that was fitted to others."""

    width: int
    of_index: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_documents: Callable[[np.ndarray, np.ndarray], np.ndarray]


class Way(NamedTuple):
    """Queries as they are asked, and the change of the stored vectors; None for no change."""

    points: np.ndarray
    change: Change | None = None

    def stored(self, task: Task) -> Stored:
        """Return the vectors of the index as they are searched."""
        if self.change is None:
            return task.whole
        is_sample = task.whole is task.old
        change = self.change.of_documents if is_sample else self.change.of_index
        return ChangedRows(task.whole, change, self.change.width)


class Ways(NamedTuple):
    """All ways that the vectors allow, why others are not assessed, and the maps by their names.

    ``half``: the documents to which the maps are fitted. ``free``: those that are no queries.
    """

    ways: Mapping[str, Way]
    reasons: Mapping[str, str]
    maps: Mapping[str, IndexMap]
    numbers: Mapping[str, int]
    half: np.ndarray
    free: np.ndarray

    @property
    def rebuilt(self) -> frozenset[str]:
        """The ways that change stored vectors."""
        return frozenset(name for name, way in self.ways.items() if way.change is not None)


def ways_of(task: Task, maps: Sequence[str]) -> Ways:
    """Return the ways to serve new queries, with maps fitted to half of the documents.

    Raises ``ValueError`` where too few documents are no queries.
    """
    free = np.setdiff1d(np.arange(len(task.old.source)), task.selves)
    if len(free) < FEWEST:
        raise ValueError(
            f"upgrade: {len(free)} documents are no queries; the maps need at least {FEWEST}"
        )
    order = generator(task.seed, "fit", len(free)).permutation(len(free))
    halves = [np.sort(free[part]) for part in np.array_split(order, 2)]
    widths = (task.old.width, task.new.width)
    reasons = too_few(tuple(maps), widths, len(free))
    names = tuple(name for name in MAPS if name in maps and name not in reasons)
    old, new, units = task.old, task.new, task.units
    queries = fitted(names, new, old, halves[0], ("new", "old"))
    pairs = [fitted(names, old, new, half, ("old", "new")) for half in halves]
    ways, others = _without_maps(task)
    reasons = {**others, **reasons}
    is_unit = task.metric == "cosine"
    index_maps = {n: index_map(fit, "queries", units[::-1], is_unit) for n, fit in queries.items()}
    ways |= {name: Way(fit(task.b)) for name, fit in queries.items()}
    for name in names:
        key, fits = f"documents_{name}", (pairs[0][name], pairs[1][name])
        index_maps[key] = index_map(fits[0], "documents", units, is_unit)
        ways[key] = Way(task.b, crossed(task, fits, halves[0]))
    wanted = {"keep", "normalise", "cut", *maps, *(f"documents_{name}" for name in maps)}
    numbers = {name: freedom(name, *widths) for name in WAYS if name in wanted}
    ordered = {name: ways[name] for name in WAYS if name in ways}
    return Ways(ordered, reasons, index_maps, numbers, halves[0], free)


def crossed(task: Task, fits: tuple[Affine, Affine], half: np.ndarray) -> Change:
    """Return the change of documents by two maps: the second one for the documents to which the
    first was fitted."""
    inside = np.zeros(len(task.old.source), bool)
    inside[half] = True
    finish = _finish(task)

    def of_documents(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        mapped = np.empty((len(rows), task.new.width))
        for fit, some in ((fits[0], ~inside[positions]), (fits[1], inside[positions])):
            mapped[some] = fit(rows[some])
        return finish(mapped)

    return Change(task.new.width, lambda rows, _: finish(fits[0](rows)), of_documents)


def partly(task: Task, names: Sequence[str], again: np.ndarray, free: np.ndarray) -> ChangedRows:
    """Return documents of which some have their new vectors and the others are mapped, by a map
    fitted to the new vectors of documents that are no queries."""
    name = "affine" if "documents_affine" in names else "orthogonal"
    known = np.intersect1d(again, free)
    fit = fitted((name,), task.old, task.new, known, ("old", "new"))[name]
    inside = np.zeros(len(task.old.source), bool)
    inside[again] = True
    finish = _finish(task)

    def change(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        mapped = finish(fit(rows))
        some = inside[positions]
        mapped[some] = task.new.take(positions[some])
        return mapped

    return ChangedRows(task.old, change, task.new.width)


def _finish(task: Task) -> Callable[[np.ndarray], np.ndarray]:
    """Return what is done to mapped documents: a length of 1 where the new model has it."""
    return to_unit if are_unit(task.new) else lambda rows: rows


def _without_maps(task: Task) -> tuple[dict[str, Way], dict[str, str]]:
    """Return the ways that fit nothing, and why others do not apply."""
    d, e = task.old.width, task.new.width
    ways, reasons = dict[str, Way](), dict[str, str]()
    is_unit = are_unit(task.new)
    if d == e:
        ways["keep"] = Way(task.b)
        reasons["cut"] = f"both models have {d} values"
    else:
        reasons["keep"] = f"the widths differ, {d} and {e}"
    if d != e:
        reasons["normalise"] = "the widths differ"
    elif not is_unit:
        reasons["normalise"] = "the new model does not normalise its vectors"
    elif are_unit(task.whole):
        reasons["normalise"] = "the stored vectors are normalised already"
    else:
        unit = Change(d, to_unit, to_unit)
        ways["normalise"] = Way(to_unit(task.b), unit)
    if d > e:

        def cut(rows: np.ndarray, _: np.ndarray) -> np.ndarray:
            return to_unit(rows[:, :e]) if is_unit else rows[:, :e]

        ways["cut"] = Way(task.b, Change(e, cut, cut))
    elif d < e:
        ways["cut"] = Way(task.b[:, :d])
    return ways, reasons
