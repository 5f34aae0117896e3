"""Which measures answer a question, by proven claims and by the scores of the board."""

from ..boards.views import DOMAINS
from .questions import QUESTIONS, SIGHTS, Needs
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
