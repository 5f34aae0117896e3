"""Evaluate measures on subjects: compare what the cases need, grade it, and keep all of it as one
result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...catalogue import get_measures, preset
from ...compare import compare
from ...comparison import Comparison, MeasureInfo, info_of
from ...documents import check_types, read_document
from ...measure import Measure
from ...notebook import card
from ...results.headlines import is_trial
from ...store import write_atomically
from ...subject import Subject
from ..study import Progress
from .grading import (
    FAILURES,
    PERMUTATIONS,
    PERMUTED,
    PROTOCOLS,
    UNRANKED,
    Case,
    Score,
    check_choice,
    grade,
)
from .groups import Group
from .ranking import Ranks, cell_ranks, resi_code_ranks
from .tests import SUITES, TESTS, Absence, Prepared, six_tests

FORMAT = 2  # 1 did not say of which suite a result is
PRESETS: Mapping[str, str] = {
    "paper": "default",
    "resi-code": "resi",
}  # the measures that go with a protocol
IDENTITY = {"n_samples", "n_features", "dtype", "computed_in", "fingerprint"}  # of a representation


class Map(NamedTuple):
    """The matrices of one part of a case: similarities or distances by measure, and what is
    expected by quality."""

    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    names: tuple[str, ...]
    values: Mapping[str, tuple[tuple[float, ...], ...]]
    expected: Mapping[str, tuple[tuple[float, ...], ...]]


class Failed(NamedTuple):
    """How many comparisons of a measure failed in a case, and the most frequent reason."""

    measure: str
    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    comparisons: int
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class ResiResult:
    """Everything that an evaluation found; what tables, figures and the report are made of.

    ``seconds``: by domain, then by measure, the mean time of one comparison; views that measures
    share are counted for the first that took them. ``suite``: "slice", "mini" or "standard"; empty
    for models of one's own. ``left_out``: of these, the folders that were not read, and why.
    """

    protocol: str
    permute: str
    failures: str
    measures: tuple[MeasureInfo, ...]
    scores: tuple[Score, ...]
    groups: tuple[Group, ...]
    absent: tuple[Absence, ...]
    maps: tuple[Map, ...]
    failed: tuple[Failed, ...]
    seconds: Mapping[str, Mapping[str, float]]
    provenance: Mapping[str, Any]
    suite: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_trial(self) -> bool:
        """Whether it is of the suite that is only for trying out."""
        return is_trial("resi", self.suite)

    def __repr__(self) -> str:
        return (
            "<Result of ReSi: "
            f"{', '.join(f'{name} {fact}' for name, fact in self._facts().items())}>"
        )

    def _repr_html_(self) -> str:
        return card("Result of ReSi", self._facts())

    def _facts(self) -> dict[str, str]:
        domains = dict.fromkeys(
            [*(s.domain for s in self.scores), *(a.domain for a in self.absent)]
        )
        missing = sum(failed.comparisons for failed in self.failed)
        return {
            "protocol": self.protocol,
            "measures": str(len(self.measures)),
            "scores": str(len(self.scores)),
            "domains": " and ".join(domains) or "none",
            "failed comparisons": str(missing),
        }

    def ranks(self) -> Ranks:
        """Return the rank of every measure in every cell, as the protocol has it."""
        if self.protocol == "resi-code":
            return resi_code_ranks(self.scores)
        return cell_ranks(self.scores, failures=self.failures)

    def only(self, families: Iterable[str]) -> ResiResult:
        """Return the result of the measures of some families; ranks are then among these."""
        wanted = set(families)
        kept = {m.spec for m in self.measures if m.family in wanted}
        if not kept:
            known = sorted({m.family for m in self.measures})
            raise ValueError(
                f"no measure of {', '.join(sorted(wanted))} in this result; it has "
                f"{', '.join(known)}"
            )
        return self.among(kept)

    def among(self, specs: Iterable[str]) -> ResiResult:
        """Return the result of some measures, by their specifications; ranks are then among
        these."""
        kept = set(specs)

        def of(found: Mapping[str, Any]) -> dict[str, Any]:
            return {spec: value for spec, value in found.items() if spec in kept}

        return replace(
            self,
            measures=tuple(m for m in self.measures if m.spec in kept),
            scores=tuple(s for s in self.scores if s.measure in kept),
            failed=tuple(f for f in self.failed if f.measure in kept),
            maps=tuple(m._replace(values=of(m.values)) for m in self.maps),
            seconds={domain: of(found) for domain, found in self.seconds.items()},
        )

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, atomically (numbers that are not there are null)."""
        found = {"format": FORMAT, **{name: _plain(value) for name, value in vars(self).items()}}
        write_atomically(Path(path), json.dumps(found, allow_nan=False, ensure_ascii=False))


def load_resi(path: str | Path) -> ResiResult:
    """Read a result that was saved. Raises ``ValueError`` for anything else."""
    return read_document(
        Path(path),
        _made,
        "a result",
        "remove it and run the suite again: what was computed is kept",
    )


def _made(found: dict[str, Any]) -> ResiResult:
    if found.pop("format") != FORMAT:
        raise ValueError("it has another format")
    rows = {"scores": Score, "groups": Group, "absent": Absence, "maps": Map, "failed": Failed}
    made = {name: tuple(_row(kind, entry) for entry in found[name]) for name, kind in rows.items()}
    result = ResiResult(
        **{**found, **made, "measures": tuple(_info(entry) for entry in found["measures"])}
    )
    check_types(result, ResiResult)
    _check_whole(result)
    return result


def _check_whole(result: ResiResult) -> None:
    """Raise ``ValueError`` for parts that do not fit each other."""
    specs = {m.spec for m in result.measures}
    tests = {
        row.test
        for rows in (result.scores, result.absent, result.maps, result.failed)
        for row in rows
    }
    mapped = (m for found in result.maps for m in found.values)
    named = {s.measure for s in result.scores}.union((f.measure for f in result.failed), mapped)
    for what, unknown in (("tests", tests - set(TESTS)), ("measures", named - specs)):
        if unknown:
            raise ValueError(
                f"it has {what} that it does not describe: {', '.join(sorted(unknown))}"
            )
    scored = {(s.cell, s.measure) for s in result.scores}
    if len(scored) < len(result.scores) or len(scored) != len({cell for cell, _ in scored}) * len(
        specs
    ):
        raise ValueError("it does not have one score of every measure in every cell")
    if result.suite and result.suite not in SUITES:
        raise ValueError(f"there is no suite {result.suite!r}")
    for name, data in result.provenance.get("representations", {}).items():
        if not isinstance(data, dict) or not data.keys() >= IDENTITY:
            raise ValueError(f"it does not describe the representation {name!r}")
        check_types(data["n_samples"], int | float, f"the number of samples of {name!r}")
        check_types(data["n_features"], int | float, f"the number of features of {name!r}")
    for found in result.maps:
        for matrix in (*found.values.values(), *found.expected.values()):
            if [len(row) for row in matrix] != [len(found.names)] * len(found.names):
                raise ValueError(
                    f"a matrix of the test {found.test!r} is not of all its {len(found.names)} "
                    "names"
                )


def evaluate(
    subjects: Iterable[Subject],
    *,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> ResiResult:
    """Evaluate measures by the six tests of the ReSi benchmark on subjects.

    Parameters
    ----------
    subjects : models seen on fixed inputs, from :func:`resemblance.read_subjects`,
        :func:`resemblance.subject_from_model` or elsewhere. Those that agree in domain, dataset,
        architecture and pooling are compared; ``setting``, ``strength`` and ``seed`` say which
        tests they make.
    measures : measures, names, specifications, presets. Default: the 24 of the benchmark, as
        ``protocol`` has them.
    protocol : ``"paper"`` (the definitions of Klabunde et al. 2025) or ``"resi-code"`` (what the
        authors' code computes).
    permute : what the permutation tests permute, ``"models"`` or ``"pairs"``; default by protocol.
    failures : ``"last"`` ranks a measure with failed comparisons behind all others of a cell
        (default of the first protocol); ``"unranked"`` ranks it by what is left, or not at all (of
        the second, which has no other).
    save : file that keeps every comparison, so that a later evaluation computes only what is new.
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with ("comparing", done, total) and ("grading", done, total).
    """
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("permute", permute or "models", PERMUTATIONS)
    failures = failures or UNRANKED[protocol]
    check_choice("failures", failures, FAILURES)
    if (protocol, failures) == ("resi-code", "last"):
        raise ValueError(
            'the authors\' code ranks no failures last: failures="unranked" goes with '
            'protocol="resi-code"'
        )
    tests = six_tests(subjects)
    chosen = get_measures(measures if measures is not None else preset(PRESETS[protocol]))
    show = progress or (lambda stage, done, total: None)
    compared = _compare_all(tests.cases, chosen, save, executor, memory, show)
    scores = list[Score]()
    for position, (case, comparisons) in enumerate(zip(tests.cases, compared)):
        scores += grade(case, comparisons, protocol=protocol, permute=permute)
        show("grading", position + 1, len(tests.cases))
    return _result(
        tests, chosen, compared, scores, (protocol, permute or PERMUTED[protocol], failures)
    )


def _compare_all(
    cases: Sequence[Case],
    measures: Sequence[Measure],
    save: str | Path | None,
    executor: Executor | None,
    memory: int | str,
    progress: Progress,
) -> list[list[Comparison]]:
    sizes = [_cells(len(part), measures) for case in cases for part in case.parts]
    total, before, done, compared = sum(sizes), 0, 0, list[list[Comparison]]()
    for case in cases:
        comparisons = []
        for part in case.parts:
            size = sizes[done]

            def show(ready: int, missing: int, start: int = before, size: int = size) -> None:
                progress("comparing", start + size - missing + ready, total)

            comparisons.append(
                compare(
                    part,
                    measures=measures,
                    save=save,
                    executor=executor,
                    memory=memory,
                    progress=show,
                )
            )
            before, done = before + size, done + 1
            progress("comparing", before, total)
        compared.append(comparisons)
    return compared


def _cells(count: int, measures: Iterable[Measure]) -> int:
    """Number of cells that a comparison of this many representations computes."""
    pairs = count * (count - 1) // 2
    return sum(count + pairs * (1 if m.symmetric else 2) for m in measures)


# --------------------------------------------------------------------------------------- the result


def _result(
    tests: Prepared,
    measures: Sequence[Measure],
    compared: Sequence[Sequence[Comparison]],
    scores: Iterable[Score],
    options: tuple[str, str, str],
) -> ResiResult:
    pairs = [(case, c) for case, comparisons in zip(tests.cases, compared) for c in comparisons]
    maps = [_map(case, i, c) for case, cs in zip(tests.cases, compared) for i, c in enumerate(cs)]
    return ResiResult(
        *options,
        tuple(info_of(m) for m in measures),
        tuple(scores),
        tests.groups,
        tests.absent,
        tuple(maps),
        tuple(
            f
            for case, comparisons in zip(tests.cases, compared)
            for f in _failed(case, comparisons)
        ),
        _seconds(pairs),
        _provenance(pairs),
    )


def _provenance(pairs: Sequence[tuple[Case, Comparison]]) -> dict[str, Any]:
    """Return the versions it was computed with, and the fingerprint and shape of every
    representation."""
    if not pairs:
        return {}
    versions = {
        k: v for k, v in pairs[0][1].provenance.items() if k not in ("rows", "columns", "n_samples")
    }
    data = {
        pooled_name(name, case.pooling): {**identity, "n_samples": c.provenance["n_samples"]}
        for case, c in pairs
        for name, identity in c.provenance["rows"].items()
    }
    return {**versions, "representations": data}


def pooled_name(name: str, pooling: str) -> str:
    """Return what a representation is called among those of all poolings of its model."""
    return f"{name} ({pooling})" if pooling else name


def _map(case: Case, part: int, comparison: Comparison) -> Map:
    where = (case.test, case.domain, case.dataset, case.architecture, case.pooling)
    expected = {
        quality: _expected(case.kind, given[part]) for quality, given in case.expectations.items()
    }
    values = {spec: _rows(matrix) for spec, matrix in comparison.values.items()}
    return Map(
        *where,
        comparison.rows,
        values,
        {quality: _rows(matrix) for quality, matrix in expected.items()},
    )


def _expected(kind: str, expectation: Any) -> np.ndarray:
    """Return the expected differences as a matrix, whatever kind of expectation it is."""
    if kind == "prediction":
        return np.asarray(expectation, float)
    if kind == "group":
        return np.array([[float(a != b) for b in expectation] for a in expectation])
    positions = np.arange(expectation)
    return np.asarray(np.abs(positions[:, None] - positions[None, :]), float)


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in matrix)


def _failed(case: Case, comparisons: Sequence[Comparison]) -> list[Failed]:
    reasons: dict[str, Counter[str]] = {}
    for comparison in comparisons:
        for failure in comparison.failures:
            reasons.setdefault(failure.measure, Counter())[failure.reason] += 1
    where = (case.test, case.domain, case.dataset, case.architecture, case.pooling)
    return [
        Failed(m, *where, found.total(), found.most_common(1)[0][0]) for m, found in reasons.items()
    ]


def _seconds(pairs: Iterable[tuple[Case, Comparison]]) -> dict[str, dict[str, float]]:
    total: dict[str, Counter[str]] = {}
    count: dict[str, Counter[str]] = {}
    for case, comparison in pairs:
        for cell in comparison.cells:
            total.setdefault(case.domain, Counter())[cell.measure] += cell.seconds  # type: ignore[assignment]
            count.setdefault(case.domain, Counter())[cell.measure] += 1
    return {
        domain: {m: spent[m] / count[domain][m] for m in spent} for domain, spent in total.items()
    }


# ------------------------------------------------------------------------------------------ as JSON


def _plain(value: Any) -> Any:
    """Return named tuples as objects, other sequences as lists, and what is not a finite number as
    null or a word."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {k: _plain(v) for k, v in value._asdict().items()}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


def _row(kind: Any, entry: dict[str, Any]) -> Any:
    """Return a named tuple of an object; numbers that were null are NaN again."""
    made = {name: _again(value) for name, value in entry.items()}
    if kind is Score and made["value"] is None:
        made["value"] = np.nan
    return kind(**made)


def _again(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(np.nan if v is None else _again(v) for v in value)
    if isinstance(value, dict):
        return {k: _again(v) for k, v in value.items()}
    return float(value) if value in ("inf", "-inf") else value


def _info(entry: dict[str, Any]) -> MeasureInfo:
    return MeasureInfo(**{**entry, "range": tuple(float(v) for v in entry["range"])})
