"""Named tuples as JSON can hold them: the one way in which results are written.

``decode_record`` of :mod:`resemblance.base.json_files` is the way back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .figures import FIGURE_TYPES


def encode_value(value: Any) -> Any:
    """Return a value as JSON can hold it: named tuples as objects, figures with their kind."""
    if isinstance(value, Mapping):
        return {name: encode_value(part) for name, part in value.items()}
    if hasattr(value, "_fields"):
        kind = type(value).__name__
        fields = {name: encode_value(part) for name, part in value._asdict().items()}
        return {"kind": kind, **fields} if kind in FIGURE_TYPES else fields
    if isinstance(value, (tuple, list)):
        return [encode_value(part) for part in value]
    return value


def spell_non_finite(value: Any) -> Any:
    """Return an encoded value in which numbers that JSON cannot hold are words: "nan", "inf" and
    "-inf"."""
    if isinstance(value, Mapping):
        return {name: spell_non_finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spell_non_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
