"""What a measure or statistic claims, tried on small data: the same properties for those of the
catalogue and for a user's own; and what a result can do."""

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
