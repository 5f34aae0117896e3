"""Compare neural-network representations by measures with proven claims, all pairs at once."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import stability
from .catalogue import get_measure, get_statistic, list_measures, list_statistics, preset
from .claims import AllPairs, Product, Scores, when
from .compare import compare
from .comparison import Comparison
from .dissimilarities import dissimilarities, from_dissimilarities, noise_covariance, rdm
from .drift import Drift, DriftReport, drift
from .engine.forecast import Forecast, plan
from .engine.saved import load
from .inference import Across, Evidence, across, equal_rows, evidence, load_evidence
from .inference.sample_size import samples_for
from .joining import condition_means, join_samples
from .mean_shapes import aligned, mean_shape
from .measure import Measure, UninformativeWarning, measure
from .measures import *  # noqa: F403
from .measures import __all__ as _measures
from .models import compare_models
from .representation import Representation, Undefined, as_representation, pair_view, view
from .sources.extraction import extract_features
from .sources.features import open_features
from .sources.folders import read_subjects
from .sources.hooks import subject_from_model
from .sources.layouts import from_maps, from_tokens, from_trials
from .sources.saving import save_subject
from .sources.trials import from_conditions
from .statistic import Statistic, statistic
from .stream import Stream, stream_from_model
from .subject import Subject
from .views.recall import neighbour_recall

if _TYPE_CHECKING:
    from . import plot
    from .boards.frames import board
    from .choosing import recommend

__version__ = "0.1.0"

__all__ = [
    "Across",
    "AllPairs",
    "Comparison",
    "Drift",
    "DriftReport",
    "Evidence",
    "Forecast",
    "Measure",
    "Product",
    "Representation",
    "Scores",
    "Statistic",
    "Stream",
    "Subject",
    "Undefined",
    "UninformativeWarning",
    "across",
    "aligned",
    "as_representation",
    "board",
    "compare",
    "compare_models",
    "condition_means",
    "dissimilarities",
    "drift",
    "equal_rows",
    "evidence",
    "extract_features",
    "from_conditions",
    "from_dissimilarities",
    "from_maps",
    "from_tokens",
    "from_trials",
    "get_measure",
    "get_statistic",
    "join_samples",
    "list_measures",
    "list_statistics",
    "load",
    "load_evidence",
    "mean_shape",
    "measure",
    "neighbour_recall",
    "pair_view",
    "noise_covariance",
    "open_features",
    "plan",
    "plot",
    "preset",
    "rdm",
    "read_subjects",
    "recommend",
    "samples_for",
    "save_subject",
    "stability",
    "statistic",
    "stream_from_model",
    "subject_from_model",
    "view",
    "when",
    *_measures,
]


def __getattr__(name: str) -> _Any:
    """Import what builds on all results there are when it is asked for."""
    if name == "plot":
        return _import_module(".plot", __name__)
    if name == "board":
        return _import_module(".boards.frames", __name__).board
    if name == "recommend":
        return _import_module(".choosing", __name__).recommend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
