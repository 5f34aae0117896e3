"""Checks of declared properties on small data, for measures and statistics of the catalogue and for
a user's own functions; and checks of results, figures, suites, commands and readers."""

from .checking import check_measure, check_statistic
from .commands import check_command
from .figures import check_figure
from .readers import check_reader
from .results import check_result
from .suites import check_suite
from .trial import Outcome

__all__ = [
    "Outcome",
    "check_command",
    "check_figure",
    "check_measure",
    "check_reader",
    "check_result",
    "check_statistic",
    "check_suite",
]
