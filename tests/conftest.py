"""Fixtures shared by the tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from resemblance.measure import Measure

GOLDEN = Path(__file__).parent / "golden"


def for_few_samples(m: Measure) -> Measure:
    """The measure with no more neighbours than small data have."""
    return m.where(k=10) if m.min_samples > 100 else m


@pytest.fixture(scope="session")
def golden_inputs() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "resi_inputs.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def golden_outputs() -> dict:
    return json.loads((GOLDEN / "resi_outputs.json").read_text())


@pytest.fixture(scope="session")
def golden_definitions() -> dict:
    return json.loads((GOLDEN / "resi_paper_variants.json").read_text())


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
