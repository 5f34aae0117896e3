"""What the tests of the engine compare."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs


@pytest.fixture(scope="session")
def reps() -> dict[str, np.ndarray]:
    """Five representations of 40 samples with common directions."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((40, 6))
    return {
        f"net/{i}": latent @ rng.standard_normal((6, 5 + i))
        + 0.3 * rng.standard_normal((40, 5 + i))
        for i in range(5)
    }


@pytest.fixture(scope="session")
def plain(reps) -> rs.Comparison:
    """Their comparison, by all default measures."""
    return rs.compare(reps, progress=False)
