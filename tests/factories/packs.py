"""Tiny packs of two suites, and scores of a few measures on them: a board that takes seconds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from factories.synthetic import graded_outputs, noise_walk, tight_groups
from resemblance.base.codec import encode_value
from resemblance.bench.manifolds.clouds import CloudCase
from resemblance.bench.packs import Pack, open_pack, write_pack
from resemblance.bench.pinned import pack_content, tasks_with_scores
from resemblance.bench.ranking import score, write_scores
from resemblance.data.model_features import ModelFeatures

MEASURES = ("cka", "procrustes", "jaccard[k=5]", "rsa")
N = 36  # samples

OWN = '''
import resemblance as rs
from resemblance.intermediates.spectra import decomposition


@rs.measure(label="TopShare", family="descriptive", larger_is_more_similar=False, range=(0, 1),
            symmetric=True, citation="mine2026", differentiable=False,
            invariant_to={"orthogonal", "isotropic_scaling", "translation"})
def top_share(x, y, *, power: int = 1):
    """Difference of the shares of variance in the first principal direction."""
    first, second = (float(decomposition(r).singular[0]) ** 2 for r in (x, y))
    return abs(first - second) ** power
'''


def manifolds_pack(folder: Path, version: int = 1) -> Pack:
    """A pack of references and the clouds that they are compared with, one for every shape."""
    shapes = {
        "swiss_roll": {"swiss_roll": (0.0, 0.5, 1.0)},
        "rings": {"rings": (1, 2, 3, 4, 5)},
        "clusters": {"clusters": (2, 4, 6, 12)},
        "spots": {"perturbed": (0.5,), "lost": (0.0,)},
        "cubes": {"moved": (0.0, 1.0)},
    }
    documents = []
    content = folder / f"clouds-{version}"
    for number, (shape, experiments) in enumerate(shapes.items()):
        g = np.random.default_rng([number, version])
        place = content / "clouds" / str(number)
        place.mkdir(parents=True)
        reference = g.standard_normal((N, 3))
        np.save(place / "reference.npy", reference)
        about = [[name, float(at)] for name, places in experiments.items() for at in places]
        for i in range(len(about)):
            mixed = reference @ (np.eye(3) + i * g.standard_normal((3, 3)))
            np.save(place / f"{i}.npy", mixed + (i + 1) / 4 * g.standard_normal((N, 3)))
        case = CloudCase(shape, N, 2, 0, tuple(map(float, next(iter(experiments.values())))))
        documents.append({"case": encode_value(case), "variants": about})
    return _written(content, folder, "manifolds", {"clouds": documents}, version)


def resi_pack(folder: Path) -> Pack:
    """A pack of synthetic models for five tests of ReSi."""
    content = folder / "models"
    model_features = [
        *tight_groups(samples=N, features=6, setting="labels"),
        *tight_groups(samples=N, features=6, setting="shortcut"),
        *noise_walk(models=2, samples=N, features=6),
        *graded_outputs(models=6, samples=N),
    ]
    for i, features in enumerate(model_features):
        _write(features, content / "models" / f"model{i:02}")
    return _written(content, folder, "resi", {}, 1)


def _write(features: ModelFeatures, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, layer in features.layers.items():
        np.save(folder / f"nd.{name}.npy", np.asarray(layer.source))
    if features.outputs is not None:
        np.save(folder / "outputs.npy", features.outputs)
    traits = {**features.traits, "layers": {"nd": list(features.layers)}}
    (folder / "traits.json").write_text(json.dumps(traits))


def _written(content: Path, folder: Path, suite: str, facts: dict, version: int) -> Pack:
    """Write a pack twice: first to learn which cells it has."""
    facts = {"size": "small", "cells": [], **facts}
    options = {"name": f"{suite}-tiny", "version": version, "suite": suite, "about": "tiny"}
    write_pack(content, folder / "first", facts=facts, **options)
    first = open_pack(next((folder / "first").glob(f"{suite}*@{version}*")), cache=folder / "first")
    cells = list(map(list, tasks_with_scores(suite, pack_content(first))))
    write_pack(content, folder, facts={**facts, "cells": cells}, **options)
    return open_pack(folder / f"{suite}-tiny@{version}.tar.xz", cache=folder / "cache")


def write_board(folder: Path) -> None:
    """Write both packs, and the scores of four measures on them in ``folder/scores.jsonl``."""
    for pack in (resi_pack(folder), manifolds_pack(folder)):
        for measure in MEASURES:
            write_scores(folder / "scores.jsonl", [score(pack, measure)])


def packs_in(folder: Path) -> tuple[Pack, ...]:
    """Both packs of a written board."""
    return tuple(
        open_pack(folder / f"{suite}-tiny@1.tar.xz", cache=folder / "cache")
        for suite in ("resi", "manifolds")
    )
