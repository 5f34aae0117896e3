"""Statistics of one representation: how reliable its geometry is, and what is reported with it."""

from ..catalogue import get_statistic, list_statistics
from ..statistics import *  # noqa: F403
from ..statistics import __all__ as _statistics
from .magnitude import MagnitudeBin, discordance, magnitude_matched
from .resampling import Interval, Null, interval, permutation_null
from .screen import Perturbation, Perturbations, perturbations
from .transformations import Transformed, transformation_study, transformations
from .windows import Window, over_windows

__all__ = [
    "Interval",
    "MagnitudeBin",
    "Null",
    "Perturbation",
    "Perturbations",
    "Transformed",
    "Window",
    "discordance",
    "get_statistic",
    "interval",
    "list_statistics",
    "magnitude_matched",
    "over_windows",
    "permutation_null",
    "perturbations",
    "transformation_study",
    "transformations",
    *_statistics,
]
