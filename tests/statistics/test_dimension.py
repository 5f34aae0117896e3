"""Intrinsic dimension, RankMe and spectral decay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

import resemblance as rs
from resemblance.statistics import mle_dimension, rankme, spectral_decay, twonn_dimension


@pytest.fixture
def surface() -> np.ndarray:
    """300 samples with 3 coordinates in 10 features."""
    rng = np.random.default_rng(0)
    coordinates = rng.uniform(size=(300, 3))
    return np.hstack([coordinates, np.sin(coordinates @ rng.standard_normal((3, 7)))])


def test_dimensions_equal_scikit_dimension(surface):
    # skdim 0.5.0: TwoNN().fit(X), MLE().fit(X, n_neighbors=20, comb="mean" and comb="mle")
    assert twonn_dimension(surface) == pytest.approx(3.209522492270185, rel=1e-12)
    assert mle_dimension(surface) == pytest.approx(2.865930501195088, rel=1e-12)
    harmonic = mle_dimension(surface, mean="harmonic")
    assert harmonic == pytest.approx(2.6667742076803047, rel=1e-12)


def test_rankme_and_spectral_decay_by_their_definitions(surface):
    singular = np.linalg.svd(surface, compute_uv=False)
    assert rankme(surface) == pytest.approx(np.exp(entropy(singular)), rel=1e-12)
    assert rankme(surface + 100) < 1.1  # a common offset is one direction
    rng = np.random.default_rng(1)
    directions = [np.linalg.qr(rng.standard_normal((m, 20)))[0] for m in (200, 60)]
    centred = np.linalg.qr(directions[0] - directions[0].mean(axis=0))[0]
    power_law = centred * np.arange(1, 21) ** -0.7 @ directions[1].T  # variances i ** -1.4
    assert spectral_decay(power_law) == pytest.approx(1.4, rel=1e-10)
    assert spectral_decay(power_law, first=5, last=15) == pytest.approx(1.4, rel=1e-10)


@pytest.mark.parametrize(
    ("call", "fragment", "remedied"),
    [
        (
            lambda x: twonn_dimension(np.r_[x, x[:3]]),
            "6 of 303 samples",
            lambda x: twonn_dimension(np.unique(np.r_[x, x[:3]], axis=0)),
        ),
        (lambda x: mle_dimension(x[:15]), "at least 21 samples", lambda x: mle_dimension(x, k=5)),
        (lambda x: mle_dimension(np.eye(30)), "equally far", mle_dimension),
        (lambda x: twonn_dimension(np.eye(30)), "equally far", twonn_dimension),
        (lambda x: spectral_decay(x, first=9), "at least 3", lambda x: spectral_decay(x, first=8)),
        (lambda x: rankme(np.zeros((9, 3))), "zero|constant|rounding", rankme),
    ],
)
def test_data_without_a_value_are_refused_with_a_remedy(surface, call, fragment, remedied):
    with pytest.raises(rs.UndefinedError, match=fragment):
        call(surface)
    assert remedied(surface) > 0
