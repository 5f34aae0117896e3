"""The result of a comparison: score matrices by measure, with provenance, caveats and failures."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from ..base.extras import import_optional
from ..base.rendering import thumbnail
from ..base.results import MappingResult, saved_document, warn_of_suffix
from ..base.text import (
    HASHED_VALUES,
    diagnostic_notes,
    did_you_mean,
    plain_specification,
    summary_html,
    summary_text,
)
from ..catalogue import parse_parameters
from ..contracts._measure import LAMBDA_REMEDY, Measure
from ..contracts.claims import CHANCE_KEY, short_repr
from ..data.representation import representation_title
from .populations import (
    GROUP_TEST_PERMUTATIONS,
    Clusters,
    LeftOut,
    Permanova,
    cluster_by_medoids,
    group_labels,
    permanova,
)
from .provenance import fingerprints_by_name
from .scores import CAVEAT_KEY, ScoreMatrix
from .store import ERRORS_KEY, ScoreFile

NOT_COMPUTED = "not computed"  # reason for pairs that an interrupted run did not reach


class MeasureInfo(NamedTuple):
    """The facts about a measure that a result needs, without the computation."""

    spec: str
    label: str
    family: str
    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    version: int
    parameters: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The label with the parameters: "CKA (debiased)"."""
        words = [
            v if isinstance(v, str) else plain_specification(f"{k}={short_repr(v)}")
            for k, v in self.parameters.items()
        ]
        return f"{self.label} ({', '.join(words)})" if words else self.label


AnyMeasure = str | Measure | MeasureInfo  # ways to name a measure of a result


class Failure(NamedTuple):
    """A pair without a value of a measure, with the reason."""

    measure: str
    x: str
    y: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Failures(Sequence[Failure]):
    """The pairs of a comparison without a value, as a lazy sequence: millions of pairs may fail for
    the same reason."""

    comparison: Comparison

    def __iter__(self) -> Iterator[Failure]:
        for spec, matrix in self.comparison.values.items():
            for i, values in enumerate(matrix):
                for j in np.flatnonzero(np.isnan(values)).tolist():
                    yield self._at(spec, i, j)

    @cached_property
    def _ends(self) -> np.ndarray:
        """Cumulative number of failures per (measure, row), measures one after another."""
        matrices = self.comparison.values.values()
        return np.cumsum(
            [0, *(n for values in matrices for n in np.isnan(values).sum(axis=1).tolist())]
        )

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: Any) -> Any:
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return tuple(map(self.__getitem__, positions))
        row = int(np.searchsorted(self._ends, positions, side="right")) - 1
        number, i = divmod(row, len(self.comparison.rows))
        spec, values = list(self.comparison.values.items())[number]
        j = np.flatnonzero(np.isnan(values[i]))[positions - self._ends[row]]
        return self._at(spec, i, int(j))

    def _at(self, measure: str, i: int, j: int) -> Failure:
        """Return the failure of the pair at row i and column j; the reason names the data instead
        of fingerprints."""
        comparison = self.comparison
        x, y, (rows, columns) = comparison.rows[i], comparison.columns[j], comparison._places
        unknown = comparison.absent.get(measure, NOT_COMPUTED)
        reason = comparison.matrices[measure].reasons.get((rows[i], columns[j]), unknown)
        for side, name in (("rows", x), ("columns", y)):
            fingerprint = comparison.provenance[side][name]["fingerprint"]
            reason = reason.replace(f"{{{fingerprint}}}", representation_title(name))
        return Failure(measure, x, y, reason)

    def __add__(self, other: Sequence[Failure]) -> tuple[Failure, ...]:
        return (*self, *other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __repr__(self) -> str:
        return repr(tuple(self))


class Diagnostic(NamedTuple):
    """A diagnostic of a value that the measure records: a number such as a recall, or a caveat."""

    measure: str
    x: str
    y: str
    name: str
    value: float | str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(MappingResult):
    """One matrix per measure over named representations: ``comparison["cka"]`` is (rows, columns).

    ``comparison["cka", "x", "y"]`` is the value of one pair. An entry without a value is NaN;
    ``failures`` contains the reason. ``seconds`` is the time per measure; the first measure that
    uses a shared intermediate bears the cost of the intermediate. ``provenance`` records the
    fingerprints of the data, the versions and the precision of the computation. ``caveats`` are
    doubts about the data. ``numbers`` are diagnostics of values: matrices by measure and name, NaN
    for pairs without the diagnostic; ``pair_caveats`` are the reasons why values mean little;
    ``diagnostics`` lists numbers and caveats together. All values come from ``matrices``, the
    scores by measure and fingerprints of the data; ``absent`` contains the reasons why measures
    were not computed. ``evidence``: the evidence about the scores after :func:`compare_models`, or
    None. ``error_consistency``: the :func:`error_consistency` of the models after
    :func:`compare_models` of classifiers on data with classes, or None.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: tuple[MeasureInfo, ...]
    matrices: Mapping[str, ScoreMatrix]
    provenance: Mapping[str, Any]
    absent: Mapping[str, str] = field(default_factory=dict)
    evidence: Any = None
    error_consistency: Any = None

    @cached_property
    def values(self) -> Mapping[str, np.ndarray]:
        """The values by measure, shape (rows, columns)."""
        return {spec: self._by_name(matrix.values) for spec, matrix in self.matrices.items()}

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """The numeric diagnostics, by measure and name of the diagnostic."""
        return {
            spec: {name: self._by_name(numbers) for name, numbers in matrix.numbers.items()}
            for spec, matrix in self.matrices.items()
        }

    @property
    def seconds(self) -> Mapping[str, float]:
        """The time in seconds by measure."""
        return {spec: matrix.seconds for spec, matrix in self.matrices.items()}

    @cached_property
    def failures(self) -> Sequence[Failure]:
        """The pairs without a value, with reasons."""
        return Failures(self)

    @cached_property
    def pair_caveats(self) -> tuple[Diagnostic, ...]:
        """The caveats about values, in the order of the pairs."""
        caveats = []
        for m in self.measures:
            if texts := self.matrices[m.spec].caveats:
                rows, columns = self._places
                for (i, x), (j, y) in product(enumerate(self.rows), enumerate(self.columns)):
                    if words := texts.get((rows[i], columns[j])):
                        caveats.append(Diagnostic(m.spec, x, y, CAVEAT_KEY, words))
        return tuple(caveats)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Doubts about the data, such as copies of samples."""
        return tuple(self.provenance.get("caveats", ()))

    def keys(self) -> tuple[str, ...]:
        """Return the specifications of the measures."""
        return tuple(m.spec for m in self.measures)

    def info(self, measure: AnyMeasure) -> MeasureInfo:
        """Return the description of a measure of this comparison.

        The function looks up a :class:`Measure`, or an entry of ``measures``, by specification
        only. A string may also be the specification in a table, list the parameters in another
        order, or be a name or a label that only a single measure of the comparison has.
        """
        name = measure.spec if isinstance(measure, MeasureInfo) else str(measure)
        matches = [m for m in self.measures if m.spec == name]
        if not matches and isinstance(measure, str):
            matches = [m for m in self.measures if unique_specification(self, m) == name]
            matches = matches or [
                m for m in self.measures if name.lower() in _parameterless_names(m)
            ]
            matches = matches or [
                m
                for m in self.measures
                if _parse_specification(m.spec) == _parse_specification(name)
            ]
        if len(matches) != 1:
            hint = did_you_mean(name, [unique_specification(self, m) for m in self.measures])
            problem = f"{len(matches)} measures called" if matches else "no measure"
            raise KeyError(f"{problem} {name!r} in this comparison{hint}")
        return matches[0]

    @overload
    def __getitem__(self, key: AnyMeasure) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: tuple[AnyMeasure, str, str]) -> float: ...
    def __getitem__(self, key: Any) -> Any:
        """Return the values of a measure, (rows, columns), or the value of a pair: ``key`` is a
        measure, or (measure, row name, column name).

        Raises ``KeyError`` for a measure or a name outside the comparison.
        """
        if not isinstance(key, tuple) or isinstance(key, MeasureInfo):
            return self.values[self.info(key).spec]
        if len(key) != 3:
            raise KeyError(f"a value is comparison[measure, x, y]; got {key!r}")
        measure, x, y = key
        for name, side in ((x, self.rows), (y, self.columns)):
            if name not in side:
                raise KeyError(f"no {name!r} in this comparison{did_you_mean(name, side)}")
        return float(self[measure][self.rows.index(x), self.columns.index(y)])

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of all values: numbers, and caveats about values."""
        words = {(c.measure, c.x, c.y): c for c in self.pair_caveats}
        diagnostics = list[Diagnostic]()
        for m in self.measures:
            matrices = self.numbers.get(m.spec, {})
            if not matrices and not words:
                continue
            for (i, x), (j, y) in product(enumerate(self.rows), enumerate(self.columns)):
                numbers = {n: float(matrix[i, j]) for n, matrix in matrices.items()}
                diagnostics += [
                    Diagnostic(m.spec, x, y, n, number)
                    for n, number in numbers.items()
                    if not math.isnan(number)
                ]
                if (m.spec, x, y) in words:
                    diagnostics.append(words[m.spec, x, y])
        return tuple(diagnostics)

    def dissimilarity(self, measure: str | Measure) -> np.ndarray:
        """Return the matrix in which larger always means more different.

        A similarity becomes the largest possible similarity minus the similarity; a similarity
        without an upper bound is negated.
        """
        return to_dissimilarity(self[measure], self.info(measure))

    def clusters(self, measure: str | Measure, k: int | None = None) -> Clusters:
        r"""Divide the representations into clusters around medoids, by their differences.

        .. math:: \min_{m_1, \dots, m_k} \sum_i \min_c d(x_i, x_{m_c}), \qquad
            s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

        over members m; s is the silhouette, with a the mean difference from the own cluster and b
        the mean difference from the next cluster. ``k``: the number of clusters, by default the
        number from 2 to 10 with the largest mean silhouette. Representations without a value for
        some pair are left out.

        Raises ``ValueError`` for a rectangular comparison, for k outside 2 to n - 1 and for fewer
        than three representations, ``UndefinedError`` if all differences are 0.

        Reference: Kaufman and Rousseeuw 1990 (PAM); Rousseeuw 1987. The best swaps end in a local
        minimum; in every example where we tried all medoids, this minimum was the global minimum.
        """
        names, differences = complete_differences(self, measure, 3)
        result = cluster_by_medoids(names, differences, k)
        return replace(result, failures=self._incomplete(names))

    def permanova(
        self,
        measure: str | Measure,
        labels: Sequence[Hashable] | Mapping[str, Hashable],
        *,
        nested: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
        n_permutations: int = GROUP_TEST_PERMUTATIONS,
        seed: int = 0,
    ) -> Permanova:
        r"""Test whether networks of a group are closer to each other than to networks of other
        groups.

        .. math:: F = \frac{(T - W) / (g - 1)}{W / (n - g)}, \qquad
            T = \frac{1}{n} \sum_{i < j} d_{ij}^2, \quad
            W = \sum_g \frac{1}{n_g} \sum_{i < j \in g} d_{ij}^2

        the F of an analysis of variance, for any measure. The networks are the unit: the test
        permutes their labels, in all ways if there are at most ``n_permutations``, else in
        ``n_permutations`` random ways. With few seeds the test has little power: of 3 + 3 networks
        no p-value is below 0.1, of 4 + 4 none below 0.029; see ``min_pvalue``.

        ``labels``: the groups of the representations, in the order of ``rows`` or by name.
        ``nested``: the blocks of the networks, such as the model that several networks were
        fine-tuned from. If every block has a single label, whole blocks are permuted; otherwise
        labels are permuted within blocks. Representations without a value for some pair are left
        out.

        Raises ``ValueError`` for a rectangular comparison, for labels of another length, for fewer
        than two groups, only groups of a single network, and whole blocks of several sizes;
        ``UndefinedError`` if all differences are 0.

        Reference: Anderson 2001. The test also detects groups with unequal spread.
        """
        group = group_labels("labels", self.rows, labels)
        block = group_labels("nested", self.rows, self.rows if nested is None else nested)
        names, differences = complete_differences(self, measure, 3)
        groups = [group[name] for name in names]
        shared = None if nested is None else [block[name] for name in names]
        result = permanova(
            names, differences, groups, nested=shared, n_permutations=n_permutations, seed=seed
        )
        return replace(result, failures=self._incomplete(names))

    def _incomplete(self, names: Sequence[str]) -> tuple[LeftOut, ...]:
        """Return the representations of the comparison that are not in ``names``, because they lack
        a value for some pair."""
        missing = [name for name in self.rows if name not in set(names)]
        return tuple(LeftOut(name, "it has no value for some pair") for name in missing)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per measure and pair: measure, label, x, y, value, reason.

        The label has the parameters, as in a table: "CKA (debiased)"; no two measures have the
        same label. The value is None if the
        measure failed. If there are diagnostics, every record has the names of all diagnostics as
        well, with None for a pair without the diagnostic.
        """
        reasons = {(f.measure, f.x, f.y): f.reason for f in self.failures}
        diagnostics = {diagnostic[:4]: diagnostic.value for diagnostic in self.diagnostics}
        names = sorted({diagnostic.name for diagnostic in self.diagnostics})
        records = []
        for m in self.measures:
            label = unique_measure_title(self, m)
            for (i, x), (j, y) in product(enumerate(self.rows), enumerate(self.columns)):
                value, reason = float(self.values[m.spec][i, j]), reasons.get((m.spec, x, y))
                record: dict[str, Any] = {"measure": m.spec, "label": label, "x": x, "y": y}
                record |= {"value": None if np.isnan(value) else value, "reason": reason}
                records.append(record | {n: diagnostics.get((m.spec, x, y, n)) for n in names})
        return records

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` with one (x, y) variable per measure (extra ``frames``).

        The facts about a measure become attributes in netCDF types: true is 1, and parameters are
        JSON text.
        """
        notes = {spec: {"diagnostics": note} for spec, note in diagnostic_notes(self).items()}
        data = {}
        for m in self.measures:
            facts = {k: int(v) if isinstance(v, bool) else v for k, v in m._asdict().items()}
            facts["parameters"] = json.dumps(dict(m.parameters))
            data[m.spec] = (("x", "y"), self.values[m.spec], facts | notes.get(m.spec, {}))
        return import_optional("xarray").Dataset(
            data, coords={"x": list(self.rows), "y": list(self.columns)}
        )

    def save(self, path: str | Path) -> None:
        """Write a file that :func:`resemblance.load` reads and that ``compare(..., save=path)``
        continues, with any suffix."""
        save_scores(self, path, "Comparison")

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """The positions of the rows and of the columns in the matrices. All matrices have the same
        data."""
        matrix = next(iter(self.matrices.values()))
        rows, columns = fingerprints_by_name(self.rows, self.columns, self.provenance)
        return [matrix.rows[name] for name in rows], [matrix.columns[name] for name in columns]

    def _by_name(self, numbers: np.ndarray) -> np.ndarray:
        """Return a read-only matrix with the rows and columns of ``numbers``, which are by data,
        in the order of the names of the comparison."""
        if self._places != tuple(list(range(size)) for size in numbers.shape):
            numbers = numbers[np.ix_(*self._places)]
        numbers.flags.writeable = False
        return numbers

    def summary(self) -> str:
        """Return a line per measure: the smallest and the largest value, and notes."""
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self) + thumbnail(self)


def _parameterless_names(info: MeasureInfo) -> tuple[str, str]:
    """Return the label, in lower case, and the name of a measure, both without the parameters."""
    return info.label.lower(), info.spec.split("[")[0]


def _parse_specification(spec: str) -> tuple[str, dict[str, Any]] | str:
    """Return the name and the parameters of a specification, or ``spec`` itself if parsing fails
    or there are no parameters."""
    name, bracket, parameters = spec.strip().partition("[")
    if not bracket or not parameters.endswith("]"):
        return spec
    try:
        return name.strip().lower(), parse_parameters(parameters[:-1])
    except ValueError:
        return spec


def complete_differences(
    comparison: Comparison, measure: AnyMeasure, fewest: int
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names of the representations with a value for all pairs, and their differences,
    (n, n), symmetric, at least 0, with a zero diagonal.

    The function repeatedly drops the representation with the most missing values. Raises
    ``ValueError`` for a rectangular comparison, and if fewer than ``fewest`` representations have a
    value for all pairs.
    """
    if comparison.rows != comparison.columns:
        raise ValueError(
            f"{len(comparison.rows)} x {len(comparison.columns)} representations are a rectangle, "
            "without the pairs within rows and within columns; compare all in one call: "
            "compare([*rows, *columns])"
        )
    differences = to_dissimilarity(comparison[measure], comparison.info(measure))
    differences = (differences + differences.T) / 2
    positions = np.arange(len(differences))
    while len(positions) and (missing := np.isnan(differences[np.ix_(positions, positions)])).any():
        positions = np.delete(positions, int(missing.sum(axis=0).argmax()))
    if len(positions) < fewest:
        raise ValueError(
            f"{comparison.info(measure).label} has values for all pairs of {len(positions)} "
            f"representations; at least {fewest} are needed"
        )
    names = tuple(comparison.rows[i] for i in positions)
    differences = differences[np.ix_(positions, positions)]
    # Similarities without an upper bound give negative differences: shift the smallest to 0.
    differences = differences - min(float(differences.min()), 0.0)
    np.fill_diagonal(differences, 0.0)
    return names, differences


def most_similar(info: MeasureInfo) -> float:
    """Return the value that a measure has for the most similar pairs, an end of the range,
    possibly infinite."""
    return info.range[1] if info.larger_is_more_similar else info.range[0]


def unique_measure_title(comparison: Comparison, info: MeasureInfo) -> str:
    """Return the title of a measure, or the specification for a reader if another measure of the
    comparison has the same title."""
    titles = [m.title for m in comparison.measures]
    return info.title if titles.count(info.title) == 1 else unique_specification(comparison, info)


def unique_specification(comparison: Comparison, info: MeasureInfo) -> str:
    """Return the specification of a measure for a reader, without hashes, and different for every
    measure of the comparison."""
    return plain_specification(info.spec, [m.spec for m in comparison.measures])


def readable_reason(comparison: Comparison, reason: str) -> str:
    """Return the reason of a failure for a reader, with the specifications of tables in place of
    hashes."""
    if not HASHED_VALUES.search(reason):
        return reason
    for info in comparison.measures:
        reason = reason.replace(info.spec, unique_specification(comparison, info))
    return plain_specification(reason)


def chance_matrix(comparison: Comparison, measure: str | Measure) -> np.ndarray:
    """Return the chance levels of all pairs, the mean over all permutations of the samples, (rows,
    columns); NaN if unknown."""
    shape = len(comparison.rows), len(comparison.columns)
    numbers = comparison.numbers.get(comparison.info(measure).spec, {})
    return np.array(numbers.get(CHANCE_KEY, np.full(shape, np.nan)))


def measure_info(measure: Measure) -> MeasureInfo:
    """Return the facts about a measure for a result."""
    return MeasureInfo(
        measure.spec,
        measure.label,
        measure.family,
        measure.larger_is_more_similar,
        measure.range,
        measure.symmetric,
        measure.version,
        dict(measure.parameters),
    )


def save_scores(comparison: Comparison, path: str | Path, name: str) -> None:
    """Write a comparison, with its evidence, to a file, as the saved result of the class called
    ``name``. Raises ``ValueError`` for a measure that is a lambda."""
    evidence = comparison.evidence
    entries, results = ({}, ()) if evidence is None else evidence.stored()
    if any(info.spec.startswith("<lambda>") for info in comparison.measures):
        raise ValueError(f"{name}.save: {LAMBDA_REMEDY}")
    warn_of_suffix(path)
    with ScoreFile(path, any_suffix=True) as store:
        write_missing_scores(comparison, store)
        store.describe(comparison_description(comparison) | entries, results, name)


def write_missing_scores(comparison: Comparison, store: ScoreFile) -> None:
    """Write into the file ``store`` the scores of a comparison that the file does not have."""
    stored_matrices = {spec: scores.emptied() for spec, scores in comparison.matrices.items()}
    for column in store.columns(
        {name for scores in stored_matrices.values() for name in scores.data}
    ):
        if column.measure in stored_matrices:
            stored_matrices[column.measure].put(column)
    for spec, matrix in comparison.matrices.items():
        store.put(matrix.columns_without(stored_matrices[spec]))


def comparison_description(comparison: Comparison) -> dict[str, Any]:
    """Return the description of a comparison in a file, as values of JSON."""
    description = describe_comparison(
        comparison.rows, comparison.columns, comparison.measures, comparison.provenance
    )
    if comparison.error_consistency is not None:
        description[ERRORS_KEY] = saved_document(comparison.error_consistency)
    return description


def describe_comparison(
    rows: Sequence[str],
    columns: Sequence[str],
    measures: Sequence[MeasureInfo],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the description of a comparison with these names of rows and columns, measures and
    provenance, as values of JSON.

    Infinite range ends become None.
    """
    entries = [m._asdict() for m in measures]
    for entry in entries:
        entry["range"] = [end if np.isfinite(end) else None for end in entry["range"]]
    return {
        "rows": list(rows),
        "columns": list(columns),
        "measures": entries,
        "provenance": dict(provenance),
    }


def to_dissimilarity(values: np.ndarray, info: MeasureInfo) -> np.ndarray:
    """Return values so that larger always means more different: the upper end of the range (0 if
    infinite) minus a similarity; differences unchanged. No other function reverses directions."""
    if not info.larger_is_more_similar:
        return values
    return (info.range[1] if np.isfinite(info.range[1]) else 0.0) - values
