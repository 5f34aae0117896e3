"""One result for all that is run: tables, figures, claims and scores, to save and to show."""

from .claims import Claim
from .figures import (
    Bar,
    Bars,
    Box,
    Boxes,
    Chart,
    Choice,
    Cloud,
    Clouds,
    HeatMap,
    Line,
    Option,
    Strip,
    Strips,
)
from .result import Result, load_result
from .sections import RankRule, Section, Sign, Table

__all__ = [
    "Bar",
    "Bars",
    "Box",
    "Boxes",
    "Chart",
    "Choice",
    "Claim",
    "Cloud",
    "Clouds",
    "HeatMap",
    "Line",
    "Option",
    "RankRule",
    "Result",
    "Section",
    "Sign",
    "Strip",
    "Strips",
    "Table",
    "load_result",
]
