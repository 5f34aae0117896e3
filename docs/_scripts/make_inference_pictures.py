"""Draw the pictures of the pages on inference: docs/_static/more-than-chance.svg and four others.

Every array is that of a snippet of its page, taken from the page.
``python docs/_scripts/write_tables.py pictures`` writes the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import resemblance as rs

DOCS = Path(__file__).parents[1]
BLUE, ORANGE, YELLOW, GREY, INK = "#0b62a4", "#c2410c", "#e0a100", "#98a3ae", "#5c6875"
STYLE = {
    "svg.hashsalt": "resemblance",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.color": INK,
    "hatch.linewidth": 0.5,
}
DEBIASED = "cka[estimator=debiased]"
Names = dict[str, Any]


def drawings() -> dict[str, bytes]:
    """Return all pictures, by the names of their files."""
    files = {}
    for name, draw in PICTURES.items():
        with plt.rc_context(STYLE):
            figure, file = draw(names_of(name)), BytesIO()
            figure.savefig(file, metadata={"Date": None, "Creator": None}, transparent=True)
            plt.close(figure)
        files[f"{name}.svg"] = file.getvalue()
    return files


def names_of(page: str) -> Names:
    """Run the snippets of a page up to its picture, and return what they name."""
    text = (DOCS / f"{page}.md").read_text().split("```{image}")[0]
    names: Names = {"__name__": page}
    for code in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        exec(code, names)
    return names


def drawn(x: np.ndarray, y: np.ndarray, **design: Any) -> tuple[np.ndarray, float]:
    """Return debiased CKA in the orders of a design, and the value that they are compared with."""
    options = {"measures": DEBIASED, "null": "permutations", "progress": False, **design}
    e = rs.evidence({"X": x}, {"Y": y}, **options)
    return e.nulls[DEBIASED].drawn[0, 0], float(e[DEBIASED][0, 0])


def histogram(axis: Any, values: np.ndarray, value: float, color: str, title: str) -> None:
    """Draw values in orders of the samples, and the value itself as a line."""
    axis.hist(values, bins=30, color=color, alpha=0.75)
    axis.axvline(value, color=BLUE, linewidth=2)
    axis.set_title(title, loc="left")
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


# ---------------------------------------------------------------------------------- the pictures


def more_than_chance(names: Names) -> Any:
    """Draw chance under free permutations and within classes."""
    figure, axes = plt.subplots(2, 1, figsize=(8, 3.6), layout="constrained")
    titles = ("Free permutations: p < 0.0001", "Permutations within classes: p = {p:.2f}")
    sides, designs = ("right", "left"), (None, names["classes"])
    for axis, title, side, within in zip(axes, titles, sides, designs, strict=True):
        values, value = drawn(names["X"], names["Y"], within=within)
        p = (1 + (values >= value).sum()) / (1 + len(values))
        histogram(axis, values, value, GREY, title.format(p=p))
        axis.annotate(
            f"observed {value:.3f}",
            (value, 0.9),
            xycoords=("data", "axes fraction"),
            xytext=(-6 if side == "right" else 6, 0),
            textcoords="offset points",
            ha=side,
            color=BLUE,
        )
    axes[0].set_xlim(-0.05, 1)
    axes[1].set_xlabel("debiased CKA")
    return figure


def how_many_samples(names: Names) -> Any:
    """Draw biased and debiased CKA by the number of samples."""
    figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
    sizes = [25, 50, 100, 200, 400, 800, 1600]
    for measure, color, label in (("cka", ORANGE, "biased"), (DEBIASED, BLUE, "debiased")):
        for style, is_related in (("-", True), ("--", False)):
            low, value, high = np.transpose(
                [interval(names, n, measure, is_related) for n in sizes]
            )
            axis.plot(sizes, value, style, color=color, marker="o", markersize=3)
            axis.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
            if is_related:
                axis.text(1680, value[-1], f"{label}", color=color, va=VA[label])
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(sizes, [f"{n}" for n in sizes])
    axis.set_xlabel("samples")
    axis.set_ylabel("CKA")
    axis.set_ylim(-0.1, 1)
    return figure


VA = {"biased": "bottom", "debiased": "top"}


def interval(names: Names, n: int, measure: str, is_related: bool) -> tuple[float, float, float]:
    """Return the ends of an interval around a value."""
    X, Y = names["recordings"](n, 40)
    if not is_related:
        Y = names["recordings"](n, 40, seed=1)[1]
    e = rs.evidence({"X": X}, {"Y": Y}, measures=measure, n_permutations=1, progress=False)
    cells = e.low(measure), e[measure], e.high(measure)
    low, value, high = (float(cell[0, 0]) for cell in cells)
    return low, value, high


def closer(names: Names) -> Any:
    """Draw two scores, and their difference, paired and not."""
    e, m = names["e"], names["m"]
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.2), layout="constrained")
    scores = [
        (e[m][0, j], (e.high(m) - e[m])[0, j], f"A and {name}") for j, name in enumerate("BC")
    ]
    paired_difference = e.difference(m, ("A", "B"), ("A", "C"))
    unpaired_difference = e.difference(m, ("A", "B"), ("A", "C"), of=e)
    differences = [
        (d.value, d.high - d.value, label)
        for d, label in ((paired_difference, "paired"), (unpaired_difference, "unpaired"))
    ]
    titles = ("Debiased CKA", "Difference")
    for axis, bars, title in zip(axes, (scores, differences), titles, strict=True):
        for position, (value, half, _) in enumerate(bars):
            color = BLUE if position == 0 else GREY
            axis.errorbar(value, -position, xerr=half, fmt="o", color=color, capsize=4, linewidth=2)
        axis.set_yticks([0, -1], [label for *_, label in bars])
        axis.set_ylim(-1.6, 0.6)
        axis.set_title(title, loc="left")
    axes[1].axvline(0, color=INK, linewidth=0.8)
    return figure


def maps_of_layers(names: Names) -> Any:
    """Draw a map of values, and of values above chance; hatch pairs that are not significant."""
    e = names["e"]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.7), layout="constrained")
    for axis, cells, title in zip(
        axes, (e["cka"], e.above_chance("cka")), ("CKA, biased", "Above chance"), strict=True
    ):
        picture = axis.pcolormesh(cells, cmap="Blues", vmin=0, vmax=0.8)
        axis.set(title=title, aspect="equal", xlabel="other network")
        axis.invert_yaxis()
        ticks = np.arange(6) + 0.5
        axis.set_xticks(ticks, [f"{layer}" for layer in range(1, 7)])
        axis.set_yticks(ticks, [f"layer {layer}" for layer in range(1, 7)])
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
    for i, j in np.argwhere(e.pvalue("cka", adjust="familywise") > 0.05):
        axes[1].add_patch(plt.Rectangle((j, i), 1, 1, fill=False, hatch="////", linewidth=0))
    figure.colorbar(picture, ax=axes, shrink=0.8).outline.set_visible(False)
    return figure


def trials_documents_time(names: Names) -> Any:
    """Draw free permutations and the right design for unrelated documents and series."""
    figure, axes = plt.subplots(2, 2, figsize=(8, 3.6), sharex="row", layout="constrained")
    X, Y, S, T = (names[name] for name in "XYST")
    histogram(axes[0, 0], *drawn(X, Y), GREY, "Documents: permuted sentences")
    block_values = drawn(X, Y, whole_blocks=names["documents"])
    histogram(axes[0, 1], *block_values, YELLOW, "Permuted whole documents")
    histogram(axes[1, 0], *drawn(S, T), GREY, "Series: permuted steps")
    histogram(axes[1, 1], *of_shifts(S, T), YELLOW, "Windows shifted")
    for axis in axes[1]:
        axis.set_xlabel("debiased CKA")
    return figure


def of_shifts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Return debiased CKA of windows that are shifted, and of those that are not."""
    n, max_shift = len(x), len(x) // 4
    values = {
        shift: rs.cka(
            x[max_shift : n - max_shift],
            y[max_shift + shift : n - max_shift + shift],
            estimator="debiased",
        )
        for shift in range(-max_shift, max_shift + 1)
    }
    value = float(values.pop(0))
    return np.array(list(values.values()), float), value


PICTURES: dict[str, Callable[[Names], Any]] = {
    "more-than-chance": more_than_chance,
    "how-many-samples": how_many_samples,
    "closer": closer,
    "maps-of-layers": maps_of_layers,
    "trials-documents-time": trials_documents_time,
}
