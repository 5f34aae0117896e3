"""The facts of an evaluation: all that the ReSi suite computes, as one value to keep and show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...comparison import MeasureInfo
from ...json_files import check_types, read_document, write_atomically
from ...results.codec import decode, encode, spell
from ...results.headlines import is_trial
from ..case import Score
from ..families import ModelFamily
from .cases import TESTS, Absence
from .groups import ModelGroup
from .models import SIZES
from .paper import PORTIONS
from .ranking import Ranks, cell_ranks

FACTS, RESULT = "facts.json", "result.json"  # in a study
FORMAT = 6
IDENTITY = {"n_samples", "n_features", "dtype", "computed_in", "fingerprint"}  # of a representation
Rows = tuple[tuple[float, ...], ...]


class Matrices(NamedTuple):
    """The matrices of one part of a case.

    Similarities or distances by measure, and what is expected by quality. ``model``: whose layers
    are compared; empty where models are.
    """

    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    model: str
    names: tuple[str, ...]
    values: Mapping[str, Rows]
    expected: Mapping[str, Rows]


class FailedComparisons(NamedTuple):
    """How many comparisons of a measure failed in a case, and the most frequent reason."""

    measure: str
    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    comparisons: int
    reason: str


class Evaluation(NamedTuple):
    """Everything that an evaluation computed.

    ``protocol``, ``permute``, ``failures``: as they were asked for. ``maps``: what was measured and
    what was expected. ``failed``: comparisons without a value. ``seconds``: by domain, then by
    measure, the mean time of one comparison; the cost of a view that measures share is charged to
    the first that uses it. ``provenance``: versions, and by name the identity of all
    "representations". ``size``: "slice", "mini", "standard", "paper-slice" or "paper"; empty for
    models of one's own. ``left_out``: of these, the folders that were not read, and why.
    ``untrained``: the models that could not be trained, and why.
    """

    protocol: str
    permute: str
    failures: str
    measures: tuple[MeasureInfo, ...]
    scores: tuple[Score, ...]
    groups: tuple[ModelGroup, ...]
    absent: tuple[Absence, ...]
    maps: tuple[Matrices, ...]
    failed: tuple[FailedComparisons, ...]
    seconds: Mapping[str, Mapping[str, float]]
    provenance: Mapping[str, Any]
    size: str = ""
    left_out: Mapping[str, str] = {}
    untrained: Mapping[str, str] = {}

    def __repr__(self) -> str:
        counts = f"{len(self.measures)} measures, {len(self.scores)} scores"
        return f"<Evaluation by the protocol {self.protocol}: {counts}>"

    @property
    def is_trial(self) -> bool:
        """Whether it is of the size that is only for trying out."""
        return is_trial("resi", self.size)

    def ranks(self) -> Ranks:
        """Return the rank of every measure in every cell, by the rules of the protocol."""
        return cell_ranks(self.scores, protocol=self.protocol, failures=self.failures)

    def reliabilities(self) -> dict[tuple[str, ...], float]:
        """Return how far what is expected repeats on other inputs, for the cells where it depends
        on them."""
        return {s.cell: s.reliability for s in self.scores if s.reliability is not None}

    def only(self, families: Iterable[str]) -> Evaluation:
        """Return what was computed for the measures of some families, to be ranked among these.

        Raises ``ValueError`` when there is none of these families.
        """
        wanted = set(families)
        specs = {m.spec for m in self.measures if m.family in wanted}
        if not specs:
            names = ", ".join(sorted({m.family for m in self.measures}))
            raise ValueError(
                f"no measure of {', '.join(sorted(wanted))} in this result; it has {names}"
            )
        return self.among(specs)

    def among(self, specs: Iterable[str]) -> Evaluation:
        """Return the results of some measures, by specification, to rank them among each other."""
        wanted = set(specs)

        def some(by_measure: Mapping[str, Any]) -> dict[str, Any]:
            return {spec: value for spec, value in by_measure.items() if spec in wanted}

        return self._replace(
            measures=tuple(m for m in self.measures if m.spec in wanted),
            scores=tuple(s for s in self.scores if s.measure in wanted),
            failed=tuple(f for f in self.failed if f.measure in wanted),
            maps=tuple(m._replace(values=some(m.values)) for m in self.maps),
            seconds={domain: some(spent) for domain, spent in self.seconds.items()},
        )

    def families(self) -> tuple[ModelFamily, ...]:
        """Return the families of models in the order in which they were evaluated."""
        rows: Sequence[AboutModels] = [*self.scores, *self.maps, *self.absent]
        return tuple(dict.fromkeys(map(family_of, rows)))

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, atomically."""
        document = {"format": FORMAT, **spell(encode(self))}
        write_atomically(Path(path), json.dumps(document, allow_nan=False, ensure_ascii=False))


AboutModels = Score | Matrices | Absence | FailedComparisons


def family_of(row: AboutModels) -> ModelFamily:
    """Return the models that a score, a map, an absent test or failed comparisons are about."""
    if isinstance(row, Score):
        return ModelFamily(*row.cell[2:])
    return ModelFamily(row.domain, row.dataset, row.architecture, row.pooling)


def load_facts(study: str | Path) -> Evaluation:
    """Read what was computed for a study.

    Raises ``ValueError`` when there is nothing yet, or it cannot be read.
    """
    file = Path(study) / FACTS
    if not file.exists():
        raise ValueError(f"{study} has no results yet: resemblance resi run {study}")
    remedy = f"recreate it from the stored results: resemblance resi run {study}"
    return read_document(file, _evaluation, "a result of the ReSi suite", remedy)


def _evaluation(document: dict[str, Any]) -> Evaluation:
    if document.pop("format") != FORMAT:
        raise ValueError("it has another format")
    facts: Evaluation = decode(Evaluation, document)
    check_types(facts, Evaluation)
    _check(facts)
    return facts


def _check(facts: Evaluation) -> None:
    """Raise ``ValueError`` for parts that do not fit each other."""
    specs = {m.spec for m in facts.measures}
    rows: Sequence[AboutModels] = [*facts.scores, *facts.absent, *facts.maps, *facts.failed]
    if wrong := [s.cell for s in facts.scores if len(s.cell) != 6 or s.cell[0] != s.test]:
        raise ValueError(f"{wrong[0]!r} is no cell")
    named = {spec for m in facts.maps for spec in m.values}
    named |= {s.measure for s in facts.scores} | {f.measure for f in facts.failed}
    for what, unknown in (
        ("tests", {row.test for row in rows} - set(TESTS)),
        ("measures", named - specs),
    ):
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"it has {what} that it does not describe: {names}")
    cells = {s.cell for s in facts.scores}
    scored = {(s.cell, s.measure) for s in facts.scores}
    if not len(scored) == len(facts.scores) == len(cells) * len(specs):
        raise ValueError("it does not have one score of every measure in every cell")
    if facts.size and facts.size not in (*SIZES, *PORTIONS):
        raise ValueError(f"there is no size {facts.size!r}")
    _check_identities(facts.provenance.get("representations", {}))
    for m in facts.maps:
        for matrix in _matrices(m):
            if [len(row) for row in matrix] != [len(m.names)] * len(m.names):
                raise ValueError(
                    f"a matrix of the test {m.test!r} is not of all its {len(m.names)} names"
                )


def _matrices(m: Matrices) -> Iterator[Rows]:
    yield from m.values.values()
    yield from m.expected.values()


def _check_identities(representations: Mapping[str, Any]) -> None:
    for name, identity in representations.items():
        if not isinstance(identity, dict) or not identity.keys() >= IDENTITY:
            raise ValueError(f"it does not describe the representation {name!r}")
        check_types(identity["n_samples"], int | float, f"the number of samples of {name!r}")
        check_types(identity["n_features"], int | float, f"the number of features of {name!r}")
        for key in sorted(IDENTITY):
            check_types(identity[key], str | float, f"{key} of {name!r}")
