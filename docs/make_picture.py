"""Draw docs/_static/picture.svg: all layers of four small networks, compared by three measures."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import resemblance as rs
from resemblance.sources.trained.digits import digits

MEASURES = {
    "cka": "CKA (similarity)",
    "procrustes": "Procrustes (distance)",
    "jaccard": "Jaccard, 10 neighbours (similarity)",
}
NETWORKS = ("seed 0", "seed 1", "seed 2", "shuffled 0")
TARGET = Path(__file__).parent / "_static" / "picture.svg"


def main() -> None:
    """Train, compare, draw."""
    networks = digits(seeds=3, shuffled=1)
    result = rs.compare(networks.representations, measures=list(MEASURES), progress=False)
    check_caption(result)
    plt.rcParams |= {
        "svg.hashsalt": "resemblance",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
    }
    figure, axes = plt.subplots(1, len(MEASURES), figsize=(11, 4.1), layout="constrained")
    for axis, (name, title) in zip(axes, MEASURES.items(), strict=True):
        draw(figure, axis, result, name, title, labels=axis is axes[0])
    figure.savefig(TARGET, metadata={"Date": None, "Creator": None})


def check_caption(result: rs.Comparison) -> None:
    """Stop unless it is true that, beyond the first layer, the seeds resemble each other most,
    layer by layer."""
    for name in MEASURES:
        difference = result.difference(name)
        for layer in ("conv2", "conv3", "linear"):
            *seeds, odd = (result.rows.index(f"{network}/{layer}") for network in NETWORKS)
            across = max(difference[i, j] for i in seeds for j in seeds if i != j)
            shuffled = min(difference[i, odd] for i in seeds)
            assert across < shuffled, (
                f"{name} of {layer}: {across:.3f} across seeds, {shuffled:.3f} to shuffled labels"
            )


def draw(figure, axis, result: rs.Comparison, name: str, title: str, labels: bool) -> None:
    """Draw one matrix; dark is similar for every measure."""
    values = result[name]
    colours = "Blues" if result.info(name).larger_is_more_similar else "Blues_r"
    picture = axis.pcolormesh(
        values, cmap=colours, vmin=0, vmax=1 if name != "procrustes" else np.sqrt(2)
    )
    axis.set_title(title, fontsize=10)
    axis.set_aspect("equal")
    axis.invert_yaxis()
    name_layers(axis, result, labels)
    figure.colorbar(picture, ax=axis, shrink=0.75, pad=0.02).outline.set_visible(False)
    for spine in axis.spines.values():
        spine.set_visible(False)


def name_layers(axis, result: rs.Comparison, labels: bool) -> None:
    """Write the layers beside a matrix, and the models below it and, with ``labels``, left of it;
    white lines are between models."""
    groups = [row.split("/")[0] for row in result.rows]
    layers = [
        row.split("/")[1].replace("linear", "out").removeprefix("conv") for row in result.rows
    ]
    starts = [i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]
    for start in starts[1:]:
        axis.axhline(start, color="white", linewidth=1.5)
        axis.axvline(start, color="white", linewidth=1.5)
    centres = np.arange(len(layers)) + 0.5
    axis.set_xticks(centres, layers, fontsize=7)
    axis.set_yticks(centres, layers, fontsize=7)
    axis.tick_params(length=0)
    height = len(groups) / len(starts)
    style = {"ha": "center", "va": "center", "fontsize": 8}
    for start in starts:
        centre = start + height / 2
        axis.text(centre, len(groups) + 1.7, groups[start], **style)
        if labels:
            axis.text(-1.9, centre, groups[start], rotation=90, **style)


if __name__ == "__main__":
    main()
