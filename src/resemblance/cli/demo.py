"""The demonstration: small networks on handwritten digits, their layers compared, and a page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..arrangements import Curve, by_depth
from ..compare import compare
from ..comparison import Comparison
from ..extras import check
from ..report import write_page
from ..report.numbers import number
from ..report.output import show
from .declaring import Opened, commands_of, interrupted, show_page
from .progress import bars

DEMO: Mapping[bool, Mapping[str, int]] = {
    False: {},
    True: {"seeds": 2, "epochs": 12, "images": 200},
}  # by --small
CALLS = ("demo --small", "demo --small --open", "demo -o layers")
SHOWN, SHUFFLED = "cka", "shuffled"  # the measure of the answer; how networks without sense begin
WITH_EACH_OTHER, WITH_SHUFFLED = "between readers", "with the shuffled one"


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page.")] = Path(
        "layers"
    ),
    small: Annotated[
        bool, typer.Option("--small", help="Fewer networks, images and epochs: half a minute.")
    ] = False,
    opened: Opened = False,
) -> int:
    """Train small networks on handwritten digits, compare all their layers, and write a page.

    Nothing is downloaded. The values stay in the folder, so a second run takes seconds.
    """
    from ..sources.training.vision.digits import digits

    for package in ("torch", "jinja2"):
        check(package)
    output.mkdir(parents=True, exist_ok=True)
    database, page = output / "comparison.db", output / "index.html"
    try:
        with bars(False) as progress:
            networks = digits(**DEMO[small], progress=progress)
            shown = partial(progress, "comparing") if progress else False
            comparison = compare(networks.representations, save=database, progress=shown)
    except KeyboardInterrupt:
        return interrupted(database if database.exists() else None)
    accuracies = {name: f"test accuracy {share:.1%}" for name, share in networks.accuracies.items()}
    show([*(f"{name}: {text}" for name, text in accuracies.items()), *answer(comparison)])
    write_demo_page(comparison, page, accuracies)
    print(f"Open {page.resolve()}\nAll values: {database} (resemblance.load reads it)")
    show_page(page, opened)
    return 0


def answer(comparison: Comparison) -> list[Any]:
    """Return which layers of equal depth agree, as a table and a sentence."""
    from ..report.terminal import plain_table

    label = comparison.info(SHOWN).label
    means = {
        WITH_EACH_OTHER: _means([c for c in by_depth(comparison, SHOWN) if not _is_shuffled(c)]),
        WITH_SHUFFLED: _means([c for c in by_depth(comparison, SHOWN) if _is_shuffled(c)]),
    }
    means = {heading: values for heading, values in means.items() if values}
    if not means:
        return []
    layers = list(next(iter(means.values())))
    rows = [
        (layer, *(number(of_layers[layer]) for of_layers in means.values())) for layer in layers
    ]
    title = f"\n{label} of layers of equal depth (1: equal up to rotation and scale)"
    lines = [title, plain_table(("layer", *means), rows, right=range(1, 1 + len(means)))]
    return [*lines, *_in_words(means)]


def _is_shuffled(curve: Curve) -> bool:
    return curve.model.startswith(SHUFFLED) or curve.other.startswith(SHUFFLED)


def _means(curves: list[Curve]) -> dict[str, float]:
    """Return the mean value of every layer over pairs of networks."""
    if not curves:
        return {}
    values = np.mean([curve.values for curve in curves], axis=0)
    return dict(zip(curves[0].layers, values.tolist()))


def _in_words(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return where networks that learned to read agree, and where the other one departs."""
    if len(means) < 2:
        return []
    each_other, shuffled = means[WITH_EACH_OTHER], means[WITH_SHUFFLED]
    apart = max(each_other, key=lambda layer: each_other[layer] - shuffled[layer])
    return [
        f"Networks that learned to read agree most in {max(each_other, key=each_other.__getitem__)}"
        f". The network trained on shuffled labels departs from them most in {apart}: "
        f"{number(shuffled[apart])}, where they have {number(each_other[apart])}.",
        "",
    ]


def write_demo_page(comparison: Comparison, path: Path, accuracies: dict[str, str]) -> None:
    """Write the page of the demonstration, with a sentence on how to read it."""
    introduction = (
        "Small convolutional networks learned to read handwritten digits from different random "
        "starts; one was trained on shuffled labels. How to read the maps: a dark diagonal inside "
        "the block of two networks means that the same layer of both represents the images alike. "
        "Networks trained on true labels show this diagonal with each other; against the network "
        "trained on shuffled labels it fades after layer one and vanishes at the output. Measures "
        "differ in how clearly they show this."
    )
    write_page(
        comparison,
        path,
        title="Layers of networks that read digits",
        introduction=introduction,
        facts=accuracies,
    )


commands = commands_of(("demo", demo_command, CALLS))
