"""What the tests of models share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    """Draw the same weights in every test, and leave the random numbers of PyTorch as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
