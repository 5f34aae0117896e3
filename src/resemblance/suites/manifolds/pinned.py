"""The manifold suite on pinned features: its clouds as arrays, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...measure import Measure
from ...representation import Representation
from ...results.codec import decode, encode
from ...results.result import Result
from ..case import Case, Part
from ..pinning import Pinned, Reduction
from ..study import Purpose, purpose, study_folder
from .clouds import CloudCase, Variant, cases, clouds
from .grades import CLUSTERS, ORDER, PLACE
from .sections import result_of
from .suite import SIZES, SLOW, collect, publish

CLOUDS = "clouds"
SCORED = ("swiss_roll", "rings", "clusters")  # shapes of the cells in which measures are ranked


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the clouds of a size of the suite into a pack, and return what it must remember.

    A pack of fewer samples has only the clouds of the cells in which measures are ranked, with all
    their points: these are few.
    """
    size = purpose(study).size
    chosen, content = cases(SIZES[size]), "all shapes"
    if reduction.samples is not None:
        content = "the shapes of the cells that rank"
        chosen = tuple(c for c in chosen if c.shape in SCORED and not c.over_k)
    documents = []
    for number, case in enumerate(chosen):
        reference, variants = clouds(case)
        folder = pack / CLOUDS / str(number)
        folder.mkdir(parents=True)
        named = {str(i): v.array for i, v in enumerate(variants)}
        for name, points in {"reference": reference, **named}.items():
            np.save(folder / f"{name}.npy", points.astype(np.float16) if reduction.half else points)
        about = [[v.experiment, float(v.at)] for v in variants]
        documents.append({"case": encode(case), "variants": about})
    return {"size": size, "clouds": documents, "content": content}


def cases_of(pinned: Pinned) -> list[Case]:
    """Return what the measures are ranked by: two orders and one place."""
    scored, size = [], SIZES[pinned.facts["size"]]
    for number, entry in enumerate(pinned.facts["clouds"]):
        about, folder = decode(CloudCase, entry["case"]), pinned.folder / CLOUDS / str(number)
        if about.shape not in SCORED or about.over_k:
            continue
        test, is_place = about.shape.replace("_", " "), about.shape == "swiss_roll"
        places = {str(i): at for i, (_, at) in enumerate(entry["variants"])}
        if about.shape == "clusters":
            places = {name: at for name, at in places.items() if at in CLUSTERS}
        columns = {n: Representation(_points(folder / f"{n}.npy"), n) for n in places}
        reference = Representation(_points(folder / "reference.npy"), "reference")
        part = Part({"reference": reference}, list(places.values()), columns)
        cell, rule = (("peak",), PLACE) if is_place else (("tau",), ORDER)
        left_out = SLOW if about.n > size.slow else frozenset()
        scored.append(Case(test, cell, rule, (part,), test, left_out))
    return scored


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Compare the clouds of a pack by measures, or continue in a folder, and return the result.

    ``options``: executor, memory and progress.
    """
    folders = {
        decode(CloudCase, entry["case"]): (pinned.folder / CLOUDS / str(number), entry["variants"])
        for number, entry in enumerate(pinned.facts["clouds"])
    }
    with study_folder(folder, Purpose("manifolds", models=pinned.identity)) as (place, _):
        facts = collect(
            measures,
            pinned.facts["size"],
            plan=tuple(folders),
            draw=partial(_stored, folders),
            save=place / "comparisons.db",
            **options,
        )
        result = pinned.named(result_of(facts))
        publish(place, facts, result)
    return result


def _stored(
    folders: Mapping[CloudCase, tuple[Path, Sequence[tuple[str, float]]]], case: CloudCase
) -> tuple[np.ndarray, list[Variant]]:
    """Return the reference of a case and the clouds it is compared with, as the pack has them."""
    folder, about = folders[case]
    variants = [
        Variant(experiment, at, _points(folder / f"{i}.npy"))
        for i, (experiment, at) in enumerate(about)
    ]
    return _points(folder / "reference.npy"), variants


def _points(file: Path) -> np.ndarray:
    return np.load(file, allow_pickle=False)
