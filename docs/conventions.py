"""Compute what goes by one name in different codes, for the page on disagreements."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from computed import GOLDEN_CASES, golden

import resemblance as rs


class Convention(NamedTuple):
    measure: str
    convention: str
    used_by: str
    independent: float
    related: float
    here: str


def conventions() -> list[Convention]:
    """Return what goes by one name in different codes, evaluated on both golden cases."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.UninformativeWarning)  # of some, it is the point
        for measure, convention, used_by, function, here in _CONVENTIONS:
            values = [float(function(*golden(case))) for case in GOLDEN_CASES]
            rows.append(Convention(measure, convention, used_by, *values, here))
    return rows


def _centred(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=0)


def _unit(X: np.ndarray) -> np.ndarray:
    return _centred(X) / np.linalg.norm(_centred(X))


def _nuclear(X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.linalg.svd(X.T @ Y, compute_uv=False).sum())


def _uncentred_cka(X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.linalg.norm(X.T @ Y) ** 2 / (np.linalg.norm(X.T @ X) * np.linalg.norm(Y.T @ Y)))


def _batch_mean_cka(X: np.ndarray, Y: np.ndarray, size: int = 16) -> float:
    starts = range(0, len(X) - size + 1, size)
    return float(np.mean([rs.cka(X[s : s + size], Y[s : s + size]) for s in starts]))


def _rbf_cka(X: np.ndarray, Y: np.ndarray, sigma: float) -> float:
    def gram(Z: np.ndarray) -> np.ndarray:
        squares = (Z * Z).sum(axis=1)
        K = np.exp(-(squares[:, None] + squares - 2 * Z @ Z.T) / (2 * sigma**2))
        K = K - K.mean(axis=0)
        return K - K.mean(axis=1, keepdims=True)

    K, L = gram(X), gram(Y)
    return float((K * L).sum() / (np.linalg.norm(K) * np.linalg.norm(L)))


def _cka_with_diagonals(X: np.ndarray, Y: np.ndarray) -> float:
    """Return the quotient of Song's estimators in which the diagonals are left in the inner product
    only."""

    def hsic(K: np.ndarray, L: np.ndarray) -> float:
        n, k, l = len(K), K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
        correction = k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 * (
            k.sum(axis=0) @ l.sum(axis=0)
        ) / (n - 2)
        return float((K * L).sum() + correction)

    K, L = (_centred(Z) @ _centred(Z).T for Z in (X, Y))
    return float(hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L)))


def _hyppo_rbf(X: np.ndarray, Y: np.ndarray) -> float:
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    return float(np.sqrt(_rbf_cka(X, Y, float(np.median(distances[~np.eye(len(X), dtype=bool)])))))


def _svcca(count: Callable[[np.ndarray], int]) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return mean CCA after keeping ``count(singular values)`` components of each side."""

    def measure(X: np.ndarray, Y: np.ndarray) -> float:
        bases = []
        for Z in (X, Y):
            u, s, _ = np.linalg.svd(_centred(Z), full_matrices=False)
            bases.append(u[:, : count(s)])
        return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).mean())

    return measure


def _share_of_sum(s: np.ndarray) -> int:
    return int(np.searchsorted(np.cumsum(s) / s.sum(), 0.99)) + 1


_CONVENTIONS: tuple[tuple[str, str, str, Callable[[np.ndarray, np.ndarray], float], str], ...] = (
    ("CKA, linear", "biased HSIC", "the paper, ReSi, most packages", rs.cka, "``cka``"),
    (
        "",
        "unbiased HSIC (Song et al.)",
        "thingsvision, torch-cka, one script of the Shesha paper",
        rs.cka.where(estimator="debiased"),
        "``cka[estimator=debiased]``",
    ),
    (
        "",
        "diagonals left out after centring",
        "Lange et al.",
        rs.cka.where(estimator="lange"),
        "``cka[estimator=lange]``",
    ),
    (
        "",
        "unbiased HSIC, but with the products of the diagonals",
        "shesha-geometry 0.3.0 (``cka_debiased``)",
        _cka_with_diagonals,
        "–",
    ),
    (
        "",
        "square root of the biased one",
        "hyppo (``Hsic``, linear)",
        lambda X, Y: rs.cka(X, Y) ** 0.5,
        "–",
    ),
    ("", "not centred", "codes that skip the centring", _uncentred_cka, "–"),
    (
        "",
        "mean of biased CKA over batches of 16",
        "mini-batch codes without the unbiased HSIC",
        _batch_mean_cka,
        "–",
    ),
    (
        "CKA, RBF",
        "σ = median distance",
        "the paper, thingsvision with ``sigma=None``",
        rs.cka.where(kernel="rbf"),
        "``cka[kernel=rbf]``",
    ),
    (
        "",
        "σ = half the median distance",
        "the paper's other setting",
        rs.cka.where(kernel="rbf", bandwidth=0.5),
        "``cka[bandwidth=0.5,kernel=rbf]``",
    ),
    (
        "",
        "σ = 1 in the units of the data",
        "thingsvision by default",
        lambda X, Y: _rbf_cka(X, Y, 1.0),
        "–",
    ),
    (
        "",
        "square root; the median distance of X is the width for Y, too",
        "hyppo (``Hsic``, Gaussian)",
        _hyppo_rbf,
        "–",
    ),
    ("SVCCA", "99 % of the variance", "the paper, Ding et al.", rs.svcca, "``svcca``"),
    (
        "",
        "99 % of the sum of the singular values",
        "codes that take these for variances",
        _svcca(_share_of_sum),
        "–",
    ),
    ("", "one component fewer than that", "anatome", _svcca(lambda s: _share_of_sum(s) - 1), "–"),
    ("", "20 components", "google/svcca tutorial", _svcca(lambda s: 20), "–"),
    (
        "",
        "10 components",
        "platonic-rep (which standardises and adds noise, too)",
        _svcca(lambda s: 10),
        "–",
    ),
    (
        "",
        "explained *fraction* against 0.99 × *total variance*: one component",
        "ReSi",
        rs.svcca.where(truncation="resi"),
        "``svcca[truncation=resi]``",
    ),
    ("PWCCA", "weights from X", "the paper", rs.pwcca, "``pwcca``"),
    (
        "",
        "weights from Y",
        "the same, arguments swapped",
        rs.pwcca.where(weights="second"),
        "``pwcca[weights=second]``",
    ),
    (
        "",
        "directions not whitened, means added back",
        "google/svcca and its copies, ReSi",
        rs.pwcca.where(directions="resi"),
        "``pwcca[directions=resi]``",
    ),
    ("Procrustes", "distance, unit size", "Williams et al., ReSi", rs.procrustes, "``procrustes``"),
    (
        "",
        "squared, unit size",
        "Ding et al.",
        rs.procrustes.where(squared=True),
        "``procrustes[squared=True]``",
    ),
    (
        "",
        "best scaling too: 1 − ν², ν the nuclear norm",
        "scipy.spatial.procrustes",
        lambda X, Y: 1 - _nuclear(_unit(X), _unit(Y)) ** 2,
        "–",
    ),
    (
        "",
        "ν, or 1 − ν as a distance",
        "anatome, Shesha",
        lambda X, Y: _nuclear(_unit(X), _unit(Y)),
        "``cos(angular_shape)``",
    ),
    (
        "",
        "sizes kept",
        "netrep (Euclidean), ReSi (ProcDist)",
        rs.procrustes_size_shape,
        "``procrustes_size_shape``",
    ),
    (
        "Linear regression",
        "R², Y from X",
        "default here",
        rs.linear_regression,
        "``linear_regression``",
    ),
    (
        "",
        "R², X from Y",
        "Kornblith et al. Eq. 5, ReSi",
        rs.linear_regression.where(predict="first"),
        "``linear_regression[predict=first]``",
    ),
    (
        "Correlation match",
        "best partner of every unit, both sides",
        "Li et al., ReSi (SoftCorr)",
        rs.soft_correlation_match,
        "``soft_correlation_match``",
    ),
    (
        "",
        "one-to-one, optimal; for d = e also the soft matching of Khosla and Williams",
        "ReSi (HardCorr)",
        rs.hard_correlation_match,
        "``hard_correlation_match``",
    ),
    (
        "",
        "one-to-one, greedy",
        "the text of the ReSi paper",
        rs.hard_correlation_match.where(matching="greedy"),
        "``hard_correlation_match[matching=greedy]``",
    ),
    (
        "Distance correlation",
        "square root",
        "the paper, ReSi code, dcor",
        rs.distance_correlation,
        "``distance_correlation``",
    ),
    (
        "",
        "no root",
        "ReSi paper, Eq. 20",
        rs.distance_correlation.where(squared=True),
        "``distance_correlation[squared=True]``",
    ),
    ("RSA", "correlation distance, Spearman", "ReSi, many", rs.rsa, "``rsa``"),
    (
        "",
        "correlation distance, Pearson",
        "many",
        rs.rsa.where(compare="pearson"),
        "``rsa[compare=pearson]``",
    ),
    (
        "",
        "Euclidean distance, Pearson",
        "many",
        rs.rsa.where(rdm="euclidean", compare="pearson"),
        "``rsa[compare=pearson,rdm=euclidean]``",
    ),
    (
        "RSM difference",
        "Frobenius norm",
        "Yin and Shen",
        rs.rsm_norm_difference,
        "``rsm_norm_difference``",
    ),
    (
        "",
        "spectral norm",
        "ReSi",
        rs.rsm_norm_difference.where(norm="spectral"),
        "``rsm_norm_difference[norm=spectral]``",
    ),
    ("GULP", "square root", "the paper", rs.gulp, "``gulp``"),
    ("", "no root", "ReSi", rs.gulp.where(squared=True), "``gulp[squared=True]``"),
    (
        "Second-order cosine",
        "of cosine similarities",
        "the paper",
        rs.second_order_cosine,
        "``second_order_cosine``",
    ),
    (
        "",
        "of cosine distances",
        "ReSi",
        rs.second_order_cosine.where(of="distance"),
        "``second_order_cosine[of=distance]``",
    ),
    (
        "Uniformity difference",
        "rows of unit length",
        "the paper",
        rs.uniformity_difference,
        "``uniformity_difference``",
    ),
    (
        "",
        "rows as they are",
        "ReSi",
        rs.uniformity_difference.where(rows="raw"),
        "``uniformity_difference[rows=raw]``",
    ),
    ("Jaccard, k = 10", "cosine of the rows as they are", "ReSi", rs.jaccard, "``jaccard``"),
    (
        "",
        "cosine after centring the columns",
        "adapters that centre first",
        lambda X, Y: rs.jaccard(_centred(X), _centred(Y)),
        "centre X and Y",
    ),
)
