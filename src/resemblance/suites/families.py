"""Families of models: those that can be compared with each other."""

from __future__ import annotations

from typing import NamedTuple


class ModelFamily(NamedTuple):
    """What models that are compared with each other have in common."""

    domain: str
    dataset: str
    architecture: str
    pooling: str

    def __str__(self) -> str:
        return " · ".join(part for part in self if part)

    @property
    def title(self) -> str:
        """A readable name."""
        return "/".join(part for part in self if part)
