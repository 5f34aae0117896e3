"""The names along the sides of a map: layers, and their models once each, as far as they fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..arrangements import layer_name, models_of
from ..report.maps import ModelSpan, model_groups
from ..report.svg import shortened
from .style import Axes, plain, text_width

SMALLEST, LEAST_MODEL = 4.8, 5.5  # sizes of letters: of names of cells, and of models
LONGEST = 24  # characters of a name


class SideNames(NamedTuple):
    """What is written along a side, the sizes of letters, and the room it takes, in points.

    ``cells``: places of names of single cells; ``models``: of models, which are ``offset`` away.
    """

    cells: tuple[tuple[float, str], ...]
    models: tuple[ModelSpan, ...]
    size: float
    model_size: float
    offset: float
    room: float
    are_turned: bool
    are_models_turned: bool

    @property
    def borders(self) -> tuple[float, ...]:
        """Where one model ends and the next begins."""
        return tuple(run.start - 0.5 for run in self.models[1:])


def side_names(names: Sequence[str], pitch: float, size: float, *, is_below: bool) -> SideNames:
    """Choose what to write along a side with cells of ``pitch`` points, letters of at most
    ``size``."""
    models = model_runs(names)
    small = min(size, 0.92 * pitch)
    fits = small >= SMALLEST
    step = 1 if fits else math.ceil(1.1 * SMALLEST / pitch)
    places = range(0, len(names), step) if fits or not models else range(0)
    texts = [shortened(layer_name(names[i]) if models else names[i], LONGEST) for i in places]
    small = max(small, SMALLEST)
    longest = max((text_width(text, small) for text in texts), default=0.0)
    are_turned = is_below and longest > 0.9 * pitch
    depth = longest if are_turned or not is_below else small * bool(texts)
    offset = depth + 7 if texts else 3
    lengths = [text_width(shortened(run.name, LONGEST), size) for run in models]
    room = [(run.stop - run.start) * pitch / length for run, length in zip(models, lengths)]
    model_size = size * min([1.0, *room])
    fit = model_size >= LEAST_MODEL
    model_size = model_size if fit else size
    across = (1.3 * size if fit else max(lengths)) if models else 0.0
    cells = tuple(zip(map(float, places), texts))
    turned = are_turned, fit != is_below
    return SideNames(cells, models, small, model_size, offset, offset + across + 4, *turned)


def model_runs(names: Sequence[str]) -> tuple[ModelSpan, ...]:
    """Return the models along a side; none unless the layers of each are together, with several of
    one."""
    groups = model_groups(names)
    return groups if len(groups) == len(models_of(names)) < len(names) else ()


def write_names(ax: Axes, side: SideNames, *, is_below: bool) -> None:
    """Write names along the bottom or the left of a map: of cells as minor ticks, of models as
    major ones."""
    axis = ax.xaxis if is_below else ax.yaxis
    axis.remove_overlapping_locs = False
    places, texts = zip(*side.cells) if side.cells else ((), ())
    axis.set_ticks(places, [plain(text) for text in texts], minor=True, fontsize=side.size)
    models = [plain(run.name, LONGEST) for run in side.models]
    axis.set_ticks([run.middle for run in side.models], models, fontsize=side.model_size)
    which = "x" if is_below else "y"
    ax.tick_params(which, which="both", length=0)
    ax.tick_params(which, which="minor", pad=2.5, labelrotation=90 * side.are_turned)
    ax.tick_params(which, which="major", pad=side.offset)
    for label in axis.get_ticklabels(which="major"):
        label.set(rotation=90 * side.are_models_turned)
        label.set(**({"ha": "center"} if is_below else {"va": "center"}))
