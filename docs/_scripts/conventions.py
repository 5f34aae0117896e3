"""Compute what goes by one name in different codes, for the page on disagreements."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

import resemblance as rs

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
GOLDEN_CASES = {
    "pub01_gauss_indep": "Independent: two independent Gaussian representations, n = 200, d = 32",
    "pub02_rot_noise": "Related: the second is the first rotated, scaled, shifted, plus noise, n "
    "= 200, d = 32",
}
Function = Callable[[np.ndarray, np.ndarray], float]


@cache
def golden(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Return both representations of a golden case."""
    with np.load(GOLDEN / "resi_inputs.npz") as arrays:
        return arrays[f"{case}__R"], arrays[f"{case}__Rp"]


# -------------------------------------------------------------------- the formulas of other codes


def centered(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=0)


def unit(X: np.ndarray) -> np.ndarray:
    return centered(X) / np.linalg.norm(centered(X))


def nuclear(X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.linalg.svd(X.T @ Y, compute_uv=False).sum())


def _uncentered_cka(X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.linalg.norm(X.T @ Y) ** 2 / (np.linalg.norm(X.T @ X) * np.linalg.norm(Y.T @ Y)))


def _batch_mean_cka(X: np.ndarray, Y: np.ndarray, size: int = 16) -> float:
    starts = range(0, len(X) - size + 1, size)
    return float(np.mean([rs.cka(X[s : s + size], Y[s : s + size]) for s in starts]))


def rbf_cka(X: np.ndarray, Y: np.ndarray, sigma: float) -> float:
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
        sums = k.sum() * l.sum() / ((n - 1) * (n - 2))
        return float((K * L).sum() + sums - 2 * (k.sum(axis=0) @ l.sum(axis=0)) / (n - 2))

    K, L = (centered(Z) @ centered(Z).T for Z in (X, Y))
    return float(hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L)))


def _hyppo_rbf(X: np.ndarray, Y: np.ndarray) -> float:
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    return float(np.sqrt(rbf_cka(X, Y, float(np.median(distances[~np.eye(len(X), dtype=bool)])))))


def _svcca(count: Callable[[np.ndarray], int]) -> Function:
    """Return mean CCA after keeping ``count(singular values)`` components of each side."""

    def measure(X: np.ndarray, Y: np.ndarray) -> float:
        bases = []
        for Z in (X, Y):
            u, s, _ = np.linalg.svd(centered(Z), full_matrices=False)
            bases.append(u[:, : count(s)])
        return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).mean())

    return measure


def _share_of_sum(s: np.ndarray) -> int:
    return int(np.searchsorted(np.cumsum(s) / s.sum(), 0.99)) + 1


# ------------------------------------------------------------------------------ the conventions


def conventions() -> Iterator[tuple[str, str, float, float, str, str]]:
    """Yield what goes by one name in different codes, evaluated on both golden cases: the name, the
    convention, both values, what it is here, and who uses it."""
    for name, rows in CONVENTIONS.items():
        for position, (convention, users, function, *description) in enumerate(rows):
            if isinstance(function, str):
                function, description = rs.get_measure(function), [f"`{function}`"]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rs.UninformativeWarning)  # of some, it is the point
                values = [float(function(*golden(case))) for case in GOLDEN_CASES]
            yield ("" if position else name, convention, *values, *(description or "–"), users)


# By the name: conventions, who uses them, and the measure here, or a formula and what to do here.
Row = tuple[str, str, str] | tuple[str, str, Function] | tuple[str, str, Function, str]
CONVENTIONS: dict[str, tuple[Row, ...]] = {
    "CKA, linear": (
        ("biased HSIC", "the paper, ReSi, most packages", "cka"),
        ("unbiased HSIC (Song et al.)", "thingsvision, torch-cka, one script of the Shesha paper",
         "cka[estimator=debiased]"),
        ("diagonals left out after centring", "Lange et al.", "cka[estimator=lange]"),
        ("unbiased HSIC, but with the products of the diagonals",
         "shesha-geometry 0.3.0 (`cka_debiased`)", _cka_with_diagonals),
        ("square root of the biased one", "hyppo (`Hsic`, linear)",
         lambda X, Y: rs.cka(X, Y) ** 0.5),
        ("not centred", "codes that skip the centring", _uncentered_cka),
        ("mean of biased CKA over batches of 16", "mini-batch codes without the unbiased HSIC",
         _batch_mean_cka),
    ),
    "CKA, RBF": (
        ("σ = median distance", "the paper, thingsvision with `sigma=None`", "cka[kernel=rbf]"),
        ("σ = half the median distance", "the paper's other setting",
         "cka[bandwidth=0.5,kernel=rbf]"),
        ("σ = 1 in the units of the data", "thingsvision by default",
         "cka[kernel=rbf,width=1.0]"),
        ("square root; the median distance of X is the width for Y, too",
         "hyppo (`Hsic`, Gaussian)", _hyppo_rbf),
    ),
    "SVCCA": (
        ("99 % of the variance", "the paper, Ding et al.", "svcca"),
        ("99 % of the sum of the singular values", "codes that take these for variances",
         _svcca(_share_of_sum)),
        ("one component fewer than that", "anatome", _svcca(lambda s: _share_of_sum(s) - 1)),
        ("20 components", "google/svcca tutorial", _svcca(lambda s: 20)),
        ("10 components", "platonic-rep (which standardises and adds noise, too)",
         _svcca(lambda s: 10)),
        ("explained *fraction* against 0.99 × *total variance*: one component", "ReSi",
         "svcca[truncation=resi]"),
    ),
    "PWCCA": (
        ("weights from X", "the paper", "pwcca"),
        ("weights from Y", "the same, arguments swapped", "pwcca[weights=second]"),
        ("directions not whitened, means added back", "google/svcca and its copies, ReSi",
         "pwcca[directions=resi]"),
    ),
    "Procrustes": (
        ("distance, unit size", "Williams et al., ReSi", "procrustes"),
        ("squared, unit size", "Ding et al.", "procrustes[squared=True]"),
        ("best scaling too: 1 − ν², ν the nuclear norm", "scipy.spatial.procrustes",
         lambda X, Y: 1 - nuclear(unit(X), unit(Y)) ** 2),
        ("ν, or 1 − ν as a distance", "anatome, Shesha",
         lambda X, Y: nuclear(unit(X), unit(Y)), "`cos(angular_shape)`"),
        ("sizes kept", "netrep (Euclidean), ReSi (ProcDist)", "procrustes_size_shape"),
    ),
    "Linear regression": (
        ("R², Y from X", "default here", "linear_regression"),
        ("R², X from Y", "Kornblith et al. Eq. 5, ReSi", "linear_regression[predict=first]"),
    ),
    "Correlation match": (
        ("best partner of every unit, both sides", "Li et al., ReSi (SoftCorr)",
         "soft_correlation_match"),
        ("one-to-one, optimal; for d = e also the soft matching of Khosla and Williams",
         "ReSi (HardCorr)", "hard_correlation_match"),
        ("one-to-one, greedy", "the text of the ReSi paper",
         "hard_correlation_match[matching=greedy]"),
    ),
    "Distance correlation": (
        ("square root", "the paper, ReSi code, dcor", "distance_correlation"),
        ("no root", "ReSi paper, Eq. 20", "distance_correlation[squared=True]"),
    ),
    "RSA": (
        ("correlation distance, Spearman", "ReSi, many", "rsa"),
        ("correlation distance, Pearson", "many", "rsa[compare=pearson]"),
        ("Euclidean distance, Pearson", "many", "rsa[compare=pearson,rdm=euclidean]"),
    ),
    "RSM difference": (
        ("Frobenius norm", "Yin and Shen", "rsm_norm_difference"),
        ("spectral norm", "ReSi", "rsm_norm_difference[norm=spectral]"),
    ),
    "GULP": (
        ("square root", "the paper", "gulp"),
        ("no root", "ReSi", "gulp[squared=True]"),
    ),
    "Second-order cosine": (
        ("of cosine similarities", "the paper", "second_order_cosine"),
        ("of cosine distances", "ReSi", "second_order_cosine[of=distance]"),
    ),
    "Uniformity difference": (
        ("rows of unit length", "the paper", "uniformity_difference"),
        ("rows as they are", "ReSi", "uniformity_difference[rows=raw]"),
    ),
    "Jaccard, k = 10": (
        ("cosine of the rows as they are", "ReSi", "jaccard"),
        ("cosine after centring the columns", "adapters that centre first",
         lambda X, Y: rs.jaccard(centered(X), centered(Y)), "centre X and Y"),
    ),
}  # fmt: skip
