"""Figures for papers and notebooks with matplotlib, which is imported at the first call.

Every function returns the axes, so that ``ax.figure.savefig("figure.pdf")`` writes the figure. A
function draws into ``ax``, in the style of the given axes, or into a new figure as wide as a column
of a paper. Colours differ in lightness, so that figures can be printed in grey. Dark means similar,
whatever the direction of a measure.
"""

from ._intervals import drift, intervals, model_scores, points
from ._ranks import box, ranks
from ._style import style
from ._time_courses import time_courses
from .curves import layers, scale_curve
from .drawing import draw
from .embeddings import mds, tree
from .maps import heatmap, rdm

__all__ = [
    "model_scores",
    "box",
    "draw",
    "drift",
    "heatmap",
    "intervals",
    "layers",
    "mds",
    "points",
    "ranks",
    "rdm",
    "scale_curve",
    "style",
    "time_courses",
    "tree",
]


def __dir__() -> list[str]:
    return __all__
