"""The result of a run: tables, figures, claims and scores, to save and to show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..base.codec import encode_value
from ..base.formatting import join_words
from ..base.json_files import check_finite_json, write_atomically
from ..base.rendering import thumbnail
from ..base.results import (
    FORMAT_ENTRY,
    MappingResult,
    format_of,
    result_from_document,
    unreadable_error,
    warn_of_suffix,
)
from ..base.text import html_fact_table
from .claims import VERDICTS, Claim
from .figures import FIGURE_TYPES, Chart, Choice, Dendrogram, Figure, HeatMap, Switch
from .headlines import MAX_NAMES_IN_HEADLINE, TRIAL_WARNING, headline, is_trial, remove_verdicts
from .ranks import DEFAULT_RANK_RULE, Ranking, mean_ranks, rank_measures_of_task
from .sections import FAILED_MEASURE_COLUMN, FAILURE_REASON_COLUMN, FAILURES_TABLE, Section, Table

RESULT_COLUMNS = (
    "section", "kind", "name", "measure", "value", "rank", "claim", "theirs", "ours", "verdict",
    "note", "trial",
)  # fmt: skip
SUITES_WITH_EXTRA_FIELDS = {"drift"}  # suites with files that contain more than a result
# Suites with measures, but without scores of measures
SUITES_WITHOUT_SCORES = {
    "joint", "compare", "evidence", "patch_models", "score_models", "score_models_over_time",
}  # fmt: skip


class MissingValue(NamedTuple):
    """A missing value in a section of a result, and the reason."""

    section: str
    name: str
    reason: str


@dataclass(frozen=True, repr=False)
class Result(MappingResult):
    """All findings of a run, as the source of tables, pages and combined rankings.

    ``suite``: the kind of run, for example "sensitivity", "joint", "drift" or "compare".
    ``labels``: the usual name of each measure, by specification. ``seconds``: the processor time of
    every section. ``facts``: the data sets, models and seeds, by name. ``conclusion``: the first
    text on the page; by default the measure with the best mean rank; lines after the first become a
    list.
    ``caveats``: warnings before the numbers, for example about omitted studies. ``title`` and
    ``about``: the heading of the page and the paragraph below. ``counts``: numbers that a page
    shows large, by name, for example the number of models. ``tone``: "good", "warning" or "bad"
    colours the conclusion; "" is neutral.

    A trial run has no verdicts: all claims are "no data".

    Raises ``ValueError`` for sections, tables or figures with the same name, a table row that does
    not fit the columns, intervals that do not fit the points, and an unknown verdict.
    """

    suite: str
    size: str
    sections: tuple[Section, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    conclusion: str = ""
    caveats: tuple[str, ...] = ()
    title: str = ""
    about: str = ""
    counts: Mapping[str, str] = field(default_factory=dict)
    tone: str = ""

    def __post_init__(self) -> None:
        if self.is_trial:
            sections = tuple(s._replace(claims=remove_verdicts(s.claims)) for s in self.sections)
            object.__setattr__(self, "sections", sections)
        _check_unique_names("the result", self.sections)
        for section in self.sections:
            _check_section(section)

    def summary(self) -> str:
        """Return the conclusion, by default the measure with the best mean rank; then the contents
        of the result."""
        facts = ", ".join(f"{name} {fact}" for name, fact in self._facts().items())
        return f"{opening_sentences(self)}\n  {facts}".lstrip()

    def keys(self) -> tuple[str, ...]:
        """Return the names of the sections."""
        return tuple(section.name for section in self.sections)

    @property
    def failures(self) -> tuple[MissingValue, ...]:
        """The reasons for missing values, section by section; for failed comparisons, the most
        frequent reason of each measure."""
        return tuple(
            MissingValue(section.name, name, reason)
            for section in self.sections
            for name, reason in (*section.reasons.items(), *_failed_measures(section))
        )

    def _repr_html_(self) -> str:
        return html_fact_table("Result", self._facts()) + thumbnail(self)

    def _facts(self) -> dict[str, str]:
        verdicts = Counter(claim.verdict for claim in self.claims)
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        return {
            "suite": self.suite,
            "size": self.size,
            "sections": str(len(self.sections)),
            "claims": f"{len(self.claims)} ({words})" if words else "0",
            "measures": str(
                len({measure for scores in self.scores().values() for measure in scores})
            ),
        }

    def __getitem__(self, name: str) -> Section:
        return {section.name: section for section in self.sections}[name]

    @property
    def is_trial(self) -> bool:
        """Whether the run is a trial, only to check that everything works."""
        return is_trial(self.suite, self.size)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all sections."""
        return tuple(claim for section in self.sections for claim in section.claims)

    def scores(self) -> dict[tuple[str, str], Mapping[str, float | None]]:
        """Return the scores in every task, by (test, task), then by measure, including tasks that
        are not ranked; None for a missing score. The test is the section, unless a rule names
        another test."""
        return {s.key(cell): scores for s in self.sections for cell, scores in s.scores.items()}

    def ranks(
        self,
        among: Iterable[str] | None = None,
        is_in: Callable[[str, str], bool] = lambda test, cell: True,
    ) -> dict[tuple[str, str], dict[str, float]]:
        """Return, by (test, task), the rank of every measure, 1 for the best; a measure without a
        value ranks behind all other measures, unless the rule of the task says otherwise.

        ``among``: the measures to rank, only against each other. ``is_in``: whether to rank a test
        and task, by default all. Tasks without any value are left out, since nothing can be ranked,
        and so are tasks with a rule that scores are not ranked.
        """
        names = None if among is None else sorted(set(among))
        ranks = {
            s.key(cell): rank_measures_of_task(scores, s.rules.get(cell, DEFAULT_RANK_RULE), names)
            for s in self.sections
            for cell, scores in s.scores.items()
            if is_in(*s.key(cell))
        }
        return {cell: measure_ranks for cell, measure_ranks in ranks.items() if measure_ranks}

    def mean_ranks(self) -> tuple[Ranking, ...]:
        """Return the ranks of every measure over the experiments, best mean rank first."""
        return mean_ranks(self.ranks())

    def idle(self) -> str:
        """Name the measures without a score in any task of the run; return "" if all measures have
        scores."""
        scored_specs = {m for scores in self.scores().values() for m in scores}
        idle = [label for spec, label in self.labels.items() if spec not in scored_specs]
        if not idle or self.suite in SUITES_WITHOUT_SCORES:
            return ""
        if not scored_specs:
            return "This run scores no similarity measures, so the measures have no effect."
        return (
            f"{join_words(idle, MAX_NAMES_IN_HEADLINE)} {'plays' if len(idle) == 1 else 'play'} "
            "no part in this run."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a record per claim and per score; a field that does not apply is None.

        A trial has no ranks.
        """
        ranks, records = {} if self.is_trial else self.ranks(), list[dict[str, Any]]()
        for section in self.sections:
            base = {"section": section.name}
            for claim in section.claims:
                facts = claim._asdict()
                records.append({**base, "kind": "claim", "name": facts.pop("number"), **facts})
            for cell, scores in section.scores.items():
                places = ranks.get(section.key(cell), {})
                for measure, value in scores.items():
                    facts = {"measure": measure, "value": value, "rank": places.get(measure)}
                    records.append({**base, "kind": "score", "name": cell, **facts})
        defaults: dict[str, Any] = dict.fromkeys(RESULT_COLUMNS)
        return [{**defaults, **record, "trial": self.is_trial} for record in records]

    def save(self, path: str | Path) -> None:
        """Write the result to a JSON file, whatever the suffix; :func:`resemblance.load` reads the
        file.

        Raises ``ValueError`` for a number that is NaN or infinite.
        """
        warn_of_suffix(path)
        write_atomically(Path(path), result_text(self))


def _failed_measures(section: Section) -> Iterator[tuple[str, str]]:
    """Yield (measure, reason) from the table of failed comparisons; nothing without such a
    table."""
    for table in section.tables:
        if table.name == FAILURES_TABLE:
            for row in table.rows:
                record = dict(zip(table.columns, row))
                yield str(record[FAILED_MEASURE_COLUMN]), str(record[FAILURE_REASON_COLUMN])


def opening_sentences(result: Result) -> str:
    """Return the conclusion, by default a sentence on the measure with the best mean rank; for a
    trial, the trial warning. "" without a conclusion and without ranks."""
    if result.is_trial:
        return TRIAL_WARNING
    rankings = result.mean_ranks()
    return result.conclusion or (headline(rankings, result.labels) if rankings else "")


def result_document(result: Result) -> dict[str, Any]:
    """Return the whole result as data for JSON."""
    parts = {name: encode_value(part, FIGURE_TYPES) for name, part in vars(result).items()}
    return {FORMAT_ENTRY: format_of("Result"), **parts}


def result_text(result: Result) -> str:
    """Return the whole result as JSON text. Raises ``ValueError`` for a number that is NaN or
    infinite."""
    document = result_document(result)
    for section in document["sections"]:
        _serialize_as_json(section, f"section {section['name']!r}")
    return _serialize_as_json(document, "the result")


def read_result_document(document: Mapping[str, Any], source: str, remedy: str) -> Result:
    """Return the result stored in ``document``, a parsed JSON file.

    ``source``, ``remedy``: the file and the way out, in errors. Raises ``ValueError`` for an
    invalid document.
    """
    names = {f.name for f in fields(Result)}
    unknown_names = sorted(set(document) - names - {FORMAT_ENTRY, "trial"})
    if unknown_names and document.get("suite") not in SUITES_WITH_EXTRA_FIELDS:
        raise unreadable_error(source, f"it has an entry {unknown_names[0]!r}", remedy)
    entries = {name: entry for name, entry in document.items() if name in names}
    result = result_from_document(Result, entries, source, remedy)
    try:
        check_finite_json(result_document(result))
    except ValueError as error:
        raise unreadable_error(source, error, remedy) from error
    return result


def _serialize_as_json(value: Any, name: str) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, default=dict)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} contains a value that cannot be saved: {error}") from error


def _check_section(section: Section) -> None:
    location = f"section {section.name!r}"
    _check_unique_names(location, (*section.tables, *section.figures))
    for kind, parts in (("table", section.tables), ("figure", section.figures)):
        for part in parts:
            for error in _size_errors(part):
                raise ValueError(f"{location}, {kind} {part.name!r}: {error}")
    for claim in section.claims:
        if claim.verdict not in VERDICTS:
            raise ValueError(f"{location}, claim {claim.number}: no verdict {claim.verdict!r}")


def _check_unique_names(location: str, parts: Iterable[Any]) -> None:
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            raise ValueError(f"{location}: {count} parts are called {name!r}")


def _size_errors(part: Table | Figure) -> Iterator[str]:
    """Yield a sentence for each mismatch of sizes in a table or a figure."""
    if isinstance(part, Table):
        yield from _table_size_errors(part)
    elif isinstance(part, Chart):
        for line in part.lines:
            for name in ("intervals", "titles"):
                count, points = len(getattr(line, name)), len(line.points)
                if count and count != points:
                    yield f"line {line.name!r}: {count} {name} for {points} points"
    elif isinstance(part, HeatMap):
        shape = [len(part.columns)] * len(part.rows)
        for name, entries in (("values", part.values), ("titles", part.titles or part.values)):
            if [len(row) for row in entries] != shape:
                size = f"{len(part.rows)} rows and {len(part.columns)} columns"
                yield f"{name} do not fit {size}"
    elif isinstance(part, Choice):
        for heat in part.maps:
            yield from _size_errors(heat)
        for option in part.options:
            if len(option.choices) != len(part.selectors):
                yield f"{len(option.choices)} choices for {len(part.selectors)} selectors"
            if not all(0 <= i < len(part.maps) for i in option.maps):
                yield f"an option has no map of {len(part.maps)}"
    elif isinstance(part, Switch):
        if len(part.choices) != len(part.figures):
            yield f"{len(part.choices)} choices for {len(part.figures)} figures"
        for figure in part.figures:
            yield from _size_errors(figure)
    elif isinstance(part, Dendrogram):
        count = len(part.leaves)
        if sorted(part.order) != list(range(count)):
            yield f"the order is not that of {count} leaves"
        members = sorted(i for merge in part.merges for i in merge[:2])
        if len(part.merges) != max(count - 1, 0) or members != list(range(2 * count - 2)):
            yield f"{len(part.merges)} merges do not join {count} leaves"


def _table_size_errors(table: Table) -> Iterator[str]:
    width = len(table.columns)
    for i, row in enumerate(table.rows):
        if len(row) != width:
            yield f"row {i} has {len(row)} entries for {width} columns"
    for name in ("groups", "hints", "choices"):
        if (count := len(getattr(table, name))) not in (0, width):
            yield f"{count} {name} for {width} columns"
    if table.shades and [len(row) for row in table.shades] != [width] * len(table.rows):
        yield f"the shades do not fit the {len(table.rows)} rows"
