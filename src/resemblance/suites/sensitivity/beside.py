"""The paper's tables by layer and by corruption (3 to 14, 16 and 17) beside ours, where there is
something alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...results.sections import Entry, Table
from ..published import published
from .grading import mean_of_all, value_of
from .sections import NAMES, Finding
from .settings import CKA, PAPER, PROCRUSTES

TABLES: Mapping[str, tuple[str, ...]] = {
    "spearman": ("3", "5", "7", "9", "11", "13"),
    "kendall": ("4", "6", "8", "10", "12", "14"),
}
CORRUPTIONS: Mapping[str, str] = {"spearman": "16", "kendall": "17"}
ALIKE: Mapping[str, str] = {  # our corruption by the paper's
    "gaussian_noise": "gaussian_noise", "shot_noise": "shot_noise",
    "impulse_noise": "impulse_noise",
    "gaussian_blur": "blur", "brightness": "brightness", "contrast": "contrast",
    "elastic_transform": "elastic",
    "pixelate": "pixelate", "jpeg_compression": "compression",
}  # fmt: skip
Results = Mapping[str, Sequence[Finding]]


def beside(results: Results, quality: str) -> list[Table]:
    """Return the tables of the paper that something of ours corresponds to, with ours."""
    language = {
        name: n
        for name, found in results.items()
        for family, n in found
        if family.domain == "language"
    }
    vision = [n for family, n in results.get("pretraining", ()) if family.domain == "vision"]
    tables = [_by_layer(language, quality)] if language else []
    return tables + ([_by_corruption(vision[0], quality)] if vision else [])


def _by_layer(language: Mapping[str, Mapping[str, Any]], quality: str) -> Table:
    printed: dict[tuple[str, str, str], dict[str, float | None]] = {}
    for cell in (cell for table in TABLES[quality] for cell in published(table, paper="ding")):
        if cell.test in language:
            printed.setdefault((cell.test, cell.dataset, cell.architecture), {})[cell.measure] = (
                cell.value
            )
    rows = []
    for (test, functionality, architecture), values in printed.items():
        layer = _alike(language[test], test, architecture)
        ours = [_ours(language[test], layer, spec, quality) for spec in PAPER.values()]
        rows.append(
            (functionality, architecture, *(values.get(s) for s in PAPER.values()), layer, *ours)
        )
    names = [NAMES[spec] for spec in PAPER.values()]
    columns = (
        "functionality",
        "model",
        *(f"{n}, paper" for n in names),
        "our layer",
        *(f"{n}, ours" for n in names),
    )
    note = (
        "The paper's Tables 3 to 14. Ours: the language models, mean over functionalities, in the "
        "layer at the same share of the depth; for deleted components counted from the last "
        "layer, as we have fewer; for probes all."
    )
    title = f"The paper's layers beside ours: {quality.capitalize()}"
    return Table(f"paper layers {quality}", title, columns, tuple(rows), note)


def _alike(numbers: Mapping[str, Any], test: str, architecture: str) -> str | None:
    """Return our layer that corresponds to one of the paper's; None where there is none."""
    layers: list[str] = list(numbers["by_layer"])
    number = architecture.rpartition(" layer ")[2]
    if test == "layers" or not number.isdigit():
        return "all" if test == "layers" else None
    depth = 12 if architecture.startswith("BERT-base") else 8
    if test == "deletion":
        back = depth - int(number)
        return layers[-1 - back] if back < len(layers) else None
    return layers[max(1, round(int(number) / depth * len(layers))) - 1]


def _ours(numbers: Mapping[str, Any], layer: str | None, spec: str, quality: str) -> float | None:
    cells = [c for c in numbers["cells"] if layer == c["layer"] and spec in c["values"]]
    return mean_of_all(value_of(c, spec, quality) for c in cells)


def _by_corruption(numbers: Mapping[str, Any], quality: str) -> Table:
    printed: dict[str, dict[str, float | None]] = {}
    for cell in published(CORRUPTIONS[quality], paper="ding"):
        printed.setdefault(cell.dataset, {})[cell.measure] = cell.value
    rows: list[tuple[Entry, ...]] = []
    for corruption, values in printed.items():
        name = "*" if corruption == "Average" else ALIKE.get(corruption, "")
        ours = [
            numbers["means"].get(name, {}).get(s, {quality: [None]})[quality][0]
            for s in (PROCRUSTES, CKA)
        ]
        shown = {"*": "mean of all", "": None}.get(name, name)
        rows.append((corruption, values.get(PROCRUSTES), values.get(CKA), shown, *ours))
    columns = (
        "corruption",
        "Procrustes, paper",
        "CKA, paper",
        "ours",
        "Procrustes, ours",
        "CKA, ours",
    )
    note = (
        f"The paper's Table {CORRUPTIONS[quality]}. Ours: small networks on digits of 8 x 8 "
        "pixels; colour and weather"
    )
    note += " have nothing alike there."
    title = f"The paper's corruptions beside ours: {quality.capitalize()}"
    return Table(f"paper corruptions {quality}", title, columns, tuple(rows), note)
