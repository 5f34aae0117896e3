"""Compare the numbers of other packages with ours, for the page of those who come from them.

Their value is either recorded from the package itself, in ``tests/``, or computed by the formula
that its code uses, which is written here or in ``benchmarks/per_pair.py``, without the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from conventions import GOLDEN, GOLDEN_CASES, Function, centered, golden, nuclear, rbf_cka
from per_pair import cka, permutation_procrustes, procrustes_size_shape
from pieces import markdown
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit

import resemblance as rs

Pairs = list[tuple[float, float]]


class Row(NamedTuple):
    """A call of another package and ours, and the digits in which they agree; 0 if they differ."""

    theirs: str
    ours: str
    digits: int
    pairs: Callable[[], Pairs]
    differs: str = ""


def agreement(pairs: Pairs) -> float:
    """Return in how many digits the values of all pairs agree."""
    max_difference = max(abs(a - b) / max(abs(a), abs(b)) for a, b in pairs)
    return -float(np.log10(max(max_difference, 1e-16)))


def table(package: str) -> str:
    """Return the table of a package, in Markdown: digits unless all rows agree to as many, and what
    differs where something does."""
    rows = PACKAGES[package]()
    columns = {
        "there": [f"`{row.theirs}`" for row in rows],
        "here": [f"`{row.ours}`" for row in rows],
        "digits": [str(row.digits or "none") for row in rows],
        "what differs": [row.differs for row in rows],
    }
    names = [name for name in columns if name == "here" or len(set(columns[name])) > 1]
    return markdown(names, zip(*(columns[name] for name in names), strict=True))


# ------------------------------------------------------------------------- formulas of their codes


def formula(
    theirs: str,
    ours: str,
    digits: int,
    measure: Function,
    differs: str = "",
    prepared: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Row:
    """Return the row of a formula, evaluated on both golden cases; ours on ``prepared`` arrays."""

    def pairs() -> Pairs:
        cases = [golden(case) for case in GOLDEN_CASES]
        our_measure = rs.get_measure(ours)
        return [(measure(X, Y), float(our_measure(prepared(X), prepared(Y)))) for X, Y in cases]

    return Row(theirs, ours, digits, pairs, differs)


def _shape_metric(alpha: float) -> Function:
    def whitened(X: np.ndarray) -> np.ndarray:
        u, s, vt = np.linalg.svd(centered(X), full_matrices=False)
        return np.asarray((u * (alpha * s + 1 - alpha)) @ vt)

    def angle(X: np.ndarray, Y: np.ndarray) -> float:
        x, y = whitened(X), whitened(Y)
        return float(np.arccos(nuclear(x, y) / (np.linalg.norm(x) * np.linalg.norm(y))))

    return angle


def _u_distance_correlation_sqr(X: np.ndarray, Y: np.ndarray) -> float:
    def u_centered(Z: np.ndarray) -> np.ndarray:
        d, n = squareform(pdist(Z)), len(Z)
        sums = d.sum(axis=0)
        a = d - (sums[:, None] + sums) / (n - 2) + d.sum() / ((n - 1) * (n - 2))
        return np.asarray(a - np.diag(np.diag(a)))

    a, b = u_centered(X), u_centered(Y)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _distance_correlation_sqr(X: np.ndarray, Y: np.ndarray) -> float:
    a, b = (centered(centered(squareform(pdist(Z))).T) for Z in (X, Y))
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _unbiased_hsic(K: np.ndarray, L: np.ndarray) -> float:
    n, k, l = len(K), K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    squares = (k * l).sum() + k.sum() * l.sum() / ((n - 1) * (n - 2))
    return float((squares - 2 * k.sum(axis=0) @ l.sum(axis=0) / (n - 2)) / (n * (n - 3)))


def _cka_of_batches(size: int) -> Function:
    """Return the quotient of the sums of unbiased HSIC over batches."""

    def cka(X: np.ndarray, Y: np.ndarray) -> float:
        sums = np.zeros(3)
        for start in range(0, len(X), size):
            K, L = (Z[start : start + size] @ Z[start : start + size].T for Z in (X, Y))
            sums += [_unbiased_hsic(K, L), _unbiased_hsic(K, K), _unbiased_hsic(L, L)]
        return float(sums[0] / np.sqrt(sums[1] * sums[2]))

    return cka


def _clamped(X: np.ndarray, Y: np.ndarray) -> float:
    return min(max(_cka_of_batches(len(X))(X, Y), 0.0), 1.0)


def _tau_a(X: np.ndarray, Y: np.ndarray) -> float:
    return float(kendalltau(pdist(X, "sqeuclidean"), pdist(Y, "sqeuclidean")).statistic)  # no ties


def _brain_score(theirs: str, ours: str, digits: int, model: Any, differs: str = "") -> Row:
    """Return the row of a regression of Brain-Score: the median correlation over units, and the
    mean over ten random splits."""
    splits = ShuffleSplit(10, train_size=0.9, random_state=1)

    def score(X: np.ndarray, Y: np.ndarray) -> float:
        predictions = ((model.fit(X[a], Y[a]).predict(X[b]), Y[b]) for a, b in splits.split(X))
        return float(
            np.mean([
                np.median([np.corrcoef(*pair)[0, 1] for pair in zip(p.T, y.T)])
                for p, y in predictions
            ])
        )  # fmt: skip

    def pairs() -> Pairs:
        values = []
        for X, Y in map(golden, GOLDEN_CASES):
            held_out = rs.get_measure(ours).with_parameters(held_out=list(splits.split(X)))
            values.append((score(X, Y), float(held_out(X, Y))))
        return values

    return Row(theirs, ours, digits, pairs, differs)


def _partial(theirs: str, ours: str, digits: int, score: str, differs: str = "") -> Row:
    """Return the row of RDMs of two models in mne-rsa; the second is of the first half of X."""
    ranks = rankdata if "spearman" in theirs else np.asarray

    def pairs() -> Pairs:
        values = []
        for X, Y in map(golden, GOLDEN_CASES):
            half = X[:, : X.shape[1] // 2]
            rdms = np.stack([ranks(pdist(Z, "correlation")) for Z in (Y, X, half)])
            rdms = rdms - rdms.mean(axis=1, keepdims=True)
            inverse = np.linalg.inv(rdms @ rdms.T)
            there = -inverse[0, 1:] / np.sqrt(inverse[0, 0] * np.diag(inverse)[1:])
            if score == "regression":
                there = np.linalg.lstsq(rdms[1:].T, rdms[0])[0]
            models = {"all": X, "half": half}
            here = rs.score_models(models, [Y, Y], measure=ours, score=score, progress=False)
            values += list(zip(there, here.values[0], strict=True))
        return values

    spelled = f'score_models(measure="{ours}", score="{score}")'
    return Row(theirs, spelled, digits, pairs, differs)


def _rsa(compare: Callable[..., Any]) -> Function:
    return lambda X, Y: float(compare(pdist(X, "correlation"), pdist(Y, "correlation"))[0])


def _centered_rotation() -> Row:
    """Return the row of the map of queries in rebasis."""

    def pairs() -> Pairs:
        values = []
        for X, Y in map(golden, GOLDEN_CASES):
            a, b = X[:150] - X[:150].mean(axis=0), Y[:150] - Y[:150].mean(axis=0)
            u, _, vt = np.linalg.svd(a.T @ b)
            there = (X[150:] - X[:150].mean(axis=0)) @ u @ vt + Y[:150].mean(axis=0)
            here = rs.align(X[:150], Y[:150]).transform(X[150:]).array
            values += list(zip(there.ravel(), here.ravel(), strict=True))
        return values

    return Row("rebasis: CenteredProcrustesAdapter", "align(new, old).transform(queries)", 9, pairs)


def _shared_neighbors(X: np.ndarray, Y: np.ndarray) -> float:
    lists = (np.argsort(squareform(pdist(Z)), axis=1)[:, 1:31] for Z in (X, Y))
    return float(np.mean([len(set(a) & set(b)) / 30 for a, b in zip(*lists)]))


def _imbalance(X: np.ndarray, Y: np.ndarray) -> float:
    first = np.argsort(squareform(pdist(X)), axis=1)[:, 1]
    ranks = np.argsort(np.argsort(squareform(pdist(Y)), axis=1), axis=1)
    return float(ranks[np.arange(len(X)), first].mean() / (len(X) / 2))


# ------------------------------------------------------------- values of the packages themselves


def _rsatoolbox() -> list[Row]:
    from test_recordings import COMPARISONS, DISSIMILARITIES, LABELS, Recording, above_of

    recording = Recording()
    names = {"pearson": "corr", "kendall_a": "tau-a", "rho_a": "rho-a"}
    names |= {"whitened_cosine": "cosine_cov", "whitened_pearson": "corr_cov"}
    kinds = {"sqeuclidean": "euclidean"}

    def of_means(kind: str) -> Pairs:
        trials = recording.counts if kind == "poisson" else recording.trials
        values = above_of(rs.dissimilarities(trials, LABELS, rdm=kind))[:5]
        return list(zip(DISSIMILARITIES[kind], values, strict=True))

    def of_models(compare: str) -> Pairs:
        values = rs.rsa(recording.crossnobis, recording.model, compare=compare)
        return [(COMPARISONS[compare], values)]

    return [
        *(
            Row(
                f'calc_rdm(method="{kinds.get(kind, kind)}")',
                f'dissimilarities(X, conditions, rdm="{kind}")',
                10,
                lambda kind=kind: of_means(kind),
            )
            for kind in DISSIMILARITIES
        ),
        *(
            Row(
                f'compare(method="{names.get(compare, compare)}")',
                f"rsa[compare={compare}]",
                10,
                lambda compare=compare: of_models(compare),
            )
            for compare in COMPARISONS
        ),
    ]


def _platonic() -> list[Row]:
    outputs = json.loads((GOLDEN / "stab_outputs_kernels.json").read_text())
    values = outputs["rot_noise"]["platonic"]["norm64"]
    with np.load(GOLDEN / "stab_inputs.npz") as arrays:
        sides = [arrays[f"rot_noise__{side}"] for side in "XY"]
    X, Y = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in sides)

    def row(key: str, theirs: str, ours: str, digits: int, by: int = 1) -> Row:
        return Row(
            theirs, ours, digits, lambda: [(values[key], by * float(rs.get_measure(ours)(X, Y)))]
        )

    return [
        row("mutual_knn_k10", 'measure("mutual_knn", topk=10)', "mutual_knn[k=10]", 6),
        row("cycle_knn_k5", 'measure("cycle_knn", topk=5)', "cycle_knn[k=5]", 6),
        row("lcs_knn_k10", 'measure("lcs_knn", topk=10)', "lcs_knn[k=10]", 6, by=10),
        row("edit_distance_knn_k10", 'measure("edit_distance_knn", topk=10)',
            "edit_distance_knn[k=10]", 9),
        row("cknna_k10", 'measure("cknna", topk=10)', "cknna[k=10]", 3),
        row("cka_ip", 'measure("cka")', "cka", 8),
        row("cka_rbf_sigma1.0", 'measure("cka", kernel_metric="rbf", rbf_sigma=1.0)',
            "cka[kernel=rbf,width=1.0]", 8),
        row("unbiased_cka_ip", 'measure("unbiased_cka")', "cka[estimator=debiased]", 4),
        row("svcca_dim10_seed0", 'measure("svcca")', "svcca", 0),
    ]  # fmt: skip


def _resi() -> list[Row]:
    outputs = json.loads((GOLDEN / "resi_outputs.json").read_text())["measures"]

    def row(label: str, ours: str) -> Row:
        entries = [
            (case, name, entry)
            for case in GOLDEN_CASES
            for name, entry in outputs[case]["measures"].items()
            if entry.get("paper_name") == label
        ]

        def pairs() -> Pairs:
            return [
                (entry["R_Rp"]["value"], float(rs.get_measure(ours)(*golden(case))))
                for case, _, entry in entries
            ]

        return Row(entries[0][1], ours, OTHER_DIGITS.get(label, 8), pairs)

    return [row(m.label, m.spec) for m in rs.preset("resi") if m.label != "UnifDiff"]


OTHER_DIGITS = {"IMD": 0, "RTD": 4}


# ------------------------------------------------------------------------------------- the packages

PACKAGES: dict[str, Callable[[], list[Row]]] = {
    "rsatoolbox": _rsatoolbox,
    "netrep": lambda: [
        formula("LinearMetric(alpha=1.0)", "angular_shape", 9, _shape_metric(1.0)),
        formula("LinearMetric(alpha=0.0)", "shape_distance[alpha=0]", 9, _shape_metric(0.0)),
        formula("LinearMetric(alpha=0.5)", "shape_distance[alpha=0.5]", 0, _shape_metric(0.5),
                "X in its own units there; here the mean squared singular value is 1 first"),
        formula('LinearMetric(score_method="euclidean")', "procrustes_size_shape", 9,
                procrustes_size_shape),
        formula('PermutationMetric(score_method="euclidean")', "permutation_procrustes", 9,
                lambda X, Y: permutation_procrustes(centered(X), centered(Y)),
                "columns are centred there: pass X - X.mean(0)", centered),
    ],
    "torch-cka": lambda: [
        formula("CKA.compare, all samples in one batch", "cka[estimator=debiased]", 9,
                _cka_of_batches(200)),
        formula("CKA.compare, batches of 50", "cka[estimator=debiased]", 0, _cka_of_batches(50),
                "depends on the batch size there; any batches give the value of all samples here"),
    ],
    "pytorch-cka": lambda: [
        formula("CKA(...)(loader), all samples in one batch", "cka[estimator=debiased]", 9,
                _clamped, "clamped to 0 to 1 there, so never negative by chance"),
        formula("CKA(...)(loader), batches of 50", "cka[estimator=debiased]", 0,
                _cka_of_batches(50), "as in torch-cka"),
    ],
    "dcor": lambda: [
        formula("distance_correlation", "distance_correlation", 9,
                lambda X, Y: _distance_correlation_sqr(X, Y) ** 0.5),
        formula("distance_correlation_sqr", "distance_correlation[squared=True]", 9,
                _distance_correlation_sqr),
        formula("u_distance_correlation_sqr", "distance_correlation[estimator=debiased]", 9,
                _u_distance_correlation_sqr),
    ],
    "brain-score": lambda: [
        _brain_score("pls", "pls", 5, PLSRegression(25, scale=False, tol=1e-14, max_iter=10**5),
                     "with `tol=1e-14`; the tolerance there, 10⁻⁶, costs digits"),
        _brain_score("ridge", "ridge", 9, Ridge(1.0)),
        _brain_score("linear_predictivity", "ridge[penalty=0]", 9, LinearRegression()),
    ],
    "mne-rsa": lambda: [
        formula('rsa(metric="spearman")', "rsa", 9, _rsa(spearmanr)),
        formula('rsa(metric="pearson")', "rsa[compare=pearson]", 9, _rsa(pearsonr)),
        formula('rsa(metric="kendall-tau-a")', "rsa[compare=kendall_a]", 9, _rsa(kendalltau)),
        _partial('rsa(metric="partial")', "rsa[compare=pearson]", 9, "partial"),
        _partial('rsa(metric="partial-spearman")', "rsa", 9, "partial"),
        _partial('rsa(metric="regression")', "rsa[compare=pearson]", 0, "regression",
                 "in the units of the dissimilarities there; standardised here"),
    ],
    "dadapy": lambda: [
        formula("return_inf_imb_two_selected_coords", "information_imbalance", 9, _imbalance),
        formula("return_overlap_coords", "mutual_knn[k=30,metric=euclidean]", 9,
                _shared_neighbors),
    ],
    "upgrades-audits": lambda: [
        _centered_rotation(),
        formula("modeldiffr: layers, cka", "cka", 9, cka),
    ],
    "platonic-rep": _platonic,
    "resi": _resi,
    "similarity-repository": lambda: [
        formula("measure/netrep/procrustes-distance=angular", "angular_shape", 9,
                _shape_metric(1.0)),
        formula("measure/netrep/cka-kernel=linear-hsic=gretton-score", "cka", 9, cka),
        formula("measure/thingsvision/cka-kernel=linear-hsic=song-score",
                "cka[estimator=debiased]", 9, _cka_of_batches(200)),
        formula("measure/netrep/cka-kernel=(rbf-sigma=5.0)-hsic=gretton-score",
                "cka[kernel=rbf,width=5.0]", 9, lambda X, Y: rbf_cka(X, Y, 5.0)),
        formula("measure/rsatoolbox/rsa-rdm=squared_euclidean-compare=tau_a",
                "rsa[compare=kendall_a,rdm=sqeuclidean]", 9, _tau_a),
    ],
}  # fmt: skip
