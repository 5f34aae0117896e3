"""Compare neural-network representations: measures with proven claims, and one fast engine for all pairs."""

from .catalogue import get_measure, list_measures, preset
from .compare import compare
from .comparison import Comparison, load
from .measure import Measure, measure, when
from .measures import *  # noqa: F403
from .measures import __all__ as _measures
from .representation import Representation, Undefined, as_representation, join_samples, pair_view, view
from .sources.folders import read_subjects
from .sources.hooks import subject_from_model
from .sources.layouts import from_maps, from_tokens
from .subject import Subject

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Measure",
    "Representation",
    "Subject",
    "Undefined",
    "as_representation",
    "compare",
    "from_maps",
    "from_tokens",
    "get_measure",
    "join_samples",
    "list_measures",
    "load",
    "measure",
    "pair_view",
    "preset",
    "read_subjects",
    "subject_from_model",
    "view",
    "when",
    *_measures,
]
