"""Families of models: those that can be compared with each other."""

from __future__ import annotations

from typing import NamedTuple

from ..sources.training import DATASETS


class ModelFamily(NamedTuple):
    """What models that are compared with each other have in common."""

    domain: str
    dataset: str
    architecture: str
    pooling: str

    def __str__(self) -> str:
        parts = (self.domain, *readable(self.dataset, self.architecture), self.pooling)
        return " · ".join(part for part in parts if part)

    @property
    def short(self) -> str:
        """A readable name without what goes without saying."""
        dataset, architecture = readable(self.dataset, self.architecture)
        first = dataset if self.dataset in DATASETS else self.domain
        return " ".join(part for part in (first, architecture, self.pooling) if part)

    @property
    def title(self) -> str:
        """A readable name."""
        return "/".join(part for part in self if part)


def readable(dataset: str, architecture: str) -> tuple[str, str]:
    """Return what a data set and an architecture are called on pages: as in the ReSi paper, where
    they are its own."""
    about = DATASETS.get(dataset)
    if about is None:
        return dataset, architecture
    known = about.architectures.get(architecture)
    return about.title, architecture if known is None else known.title
