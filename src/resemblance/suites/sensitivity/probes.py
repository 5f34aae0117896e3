"""Accuracies of probes, each kept in a file of its own as soon as it is known."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from ...documents import read_document
from ...representation import Representation, fingerprint
from ...store import write_atomically
from .operators import delete_principal_components
from .probing import PROBE_VERSION, probe


def probed(
    folder: Path, x: Representation, labels: np.ndarray, splits: int, deleted: int = 0
) -> float:
    """Return the accuracy of probes on a representation, or on what is left of it without some
    components.

    Undeleted representations are probed in their principal coordinates too, so that nothing but the
    deletion differs.
    """
    key = json.dumps([fingerprint(x), np.asarray(labels).tolist(), splits, deleted, PROBE_VERSION])
    file = folder / "probes" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    known = _kept(file)
    if known is None:
        known = probe(delete_principal_components(x, deleted), labels, splits=splits)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(known))
    return known


def _kept(file: Path) -> float | None:
    try:
        found: Any = read_document(file, lambda value: value, "an accuracy")
    except ValueError:
        return None
    return found if isinstance(found, float) else None
