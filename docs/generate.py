"""Write the pages that follow from the catalogue: one per measure, the table of all, and the tables
of numbers.

Nothing here is written by hand: the text is the measure's docstring, the table its claims, the code
its source, and the numbers are computed by :mod:`computed` when the pages are built.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
import textwrap
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import computed
import conventions
import inference_tables
import stream_tables

import resemblance as rs
from resemblance.declared import INVARIANCES, implied
from resemblance.measure import FAMILIES
from resemblance.streamed import STREAMS, needs_of

FAMILY_TITLES = {
    "cca": "Canonical correlations",
    "alignment": "Alignment",
    "similarity_matrix": "Similarity matrices",
    "neighbours": "Neighbourhoods",
    "topology": "Topology",
    "statistic": "Statistics",
    "outputs": "Outputs",
}
INVARIANCE_TITLES = {
    "permutation": "permuted columns",
    "orthogonal": "rotation",
    "isotropic_scaling": "scaling",
    "translation": "translation",
    "invertible_linear": "invertible linear map",
    "affine": "affine map",
    "sample_rotation": "rotation of the samples of both that leaves the means",
}
KNOWN = {
    math.inf: "∞",
    -math.inf: "−∞",
    math.pi / 2: "π/2",
    math.sqrt(2): "√2",
    1e6 * math.exp(-4): "10⁶ e⁻⁴",
}


def main(folder: Path) -> None:
    """Write every generated page into ``folder``, leaving alone what has not changed."""
    folder.mkdir(exist_ok=True)
    cases = computed.simple_cases()
    pages = {f"{m.name}.rst": measure_page(m, cases) for m in rs.list_measures()}
    pages["index.rst"] = index_page()
    pages["_resi.rst"] = resi_tables()
    pages["_conventions.rst"] = conventions_table()
    pages["_chance.rst"] = chance_table()
    pages["_inference.rst"] = inference_table()
    pages["_streams.rst"] = stream_table()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()


# -------------------------------------------------------------------------------------- one measure


def measure_page(m: rs.Measure, cases: computed.Cases) -> str:
    """Return the page of a measure: text and formula, claims, what it says in simple cases,
    source."""
    title = f"{m.label}: {m.name}"
    parts = [
        f".. _measure-{m.name}:\n\n{title}\n{'=' * len(title)}\n\n.. py:currentmodule:: "
        f"resemblance",
        f".. py:function:: {m.name}{signature(m)}\n\n"
        + textwrap.indent(inspect.getdoc(m.function), "   "),
        section("Claims", claims_table(m)),
        section("Parameters", parameter_table(m)) if m.defaults else "",
        section("Claims that change with a parameter", change_table(m)) if m.changes else "",
        section("In simple cases", simple_cases(m, cases)),
        section("The code", source(m)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def signature(m: rs.Measure) -> str:
    parameters = [f"{name}={value!r}" for name, value in m.defaults.items()]
    return f"({', '.join(['X', 'Y', *(['*'] if parameters else []), *parameters])})"


def claims_table(m: rs.Measure) -> str:
    kind = (
        "similarity: larger is more similar"
        if m.larger_is_more_similar
        else "difference: smaller is more similar"
    )
    rows = [
        ("direction", kind),
        ("range", interval(m.range)),
        ("symmetric", "yes" if m.symmetric else "no: m(X, Y) and m(Y, X) differ"),
        ("metric", "yes: the triangle inequality holds" if m.metric else "no"),
        (
            "X with itself",
            "the most similar value" if m.identity else "not always the most similar value",
        ),
        (
            "unchanged by",
            ", ".join(invariances(m.invariant_to)) or "none of the transformations below",
        ),
        ("changed by", ", ".join(invariances(set(INVARIANCES) - m.invariant_to)) or "none of them"),
        ("of a stream", STREAMS[needs_of(m)]),
        ("gradients", "yes, for PyTorch tensors that carry them" if m.differentiable else "no"),
        ("deterministic", "yes" if m.deterministic else "no"),
        ("samples", f"at least {m.min_samples}"),
        ("says little", m.uninformative_when or "nothing is known of it"),
        ("family", FAMILY_TITLES[m.family].lower()),
        ("version", str(m.version)),
        ("needs", f"the extra ``{m.extra}``" if m.extra else "nothing optional"),
        ("reference", f":cite:t:`{m.reference}`"),
    ]
    text = (
        "The transformations are of either argument alone, but rotation of the samples is of both "
        "together. The test suite checks these claims in both directions."
    )
    return f"{text}\n\n{table(None, rows)}"


def parameter_table(m: rs.Measure) -> str:
    hints = typing.get_type_hints(m.function)
    rows = []
    for name, default in m.defaults.items():
        choices = (
            typing.get_args(hints[name]) if typing.get_origin(hints[name]) is typing.Literal else ()
        )
        kind = (
            ", ".join(f"``{c!r}``" for c in choices)
            or f"``{getattr(hints[name], '__name__', hints[name])}``"
        )
        rows.append((f"``{name}``", kind, f"``{default!r}``"))
    return table(("parameter", "values", "default"), rows)


def change_table(m: rs.Measure) -> str:
    rows = []
    for change in m.changes:
        conditions = ", ".join(
            condition(name, wanted) for name, wanted in change.parameters.items()
        )
        rows.append(
            (
                f"``{conditions}``",
                "; ".join(claim(name, value) for name, value in change.claims.items()),
            )
        )
    return table(("with", "claim"), rows)


def condition(name: str, wanted: object) -> str:
    """Return ``name=value``, or the expression of a condition that is a function of the value."""
    if not callable(wanted):
        return f"{name}={wanted!r}"
    found = re.search(rf"lambda {name}: ([^}},]+)", inspect.getsource(wanted))
    return found[1] if found else f"some {name}"


def claim(name: str, value: object) -> str:
    titles = {
        "invariant_to": "unchanged by", "min_samples": "samples, at least",
        "differentiable": "gradients",
        "identity": "X with itself is always most similar",
        "extra": "needs the extra",
    }  # fmt: skip
    if name == "invariant_to":
        text = ", ".join(invariances(implied(value))) or "nothing"
    elif name == "range":
        text = interval(value)
    else:
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return f"{titles.get(name, name)}: {text}"


def simple_cases(m: rs.Measure, cases: computed.Cases) -> str:
    rows = [(name, number(value)) for name, value in cases.of(m)]
    return f"{cases.description}\n\n{table(('Y is', m.label), rows, numbers=True)}"


def source(m: rs.Measure) -> str:
    """Return the function without decorator and docstring, as it is in the package."""
    text = Path(inspect.getsourcefile(m.function)).read_text()
    node = next(
        n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == m.name
    )
    docstring, *body = node.body
    lines = text.splitlines()
    code = "\n".join(
        lines[node.lineno - 1 : docstring.lineno - 1] + lines[body[0].lineno - 1 : node.end_lineno]
    )
    file = "/".join(m.function.__module__.split("."))
    return (
        f"From ``src/{file}.py``, without the docstring:\n\n.. code-block:: "
        f"python\n\n{textwrap.indent(code, '   ')}"
    )


# --------------------------------------------------------------------------------------- the tables


def index_page() -> str:
    """Return the page with the claims of all measures, grouped by family."""
    count = len(rs.list_measures())
    intro = f"""\
The measures
============

There are {count} measures. Each is called as ``rs.name(X, Y)``, where the rows of X and Y are the
same samples in the same order. The families are those of the survey by
:cite:t:`klabunde2025similarity`, with the outputs of classifiers as a family of their own.

The tables state what is claimed of each measure with its default parameters. The test suite checks
every entry in both directions: a measure that claims to be unchanged by rotation is, and one that
does not claim it is changed by it.

*Direction*: ↑ larger is more similar, ↓ smaller is more similar. *Unchanged by*: P permuted
columns, R rotation, S isotropic scaling, T translation, L invertible linear map, of either
representation alone; Q a rotation of the samples of both that leaves the means, so that the measure
:doc:`streams <../stream>`. *Sym.*: symmetric. *Metric*: the triangle inequality holds.
*∇*: differentiable. *n*: fewest samples.

Choose by what a comparison should ignore: :doc:`../choosing`. Where published codes disagree:
:doc:`../disagreements`.
"""
    return "\n\n".join([intro, *map(index_family, FAMILIES)]) + "\n"


def index_family(family: str) -> str:
    """Return the claims of the measures of a family, and their pages for the side bar."""
    members = rs.list_measures(family=family)
    head = (
        "measure", "label", "", "range", "sym.", "metric", "unchanged by", "∇", "n", "reference",
    )  # fmt: skip
    claims = section(
        FAMILY_TITLES[family], table(head, [index_row(m) for m in members], numbers=True)
    )
    pages = "\n".join(f"   {m.name}" for m in members)
    return f"{claims}\n\n.. toctree::\n   :hidden:\n   :caption: {FAMILY_TITLES[family]}\n\n{pages}"


def index_row(m: rs.Measure) -> tuple[str, ...]:
    letters = {"permutation": "P", "orthogonal": "R", "isotropic_scaling": "S", "translation": "T"}
    letters |= {"invertible_linear": "L", "sample_rotation": "Q"}
    kept = " ".join(letter for name, letter in letters.items() if name in m.invariant_to)
    return (
        link(m.name),
        m.label,
        "↑" if m.larger_is_more_similar else "↓",
        interval(m.range),
        mark(m.symmetric),
        mark(m.metric),
        kept or "–",
        mark(m.differentiable),
        str(m.min_samples),
        f":cite:t:`{m.reference}`",
    )


def resi_tables() -> str:
    """Return, for both golden cases, the default, the ReSi preset and the recorded value of the
    ReSi code."""
    parts = []
    for case, title in computed.GOLDEN_CASES.items():
        rows = [
            (
                link(r.name),
                number(r.default),
                number(r.resi),
                number(r.recorded),
                number(r.resi - r.default) if r.spec != r.name else "",
                r.spec.removeprefix(r.name).strip("[]"),
            )
            for r in computed.resi_rows(case)
        ]
        head = (
            "measure",
            "default",
            '``preset("resi")``',
            "ReSi code, recorded",
            "preset − default",
            "in the preset",
        )
        parts.append(f"**{title}**\n\n{table(head, rows, numbers=True)}")
    return "\n\n".join(parts) + "\n"


def conventions_table() -> str:
    rows = [
        (
            row.measure,
            row.convention,
            number(row.independent),
            number(row.related),
            row.here,
            row.used_by,
        )
        for row in conventions.conventions()
    ]
    head = ("name", "convention", "independent", "related", "here", "found in")
    return table(head, rows) + "\n"


def chance_table() -> str:
    sizes, rows = computed.chance_levels()
    head = ("measure", *(f"n = {n}, d = {d}" for n, d in sizes))
    body = [(link(m.name) + parameters(m), *(decimal(v) for v in values)) for m, values in rows]
    return table(head, body, numbers=True) + "\n"


def stream_table() -> str:
    rows = [(link(m.name) + parameters(m), *row) for m, *row in stream_tables.stream_rows()]
    return table(("measure", "needs", "whitens"), rows) + "\n"


def inference_table() -> str:
    head = ("measure", "p-values", "intervals", "chance", "views")
    body = [(link(row.measure), *row[1:]) for row in inference_tables.inference_rows()]
    return table(head, body) + "\n"


def parameters(m: rs.Measure) -> str:
    return f" ``{m.spec.removeprefix(m.name)}``" if m.spec != m.name else ""


# ------------------------------------------------------------------------------------------- pieces


def section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n\n{body}"


def table(head: Sequence[str] | None, rows: Iterable[Sequence[str]], numbers: bool = False) -> str:
    """Return a reStructuredText list table."""
    lines = [".. list-table::"]
    lines += ["   :header-rows: 1"] if head else ["   :stub-columns: 1"]
    lines += ["   :class: numbers"] if numbers else []
    lines.append("")
    for row in [*([head] if head else []), *rows]:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines)


def interval(bounds: object) -> str:
    low, high = (KNOWN.get(value, f"{value:g}".replace("-", "−")) for value in bounds)
    return f"{low} to {high}"


def invariances(names: Iterable[str]) -> list[str]:
    return [title for name, title in INVARIANCE_TITLES.items() if name in names]


def link(name: str) -> str:
    return f":ref:`{name} <measure-{name}>`"


def mark(value: bool) -> str:
    return "✓" if value else "–"


def number(value: float | None) -> str:
    """Return a number as it is printed everywhere: four significant digits, rounding noise as 0."""
    if value is None or math.isnan(value):
        return "none"
    if abs(value) < 1e-7:
        return "0"
    form = ".0f" if abs(value) >= 1000 else "#.4g" if abs(value) >= 1e-3 else ".2g"
    return f"{value:{form}}".replace("-", "−")


def decimal(value: float) -> str:
    """Return a value between -1 and 2 with three digits after the point."""
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000").replace("-", "−")


if __name__ == "__main__":
    main(Path(__file__).parent / "measures")
