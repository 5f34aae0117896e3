"""The models of the benchmark of Ding, Denain and Steinhardt (2021), in all domains and three
sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ...sources.recipe import Recipe
from ...sources.training import DOMAINS, check_domains, domain_of


class ModelCounts(NamedTuple):
    """How many models of each kind a domain has.

    ``seeds``: normal models. ``finetunings``: from the first pretrained model. ``grid``: number of
    pretrained models, and of fine-tunings from each, with the same seeds for all.
    """

    seeds: int
    finetunings: int
    grid: tuple[int, int]


SIZES: Mapping[str, ModelCounts] = {
    "small": ModelCounts(2, 3, (2, 2)),
    "default": ModelCounts(5, 20, (4, 5)),
    "paper": ModelCounts(10, 100, (10, 10)),
}


def recipes(size: str, domains: Sequence[str] = tuple(DOMAINS)) -> tuple[Recipe, ...]:
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
    models has all shifts by name: see :func:`resemblance.sources.training.packaged.extract`.

    Raises ``ValueError`` for an unknown size or domain.
    """
    if size not in SIZES:
        raise ValueError(f"no size {size!r}; known: {', '.join(SIZES)}")
    check_domains(domains)
    return tuple(chain.from_iterable(_recipes(size, domain) for domain in dict.fromkeys(domains)))


def _recipes(size: str, domain: str) -> Iterator[Recipe]:
    seeds, finetunings, (pretrainings, each) = SIZES[size]
    about, scale = DOMAINS[domain], "small" if size == "small" else "default"
    where = (domain, about.dataset, about.chosen)
    trainer = domain_of(domain)
    for seed in range(seeds):
        yield Recipe(*where, "normal", 0.0, seed, trainer.DEEP[scale], trainer.VERSION)
    options, version = trainer.TRANSFER[scale], trainer.TRANSFER_VERSION
    for p in range(pretrainings):
        first = Recipe(*where, "finetuned", 0.0, 0, options, version, p)
        assert first.parent is not None
        yield first.parent
        yield from (
            first._replace(seed=seed) for seed in range(max(each, finetunings if p == 0 else 0))
        )
