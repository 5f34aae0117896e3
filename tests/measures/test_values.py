"""What proves the value of every measure and statistic, and the definitions of those that no other
test computes.

Claims say how a value behaves, not which it is: a wrong formula can have every invariance. So each
name needs a row: the test that compares its value with the authors' code, or the definition itself,
written out once more for arrays.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import resemblance as rs
from resemblance import measures, statistics
from resemblance.base.rng import generator
from resemblance.contracts._measure import Measure
from resemblance.contracts._statistic import Statistic

Definition = Callable[[np.ndarray, np.ndarray], float]


def gram(x: np.ndarray) -> np.ndarray:
    x = x - x.mean(axis=0)
    return x @ x.T


def nuclear(matrix: np.ndarray) -> float:
    return np.linalg.svd(matrix, compute_uv=False).sum()


NETREP = "test_stochastic_shapes.test_values_are_those_of_netrep_where_it_minimises_what_it_reports"
RESI = "test_golden.test_preset_resi_equals_the_authors_code"
MEASURES: dict[str, str | Definition] = {
    "accuracy_difference": "test_golden.test_output_measures_equal_the_authors_code",
    "aligned_cosine": RESI,
    "angular_shape": RESI,
    "bures": "test_printed_elsewhere.test_the_table_of_similarity_repository",
    "cka": RESI,
    "cknna": "test_neighbors.test_cknna_equals_the_authors_code_but_for_what_it_adds",
    "concentricity_difference": RESI,
    "cycle_knn": "test_neighbors.test_neighbors_equal_the_authors_code",
    "disagreement": "test_golden.test_output_measures_equal_the_authors_code",
    "distance_correlation": RESI,
    "edit_distance_knn": "test_neighbors.test_neighbors_equal_the_authors_code",
    "eigenspace_overlap": RESI,
    "eigenspectrum_similarity": "test_drift.test_drifts_equal_the_authors_code_where_the_definition_is_the_same",
    "energy_stochastic_shape": NETREP,
    "ensd": lambda x, y: (
        np.trace(gram(x))
        * np.trace(gram(y))
        * np.vdot(gram(x), gram(y))
        / np.vdot(gram(x), gram(x))
        / np.vdot(gram(y), gram(y))
    ),
    "gaussian_stochastic_shape": NETREP,
    "gulp": RESI,
    "hard_correlation_match": RESI,
    "imd": "test_golden.test_defaults_equal_the_definitions",
    "information_imbalance": "test_printed_elsewhere.test_the_information_imbalances_of_dadapy",
    "jaccard": RESI,
    "jensen_shannon": "test_golden.test_output_measures_equal_the_authors_code",
    "kcka": "test_neighbor_kernels.test_kcka_by_its_equations",
    "lcs_knn": "test_neighbors.test_neighbors_equal_the_authors_code",
    "linear_predictivity": "test_matching.test_linear_predictivity_is_ridge_regression_with_one_sample_left_out",
    "linear_regression": RESI,
    "magnitude_difference": RESI,
    "mean_cca": "test_golden.test_pwcca_and_mean_cca_equal_the_definitions",
    "mka": "test_neighbor_kernels.test_values_equal_the_authors_code",
    "mmd": "test_all_pairs.test_mmd_is_that_of_the_matrix",
    "mutual_knn": "test_neighbors.test_neighbors_equal_the_authors_code",
    "nbs": lambda x, y: (
        nuclear((x - x.mean(axis=0)).T @ y) / np.sqrt(np.trace(gram(x)) * np.trace(gram(y)))
    ),
    "permutation_procrustes": RESI,
    "procrustes": RESI,
    "procrustes_size_shape": RESI,
    "pwcca": "test_golden.test_pwcca_and_mean_cca_equal_the_definitions",
    "pwcka": "test_drift.test_drifts_equal_the_authors_code_where_the_definition_is_the_same",
    "rank_similarity": RESI,
    "riemannian": "test_products.test_riemannian_by_its_definition",
    "rsa": RESI,
    "rsm_norm_difference": "test_golden.test_defaults_equal_the_definitions",
    "rtd": RESI,
    "rtd_lite": "test_matching.test_rtd_lite_from_bars_of_gudhi_and_single_linkage",
    "second_order_cosine": "test_golden.test_defaults_equal_the_definitions",
    "shape_distance": "test_matching.test_shape_by_its_definition",
    "sliced_wasserstein": "test_drift.test_sliced_wasserstein_of_one_dimension_is_the_wasserstein_distance",
    "soft_correlation_match": RESI,
    "soft_matching": "test_matching.test_soft_matching_of_different_widths_is_the_matching_of_copies",
    "subspace_overlap": "test_drift.test_drifts_equal_the_authors_code_where_the_definition_is_the_same",
    "svcca": "test_golden.test_defaults_equal_the_definitions",
    "uniformity_difference": "test_golden.test_defaults_equal_the_definitions",
}
STATISTICS = {
    "anchor": "test_values.test_anchor_by_its_definition",
    "anchor_profile": "test_stability.test_values_equal_the_authors_codes",
    "anisotropy": "test_stability.test_spectra_equal_the_authors_scripts",
    "basis_split": "test_values.test_splits_of_features_by_their_definitions",
    "centroid_drift": "test_stability.test_trials_equal_the_authors_script",
    "class_separation": "test_values.test_class_separation_by_its_definition",
    "continuity": "test_projection.test_values_equal_scikit_learn",
    "effective_rank": "test_stability.test_spectra_equal_the_authors_scripts",
    "feature_split": "test_values.test_splits_of_features_by_their_definitions",
    "fisher_discriminant": "test_stability.test_values_equal_the_authors_codes",
    "gbc": "test_stability.test_gbc_follows_from_the_published_distance_of_two_classes",
    "h_score": "test_stability.test_values_equal_the_authors_codes",
    "input_noise_stability": "test_values.test_input_noise_by_its_definition",
    "label_conditioned_split": "test_values.test_label_conditioned_split_by_its_definition",
    "lda_stability": "test_values.test_lda_stability_is_the_cosine_of_scikit_learns_directions",
    "leep": "test_stability.test_values_equal_the_authors_codes",
    "logme": "test_stability.test_logme_is_the_largest_evidence",
    "mle_dimension": "test_dimension.test_dimensions_equal_scikit_dimension",
    "nc1": "test_collapse.test_neural_collapse_by_its_definition",
    "nc2_angles": "test_collapse.test_neural_collapse_by_its_definition",
    "nc2_norms": "test_collapse.test_neural_collapse_by_its_definition",
    "nc3": "test_collapse.test_neural_collapse_by_its_definition",
    "nc4": "test_collapse.test_neural_collapse_by_its_definition",
    "nce": "test_stability.test_values_equal_the_authors_codes",
    "participation_ratio": "test_stability.test_spectra_equal_the_authors_scripts",
    "perturbation_coherence": "test_stability.test_perturbations_equal_the_package",
    "perturbation_magnitude": "test_stability.test_perturbations_equal_the_package",
    "perturbation_reproducibility": "test_values.test_reproducibility_by_its_definition",
    "perturbation_spread": "test_stability.test_perturbations_equal_the_package",
    "rankme": "test_dimension.test_rankme_and_spectral_decay_by_their_definitions",
    "replicate": "test_stability.test_values_equal_the_authors_codes",
    "sample_split": "test_values.test_sample_split_by_its_definition",
    "silhouette": "test_stability.test_values_equal_the_authors_codes",
    "spectral_decay": "test_dimension.test_rankme_and_spectral_decay_by_their_definitions",
    "supervised_alignment": "test_stability.test_values_equal_the_authors_codes",
    "temporal_drift": "test_stability.test_trials_equal_the_authors_script",
    "trial_split": "test_stability.test_trials_equal_the_authors_script",
    "trustworthiness": "test_projection.test_values_equal_scikit_learn",
    "twonn_dimension": "test_dimension.test_dimensions_equal_scikit_dimension",
    "variance_ratio": "test_stability.test_values_equal_the_authors_codes",
}
PROOFS = sorted(p for p in {*MEASURES.values(), *STATISTICS.values()} if isinstance(p, str))


# ------------------------------------------------------------------------------------ the catalogue


def defined(package, kind: type) -> set[str]:
    """Names of all that the modules of a package define of one kind."""
    modules = [
        importlib.import_module(f"{package.__name__}.{m.name}")
        for m in pkgutil.iter_modules(package.__path__)
    ]
    return {
        value.name
        for module in modules
        for value in vars(module).values()
        if isinstance(value, kind) and value.function.__module__ == module.__name__
    }


def test_all_that_is_defined_is_in_the_catalogue_and_has_a_test_of_its_value():
    assert defined(measures, Measure) == {m.name for m in rs.list_measures()} == set(MEASURES)
    assert (
        defined(statistics, Statistic) == {s.name for s in rs.list_statistics()} == set(STATISTICS)
    )
    assert defined(statistics, Statistic) <= set(rs.statistics.__all__)


@pytest.mark.parametrize("proof", PROOFS)
def test_the_named_tests_of_values_exist(proof, monkeypatch):
    module, _, name = proof.partition(".")
    (file,) = Path(__file__).parents[1].rglob(f"{module}.py")
    monkeypatch.syspath_prepend(file.parent)
    assert callable(getattr(importlib.import_module(module), name))


def test_values_are_those_of_the_definitions(rng, subtests):
    y = rng.standard_normal((40, 6))
    x = y @ rng.standard_normal((6, 6)) + rng.standard_normal((40, 6)) + 1
    for name, definition in MEASURES.items():
        if callable(definition):
            with subtests.test(name):
                assert rs.get_measure(name)(x, y) == pytest.approx(definition(x, y), rel=1e-9)


# --------------------------------------------------------------- definitions, written out once more

GROUPS = np.repeat([0, 1, 2], [9, 10, 11])


@pytest.fixture
def x(rng) -> np.ndarray:
    return rng.standard_normal((3, 7))[GROUPS] + rng.standard_normal((30, 7)) * rng.uniform(
        0.2, 2, 7
    )


def agreements(pairs, kind: str = "cosine") -> float:
    return np.mean([spearmanr(pdist(a, kind), pdist(b, kind)).statistic for a, b in pairs])


def in_halves(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = len(order) // 2
    return order[:half], order[half : 2 * half]


def test_splits_of_features_by_their_definitions(x):
    orders = [in_halves(generator(4, "feature_split", s).permutation(7)) for s in range(3)]
    expected = agreements((x[:, a], x[:, b]) for a, b in orders)
    assert rs.statistics.feature_split(x, k=3, seed=4) == pytest.approx(expected, rel=1e-9)

    def turned(split: int) -> np.ndarray:
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        left, _, right = np.linalg.svd(
            u.T @ generator(4, "basis_split", split).standard_normal(x.shape)
        )
        return u * s @ left @ right

    expected = agreements((z[:, :3], z[:, 3:6]) for z in map(turned, range(3)))
    assert rs.statistics.basis_split(x, k=3, seed=4) == pytest.approx(expected, rel=1e-9)


def test_sample_split_by_its_definition(x):
    draws = [generator(4, "sample_split", s) for s in range(3)]
    pairs = [[x[draw.choice(30, 12, replace=False)] for _ in range(2)] for draw in draws]
    assert rs.statistics.sample_split(x, k=3, seed=4) == pytest.approx(agreements(pairs), rel=1e-9)


def test_anchor_by_its_definition(rng):
    x = rng.standard_normal((60, 4))
    order = generator(4, "anchor", "anchors").permutation(60)
    values = []
    for split in range(3):
        probes = generator(4, "anchor", split).permutation(order[10:])
        sides = [
            rankdata(cdist(x[order[:10]], x[p], "cosine"), axis=1)
            for p in (probes[:20], probes[20:40])
        ]
        values.append(pearsonr(*(side.ravel() for side in sides)).statistic)
    assert rs.statistics.anchor(x, anchors=10, probes=20, k=3, seed=4) == pytest.approx(
        np.mean(values), rel=1e-9
    )


def test_label_conditioned_split_by_its_definition(x):
    pairs = []
    for split in range(3):
        draw = generator(4, "label_conditioned_split", split)
        orders = [
            in_halves(draw.permutation(np.flatnonzero(label == GROUPS))) for label in range(3)
        ]
        pairs.append(
            [np.stack([x[order[side]].mean(axis=0) for order in orders]) for side in (0, 1)]
        )
    value = rs.statistics.label_conditioned_split(x, GROUPS, k=3, compare="pearson", seed=4)
    expected = np.mean(
        [pearsonr(pdist(a, "cosine"), pdist(b, "cosine")).statistic for a, b in pairs]
    )
    assert value == pytest.approx(expected, rel=1e-9)


def test_class_separation_by_its_definition(x):
    """The mean distance between classes over that within them, of half of every class."""
    values = []
    for split in range(3):
        draw = generator(4, "class_separation", split)
        groups = [np.flatnonzero(label == GROUPS) for label in range(3)]
        rows = np.concatenate(
            [draw.choice(group, size, replace=False) for group, size in zip(groups, (4, 5, 6))]
        )
        apart, same = cdist(x[rows], x[rows]), GROUPS[rows, None] == GROUPS[rows]
        values.append(apart[~same].mean() / apart[same & ~np.eye(15, dtype=bool)].mean())
    assert rs.statistics.class_separation(x, GROUPS, k=3, seed=4) == pytest.approx(
        np.mean(values), rel=1e-9
    )


def test_lda_stability_is_the_cosine_of_scikit_learns_directions(x):
    labels = np.arange(30) % 2
    x = x + labels[:, None]

    def direction(points: np.ndarray, classes: np.ndarray) -> np.ndarray:
        fitted = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.5, 0.5]).fit(points, classes)
        return fitted.coef_[0] / np.linalg.norm(fitted.coef_[0])

    whole, cosines = direction(x, labels), []
    for split in range(3):
        draw = generator(4, "lda_stability", split)
        rows = np.concatenate([draw.choice(np.flatnonzero(labels == c), 7) for c in (0, 1)])
        cosines.append(abs(whole @ direction(x[rows], labels[rows])))
    assert rs.statistics.lda_stability(x, labels, k=3, seed=4, ridge=1e-12) == pytest.approx(
        np.mean(cosines), rel=1e-7
    )


def test_reproducibility_by_its_definition(x, rng):
    control, cosines = rng.standard_normal((12, 7)), []
    for split in range(3):
        order = generator(4, "perturbation_reproducibility", "samples", split).permutation(30)
        a, b = (x[half].mean(axis=0) - control.mean(axis=0) for half in in_halves(order))
        cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    value = rs.statistics.perturbation_reproducibility(x, control, k=3, seed=4)
    assert value == pytest.approx(np.mean(cosines), rel=1e-9)


def test_input_noise_by_its_definition(x):
    noise = [generator(4, "input_noise_stability", s).standard_normal(x.shape) for s in range(3)]
    moved = [np.linalg.norm(np.tanh(x + 0.2 * x.std() * z) - np.tanh(x), axis=1) for z in noise]
    value = rs.statistics.input_noise_stability(x, np.tanh, noise=0.2, k=3, seed=4)
    assert value == pytest.approx(1 / (1 + np.mean(moved)), rel=1e-9)
