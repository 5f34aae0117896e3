"""Text for people: summaries of results, tables for notebooks, suggestions for unknown names, and
escapes for unsafe text."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from .exceptions import ResemblanceWarning
from .extras import import_optional
from .formatting import count_with_noun, format_range, list_names

if TYPE_CHECKING:
    import numpy as np

# A tuple of values in a specification: see `short_repr` of the contracts
HASHED_VALUES = re.compile(r"(?P<name>\w+)=<(?P<count>\d+) values [0-9a-f]+>")
SYNONYMS = {  # names used elsewhere in the field, mapped to names of this package
    "rotation": "orthogonal", "reflection": "orthogonal", "scale": "isotropic_scaling",
    "scaling": "isotropic_scaling",
    "linear": "invertible_linear", "shift": "translation", "offset": "translation",
    "cca": "mean_cca", "debiased_cka": "cka[estimator=debiased]",
    "unbiased_cka": "cka[estimator=debiased]", "cka_debiased": "cka[estimator=debiased]",
    "cka_unbiased": "cka[estimator=debiased]", "unbiased": "debiased", "debias": "debiased",
    "mantel": "rsa",
    "ridgecv": "linear_predictivity",
    "ridge_cv": "linear_predictivity",
    "ols": "linear_regression", "least_squares": "linear_regression",
    "linearregression": "linear_regression", "orthogonal": "procrustes",
    "optimal_transport": "soft_matching", "hungarian": "permutation_procrustes",
    "rbf_cka": "cka[kernel=rbf]", "kernel_cka": "cka[kernel=rbf]",
    "gaussian": "rbf", "squared_exponential": "rbf", "se": "rbf", "laplacian": "laplace",
}  # fmt: skip
CONTROL_CODES = (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
CONTROL_ESCAPES = {code: repr(chr(code))[1:-1] for code in CONTROL_CODES}

DISPLAY_ROUNDING = 1e-12  # smaller fractions of a scale are rounding errors of 0
UNIT_SCALE_RANGE = 10.0  # values in a range narrower than this are of the order of 1


def html_fact_table(heading: str, facts: Mapping[str, object]) -> str:
    """Return a small HTML table with a row per fact, without empty facts. ``facts``: by name."""
    style = "style='text-align:left'"
    rows = ""
    for name, fact in facts.items():
        if str(fact):
            rows += f"<tr><th {style}>{escape(name)}</th><td {style}>{escape(str(fact))}</td></tr>"
    return f"<table><caption>{escape(heading)}</caption>{rows}</table>"


def html_table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a small HTML table. ``heading``: the caption. ``columns``: the names in the header.
    ``rows``: the cells of every row, in the order of the columns."""
    style = "style='text-align:left'"
    head = "".join(f"<th {style}>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td {style}>{escape(str(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f"<table><caption>{escape(heading)}</caption><tr>{head}</tr>{body}</table>"


# ---------------------------------------------------------------------------------------- in words


def did_you_mean(name: str, names: Iterable[str], show: Iterable[str] | None = None) -> str:
    """Return the end of an error message for an unknown name: "; did you mean 'cka'?" with the
    closest of ``names``.

    Without a close name, the text lists all names, or the names in ``show``; "; it has none"
    without names.
    """
    names = list(names)
    if isinstance(name, str) and (match := closest_name(name, names)):
        return f"; did you mean {match!r}?"
    return f"; known: {list_names(names if show is None else show)}" if names else "; it has none"


def closest_name(name: str, names: Sequence[str]) -> str:
    """Return the entry of ``names`` most similar to ``name``: a synonym, an anagram, or a similar
    spelling; "" if none is similar. A synonym may have parameters, such as ``cka[...]``."""
    synonym = SYNONYMS.get(re.sub(r"[ -]", "_", name.lower()))
    if synonym and synonym.partition("[")[0] in names:
        return synonym
    anagrams = [n for n in names if sorted(n.lower()) == sorted(name.lower())]
    matches = anagrams or difflib.get_close_matches(name, names, n=1)
    return matches[0] if matches else ""


def plain_specification(spec: str, specs: Sequence[str] = ()) -> str:
    """Return the specification of a measure for a reader, with the number of given folds or values
    instead of a hash of the values.

    ``specs``: all specifications that the reader sees together. A number tells two measures apart
    that differ in the hash alone. A specification outside ``specs`` gets no number.
    """
    text = HASHED_VALUES.sub(_describe_hashed_values, spec)
    twins = [other for other in specs if HASHED_VALUES.sub(_describe_hashed_values, other) == text]
    if len(twins) < 2 or spec not in twins:
        return text
    return f"{text} ({twins.index(spec) + 1} of {len(twins)})"


def _describe_hashed_values(match: re.Match[str]) -> str:
    noun = "given fold" if match["name"] == "held_out" else "given value"
    return f"{match['name']}={count_with_noun(int(match['count']), noun)}"


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise ``ValueError`` unless ``value`` is among ``choices``. ``name``: the name of the
    argument in the error: "size must be 'small' or 'large'; got 'smal'; did you mean 'small'?"."""
    choices = list(choices)
    if value in choices:
        return
    words = list(map(repr, choices))
    listed = " or ".join(words) if len(words) < 3 else f"one of {list_names(words)}"
    match = closest_name(str(value), [c for c in choices if isinstance(c, str)])
    hint = f"; did you mean {match!r}?" if match else ""
    raise ValueError(f"{name} must be {listed}; got {value!r}{hint}")


def warn(line: str, category: type[Warning] = ResemblanceWarning) -> None:
    """Issue a warning that points to the line of user code that called the package."""
    frame, level = sys._getframe(1), 2
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(line, category, stacklevel=level)


def escape_control_characters(text: str, *, keep: str = "") -> str:
    """Return a text with escaped control characters, which could otherwise control a terminal.
    ``keep``: the control characters that stay, such as a line break."""
    return text.translate(
        {code: esc for code, esc in CONTROL_ESCAPES.items() if chr(code) not in keep}
    )


def replace_undecodable(name: str) -> str:
    """Return a file name with U+FFFD for control characters and for bytes that are not UTF-8."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def replace_unencodable(text: str, *, keep: str | None = None) -> str:
    """Return a text with U+FFFD for characters without a UTF-8 encoding, such as undecodable bytes
    in file names.

    ``keep``: if given, also replace every control character except the characters in ``keep``.
    """
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if keep is None:
        return text
    replacements = {code: "\ufffd" for code in CONTROL_ESCAPES if chr(code) not in keep}
    return text.translate(replacements)


def records_to_frame(records: Iterable[Mapping[str, Any]]) -> Any:
    """Return records, entries by column name, as a pandas DataFrame with a row per record; all
    texts can be encoded in UTF-8."""
    rows = [{name: _encodable_value(value) for name, value in record.items()} for record in records]
    return import_optional("pandas").DataFrame(rows)


def _encodable_value(value: Any) -> Any:
    if isinstance(value, str):
        return replace_unencodable(value)
    return value + 0.0 if isinstance(value, float) else value  # turns -0 into 0


# ---------------------------------------------------------------------------------- of comparisons


class SummaryRow(NamedTuple):
    """A line in the summary of a comparison, as texts. ``measure``: the specification.
    ``smallest``, ``largest``: values, or "-" without values."""

    measure: str
    label: str
    smallest: str
    largest: str
    notes: str
    seconds: str


def _summary_rows(comparison: Any) -> Iterator[SummaryRow]:
    import numpy as np

    notes = diagnostic_notes(comparison)
    specs = [m.spec for m in comparison.measures]
    for m in comparison.measures:
        matrix = comparison.values[m.spec]
        values = snap_to_bounds(matrix[~np.isnan(matrix)], m)
        ends = (values.min(), values.max()) if values.size else ()
        low, high = [f"{end:.4g}" for end in ends] or ["-", "-"]
        failures = matrix.size - values.size
        failed = f"{failures} of {matrix.size} failed" if failures else ""
        note = ", ".join(text for text in (failed, notes.get(m.spec)) if text)
        name = plain_specification(m.spec, specs)
        yield SummaryRow(name, m.label, low, high, note, f"{comparison.seconds[m.spec]:.2f}")


def summary_text(comparison: Any) -> str:
    """Return the summary of a comparison as text: the smallest and largest value of every
    measure."""
    count = count_with_noun(len(comparison.measures), "measure")
    lines = [f"Comparison of {_format_comparison_size(comparison)} by {count}"]
    lines += [f"  {caveat}" for caveat in comparison.caveats]
    rows = list(_summary_rows(comparison))
    width = max((len(row.measure) for row in rows), default=0)
    for row in rows:
        span = f"{row.smallest:>10} .. {row.largest:<10}"
        lines.append(f"  {row.measure:<{width}}  {span}  {row.notes}".rstrip())
    return "\n".join(lines)


def summary_html(comparison: Any) -> str:
    """Return the summary of a comparison as an HTML table with a row per measure: the smallest and
    largest value, and notes."""
    header = "".join(f"<th>{name}</th>" for name in SummaryRow._fields)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in _summary_rows(comparison)
    )
    caption = f"Comparison of {_format_comparison_size(comparison)}"
    caveats = "".join(f"<p>{escape(caveat)}</p>" for caveat in comparison.caveats)
    return f"{caveats}<table><caption>{caption}</caption><tr>{header}</tr>{body}</table>"


def _format_comparison_size(comparison: Any) -> str:
    return f"{len(comparison.rows)} x {len(comparison.columns)} representations"


def snap_to_bounds(values: np.ndarray, info: Any) -> np.ndarray:
    """Return new values for display: a value within rounding error of 0, or of an end of the
    measure's range, becomes exactly 0 or that end. ``info``: the measure.

    The rounding error is 1e-12 times the width of the range or, if the range is unbounded, 1e-12
    times the largest magnitude among the values.
    """
    import numpy as np

    width = info.range[1] - info.range[0]
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    scale = width if width < UNIT_SCALE_RANGE else largest
    for end in (0.0, *filter(np.isfinite, info.range)):
        values = np.where(np.abs(values - end) < DISPLAY_ROUNDING * scale, end, values)
    return np.asarray(values)


def diagnostic_notes(comparison: Any, *, exclude: str = "") -> dict[str, str]:
    """Return texts with diagnostics and caveats, such as "neighbour recall 0.97 to 1", by
    specification of the measure; measures without a text are left out.

    ``exclude``: the name of a diagnostic to omit, or "caveat" to omit the caveats, because the
    output shows them elsewhere.
    """
    import numpy as np

    notes: dict[str, list[str]] = {}
    for m in comparison.measures:
        for name, matrix in comparison.numbers.get(m.spec, {}).items():
            numbers = matrix[~np.isnan(matrix)]
            if name != exclude and numbers.size:
                notes.setdefault(m.spec, []).append(_format_diagnostic_range(name, numbers))
        words = [str(c.value) for c in comparison.pair_caveats if c.measure == m.spec]
        if words and exclude != "caveat":
            notes.setdefault(m.spec, []).append(_count_texts(words))
    return {spec: "; ".join(texts) for spec, texts in notes.items()}


def _format_diagnostic_range(name: str, numbers: np.ndarray) -> str:
    figures = 2 if name == "chance" else 4
    return f"{name.replace('_', ' ')} {format_range(numbers.min(), numbers.max(), figures)}"


def _count_texts(words: Iterable[str]) -> str:
    """Return the distinct texts in ``words``, each with the number of its occurrences: "text (2
    values)", joined by semicolons."""
    counts = Counter(words)
    return "; ".join(f"{text} ({count_with_noun(n, 'value')})" for text, n in counts.items())
