"""The checked inputs of comparisons with the scores so far, and the pairs that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.extras import MISSING_DEPENDENCY, install_hint
from ..comparison.comparison import Comparison, MeasureInfo, describe_comparison, measure_info
from ..comparison.provenance import comparison_provenance
from ..comparison.saved import range_checker
from ..comparison.scores import ScoreBatch, ScoreMatrix
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure, measure_caveats
from ..contracts.folds import check_folds
from ..data.caveats import reordered_column_caveats
from ..data.representation import Representation, data_key, unify_keys
from .arguments import named_representations, select_measures


@dataclass(eq=False)
class ComparisonInputs:
    """The checked arguments of a comparison, with the scores so far.

    ``rows`` and ``columns`` contain representations with equal data once, because a score does not
    depend on names; all names are in ``provenance``. Measures in ``uninstalled`` get no scores.
    """

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None
    measures: list[Measure]
    uninstalled: list[Measure]
    provenance: dict[str, Any]
    # The representation of each key in the provenance
    by_key: Mapping[str, Representation] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        representations: Any,
        measures: Any = None,
        against: Any = None,
        *,
        held_out: Any = None,
        metadata: Mapping[str, Any] = {},
    ) -> ComparisonInputs:
        """Check the arguments ``representations``, ``measures``, ``against`` and ``held_out`` of
        :func:`compare`, and return the inputs; raises the same exceptions.

        ``metadata``: further entries of the provenance, by name.
        """
        rows, columns = named_representations(representations, against)
        folds = check_folds("compare", held_out, rows[0])
        selected = select_measures(measures, folds)
        return cls.of_checked(rows, columns, *selected, metadata=metadata)

    @classmethod
    def of_checked(
        cls,
        rows: Sequence[Representation],
        columns: Sequence[Representation] | None,
        measures: list[Measure],
        uninstalled: list[Measure],
        *,
        metadata: Mapping[str, Any] = {},
    ) -> ComparisonInputs:
        """Return the inputs of checked representations and selected measures.

        ``rows``, ``columns``: from :func:`named_representations`; ``columns`` None for all pairs of
        rows. ``measures``, ``uninstalled``: from :func:`select_measures`, the measures to compute
        and the default measures without their dependency. ``metadata``: further entries of the
        provenance, by name.
        """
        for m in measures:
            # Output measures are cheap, so an early call can check labels among the parameters.
            if m.family == "outputs":
                with suppress(UndefinedError):
                    m.evaluate(rows[0], rows[0])
        unify_keys([*rows, *(columns or ())])
        provenance = {**comparison_provenance(rows, columns or rows), **metadata}
        order_caveats = reordered_column_caveats([*rows, *(columns or [])])
        second = None if columns is None else _distinct_data(columns)
        inputs = cls(_distinct_data(rows), second, measures, uninstalled, provenance)
        inputs.by_key = {data_key(r): r for r in inputs.all}
        inputs.note([*order_caveats, *measure_caveats(measures, rows[0].n_samples)])
        return inputs

    def note(self, caveats: Sequence[str]) -> None:
        """Append caveats about the data to the provenance."""
        if caveats:
            previous = self.provenance.get("caveats", [])
            self.provenance["caveats"] = list(dict.fromkeys([*previous, *caveats]))

    def use_fingerprints(self) -> None:
        """Identify all data by fingerprints, under which scores are saved and looked up, in
        place."""
        unify_keys(self.all, portable=True)
        for side in ("rows", "columns"):
            for entry in self.provenance.get(side, {}).values():
                if r := self.by_key.get(entry["fingerprint"]):
                    entry["fingerprint"] = data_key(r)
        self.by_key = {data_key(r): r for r in self.all}
        self.rows = _distinct_data(self.rows)
        self.columns = self.columns and _distinct_data(self.columns)

    @property
    def sides(self) -> tuple[tuple[Representation, ...], tuple[Representation, ...]]:
        """The representations of the rows and of the columns."""
        return self.rows, self.rows if self.columns is None else self.columns

    @property
    def all(self) -> tuple[Representation, ...]:
        """The representations of the rows, followed by the columns of a rectangular comparison."""
        return self.rows + (self.columns or ())

    @cached_property
    def infos(self) -> tuple[MeasureInfo, ...]:
        """The facts about all measures."""
        return tuple(map(measure_info, (*self.measures, *self.uninstalled)))

    @cached_property
    def matrices(self) -> dict[str, ScoreMatrix]:
        """The scores so far, by measure."""
        data = [[data_key(r) for r in side] for side in self.sides]
        return {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, *data) for m in self.infos}

    def put(self, batch: ScoreBatch) -> None:
        """Store a batch of scores in ``matrices``; ignore scores of other measures and of other
        data."""
        if batch.measure in self.matrices:
            self.matrices[batch.measure].put(batch)

    def description(self) -> dict[str, Any]:
        """Return the description of the comparison for a file of scores."""
        return describe_comparison(*self._names, self.infos, self.provenance)

    def comparison(self) -> Comparison:
        """Return the scores so far as a :class:`Comparison`."""
        absent_reasons = {
            m.spec: f"{MISSING_DEPENDENCY}: {install_hint(m.requires or '')}"
            for m in self.uninstalled
        }
        return Comparison(*self._names, self.infos, self.matrices, self.provenance, absent_reasons)

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(self.provenance["rows"]), tuple(self.provenance["columns"])

    def missing_pairs(self) -> dict[str, np.ndarray]:
        """Return for each measure a mask of the pairs to compute, shape (rows, columns)."""
        required = {m.spec: self.required_pairs(m) for m in self.measures}
        return {spec: mask & self.matrices[spec].missing() for spec, mask in required.items()}

    def required_pairs(self, measure: Measure) -> np.ndarray:
        """Return a mask (rows, columns) of the pairs that define the matrix: (x, y) without (y, x)
        for a symmetric measure."""
        mask = np.ones(tuple(map(len, self.sides)), dtype=bool)
        if not measure.symmetric:
            return mask
        return np.triu(mask) if self.columns is None else mask & ~self._transposed_pairs()

    def _transposed_pairs(self) -> np.ndarray:
        """Return a mask (rows, columns) of the pairs whose transposed pair appears earlier in the
        same rectangular comparison."""
        mask = np.zeros(tuple(map(len, self.sides)), dtype=bool)
        i, j = _shared_data_positions(
            *({data_key(r): k for k, r in enumerate(s)} for s in self.sides)
        )
        mask[np.ix_(i, j)] = np.array(i)[None, :] < np.array(i)[:, None]
        return mask


def load_saved_scores(store: ScoreFile, comparisons: Sequence[ComparisonInputs]) -> None:
    """Put the scores of these comparisons in the file ``store`` into the comparisons. Identify all
    data by fingerprints first."""
    for inputs in comparisons:
        inputs.use_fingerprints()
    check = range_checker((info for inputs in comparisons for info in inputs.infos), store.path)
    data = {data_key(r) for inputs in comparisons for r in inputs.all}
    for batch in store.columns(data):
        check(batch)
        for inputs in comparisons:
            inputs.put(batch)


def find_missing_pairs(comparisons: Sequence[ComparisonInputs]) -> list[dict[str, np.ndarray]]:
    """Return for each comparison the masks (rows, columns) of the pairs to compute, by measure.

    A pair that an earlier comparison computes is not in the mask of a later comparison.
    """
    masks = [inputs.missing_pairs() for inputs in comparisons]
    places = [
        [{data_key(r): i for i, r in enumerate(s)} for s in inputs.sides] for inputs in comparisons
    ]
    for k, inputs in enumerate(comparisons):
        for p, earlier in enumerate(comparisons[:k]):
            (rows, columns), earlier_sides = places[k], places[p]
            for is_transposed in (False, True):
                first, second = reversed(earlier_sides) if is_transposed else earlier_sides
                i, a = _shared_data_positions(rows, first)
                j, b = _shared_data_positions(columns, second)
                for m in inputs.measures if i and j else ():
                    if (m.symmetric or not is_transposed) and m in earlier.measures:
                        mask = masks[p][m.spec]
                        mask = mask.T if is_transposed else mask
                        masks[k][m.spec][np.ix_(i, j)] &= ~mask[np.ix_(a, b)]
    return masks


def _shared_data_positions(
    first: Mapping[str, int], second: Mapping[str, int]
) -> tuple[list[int], list[int]]:
    """Return the positions in ``first`` and in ``second`` of the data that both contain.
    ``first``, ``second``: positions by data key."""
    common = [name for name in first if name in second]
    return [first[name] for name in common], [second[name] for name in common]


def _distinct_data(representations: Iterable[Representation]) -> tuple[Representation, ...]:
    """Return the representations with the second and later representations of the same data left
    out."""
    representations_by_data: dict[str, Representation] = {}
    for r in representations:
        representations_by_data.setdefault(data_key(r), r)
    return tuple(representations_by_data.values())
