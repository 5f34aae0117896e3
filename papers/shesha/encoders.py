"""Transformations of encoders: does similarity to the original tell stability? (Tables 14, 15)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, number, with_interval
from resemblance.base.rng import generator
from resemblance.bench.stability.models import missing_package, stability_recipes
from resemblance.bench.stability.spectral import harmonic_representation
from resemblance.bench.study_models import model_folder
from resemblance.bench.training import DOMAINS, recipes
from resemblance.models.model_folder import read_model
from resemblance.models.recipe import Recipe
from resemblance.stability import transformation_study
from resemblance.stability._transformations import regime
from resemblance.statistics.rdm import double_precision_rows

from .correlations import SMALL, Interval, bootstrapped, is_small
from .models import Experiment, Run
from .null_model import BOOTSTRAPS
from .synthetic import SEED, mixture

MADE, SAMPLES, MODELS, SPLITS = "made arrays", 200, 2, 30
ARRAYS: Mapping[str, Callable[[], np.ndarray]] = {
    "mixture 0.9": partial(mixture, 0.9, SEED),
    "mixture 0.3": partial(mixture, 0.3, SEED + 1),
    "falling spectrum": partial(harmonic_representation, SEED),
}
SEEDS = (SEED, 1991, 9, 7258, 7, 2222, 724, 3, 12, 108, 18, 11, 1754, 411, 103)  # of the paper
OF_SIZE = {"small": SEEDS[:1], "default": SEEDS[:2], "paper": SEEDS}


class Configuration(NamedTuple):
    """A transformation of one base, averaged over seeds: feature split, basis split and
    similarity."""

    domain: str
    base: str
    name: str
    stability: float
    basis: float
    similarity: float


Facts = tuple[Sequence[Configuration], int]  # configurations, number of bootstrap samples


def models_of(size: str) -> list[Recipe]:
    """Return the first normal models of every domain with installed packages, of the first
    architecture; none at the smallest size."""
    chosen: list[Recipe] = []
    for domain in DOMAINS if size != "small" else ():
        if not missing_package(domain):
            models = list(recipes(domain, stability_recipes(size).suite, [("normal", 0.0, MODELS)]))
            chosen += [r for r in models if r.architecture == models[0].architecture]
    return chosen


def encoders(run: Run) -> Facts:
    """Transform every base with every seed, and average over seeds as in the paper."""
    works: list[tuple[Recipe | None, str, int]] = [(None, base, SEED) for base in ARRAYS]
    works += [
        (recipe, base, seed)
        for recipe in models_of(run.size)
        for base in ("last layer", "all layers")
        for seed in OF_SIZE[run.size]
    ]
    values = defaultdict[tuple[str, str, str], list[tuple[float, ...]]](list)
    for (recipe, base, _), study in zip(works, run.each(transformed, works)):
        domain, model = (recipe.domain, f"{recipe.name} ") if recipe else (MADE, "")
        for name, *numbers in study:
            values[domain, f"{model}{base}", name].append(tuple(numbers))
    configurations = [
        Configuration(*key, *np.mean(of, axis=0).tolist()) for key, of in values.items()
    ]
    return configurations, BOOTSTRAPS[run.size]


def transformed(
    folder: Path, what: tuple[Recipe | None, str, int]
) -> list[tuple[str, float, float, float]]:
    """Return name, feature split, basis split and similarity of all transformations of a base."""
    recipe, base, seed = what
    if recipe is None:
        points = ARRAYS[base]()
    else:
        layers = [
            double_precision_rows(x)
            for x in read_model(model_folder(folder, recipe))[0].layers.values()
        ]
        points = np.hstack(layers[-1:] if base == "last layer" else layers)
    study = transformation_study(points[:SAMPLES], seed=seed, k=SPLITS)
    return [(t.name, t.stability, t.basis, t.similarity) for t in study]


# ------------------------------------------------------------------------------------------- claims


def _rho(facts: Facts, domain: str = "", of: str = "", *, split: str = "stability") -> Interval:
    """Return Spearman's correlation of a split with similarity over the configurations of trained
    models.

    The configurations can be restricted to a domain, and to compressing or preserving
    transformations.
    """
    configurations, draws = facts
    chosen = [
        c
        for c in configurations
        if c.domain != MADE and domain in ("", c.domain) and of in ("", regime(c.name))
    ]
    if not chosen:
        raise NoData("no models are trained at this size, or their packages are missing")
    x, y = (np.array([getattr(c, name) for c in chosen]) for name in (split, "similarity"))
    return bootstrapped(x, y, draws=draws, random=generator(0, "bootstrap", "similarity"))


ENCODERS = Experiment(
    name="encoders",
    title="Transformations of encoders",
    about=(
        "An encoder can be shortened by principal components, random projections or a choice of "
        "features, disturbed by noise, or rescaled. The paper does all of that to encoders of "
        "seven domains and finds that the stability of the result and its similarity to the "
        "original are uncorrelated. Its models need a download; here the same is done to models "
        "that this suite trains itself, in three domains, each by its last layer and by all "
        "layers side by side (200 inputs), and to made arrays. Configurations that the paper "
        "repeats under several names, for want of components, are there once. Similarity is the "
        "mean linear CKA with three references."
    ),
    facts=encoders,
    models=models_of,
)


@ENCODERS.claim(
    "T15",
    "Stability and similarity are uncorrelated over transformations of encoders",
    "ρ = 0.01 (version 1), −0.01 [−0.06, 0.03] (version 4), 2463 configurations",
)
def uncorrelated(facts: Facts) -> Evidence:
    over_all = _rho(facts)
    domains = dict.fromkeys(c.domain for c in facts[0] if c.domain != MADE)
    each = {domain: _rho(facts, domain) for domain in domains}
    note = (
        f"uncorrelated: the interval lies within ±{SMALL}, of all and of each domain. Other "
        "models than those of the paper; each base gives many configurations, so intervals are "
        "too narrow"
    )
    text = "; ".join(f"{d} {with_interval(rho, 2)}" for d, rho in {"all": over_all, **each}.items())
    return Evidence(text, (is_small(over_all), all(map(is_small, each.values()))), note)


@ENCODERS.claim(
    "T15",
    "They agree where geometry is preserved, and disagree under compression",
    "in words (version 4)",
)
def regimes(facts: Facts) -> Evidence:
    preserving, compression = (_rho(facts, of=of) for of in ("preserving", "compression"))
    components = [(c.stability, c.basis) for c in facts[0] if c.name.startswith("pca")]
    feature, basis = (number(float(values.mean()), 2) for values in np.transpose(components))
    text = f"preserving {with_interval(preserving, 2)}, compression {with_interval(compression, 2)}"
    note = (
        "which belong to which is our reading: compression keeps fewer features or directions. It "
        "is the axes again: principal components are uncorrelated, so their feature split is "
        f"{feature} on average whatever they keep, and their basis_split {basis}; with it, "
        f"compression {with_interval(_rho(facts, of='compression', split='basis'), 2)}"
    )
    return Evidence(text, (preserving[1] > 0, compression[2] < 0), note)
