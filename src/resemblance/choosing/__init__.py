"""Which measures answer a question, by proven claims and by the scores of the board."""

from ..boards.views import DOMAINS
from .needs import Needs
from .questions import QUESTIONS, SIGHTS
from .recommendation import Candidate, Exclusion, Recommendation
from .recommending import recommend

__all__ = [
    "DOMAINS",
    "QUESTIONS",
    "SIGHTS",
    "Candidate",
    "Exclusion",
    "Needs",
    "Recommendation",
    "recommend",
]
