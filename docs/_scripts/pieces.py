"""Pieces of pages: tables in reStructuredText and Markdown, numbers, intervals, claims in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

FAMILY_TITLES = {
    "cca": "Canonical correlations",
    "alignment": "Alignment",
    "similarity_matrix": "Similarity matrices",
    "neighbors": "Neighbourhoods",
    "topology": "Topology",
    "descriptive": "Descriptive statistics",
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
IMPLIED = {"orthogonal": "permutation", "invertible_linear": "orthogonal isotropic_scaling"}
KNOWN = {
    math.inf: "∞",
    -math.inf: "−∞",
    math.pi / 2: "π/2",
    math.sqrt(2): "√2",
    1e6 * math.exp(-4): "10⁶ e⁻⁴",
}


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


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; numbers, in all columns but the first, are aligned right."""
    body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    columns = list(zip(*body, strict=True))
    marks = ["---", *("--:" if all(map(_is_number, column)) else "---" for column in columns[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [list(head), marks, *body])


def _is_number(cell: str) -> bool:
    return not cell or cell == "none" or cell.lstrip("−").replace(".", "").isdigit()


def interval(bounds: tuple[float, float]) -> str:
    low, high = (KNOWN.get(value, f"{value:g}".replace("-", "−")) for value in bounds)
    return f"{low} to {high}"


def invariances(names: Iterable[str]) -> list[str]:
    return [title for name, title in INVARIANCE_TITLES.items() if name in names]


def short_invariances(names: Iterable[str]) -> str:
    """Return the invariances to changes of one side, without those that others imply."""
    invariance_set = set(names) - {"sample_rotation"}
    if "affine" in invariance_set:
        return INVARIANCE_TITLES["affine"]
    implied_names = {
        weaker
        for name, weaker_names in IMPLIED.items()
        if name in invariance_set
        for weaker in weaker_names.split()
    }
    if "invertible_linear" in invariance_set:
        implied_names.add("permutation")
    return ", ".join(invariances(invariance_set - implied_names)) or "nothing"


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
