"""Compare neural-network representations by measures with proven claims, all pairs at once."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from . import bench as bench
    from . import plot as plot
    from . import report as report
    from . import stability as stability
    from . import statistics as statistics
    from .base import exceptions as exceptions
    from .base.exceptions import UndefinedError as UndefinedError
    from .base.exceptions import UninformativeWarning as UninformativeWarning
    from .bench.loading import load as load
    from .bench.ranking.leaderboard import leaderboard as leaderboard
    from .catalogue import get_measure as get_measure
    from .catalogue import get_statistic as get_statistic
    from .catalogue import list_measures as list_measures
    from .catalogue import list_statistics as list_statistics
    from .catalogue import preset as preset
    from .checks import check_measure as check_measure
    from .checks import check_statistic as check_statistic
    from .citations import cite as cite
    from .comparison.comparison import Comparison as Comparison
    from .contracts._measure import Measure as Measure
    from .contracts._measure import measure as measure
    from .contracts._statistic import Statistic as Statistic
    from .contracts._statistic import statistic as statistic
    from .contracts.claims import AllPairs as AllPairs
    from .contracts.claims import Product as Product
    from .contracts.claims import Scores as Scores
    from .data.conditions import from_conditions as from_conditions
    from .data.joining import condition_means as condition_means
    from .data.joining import join_samples as join_samples
    from .data.layouts import from_maps as from_maps
    from .data.layouts import from_tokens as from_tokens
    from .data.layouts import from_trials as from_trials
    from .data.model_features import ModelFeatures as ModelFeatures
    from .data.representation import Representation as Representation
    from .data.representation import as_representation as as_representation
    from .data.representation import cached as cached
    from .data.representation import cached_pair as cached_pair
    from .engine._align import Alignment as Alignment
    from .engine._align import align as align
    from .engine._compare import compare as compare
    from .engine._scale_curve import ScaleCurve as ScaleCurve
    from .engine._scale_curve import scale_curve as scale_curve
    from .engine.forecast import Forecast as Forecast
    from .engine.forecast import plan as plan
    from .inference import Evidence as Evidence
    from .inference import ModelScores as ModelScores
    from .inference import TimeCourses as TimeCourses
    from .inference import duplicate_labels as duplicate_labels
    from .inference import error_consistency as error_consistency
    from .inference import evidence as evidence
    from .inference import score_models as score_models
    from .inference import score_models_over_time as score_models_over_time
    from .inference._sample_size import sample_size as sample_size
    from .intermediates.noise import noise_covariance as noise_covariance
    from .intermediates.recall import neighbor_recall as neighbor_recall
    from .measures import *  # noqa: F403
    from .measures._dissimilarities import dissimilarities as dissimilarities
    from .measures._dissimilarities import from_dissimilarities as from_dissimilarities
    from .measures._dissimilarities import rdm as rdm
    from .measures.distances import partial_distance_correlation as partial_distance_correlation
    from .measures.mean_shapes import mean_shape as mean_shape
    from .models.extraction import extract_features as extract_features
    from .models.features import open_features as open_features
    from .models.model_folder import read_models as read_models
    from .models.model_folder import save_features as save_features
    from .models.patching import patch_models as patch_models
    from .models.stream_layers import stream_from_model as stream_from_model
    from .models.two_models import compare_models as compare_models
    from .models.two_models import plan_models as plan_models
    from .stream import Stream as Stream
    from .versions import DriftReport as DriftReport
    from .versions import IndexUpgrade as IndexUpgrade
    from .versions import drift as drift
    from .versions import upgrade_index as upgrade_index

__version__ = "0.1.0"

# By module, the names that are imported from it when they are asked for
_MODULES = {
    "bench.loading": ("load",),
    "bench.ranking.leaderboard": ("leaderboard",),
    "catalogue": ("get_measure", "get_statistic", "list_measures", "list_statistics", "preset"),
    "base.exceptions": ("UndefinedError", "UninformativeWarning"),
    "checks": ("check_measure", "check_statistic"),
    "citations": ("cite",),
    "contracts.claims": ("AllPairs", "Product", "Scores"),
    "engine._align": ("Alignment", "align"),
    "engine._compare": ("compare",),
    "engine._scale_curve": ("ScaleCurve", "scale_curve"),
    "comparison.comparison": ("Comparison",),
    "measures._dissimilarities": ("dissimilarities", "from_dissimilarities", "rdm"),
    "intermediates.noise": ("noise_covariance",),
    "versions": ("DriftReport", "IndexUpgrade", "drift", "upgrade_index"),
    "engine.forecast": ("Forecast", "plan"),
    "inference": (
        "Evidence", "ModelScores", "TimeCourses", "duplicate_labels", "error_consistency",
        "evidence", "score_models", "score_models_over_time",
    ),
    "inference._sample_size": ("sample_size",),
    "data.joining": ("condition_means", "join_samples"),
    "measures.distances": ("partial_distance_correlation",),
    "measures.mean_shapes": ("mean_shape",),
    "contracts._measure": ("Measure", "measure"),
    "models.patching": ("patch_models",),
    "models.two_models": ("compare_models", "plan_models"),
    "data.representation": (
        "Representation", "as_representation", "cached", "cached_pair",
    ),
    "data.conditions": ("from_conditions",),
    "models.extraction": ("extract_features",),
    "models.features": ("open_features",),
    "data.layouts": ("from_maps", "from_tokens", "from_trials"),
    "models.model_folder": ("read_models", "save_features"),
    "contracts._statistic": ("Statistic", "statistic"),
    "stream": ("Stream",),
    "models.stream_layers": ("stream_from_model",),
    "data.model_features": ("ModelFeatures",),
    "intermediates.recall": ("neighbor_recall",),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_PACKAGES = ("bench", "plot", "report", "stability", "statistics")


def __getattr__(name: str) -> _Any:
    """Return the value of a public name, and import its module at first use."""
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name == "exceptions":
        value: _Any = _import_module(".base.exceptions", __name__)
    elif name in _HOMES:
        value = getattr(_import_module(f".{_HOMES[name]}", __name__), name)
    elif name == "__all__":
        measures = _import_module(".measures", __name__).__all__
        value = sorted({*_HOMES, *_PACKAGES, "exceptions", *measures})
    elif not name.startswith("_") and name in _import_module(".measures", __name__).__all__:
        value = getattr(_import_module(".measures", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
