"""The dissimilarities of one representation, as a map."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..dissimilarities import rdm as dissimilarities_of
from ..representation import as_representation
from .maps import MANY, PITCH, SIDE, side_names, write_names
from .style import POINTS, Axes, axes, colour_map, letter_size, plain


def rdm(
    X: Any,
    kind: str = "correlation",
    *,
    groups: Sequence[Hashable] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the dissimilarities between the samples of a representation; return the axes.

    Dark is similar. Colours begin at 0, or at the lowest value where cross-validated ones are below
    it. The ids of the samples are along the sides, as far as they fit.

    Parameters
    ----------
    X : an array (n, d), a representation, or what :func:`resemblance.dissimilarities` and
        :func:`resemblance.from_dissimilarities` return.
    kind : as of :func:`resemblance.rdm`; of given dissimilarities it changes nothing.
    groups : a label for each sample, such as its category: samples of one group are put together,
        groups in the order of their first sample.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``ValueError`` for another kind and for another number of labels, and ``Undefined`` as
    :func:`resemblance.rdm`.
    """
    x = as_representation(X, "X")
    values = dissimilarities_of(x, kind)
    names = [str(name) for name in (range(len(values)) if x.ids is None else x.ids)]
    if groups is not None:
        if len(groups) != len(values):
            raise ValueError(f"plot.rdm: {len(groups)} groups for {len(values)} samples of X")
        labels = [str(group) for group in groups]
        first = {label: place for place, label in reversed(list(enumerate(labels)))}
        order = sorted(range(len(labels)), key=lambda i: first[labels[i]])
        values = values[np.ix_(order, order)]
        names = [f"{labels[i]}/{names[i]}" for i in order]
    pitch = float(np.clip(len(values) * PITCH, *SIDE)) * POINTS / len(values)
    size = 7 if ax is None else letter_size("xtick.labelsize")
    left, bottom = (side_names(tuple(names), pitch, size, is_below=b) for b in (False, True))
    side = len(values) * pitch
    with axes(ax, (side + left.room) / POINTS + 0.75, (side + bottom.room) / POINTS + 0.1) as drawn:
        _mesh(drawn, values, x.signed.kind if x.signed else kind)
        for at in left.borders:
            drawn.axhline(at, color="white", linewidth=1.4)
            drawn.axvline(at, color="white", linewidth=1.4)
        write_names(drawn, left, is_below=False)
        write_names(drawn, bottom, is_below=True)
    return drawn


def _mesh(ax: Axes, values: np.ndarray, kind: str) -> None:
    """Draw the cells and the colour bar."""
    low, high, n = min(float(values.min()), 0.0), float(values.max()) or 1.0, len(values)
    colours = colour_map(is_diverging=False, is_reversed=True)
    edges = np.arange(n + 1) - 0.5
    options = {"cmap": colours, "vmin": low, "vmax": high, "rasterized": values.size > MANY}
    mesh = ax.pcolormesh(edges, edges, values, edgecolors="face", linewidth=0.1, **options)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.9, pad=0.03, aspect=18)
    bar.outline.set_visible(False)
    bar.ax.set_ylim(high, low)  # the similar end on top
    bar.ax.tick_params(length=0)
    bar.set_label(plain(f"dissimilarity: {kind}", 60))
    bar.solids.set_edgecolor("face")
