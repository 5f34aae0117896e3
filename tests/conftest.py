"""Fixtures shared by the tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from resemblance.measure import Measure
from resemblance.views import distances, heat

GOLDEN = Path(__file__).parent / "golden"


def for_few_samples(m: Measure) -> Measure:
    """The measure with no more neighbours than small data have."""
    return m.where(k=10) if m.min_samples > 100 else m


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is computed in blocks go through several, for the few samples of a test."""
    monkeypatch.setattr(distances, "ROWS", 7)
    monkeypatch.setattr(distances, "GATHERED", 1)
    monkeypatch.setattr(heat, "COLUMNS", 7)


@pytest.fixture(params=["", "small blocks"])
def any_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test twice: with blocks of the usual size, of which its samples fill one, and with many small blocks."""
    if request.param:
        small_blocks(monkeypatch)


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
