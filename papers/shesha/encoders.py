"""Transformations of encoders: does similarity to the original tell stability? (Tables 14, 15)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, judged, number, with_interval
from resemblance.arrays import to_numpy
from resemblance.measures import cka
from resemblance.results.figures import Bar, Bars, Chart, Line
from resemblance.results.sections import Entry, Section, Table
from resemblance.results.values import known
from resemblance.sources.model_folder import read_subject
from resemblance.sources.recipe import Recipe
from resemblance.sources.training import DOMAINS, recipes
from resemblance.stability.transformations import regime, transformation_study
from resemblance.statistics.splits import basis_split, feature_split
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured
from resemblance.suites.stability.models import absent, missing
from resemblance.suites.stability.spectral import harmonic
from resemblance.suites.training import model_folder

from .cells import SMALL
from .partial_correlation import bootstrapped, stream
from .protocol import SEED, SIZES, mixture

MADE = "made arrays"
BASES = {
    "mixture 0.9": (0.9, SEED),
    "mixture 0.3": (0.3, SEED + 1),
    "falling spectrum": (None, SEED),
}
SAMPLES = 200
ABOUT = (
    "An encoder can be shortened by principal components, random projections or a choice of "
    "features, disturbed by noise, or rescaled. The paper does all of that to encoders of seven "
    "domains and finds that the stability of the result and its similarity to the original are "
    "uncorrelated. Its models need a download; here the same is done to models that this suite "
    "trains itself, in three domains, each by its last layer and by all layers side by side (200 "
    "inputs), and to made arrays. Configurations that the paper repeats under several names, for "
    "want of components, are there once. Similarity is the mean linear CKA with three references; "
    "a reference is 1 to itself, so it is shown without, too."
)


class Configuration(NamedTuple):
    """A transformation of one base, averaged over its seeds: statistics, similarities, and where it
    belongs."""

    domain: str
    base: str
    name: str
    stability: float
    basis: float
    similarity: float
    without_self: float


def _models(config: RunConfig) -> list[Recipe]:
    """The first normal models of every domain whose packages are there, of the first
    architecture."""
    size = SIZES[config.size]
    domains = [domain for domain in DOMAINS if not missing(domain)] if size.models else []
    selection: list[Recipe] = []
    for domain in domains:
        models = list(recipes(domain, size.suite, [("normal", 0.0, size.models)]))
        selection += [r for r in models if r.architecture == models[0].architecture]
    return selection


def _parts(config: RunConfig) -> list[Part]:
    size = SIZES[config.size]
    names = list(BASES)[: 3 if size.models else 2]
    bases: list[dict[str, Any]] = [{"domain": MADE, "base": base} for base in names]
    for recipe in _models(config):
        model = {"domain": recipe.domain, "model": recipe.name, "recipe": recipe.fingerprint}
        bases += [{**model, "base": base} for base in ("last layer", "all layers")]
    more = {
        "splits": size.splits,
        "samples": SAMPLES,
        "uses": measured((cka, feature_split, basis_split)),
    }
    return [
        {**base, **more, "seed": seed}
        for base in bases
        for seed in (size.seeds[:1] if base["domain"] == MADE else size.seeds)
    ]


def _compute(config: RunConfig, part: Part) -> list[list[Any]]:
    points = _base(config, part)[: part["samples"]]
    return [list(t) for t in transformation_study(points, seed=part["seed"], k=part["splits"])]


def _base(config: RunConfig, part: Part) -> np.ndarray:
    if part["domain"] == MADE:
        share, seed = BASES[part["base"]]
        return harmonic(seed) if share is None else mixture(share, seed)
    recipe = next(r for r in _models(config) if r.fingerprint == part["recipe"])
    layers = list(read_subject(model_folder(config.folder, recipe))[0].layers.values())
    selection = layers[-1:] if part["base"] == "last layer" else layers
    return np.hstack([np.asarray(to_numpy(layer.array), dtype=np.float64) for layer in selection])


# ------------------------------------------------------------------------------------ what it shows


def _configurations(done: Sequence[tuple[Part, Any]]) -> list[Configuration]:
    """Every transformation of every base, averaged over seeds, as in the paper."""
    values: defaultdict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for part, rows in done:
        for name, _, _, *numbers in rows:
            values[part["domain"], f"{part.get('model', '')} {part['base']}".strip(), name].append(
                numbers
            )
    return [
        Configuration(*key, *np.mean(numbers, axis=0).tolist()) for key, numbers in values.items()
    ]


Rho = tuple[float, float, float]


class Facts(NamedTuple):
    """Correlations of stability with similarity: by domain, over all trained models, by regime."""

    domains: Mapping[str, Rho]
    counts: Mapping[str, int]
    pooled: Mapping[str, Rho]  # "all", "compression", "preserving"
    without_self: Mapping[str, Rho]
    basis: Mapping[str, Rho]  # of basis_split instead of the feature split, as ``pooled``
    components: tuple[float, float]  # mean feature split and basis split of principal components


def _facts(configurations: Sequence[Configuration], draws: int) -> Facts:
    domains = _by_domain(configurations)
    trained = [c for c in configurations if c.domain != MADE]
    groups = {"all": trained}
    for name in ("compression", "preserving"):
        groups[name] = [c for c in trained if regime(c.name) == name]
    return Facts(
        {d: _rho(cs, "similarity", draws) for d, cs in domains.items()},
        {d: len(cs) for d, cs in domains.items()},
        {name: _rho(cs, "similarity", draws) for name, cs in groups.items() if cs},
        {d: _rho(cs, "without_self", draws) for d, cs in domains.items()},
        {name: _rho(cs, "similarity", draws, "basis") for name, cs in groups.items() if cs},
        _of_components(configurations),
    )


def _rho(
    configurations: Sequence[Configuration], similarity: str, draws: int, of: str = "stability"
) -> Rho:
    x, y = (np.array([getattr(c, name) for c in configurations]) for name in (of, similarity))
    return bootstrapped(x, y, draws=draws, random=stream(similarity))


def _by_domain(configurations: Sequence[Configuration]) -> dict[str, list[Configuration]]:
    groups = defaultdict[str, list[Configuration]](list)
    for configuration in configurations:
        groups[configuration.domain].append(configuration)
    return dict(groups)


def _of_components(configurations: Sequence[Configuration]) -> tuple[float, float]:
    """Mean feature split and basis split of all configurations that are principal components."""
    splits = np.array([(c.stability, c.basis) for c in configurations if c.name.startswith("pca")])
    return float(splits[:, 0].mean()), float(splits[:, 1].mean())


def _uncorrelated(facts: Facts) -> Evidence:
    each = {d: rho for d, rho in facts.domains.items() if d != MADE}
    if not each:
        raise NoData("no models are trained at this size, or their packages are missing")
    low, high = facts.pooled["all"][1:]
    small = [rho[1] > -SMALL and rho[2] < SMALL for rho in each.values()]
    text = "; ".join(f"{d} {with_interval(rho, 2)}" for d, rho in each.items())
    note = (
        f"uncorrelated: the interval lies within ±{SMALL}, of all and of each domain. Other "
        "models than those of the paper; each base gives many configurations, so intervals are "
        "too narrow"
    )
    return Evidence(
        f"all {with_interval(facts.pooled['all'], 2)}; {text}",
        (low > -SMALL and high < SMALL, all(small)),
        note,
    )


def _regimes(facts: Facts) -> Evidence:
    if not {"compression", "preserving"} <= set(facts.pooled):
        raise NoData("no models are trained at this size, or their packages are missing")
    compression, preserving = facts.pooled["compression"], facts.pooled["preserving"]
    note = (
        "which belong to which is our reading: compression keeps fewer features or directions. It "
        "is the axes again: principal components are uncorrelated, so their feature split is "
        f"{number(facts.components[0], 2)} on average whatever they keep, and their basis_split "
        f"{number(facts.components[1], 2)}; with it, compression "
        f"{with_interval(facts.basis['compression'], 2)}"
    )
    text = f"preserving {with_interval(preserving, 2)}, compression {with_interval(compression, 2)}"
    return Evidence(text, (preserving[1] > 0, compression[2] < 0), note)


TITLE = "Spearman's correlation of feature split and CKA, with 95 % bootstrap intervals"
_CLAIMS = (
    ("T15", "Stability and similarity are uncorrelated over transformations of encoders",
     "ρ = 0.01 (version 1), −0.01 [−0.06, 0.03] (version 4), 2463 configurations", _uncorrelated),
    ("T15", "They agree where geometry is preserved, and disagree under compression",
    "in words (version 4)", _regimes),
)  # fmt: skip


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    configurations = _configurations(done)
    facts = _facts(configurations, SIZES[config.size].bootstraps)
    return Section(
        "encoders",
        "Transformations of encoders",
        ABOUT,
        _tables(facts, configurations),
        _figures(facts, configurations),
        judged(_CLAIMS, facts),
        {},
        _absent(config),
    )


def _tables(facts: Facts, configurations: Sequence[Configuration]) -> tuple[Table, ...]:
    rows = tuple(
        (d, float(facts.counts[d]), *map(known, (*rho, *facts.without_self[d])))
        for d, rho in facts.domains.items()
    )
    columns = ("domain", "configurations", "ρ", "low", "high", "ρ without itself", "low ", "high ")
    note = "“Without itself”: references are not compared with themselves."
    names = ("transformation", "bases", "feature split", "basis split", "CKA", "CKA without itself")
    regimes = tuple(
        (name, *map(known, (*facts.pooled[name], *facts.basis[name]))) for name in facts.pooled
    )
    more = ("trained models", "ρ, feature split", "low", "high", "ρ, basis split", "low ", "high ")
    pooled = "The same by kind of transformation, over all trained models"
    means = "Means over all bases, made and trained"
    return (
        Table("regimes", pooled, more, regimes),
        Table("correlations", TITLE, columns, rows, note),
        Table("transformations", means, names, _by_name(configurations)),
    )


def _figures(facts: Facts, configurations: Sequence[Configuration]) -> tuple[Bars, Chart]:
    lines = tuple(
        Line(d, tuple((c.stability, c.similarity) for c in members))
        for d, members in _by_domain(configurations).items()
    )
    bars = tuple(Bar(d, *rho) for d, rho in facts.domains.items() if np.isfinite(rho).all())
    return (
        Bars("by_domain", TITLE, "ρ", bars, threshold=0.0),
        Chart("cloud", "Transformations", "feature split", "CKA", lines, joined=False),
    )


def _by_name(configurations: Sequence[Configuration]) -> tuple[tuple[Entry, ...], ...]:
    """Means over the bases, by transformation."""
    groups: defaultdict[str, list[Configuration]] = defaultdict(list)
    for c in configurations:
        groups[c.name].append(c)
    return tuple(
        (name, float(len(cs)), *np.mean([c[3:] for c in cs], axis=0).tolist())
        for name, cs in sorted(groups.items())
    )


def _absent(config: RunConfig) -> dict[str, str]:
    if not SIZES[config.size].models:
        return dict.fromkeys(DOMAINS, f"no models are trained at the size {config.size}")
    return absent(DOMAINS)


ENCODERS = Experiment("encoders", _parts, _compute, _conclude, _models)
