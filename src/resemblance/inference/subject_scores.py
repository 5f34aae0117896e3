"""The scores of models with several subjects: what results at one time and over time share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.extras import import_optional
from ..base.results import BaseResult
from ..comparison.comparison import Failure
from .several_models import SCORE_TITLES, ModelScore


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SubjectScores(BaseResult):
    """Scores of models with each subject, and the means over subjects with their errors.

    ``values`` (..., subjects, models) has the score of each subject; ``mean``, ``standard_error``,
    ``low`` and ``high`` (..., models) describe the means over subjects.
    """

    measure: str
    score: ModelScore = "similarity"
    subjects: tuple[str, ...]
    models: tuple[str, ...]
    values: np.ndarray
    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    freedom: int
    confidence_level: float
    is_0_by_chance: bool  # the mean score of an unrelated model is 0
    failures: tuple[Failure, ...] = ()
    caveats: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The measure in words: the kind of score, unless "similarity", then the specification."""
        words = SCORE_TITLES.get(self.score)
        return f"{words}, {self.measure}" if words else self.measure

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` of scores (extra ``frames``).

        The dataset has the ``value`` per subject and model, and the mean, the error and the
        interval per model; scores over time have these per time.
        """
        places = self._places()
        names = ("mean", "standard_error", "low", "high")
        data: dict[str, Any] = {name: ((*places, "model"), getattr(self, name)) for name in names}
        data["value"] = ((*places, "subject", "model"), self.values)
        coords = {**places, "subject": list(self.subjects), "model": list(self.models)}
        return import_optional("xarray").Dataset(data, coords, {"measure": self.measure})

    def _places(self) -> dict[str, np.ndarray]:
        """Return the coordinates of the axes before subjects and models, such as times, by
        name."""
        return {}

    def _column(self, name: str) -> int:
        """Return the position of model ``name`` in ``models``; ``KeyError`` for an unknown
        name."""
        if name not in self.models:
            raise KeyError(f"no model {name!r}; there are {', '.join(self.models)}")
        return self.models.index(name)

    def _notes(self) -> list[str]:
        """Return the lines about excluded subjects and caveats at the end of a summary."""
        notes = [f"{failure.x} is left out: {failure.reason}" for failure in self.failures]
        return [f"  {note}" for note in (*notes, *self.caveats)]
