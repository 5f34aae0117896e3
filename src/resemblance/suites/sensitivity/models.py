"""The models of the benchmark of Ding, Denain and Steinhardt (2021), in all three domains and three
sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...sources.trained import ARCHITECTURES, DOMAINS, source
from ...sources.trained.graphs import train as graphs
from ...sources.trained.language import train as language
from ...sources.trained.vision import train as vision
from ...subject import Recipe


class Size(NamedTuple):
    """How many models of each kind a domain has.

    ``seeds``: normal models. ``finetunings``: from the first pretrained model. ``grid``: number of
    pretrained models, and of fine-tunings from each, with the same seeds for all.
    """

    seeds: int
    finetunings: int
    grid: tuple[int, int]


SIZES: Mapping[str, Size] = {
    "small": Size(2, 3, (2, 2)),
    "default": Size(5, 20, (4, 5)),
    "paper": Size(10, 100, (10, 10)),
}
CHOSEN: Mapping[str, str] = {"graphs": "sage", "language": "bert", "vision": "resnet"}
DEEP: Mapping[
    str, Mapping[str, Any]
] = {  # what normal models have in place of the options of the suite "mini"
    "graphs": {"layers": 9, "hidden": 32},
    "language": {"layers": 8, "train": 1500},
    "vision": {"blocks": 4, "width": 8, "epochs": 10},
}
SMALL: Mapping[str, Mapping[str, Any]] = {
    "graphs": {"layers": 5, "test": 120},
    "language": {"layers": 3, "width": 8, "inner": 16, "epochs": 1, "test": 120},
    "vision": {"width": 4, "epochs": 1, "test": 120},
}


def recipes(size: str, domains: Sequence[str] = DOMAINS) -> tuple[Recipe, ...]:
    """Return the recipe of every model that the four benchmarks need, domain by domain.

    ``size``: ``"small"`` for trials, ``"default"``, or ``"paper"``, with as many models as the
    paper; the recipes of the default are among those. Of every domain:

    - ``"normal"`` models, one per seed, with many layers, for benchmarks 1 (seeds and layers) and 2
      (seeds and deleted principal components): 13 layers for vision, 8 or 9 by pooling for
      language, and 8 for graphs at the default.
    - ``"pretrained"`` models, which learned to tell one half of the classes apart; the others start
      from them.
    - ``"finetuned"`` models, which learned the other half from a few examples. ``pretrain`` is the
      seed of the model that they start from and ``seed`` that of the fine-tuning: first examples,
      then head and order. Those with ``pretrain`` 0 are for benchmark 3, and the grid
      ``SIZES[size].grid`` of both seeds for benchmark 4.

    Representations of all models of one domain and setting are of the same inputs, in distribution,
    with their true classes in ``Subject.labels``. ``Subject.traits["accuracies"]`` of fine-tuned
    models has all shifts by name: see ``extract`` of the
    module ``transfer`` of each domain in :mod:`resemblance.sources.trained`.

    Raises ``ValueError`` for an unknown size or domain.
    """
    if size not in SIZES:
        raise ValueError(f"no size {size!r}; known: {', '.join(SIZES)}")
    for domain in domains:
        if domain not in DOMAINS:
            raise ValueError(f"no domain {domain!r}; known: {', '.join(DOMAINS)}")
    return tuple(chain.from_iterable(_recipes(size, domain) for domain in dict.fromkeys(domains)))


def _recipes(size: str, domain: str) -> Iterator[Recipe]:
    (seeds, finetunings, (pretrainings, each)), architecture = SIZES[size], CHOSEN[domain]
    where = (domain, ARCHITECTURES[domain][0], architecture)
    normal = {"graphs": graphs, "language": language, "vision": vision}[domain]
    deep = normal.OPTIONS["slice"][architecture] | SMALL[domain]
    if size != "small":
        deep = normal.OPTIONS["mini"][architecture] | DEEP[domain]
    yield from (Recipe(*where, "normal", 0.0, seed, deep, normal.VERSION) for seed in range(seeds))
    transfer = source(domain, "finetuned")
    options = transfer.OPTIONS["small" if size == "small" else "default"][architecture]
    for p in range(pretrainings):
        first = Recipe(*where, "finetuned", 0.0, 0, options, transfer.VERSION, p)
        assert first.parent is not None
        yield first.parent
        yield from (
            first._replace(seed=seed) for seed in range(max(each, finetunings if p == 0 else 0))
        )
