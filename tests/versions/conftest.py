"""What the tests of versions share."""

from __future__ import annotations

import numpy as np
import pytest
from factories.versions import reference


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """A reference of six features, its four classes, and random numbers for what changes."""
    g = np.random.default_rng(0)
    return *reference(6, g), g
