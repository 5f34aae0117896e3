"""Compare neural-network representations by measures with proven claims, all pairs at once."""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from . import plot as plot
    from . import report as report
    from . import stability as stability
    from .boards.standing import board as board
    from .catalogue import get_measure as get_measure
    from .catalogue import get_statistic as get_statistic
    from .catalogue import list_measures as list_measures
    from .catalogue import list_statistics as list_statistics
    from .catalogue import preset as preset
    from .citations import cite as cite
    from .claims import AllPairs as AllPairs
    from .claims import Product as Product
    from .claims import Scores as Scores
    from .compare import compare as compare
    from .comparison import Comparison as Comparison
    from .dissimilarities import dissimilarities as dissimilarities
    from .dissimilarities import from_dissimilarities as from_dissimilarities
    from .dissimilarities import rdm as rdm
    from .drift import Drift as Drift
    from .drift import DriftReport as DriftReport
    from .drift import Upgrade as Upgrade
    from .drift import drift as drift
    from .drift import upgrade as upgrade
    from .engine.forecast import Forecast as Forecast
    from .engine.forecast import plan as plan
    from .inference import Across as Across
    from .inference import Evidence as Evidence
    from .inference import across as across
    from .inference import equal_rows as equal_rows
    from .inference import evidence as evidence
    from .inference import load as load
    from .inference import load_evidence as load_evidence
    from .inference.sample_size import samples_for as samples_for
    from .joining import condition_means as condition_means
    from .joining import join_samples as join_samples
    from .mean_shapes import aligned as aligned
    from .mean_shapes import mean_shape as mean_shape
    from .measure import Measure as Measure
    from .measure import UninformativeWarning as UninformativeWarning
    from .measure import measure as measure
    from .measures import *  # noqa: F403
    from .models import compare_models as compare_models
    from .models import plan_models as plan_models
    from .noise import noise_covariance as noise_covariance
    from .representation import Representation as Representation
    from .representation import Undefined as Undefined
    from .representation import as_representation as as_representation
    from .representation import pair_view as pair_view
    from .representation import view as view
    from .sources.conditions import from_conditions as from_conditions
    from .sources.extraction import extract_features as extract_features
    from .sources.features import open_features as open_features
    from .sources.hooks import subject_from_model as subject_from_model
    from .sources.layouts import from_maps as from_maps
    from .sources.layouts import from_tokens as from_tokens
    from .sources.layouts import from_trials as from_trials
    from .sources.model_folder import read_subjects as read_subjects
    from .sources.model_folder import save_subject as save_subject
    from .statistic import Statistic as Statistic
    from .statistic import statistic as statistic
    from .stochastic_shapes import energy_stochastic_shape as energy_stochastic_shape
    from .stochastic_shapes import gaussian_stochastic_shape as gaussian_stochastic_shape
    from .stream import Stream as Stream
    from .stream import stream_from_model as stream_from_model
    from .subject import Subject as Subject
    from .views.recall import neighbour_recall as neighbour_recall

__version__ = "0.1.0"

# By module, the names that are imported from it when they are asked for
_MODULES = {
    "boards.standing": ("board",),
    "catalogue": ("get_measure", "get_statistic", "list_measures", "list_statistics", "preset"),
    "citations": ("cite",),
    "claims": ("AllPairs", "Product", "Scores"),
    "compare": ("compare",),
    "comparison": ("Comparison",),
    "dissimilarities": ("dissimilarities", "from_dissimilarities", "rdm"),
    "noise": ("noise_covariance",),
    "drift": ("Drift", "DriftReport", "Upgrade", "drift", "upgrade"),
    "engine.forecast": ("Forecast", "plan"),
    "inference": (
        "Across", "Evidence", "across", "equal_rows", "evidence", "load", "load_evidence",
    ),
    "inference.sample_size": ("samples_for",),
    "joining": ("condition_means", "join_samples"),
    "mean_shapes": ("aligned", "mean_shape"),
    "measure": ("Measure", "UninformativeWarning", "measure"),
    "models": ("compare_models", "plan_models"),
    "representation": ("Representation", "Undefined", "as_representation", "pair_view", "view"),
    "sources.conditions": ("from_conditions",),
    "sources.extraction": ("extract_features",),
    "sources.features": ("open_features",),
    "sources.hooks": ("subject_from_model",),
    "sources.layouts": ("from_maps", "from_tokens", "from_trials"),
    "sources.model_folder": ("read_subjects", "save_subject"),
    "statistic": ("Statistic", "statistic"),
    "stochastic_shapes": ("energy_stochastic_shape", "gaussian_stochastic_shape"),
    "stream": ("Stream", "stream_from_model"),
    "subject": ("Subject",),
    "views.recall": ("neighbour_recall",),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_PACKAGES = ("plot", "report", "stability")


def __getattr__(name: str) -> _Any:
    """Import the module of a public name when it is asked for."""
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(_import_module(f".{_HOMES[name]}", __name__), name)
    elif name == "__all__":
        value = [*_HOMES, *_PACKAGES, *_import_module(".measures", __name__).__all__]
    elif not name.startswith("_") and name in _import_module(".measures", __name__).__all__:
        value = getattr(_import_module(".measures", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


class _Package(_ModuleType):
    """The package, in which ``compare`` stays the function after its module was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return _import_module, (__name__,)  # of functions in notebooks that use it, on a cluster


_sys.modules[__name__].__class__ = _Package
