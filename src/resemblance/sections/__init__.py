"""The result type of every run: tables, figures, claims and scores, to save and to show."""

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
    Dendrogram,
    HeatMap,
    Line,
    Merge,
    Option,
    Strip,
    Strips,
    Switch,
)
from .result import Result
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
    "Dendrogram",
    "HeatMap",
    "Line",
    "Merge",
    "Option",
    "RankRule",
    "Result",
    "Section",
    "Sign",
    "Strip",
    "Strips",
    "Switch",
    "Table",
]
