"""Why a pair has no score: errors caused by data or lack of memory, not by defects of the code."""

from __future__ import annotations

import sys

import numpy as np

from ..base.exceptions import UndefinedError
from ..comparison.scores import NO_MEMORY_REASON
from ..contracts._measure import Measure
from ..data.representation import Representation, data_key, representation_title

SCIPY_NONFINITE_MESSAGES = (
    "array must not contain infs or NaNs",
    "matrix contains invalid numeric entries",
)


def failure_reason(
    error: Exception, measure: Measure, x: Representation, y: Representation
) -> str | None:
    """Return why there is no score of x and y, from ``error``, or ``None`` for an error that data
    cannot cause.

    The reason identifies data by fingerprint, because the same data may have another name
    elsewhere.
    """
    if isinstance(error, UndefinedError):
        reason = str(error)
        for r in (x, y):
            reason = reason.replace(representation_title(r), f"{{{data_key(r)}}}")
        return reason
    if is_out_of_memory(error):
        sizes = " and ".join(map(str, (x.shape, y.shape)))
        # A MemoryError of Python has no message.
        detail = f": {_one_line_message(error)}" if str(error) else ""
        return (
            f"{NO_MEMORY_REASON} for {measure} of arrays {sizes}{detail}; use fewer samples or "
            "features"
        )
    return f"{measure}: {_one_line_message(error)}" if _is_numerical_failure(error) else None


def is_out_of_memory(error: Exception) -> bool:
    """Return whether the error says that NumPy, or PyTorch on any device, could not allocate an
    array."""
    torch = sys.modules.get("torch")
    kinds = (MemoryError, torch.cuda.OutOfMemoryError) if torch else (MemoryError,)
    on_processor = isinstance(error, RuntimeError) and "DefaultCPUAllocator: " in str(error)
    return isinstance(error, kinds) or on_processor


def _is_numerical_failure(error: Exception) -> bool:
    """Return whether the error says that a decomposition failed, or that SciPy rejected infinite
    or NaN entries."""
    torch = sys.modules.get("torch")
    kinds = (np.linalg.LinAlgError, torch.linalg.LinAlgError) if torch else (np.linalg.LinAlgError,)
    is_nonfinite_error = type(error) is ValueError and str(error) in SCIPY_NONFINITE_MESSAGES
    return isinstance(error, kinds) or is_nonfinite_error


def _one_line_message(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
