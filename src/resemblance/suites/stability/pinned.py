"""The stability suite on pinned features: layers of models whose weights were disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...measure import Measure
from ...results.result import Result
from ..experiments import RunConfig
from ..pinning import Pinned, Reduction
from ..study import purpose
from .models import plain_models
from .observations import write_index, write_observation
from .spectral import SEED, WHOLE, harmonic
from .suite import run_on
from .weights import observed, planned_parts


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the layers of disturbed models, and the representation whose components are deleted,
    into a pack; return what the pack must remember."""
    known = purpose(study)
    config = RunConfig(study, known.size, ())
    parts = planned_parts(config)
    entries = [
        write_observation(pack, i, part, observed(config, part), reduction)
        for i, part in enumerate(parts)
    ]
    write_index(pack, entries)
    np.save(pack / WHOLE, harmonic(SEED).astype(np.float32))
    recipes = {r.name: r.fingerprint for r in plain_models(config)}
    return {"size": known.size, "recipes": recipes}


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through both experiments on the arrays of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    return run_on(pinned, folder, measures=measures, **options)
