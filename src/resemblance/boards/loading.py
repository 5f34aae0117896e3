"""The measures of a submitted file, which is run."""

from __future__ import annotations

import os
from pathlib import Path

from ..catalogue import parse_parameters
from ..measure import Measure
from ..modules import load_module, own_module
from .repository import MEASURES, SubmittedCard
from .states import Fault
from .submission import source_of


def own_measures(file: Path, name: str, card: SubmittedCard) -> tuple[list[Measure], list[Fault]]:
    """Run the file of a measure, and return its specifications that the card lists, and what is
    wrong with it."""
    place = f"{MEASURES}/{file.name}"
    try:
        measure = _loaded(file, name)
        source_of(measure)
    except (Exception, SystemExit) as error:  # whatever somebody's file raises
        return [], [Fault(place, f"cannot be used: {type(error).__name__}: {error}")]
    measures, faults = list[Measure](), list[Fault]()
    for spec in card.specs:
        try:
            measures.append(_variant(measure, spec))
        except ValueError as error:
            faults.append(Fault(f"{MEASURES}/{name}.toml", f"lists {spec!r:.80}: {error}"))
    return measures, faults


def _loaded(file: Path, name: str) -> Measure:
    path = os.path.realpath(file)
    value = getattr(load_module(path, own_module(path)), name, None)
    if not isinstance(value, Measure) or value.name != name:
        raise ValueError(f"it defines no measure {name!r}")
    return value


def _variant(measure: Measure, spec: str) -> Measure:
    """Return a measure with the parameters of a specification."""
    _, bracket, rest = spec.partition("[")
    variant = measure.where(**parse_parameters(rest.removesuffix("]"))) if bracket else measure
    if variant.spec != spec:
        raise ValueError(f"the file has {variant.spec} instead")
    return variant
