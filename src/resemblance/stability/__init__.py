"""Intervals and permutation tests of statistics, windows in time, and screens of many
perturbations."""

from ._transformations import Transformed, transformation_study, transformations
from .magnitude import MagnitudeBin, discordance, magnitude_matched
from .resampling import Interval, Null, interval, permutation_null
from .screen import Perturbation, Perturbations, perturbations
from .windows import Window, sliding_windows

__all__ = [
    "Interval",
    "MagnitudeBin",
    "Null",
    "Perturbation",
    "Perturbations",
    "Transformed",
    "Window",
    "discordance",
    "interval",
    "magnitude_matched",
    "sliding_windows",
    "permutation_null",
    "perturbations",
    "transformation_study",
    "transformations",
]


def __dir__() -> list[str]:
    return __all__
