"""Statistics of one representation: published values, closed forms, and every claim in both
directions."""

from __future__ import annotations

import inspect
import json
import pickle

import numpy as np
import pytest
from factories.files import GOLDEN
from scipy import optimize, stats
from scipy.stats import rankdata
from test_docs import bibliography

import resemblance as rs
from resemblance import stability as st
from resemblance.checks.checking import applicable_checks, iterate_outcomes
from resemblance.checks.hostile import hostile_pairs
from resemblance.checks.trial import statistic_check_context
from resemblance.contracts._statistic import Statistic, statistic
from resemblance.statistics import rdm
from resemblance.statistics.rdm import mean_rdm_agreement, tie_tolerant_ranks
from resemblance.statistics.splits import feature_halves
from resemblance.statistics.supervised import _stratified_subset

THEIRS = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())
CLASSES = ("two_class", "clustered")
VARIANTS = [
    "feature_split[rdm=correlation]", "feature_split[rdm=euclidean]",
    "feature_split[compare=pearson]",
    "basis_split[rdm=euclidean]", "sample_split[rdm=correlation]", "sample_split[rdm=euclidean]",
    "replicate[rdm=correlation]", "replicate[rdm=euclidean,compare=pearson]",
    "anchor_profile[rdm=correlation]", "anchor_profile[rdm=euclidean]",
    "anchor_profile[anchors=(0, 3, 5)]",
    "label_conditioned_split[rdm=correlation]", "label_conditioned_split[rdm=euclidean]",
    "supervised_alignment[rdm=cosine]", "supervised_alignment[rdm=euclidean]",
    "class_separation[rdm=cosine]",
    "fisher_discriminant[form=eigenvalues]", "silhouette[rdm=euclidean]",
    "gbc[covariance=spherical]",
    "perturbation_coherence[form=spread]", "perturbation_coherence[controls=whitened]",
    "perturbation_coherence[controls=whitened,ridge=0]",
    "perturbation_coherence[controls=neighbors,k=5]",
    "perturbation_coherence[controls=neighbors,k=5,neighbors=cosine]",
    "perturbation_magnitude[unit=deviations]", "perturbation_spread[controls=whitened]",
    "perturbation_spread[controls=whitened,ridge=0]",
    "perturbation_spread[controls=neighbors,k=5]",
    "perturbation_spread[controls=neighbors,k=5,neighbors=cosine]",
    "perturbation_reproducibility[controls=halved]",
    "input_noise_stability[score=rdm]",
    "trial_split[parity=recording]", "trial_split[rdm=correlation]", "trial_split[rdm=euclidean]",
    "temporal_drift[rdm=correlation]", "temporal_drift[rdm=euclidean]",
    "centroid_drift[unit_rows=False]",
]  # fmt: skip
MEMBERS = [*rs.list_statistics(), *map(rs.get_statistic, VARIANTS)]
LABELLED = [s for s in rs.list_statistics() if {"labels", "conditions"} & set(s.needs)]


@pytest.fixture(scope="module")
def inputs() -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name in ("stab_inputs.npz", "stab_labels.npz"):
        with np.load(GOLDEN / name) as archive:
            found |= dict(archive)
    return found


def example(s: Statistic) -> tuple[np.ndarray, list]:
    """A generic representation with classes, and what the statistic needs besides."""
    x, *data = statistic_check_context(s).inputs()
    return x, data


# ------------------------------------------------------------------------------------------- claims


# Another order of the samples is another draw, or leaves the anchors where they are.
DRAWN = {
    "basis_split", "sample_split", "anchor", "label_conditioned_split", "class_separation",
    "lda_stability", "perturbation_reproducibility", "input_noise_stability",
}  # fmt: skip
WITH_POSITIONS = "anchor_profile[anchors=(0, 3, 5)]"


def test_every_check_holds(subtests):
    for s in MEMBERS:
        with subtests.test(str(s)):
            outcomes = list(
                iterate_outcomes(statistic_check_context(s, 1e-9), applicable_checks(s))
            )
            assert {o.check for o in outcomes} == set(applicable_checks(s))
            failed = {o.check: o.detail for o in outcomes if o.holds is False}
            assert set(failed) == ({"order of samples"} if str(s) == WITH_POSITIONS else set())
            undecided = {"variants"} if not s.defaults else set()
            undecided |= {"order of samples"} if s.name in DRAWN else set()
            assert {o.check for o in outcomes if o.holds is None} == undecided


def test_descriptions_without_a_direction():
    found = {s.name for s in rs.list_statistics() if s.larger_is_more_stable is None}
    spectrum = {"anisotropy", "participation_ratio", "effective_rank"}
    assert found == spectrum | {
        "sample_split",
        "anchor",
        "perturbation_magnitude",
        "perturbation_spread",
    }


@pytest.mark.parametrize("name", ["sample_split", "anchor"])
def test_withdrawn_statistics_say_so_and_are_zero_on_average(name):
    """Redundant features, of which every split gives the same dissimilarities, still score about
    0."""
    rng = np.random.default_rng(0)
    redundant = np.tile(rng.standard_normal((150, 2)), (1, 10)) + 0.01 * rng.standard_normal(
        (150, 20)
    )
    s = rs.get_statistic(name)
    assert "0 on average" in s.caveat
    assert "do not use it" in s.summary
    assert abs(s(redundant)) < 0.05
    assert rs.statistics.feature_split(redundant) > 0.95


def test_only_withdrawn_statistics_carry_a_caveat():
    assert {s.name for s in rs.list_statistics() if s.caveat} == {"sample_split", "anchor"}


# --------------------------------------------------------------------------------- published values


def test_feature_split_equals_the_package_on_its_own_halves(inputs, subtests):
    for kind in ["cosine", "correlation"]:
        for case in CLASSES:
            with subtests.test(f"{kind}, {case}"):
                x, random = inputs[f"{case}__X"], np.random.default_rng(320)
                pairs = [feature_halves(x, random.permutation(x.shape[1])) for _ in range(30)]
                theirs = THEIRS[case]["shesha_0_3_0"][f"feature_split_{kind}_seed320"]
                assert mean_rdm_agreement(pairs, kind, "spearman") == pytest.approx(
                    theirs, rel=1e-10
                )


def test_feature_split_scatters_as_in_the_package(inputs, subtests):
    for case in [*CLASSES, "gauss_indep", "power_law"]:
        with subtests.test(str(case)):
            theirs = THEIRS[case]["shesha_0_3_0"]["feature_split_cosine_30seeds"]
            ours = np.mean(
                [
                    rs.statistics.feature_split(inputs[f"{case}__X"], k=10, seed=seed)
                    for seed in range(4)
                ]
            )
            assert ours == pytest.approx(theirs["mean"], abs=6 * theirs["std"])


def test_values_equal_the_authors_codes(inputs, subtests):
    """Fisher's discriminant has 1e-8 in the denominator there."""
    for case in CLASSES:
        x, y, labels = (inputs[f"{case}__{part}"] for part in "XYy")
        n, package = len(x), THEIRS[case]["shesha_0_3_0"]
        scripts = THEIRS[case]["geometric_stability_scripts"]
        eigenvalues = rs.statistics.fisher_discriminant(x, labels, form="eigenvalues")
        values = {
            "variance_ratio": (rs.statistics.variance_ratio(x, labels), 1e-10),
            "steer_compute_fisher_criterion": (rs.statistics.fisher_discriminant(x, labels), 1e-7),
            "transfer_compute_fisher_discriminate": (eigenvalues, 1e-8),
            "steer_compute_silhouette": (rs.statistics.silhouette(x, labels), 1e-10),
            "transfer_compute_hscore": (rs.statistics.h_score(x, labels) * (n - 1) / n, 1e-9),
            "thuml_LEEP_softmax_first6": (rs.statistics.leep(x[:, :6], labels), 1e-10),
            "thuml_NCE_argmax_first6": (rs.statistics.nce(x[:, :6], labels), 1e-10),
        }
        for kind in ("cosine", "correlation", "euclidean"):
            profile = rs.statistics.anchor_profile(x, y, anchors=tuple(range(10)), rdm=kind)
            values[f"anchor_profile_{kind}"] = profile, 1e-10
            for compare in ("spearman", "pearson"):
                value = rs.statistics.replicate(x, y, rdm=kind, compare=compare)
                values[f"replicate_stability_{kind}_{compare}"] = value, 1e-10
                assert value == pytest.approx(rs.rsa(x, y, rdm=kind, compare=compare), rel=1e-10)
        for kind in ("cosine", "correlation"):
            alignment = rs.statistics.supervised_alignment(x, labels, rdm=kind)
            values[f"supervised_alignment_{kind}_seed320"] = alignment, 1e-10
        for name, (value, tolerance) in values.items():
            with subtests.test(f"{case}, {name}"):
                assert value == pytest.approx((package | scripts)[name], rel=tolerance)
        assert (
            0 <= rs.statistics.logme(x, labels) - scripts["logme"] < 5e-4
        )  # theirs stops before the maximum


def test_class_separation_scatters_as_in_the_package(inputs, subtests):
    """Their subsets ignore the classes."""
    for case in CLASSES:
        for kind in ("cosine", "euclidean"):
            with subtests.test(f"{case}, {kind}"):
                value = rs.statistics.class_separation(
                    inputs[f"{case}__X"], inputs[f"{case}__y"], rdm=kind
                )
                theirs = THEIRS[case]["shesha_0_3_0"][f"class_separation_ratio_{kind}_30seeds"]
                assert value == pytest.approx(theirs["mean"], abs=4 * theirs["std"])


def test_lda_stability_scatters_as_in_the_package(inputs):
    theirs = THEIRS["two_class"]["shesha_0_3_0"]["lda_stability_30seeds"]
    value = rs.statistics.lda_stability(inputs["two_class__X"], inputs["two_class__y"])
    assert value == pytest.approx(theirs["mean"], abs=3 * theirs["std"])


def test_gbc_follows_from_the_published_distance_of_two_classes(inputs):
    value = rs.statistics.gbc(inputs["two_class__X"], inputs["two_class__y"])
    theirs = THEIRS["two_class"]["geometric_stability_scripts"][
        "transfer_compute_bhattacharyya_distance"
    ]
    assert -np.log(-value / 2) == pytest.approx(theirs, rel=1e-8)


def test_spectra_equal_the_authors_scripts(inputs, subtests):
    for case in [case for case in THEIRS if case not in ("pert", "trials")]:
        with subtests.test(str(case)):
            x, theirs = inputs[f"{case}__X"], THEIRS[case]["geometric_stability_scripts"]
            assert rs.statistics.participation_ratio(x) == pytest.approx(
                theirs["participation_ratio_X"], rel=1e-10
            )
            assert rs.statistics.effective_rank(x) == pytest.approx(
                theirs["effective_rank_X"], rel=1e-9
            )
            if "steer_anisotropy" in theirs:
                assert rs.statistics.anisotropy(x) == pytest.approx(
                    theirs["steer_anisotropy"], rel=1e-10
                )


def test_perturbations_equal_the_package(inputs, subtests):
    x, control = inputs["pert__perturbed"], inputs["pert__control"]
    for name, key in (
        ("magnitude", "effect_size_euclidean"),
        ("magnitude[unit=deviations]", "effect_size_cohen"),
        ("coherence", "perturbation_coherence_standard_cosine"),
        ("coherence[form=spread]", "perturbation_coherence_standard_euclidean"),
        ("coherence[controls=whitened]", "perturbation_coherence_whitened_cosine"),
        ("coherence[controls=whitened,ridge=0.1]", "perturbation_coherence_whitened_reg0.1"),
        ("coherence[controls=neighbors]", "perturbation_coherence_knn_euclidean"),
        ("coherence[controls=neighbors,neighbors=cosine]", "perturbation_coherence_knn_cosine"),
        ("coherence[controls=neighbors,k=10]", "perturbation_coherence_knn_k10"),
    ):
        with subtests.test(name):
            value = rs.get_statistic(f"perturbation_{name}")(x, control)
            assert value == pytest.approx(THEIRS["pert"][key], rel=1e-10)


def test_trials_equal_the_authors_script(inputs):
    x, conditions, theirs = inputs["trials__X"], inputs["trials__cond"], THEIRS["trials"]
    assert rs.statistics.trial_split(x, conditions, parity="recording") == pytest.approx(
        theirs["split_half"], rel=1e-10
    )
    assert 1 - rs.statistics.temporal_drift(x, conditions) == pytest.approx(
        theirs["temporal"], rel=1e-10
    )
    assert 1 - rs.statistics.centroid_drift(x) == pytest.approx(theirs["centroid_drift"], rel=1e-8)


def test_permutation_null_agrees_with_the_authors_script(inputs):
    null, theirs = st.permutation_null("centroid_drift", inputs["trials__X"]), THEIRS["trials"]
    assert 1 - null.mean == pytest.approx(theirs["perm_null_mean_seed320"], abs=5e-4)
    assert null.std == pytest.approx(theirs["perm_null_std_ddof0"], rel=0.1)
    assert null.z == pytest.approx(-theirs["perm_null_z"], abs=0.25)
    assert null.pvalue == (1 + np.sum(null.draws >= null.value)) / 501


def test_intervals_agree_with_the_bootstrap_of_the_package(inputs):
    """Theirs leaves out pairs of copies; 20 and 50 draws there."""
    for case in CLASSES:
        x, y, theirs = inputs[f"{case}__X"], inputs[f"{case}__Y"], THEIRS[case]["shesha_0_3_0"]
        found, bootstrap = (
            st.interval("replicate", x, y, n_resamples=100),
            theirs["replicate_result_boot50_seed0"],
        )
        assert found.value == pytest.approx(bootstrap["estimate"], rel=1e-10)
        assert found.low == pytest.approx(bootstrap["data_ci_low"], abs=0.02)
        assert found.high == pytest.approx(bootstrap["data_ci_high"], abs=0.02)


# ------------------------------------------------------------------------------------- closed forms


def test_redundant_features_are_perfectly_stable(rng):
    assert rs.statistics.feature_split(
        np.tile(rng.standard_normal((20, 1)), (1, 8)), rdm="euclidean"
    ) == pytest.approx(1)


def test_a_rotation_changes_feature_split_but_not_basis_split(rng):
    """Independent axes with variances that fall like a power law: nothing is shared until they are
    mixed."""
    aligned = rng.standard_normal((300, 64)) / np.arange(1, 65) ** 2
    rotated = aligned @ np.linalg.qr(rng.standard_normal((64, 64)))[0]
    assert abs(rs.statistics.feature_split(aligned, rdm="euclidean", compare="pearson")) < 0.25
    assert rs.statistics.feature_split(rotated) > 0.9
    assert rs.statistics.basis_split(rotated) == pytest.approx(
        rs.statistics.basis_split(aligned), abs=1e-9
    )
    assert rs.statistics.basis_split(aligned) > 0.9


def test_independent_features_of_equal_variance_share_nothing(rng):
    x = rng.standard_normal((200, 40))
    assert abs(rs.statistics.feature_split(x)) < 0.03
    assert abs(rs.statistics.basis_split(x)) < 0.03
    assert abs(rs.statistics.basis_split(rng.standard_normal((40, 100)))) < 0.1


def test_spectra_of_equal_variances(rng):
    x = np.linalg.qr(rng.standard_normal((50, 7)) - 0)[0]
    x = np.linalg.qr(x - x.mean(axis=0))[0]
    assert rs.statistics.anisotropy(x) == pytest.approx(1 / 7)
    assert rs.statistics.participation_ratio(x) == pytest.approx(7)
    assert rs.statistics.effective_rank(x) == pytest.approx(7)


def test_classes_that_are_points(rng):
    y = np.repeat([0, 1, 2], 5)
    x = rng.standard_normal((3, 4))[y]
    assert rs.statistics.variance_ratio(x, y) == pytest.approx(1)
    assert rs.statistics.silhouette(x, y) == pytest.approx(1)
    assert rs.statistics.h_score(x, y) == pytest.approx(2)
    for name in ("class_separation", "fisher_discriminant", "gbc", "logme"):
        with pytest.raises(rs.UndefinedError):
            rs.get_statistic(name)(x, y)


def test_classes_that_are_alike(rng):
    half = rng.standard_normal((20, 3))
    x, y = np.concatenate([half, half]), np.repeat([0, 1], 20)
    assert rs.statistics.variance_ratio(x, y) == pytest.approx(0, abs=1e-20)
    assert rs.statistics.fisher_discriminant(x, y) == pytest.approx(0, abs=1e-20)
    assert rs.statistics.h_score(x, y) == pytest.approx(0, abs=1e-20)
    assert rs.statistics.gbc(x, y) == pytest.approx(-2)
    with pytest.raises(rs.UndefinedError, match="coincide"):
        rs.statistics.lda_stability(x, y)


def test_transferability_of_a_perfect_and_of_an_ignorant_classifier():
    y = np.repeat([0, 1], 10)
    assert rs.statistics.nce(np.eye(2)[y], y) == 0
    assert rs.statistics.leep(np.eye(2)[y], y, outputs="probabilities") == 0
    ignorant = np.full((20, 2), 0.5)
    assert rs.statistics.nce(ignorant, y) == pytest.approx(-np.log(2))
    assert (
        rs.statistics.leep(ignorant, y, outputs="probabilities")
        == rs.statistics.leep(ignorant - 1, y)
        == pytest.approx(-np.log(2))
    )


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_logme_is_the_largest_evidence(signal, rng):
    x, y = rng.standard_normal((30, 4)), np.arange(30) % 2
    x[:, 0] += signal * y

    def loss(logs: np.ndarray, c: int) -> float:
        covariance = x @ x.T / np.exp(logs[0]) + np.eye(30) / np.exp(logs[1])
        return (
            -stats.multivariate_normal(np.zeros(30), covariance).logpdf((y == c).astype(float)) / 30
        )

    options = {"xatol": 1e-8, "fatol": 1e-12}
    best = [
        -optimize.minimize(loss, [0.0, 0.0], (c,), method="Nelder-Mead", options=options).fun
        for c in (0, 1)
    ]
    assert rs.statistics.logme(x, y) == pytest.approx(np.mean(best), abs=1e-8)


def test_logme_of_features_that_explain_nothing():
    """The best weights are zero, and the evidence is that of noise alone."""
    y = np.repeat([0, 1], 6)
    x = np.tile([1.0, -1.0], 6)[:, None]
    assert rs.statistics.logme(x, y) == pytest.approx((np.log(2 / (2 * np.pi)) - 1) / 2)


def test_a_common_shift_is_coherent(rng):
    control, shift = rng.standard_normal((30, 5)), rng.standard_normal(5)
    x = np.tile(control.mean(axis=0) + shift, (8, 1))
    for form in ("cosine", "spread"):
        for controls in ("mean", "whitened"):
            assert rs.statistics.perturbation_coherence(
                x, control, controls=controls, form=form
            ) == pytest.approx(1)
    assert rs.statistics.perturbation_magnitude(x, control) == pytest.approx(np.linalg.norm(shift))
    with pytest.raises(rs.UndefinedError, match="do not move"):
        rs.statistics.perturbation_coherence(np.tile(control.mean(axis=0), (8, 1)), control)


def test_input_noise_of_a_constant_and_of_a_linear_encoder(rng):
    x = rng.standard_normal((40, 3))
    assert rs.statistics.input_noise_stability(x, lambda z: np.ones((len(z), 2))) == 1
    assert rs.statistics.input_noise_stability(x, lambda z: z, noise=0.0) == 1
    # The mean length of a normal vector in three dimensions.
    expected = 0.1 * x.std() * np.sqrt(8 / np.pi)
    assert rs.statistics.input_noise_stability(x, lambda z: z, k=200) == pytest.approx(
        1 / (1 + expected), rel=0.01
    )


def test_trial_statistics_of_repeated_trials(rng):
    means = rng.standard_normal((4, 6))
    conditions = np.tile(np.repeat(np.arange(4), 2), 4)
    x = means[conditions]
    assert rs.statistics.trial_split(x, conditions) == pytest.approx(1)
    assert rs.statistics.temporal_drift(x, conditions) == pytest.approx(0, abs=1e-12)
    assert rs.statistics.centroid_drift(means[np.zeros(10, dtype=int)]) == pytest.approx(
        0, abs=1e-12
    )


@pytest.mark.parametrize("compiled", [1, 10**9])
@pytest.mark.parametrize("decimals", [16, 3, 0])
def test_ranks_are_exact(compiled, decimals, rng, monkeypatch):
    """Compiled and not, without ties, with many, and with little else; the rounding of values is no
    order."""
    monkeypatch.setattr(rdm, "MIN_COMPILED_VALUES", compiled)
    values = np.round(rng.standard_normal(4000), decimals)
    values[0] = 100  # most values agree in their leading bits
    assert np.array_equal(tie_tolerant_ranks(values), rankdata(values))
    assert (
        np.array_equal(tie_tolerant_ranks(values + 1e-15 * (np.arange(4000) % 2)), rankdata(values))
        or decimals == 16
    )


# ---------------------------------------------------------------------- intervals, seeds, hostility


def test_interval_covers_the_value_and_follows_its_level(rng):
    x, y = example(rs.statistics.variance_ratio)[0], example(rs.statistics.variance_ratio)[1][0]
    wide, narrow = (
        st.interval("variance_ratio", x, y, confidence_level=level) for level in (0.95, 0.5)
    )
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high
    assert len(wide.draws) == 200
    assert wide.samples == 60
    assert np.array_equal(wide.draws, st.interval(rs.statistics.variance_ratio, x, y).draws)
    assert not np.array_equal(
        wide.draws, st.interval(rs.statistics.variance_ratio, x, y, seed=1).draws
    )
    assert st.interval("feature_split[k=2,max_samples=40]", x, n_resamples=2).samples == 40


def test_every_statistic_has_an_interval_within_its_range(subtests):
    for s in [s for s in rs.list_statistics() if s.name != "anchor"]:
        with subtests.test(str(s)):
            x, data = example(s)
            found = st.interval(s, x, *data, n_resamples=5)
            assert found.value == s(x, *data)
            assert s.range[0] <= found.low <= found.high <= s.range[1]
            assert np.isfinite(found.draws).all()
            assert found.draws.std() > 0


def test_an_interval_has_the_width_of_the_bootstrap(rng):
    """Of the length of a mean shift, whose deviation over samples is known: sqrt(1 / n + 1 / m)."""
    x, control = rng.standard_normal((200, 1)) + 9, rng.standard_normal((100, 1))
    deviation = st.interval("perturbation_magnitude", x, control, n_resamples=500).draws.std()
    assert deviation == pytest.approx(np.sqrt(x.var() / 200 + control.var() / 100), rel=0.1)


def test_intervals_and_nulls_refuse_what_they_cannot_do(rng):
    x = rng.standard_normal((6, 5))
    with pytest.raises(ValueError, match="half of them are 3"):
        st.interval("feature_split", x)
    with pytest.raises(ValueError, match="n_resamples must be at least 2"):
        st.interval("anisotropy", x, n_resamples=1)
    with pytest.raises(ValueError, match="does not depend on the order"):
        st.permutation_null("anisotropy", x, n_permutations=5)
    with pytest.raises(ValueError, match="at least 2"):
        st.permutation_null("centroid_drift", x, n_permutations=1)


def test_intervals_have_the_coverage_and_the_width_of_their_level():
    """Of the length of a mean shift, in 60 experiments: of intervals at 80 % some miss it, but not
    many."""
    inside, widths = 0, []
    for seed in range(60):
        g = np.random.default_rng(seed)
        x, control = g.standard_normal((60, 1)) + 9, g.standard_normal((40, 1))
        found = st.interval(
            "perturbation_magnitude", x, control, n_resamples=60, confidence_level=0.8, seed=seed
        )
        inside += found.low <= 9 <= found.high
        widths.append(found.high - found.low)
    assert 38 <= inside <= 56
    assert np.mean(widths) == pytest.approx(2 * 1.2816 * np.sqrt(1 / 60 + 1 / 40), rel=0.15)


def interleaved(
    conditions: int, each: int, g: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Conditions that take turns, one trial of each after the other."""
    labels = np.tile(np.arange(conditions), each)
    return g.standard_normal((conditions, 8))[labels] + 0.5 * g.standard_normal(
        (len(labels), 8)
    ), labels


@pytest.mark.parametrize("conditions", [3, 4, 6])
def test_trials_of_conditions_that_take_turns_are_split_within_each_condition(conditions, rng):
    x, labels = interleaved(conditions, 6, rng)
    halves_ = [x.reshape(6, conditions, 8)[start::2].mean(axis=0) for start in (0, 1)]
    assert rs.statistics.trial_split(x, labels) == pytest.approx(
        rs.statistics.replicate(*halves_), rel=1e-12
    )
    if conditions % 2 == 0:
        with pytest.raises(ValueError, match="even and an odd trial"):
            rs.statistics.trial_split(x, labels, parity="recording")
    assert st.interval("trial_split", x, labels, n_resamples=5).value == rs.statistics.trial_split(
        x, labels
    )


def test_nulls_and_intervals_of_conditions_with_few_trials(rng):
    """Five trials of each of eight conditions: in a random order one of them is likely to be early,
    or late, only."""
    x, labels = interleaved(8, 5, rng)
    for name in ("temporal_drift", "trial_split"):
        null = st.permutation_null(name, x, labels, n_permutations=40)
        assert null.draws.shape == (40,)
        assert 1 / 41 <= null.pvalue <= 1
        found = st.interval(name, x, labels, n_resamples=10)
        assert found.low < found.value < found.high
    early = st.interval(
        "temporal_drift", x, labels, early=0.2, n_resamples=10
    )  # one early trial of each
    assert early.value == rs.statistics.temporal_drift(x, labels, early=0.2)
    assert np.isfinite(early.draws).all()


def test_intervals_halve_the_parts_that_a_statistic_declares(rng):
    """A parameter called ``early`` says nothing by itself."""
    claims = {
        "label": "Share", "family": "trials", "citation": "raju2026geometric",
        "larger_is_more_stable": None, "range": (0, 1),
    }  # fmt: skip
    seen = []

    def share(x, *, early: float = 0.3) -> float:
        seen.append(early)
        return float(x.array[:, 0].mean())

    x = np.repeat([0.0, 1.0], 20)[:, None]
    loose = st.interval(statistic(**claims)(share), x, n_resamples=20).draws
    assert set(seen) == {0.3}
    assert np.ptp(loose) > 0
    parted = st.interval(
        statistic(**claims, parts="early and late")(share), x, early=0.5, n_resamples=20
    )
    assert (parted.draws == 0.5).all()
    with pytest.raises(ValueError, match="need the parameter early"):
        statistic(**claims, parts="early and late")(lambda x: 0.0)


def test_a_null_that_no_order_gives_says_so():
    """Forty conditions of two trials: a random order with one of each early is out of reach."""
    x, labels = interleaved(40, 2, np.random.default_rng(0))
    with pytest.raises(
        ValueError, match="of 1000 orders none has a trial of every condition in both parts"
    ):
        st.permutation_null("temporal_drift", x, labels, n_permutations=2)


def test_the_null_is_uniform_over_the_orders_that_have_a_value(rng):
    """Drift that is there has the smallest p-value, also when most orders are drawn again."""
    x, labels = interleaved(4, 4, rng)
    late = np.arange(16) >= 8
    x[late] += 3 * rng.standard_normal((4, 8))[labels[late]]
    assert st.permutation_null("temporal_drift", x, labels, n_permutations=60).pvalue < 0.1
    values = [
        st.permutation_null(
            "temporal_drift", *interleaved(4, 4, np.random.default_rng(s)), n_permutations=19
        ).pvalue
        for s in range(30)
    ]
    assert 0.3 < np.mean(values) < 0.75


def test_what_a_statistic_needs_can_be_given_by_name_everywhere_but_not_twice(rng):
    x, (y,) = example(rs.statistics.variance_ratio)
    assert (
        st.interval("variance_ratio", x, labels=y, n_resamples=5).records()
        == st.interval("variance_ratio", x, y, n_resamples=5).records()
    )
    by_name = st.permutation_null("temporal_drift", x, conditions=y, n_permutations=5)
    assert by_name.value == st.permutation_null("temporal_drift", x, y, n_permutations=5).value
    bins, axes = rng.standard_normal((60, 4, 3)), "trials bins units"
    assert st.sliding_windows(
        "trial_split", bins, conditions=y, width=2, axes=axes
    ) == st.sliding_windows("trial_split", bins, y, width=2, axes=axes)
    for call in (
        rs.statistics.variance_ratio,
        lambda *a, **k: st.interval("variance_ratio", *a, **k),
    ):
        with pytest.raises(ValueError, match="labels is given twice"):
            call(x, y, labels=y)
    with pytest.raises(ValueError, match="interval: anchors are row numbers"):
        st.interval("anchor_profile", x, x, anchors=(0, 40))


def test_a_rare_class_is_drawn_too(rng):
    """Two of 1000 samples: among 60 drawn there is at least one of them, whatever the seed."""
    y = np.zeros(1000, dtype=int)
    y[[5, 700]] = 1
    x = rng.standard_normal((1000, 4))
    x[y == 1] += 2
    values = [
        rs.statistics.supervised_alignment(x, y, rdm="euclidean", max_samples=60, seed=seed)
        for seed in range(5)
    ]
    assert len(set(values)) == 5
    with pytest.raises(ValueError, match="max_samples=60 is less than one of each of 100 classes"):
        rs.statistics.supervised_alignment(x, np.arange(1000) % 100, max_samples=60)
    sizes = np.bincount(y[_stratified_subset([np.flatnonzero(y == c) for c in (0, 1)], 60, 0)])
    assert sizes.tolist() == [59, 1]


def test_another_seed_is_another_draw(subtests):
    """But for 60 of at most 300 samples, which are all."""
    for s in [s for s in MEMBERS if "seed" in s.defaults and s.name != "supervised_alignment"]:
        with subtests.test(str(s)):
            x, data = example(s)
            noise = np.random.default_rng(1).permuted(x, axis=0)
            assert s.with_parameters(seed=1)(noise, *data) != s(noise, *data)


def test_a_value_is_a_float_whatever_the_array(subtests):
    import torch

    for s in MEMBERS:
        with subtests.test(str(s)):
            x, data = example(s)
            assert type(s(torch.from_numpy(x).float(), *data)) is float
            assert s(np.asfortranarray(x), *data) == s(rs.Representation(x), *data) == s(x, *data)


def test_silhouettes_are_those_of_scikit_learn(rng):
    from sklearn.metrics import silhouette_score

    x, labels = rng.standard_normal((600, 5)) + 1, rng.integers(0, 7, 600)
    labels[0] = 7  # a class of one sample
    x[3] = 0
    for metric in ("cosine", "euclidean"):
        assert rs.statistics.silhouette(x, labels, rdm=metric) == pytest.approx(
            silhouette_score(x, labels, metric=metric), rel=1e-12
        )


def test_a_spectrum_of_rounding_is_no_spectrum():
    x, _ = hostile_pairs()["X of two values of half precision"]
    for s in (
        rs.statistics.anisotropy,
        rs.statistics.participation_ratio,
        rs.statistics.effective_rank,
    ):
        with pytest.raises(
            rs.UndefinedError, match="varies by no more than the rounding of float16"
        ):
            s(x)


def test_nan_too_few_samples_and_too_few_features(subtests):
    for s in MEMBERS:
        with subtests.test(str(s)):
            x, data = example(s)
            bad = x.copy()
            bad[3, 2] = np.nan
            with pytest.raises(ValueError, match="row 3, column 2"):
                s(bad, *data)
            one = [a[:1] if isinstance(a, np.ndarray) and len(a) == len(x) else a for a in data]
            with pytest.raises(rs.UndefinedError, match="samples"):
                s(x[:1], *one)
            if s.min_features > 1:
                with pytest.raises(rs.UndefinedError, match="features"):
                    s(
                        x[:, : s.min_features - 1],
                        *(a[:, :1] if getattr(a, "ndim", 1) == 2 else a for a in data),
                    )


def test_labels_are_checked(subtests):
    for s in LABELLED:
        with subtests.test(str(s)):
            x, (labels,) = example(s)
            with pytest.raises(ValueError, match="one per sample"):
                s(x, labels[:-1])
            with pytest.raises(ValueError, match=r"at least|needs from 2"):
                s(x, np.zeros(60))
            with pytest.raises(ValueError, match="leave those samples out"):
                s(x, np.where(labels == 0, np.nan, 1))
            words = np.array(["a", "b", "c", "d"])[labels]
            assert (
                s(x, words)
                == s(x, labels)
                == s(x, labels.tolist())
                == s(x, **{s.needs[0]: labels + 3})
            )


def test_missing_and_mixed_labels_are_refused_by_name(subtests):
    for s in LABELLED:
        with subtests.test(str(s)):
            import pandas as pd

            x, (labels,) = example(s)
            words = np.array(["a", "b", "c", "d"])[labels].tolist()
            days = np.datetime64("2020-01-01") + labels
            missing = [
                [None, *words[1:]],
                [np.nan, *words[1:]],
                [np.inf, *labels[1:]],
                np.array([None, *labels[1:]], dtype=object),
                np.where(labels == 0, np.datetime64("NaT"), days),
                np.ma.masked_equal(labels, 1),
                pd.Series(labels, dtype="Int64").where(labels > 0),
                pd.Series(words, dtype="category").where(labels > 0),
                pd.Series(words, dtype="string").where(labels > 0),
            ]
            role = s.needs[0]
            for values in missing:
                with pytest.raises(ValueError, match=f"{role} are missing, NaN or infinite"):
                    s(x, values)
            with pytest.raises(
                ValueError, match=f"{role} are of several types .*; make all of them words"
            ):
                s(x, [1, *words[1:]])
            with pytest.raises(ValueError, match=r"give their column, of shape \(60,\)"):
                s(x, labels[:, None])
            with pytest.raises(ValueError, match="must be numbers or words; got object"):
                s(x, [object() for _ in labels])
            shuffled = pd.Series(words, index=np.random.default_rng(0).permutation(60))
            for values in (
                words,
                tuple(words),
                shuffled,
                shuffled.astype("category"),
                days,
                np.ma.masked_array(labels),
            ):
                assert s(x, values) == s(x, labels)


def test_replicates_controls_and_encoders_are_checked(rng):
    x = rng.standard_normal((10, 4))
    with pytest.raises(ValueError, match="same samples"):
        rs.statistics.replicate(x, x[:9])
    a, b = rs.Representation(x, ids=range(10)), rs.Representation(x, ids=range(1, 11))
    with pytest.raises(ValueError, match="join_samples"):
        rs.statistics.replicate(a, b)
    assert rs.statistics.replicate(a, rs.Representation(x, ids=range(10))) == pytest.approx(1)
    with pytest.raises(ValueError, match="NaN"):
        rs.statistics.replicate(x, np.where(x > 1, np.nan, x))
    with pytest.raises(ValueError, match="same features"):
        rs.statistics.perturbation_coherence(x, x[:, :3])
    with pytest.raises(ValueError, match="function"):
        rs.statistics.input_noise_stability(x, 3)
    with pytest.raises(ValueError, match="9 rows for 10"):
        rs.statistics.input_noise_stability(x, lambda z: z[:9])
    for anchors in ((0, 0), (10,), "ab", tuple(range(8))):
        with pytest.raises(ValueError, match="anchor"):
            rs.statistics.anchor_profile(x, x, anchors=anchors)
    with pytest.raises(ValueError, match="at least 2 controls"):
        rs.statistics.perturbation_magnitude(x, x[:1], unit="deviations")


def test_classes_that_are_too_small_or_too_many():
    x, y = np.random.default_rng(0).standard_normal((9, 3)), np.arange(9) // 4
    for name in (
        "variance_ratio",
        "class_separation",
        "label_conditioned_split",
        "gbc",
        "h_score",
        "logme",
    ):
        with pytest.raises(ValueError, match="leave such classes out"):
            rs.get_statistic(name)(x, y)
    with pytest.raises(ValueError, match="two classes"):
        rs.statistics.lda_stability(x, np.arange(9) % 3)
    with pytest.raises(ValueError, match="at least 3 classes"):
        rs.statistics.label_conditioned_split(x, np.arange(9) % 2)
    with pytest.raises(ValueError, match="at least 3 conditions"):
        rs.statistics.trial_split(x, np.arange(9) % 2)
    with pytest.raises(ValueError, match="early and a late trial"):
        rs.statistics.temporal_drift(x, np.arange(9) // 3)
    with pytest.raises(ValueError, match="with the sum 1"):
        rs.statistics.leep(x, y, outputs="probabilities")
    with pytest.raises(ValueError, match="no early trial"):
        rs.statistics.centroid_drift(x, early=0.01)


def test_measures_and_statistics_take_the_same_rows_for_probabilities(rng):
    p, q = rng.dirichlet(np.ones(4), (2, 40))
    labels = p.argmax(axis=1)
    assert rs.statistics.leep(
        p.astype(np.float16), labels, outputs="probabilities"
    ) == pytest.approx(rs.statistics.leep(p, labels, outputs="probabilities"), rel=1e-3)
    for wrong, is_refused in ((1.0005 * p, False), (1.002 * p, True), (p - 0.3, True)):
        for call in (
            lambda x: rs.jensen_shannon(x, q, outputs="probabilities"),
            lambda x: rs.statistics.leep(x, labels, outputs="probabilities"),
        ):
            if is_refused:
                with pytest.raises(rs.UndefinedError, match=r"\(40, 4\) are not probabilities"):
                    call(wrong)
            else:
                assert np.isfinite(call(wrong))


# ---------------------------------------------------------------------------------------- catalogue


def test_every_statistic_is_documented(subtests):
    for s in rs.list_statistics():
        with subtests.test(str(s)):
            text = inspect.getdoc(s.function) or ""
            assert ".. math::" in text
            assert text.split("\n\n")[0].endswith((".", "?"))
            assert "Reference: " in text
            assert "value" in text
            assert s.citation in bibliography()
            assert getattr(rs.statistics, s.name) is s
            assert s.name in rs.statistics.__all__


def test_found_by_name_label_and_specification_and_travels(subtests):
    for s in MEMBERS:
        with subtests.test(str(s)):
            assert rs.get_statistic(str(s)) == s
            assert rs.get_statistic(s) is s
            assert pickle.loads(pickle.dumps(s)) == s
            assert rs.get_statistic(s.label.upper()).name == s.name
            assert hash(s) == hash(rs.get_statistic(str(s)))


def test_lists():
    everything = rs.list_statistics()
    assert (
        len({s.name for s in everything})
        == len({s.label for s in everything})
        == len(everything)
        == 29
    )
    assert {s.name for s in rs.list_statistics(family="trials")} == {
        "trial_split",
        "temporal_drift",
        "centroid_drift",
    }
    assert rs.statistics.basis_split in rs.list_statistics(invariant_to="orthogonal")
    assert rs.statistics.feature_split not in rs.list_statistics(invariant_to={"permutation"})
    with pytest.raises(ValueError, match="did you mean 'trials'"):
        rs.list_statistics(family="trial")
    with pytest.raises(ValueError, match="did you mean 'orthogonal'"):
        rs.list_statistics(invariant_to="ortogonal")
    with pytest.raises(ValueError, match="did you mean 'feature_split'"):
        rs.get_statistic("feature_spit")


def test_anchors_and_probes_fit_among_few_samples(rng, subtests):
    for limits in [
        {"anchors": 2},
        {"anchors": 9},
        {"anchors": 10_000},
        {"probes": 3},
        {"probes": 9},
    ]:
        with subtests.test(str(limits)):
            for n in (50, 53, 60, 400):
                assert -1 <= rs.statistics.anchor(rng.standard_normal((n, 6)), k=3, **limits) <= 1


@pytest.mark.parametrize(("name", "fewest"), [("anchor", 50), ("sample_split", 5)])
def test_no_fewer_samples_are_drawn_than_a_split_needs(name, fewest, rng):
    s, x = rs.get_statistic(name), rng.standard_normal((60, 6))
    assert -1 <= s(x, max_samples=fewest) <= 1
    with pytest.raises(
        ValueError, match=f"{name}: max_samples must be from {fewest} to inf; got {fewest - 1}"
    ):
        s(x, max_samples=fewest - 1)


def test_an_encoder_that_writes_into_its_inputs_changes_neither_them_nor_the_value(rng):
    def careless(inputs):
        inputs *= 2
        return np.tanh(inputs)

    x = rng.standard_normal((20, 5))
    before = x.copy()
    assert rs.statistics.input_noise_stability(x, careless) == rs.statistics.input_noise_stability(
        x, lambda inputs: np.tanh(2 * inputs)
    )
    assert np.array_equal(x, before)


def test_parameters_are_checked(rng):
    x = rng.standard_normal((9, 5))
    with pytest.raises(ValueError, match="no parameter 'splits'"):
        rs.statistics.feature_split(x, splits=3)
    with pytest.raises(ValueError, match="must be one of"):
        rs.statistics.feature_split(x, rdm="hamming")
    with pytest.raises(ValueError, match="from 1 to"):
        rs.statistics.feature_split(x, k=0)
    with pytest.raises(ValueError, match=r"variance_ratio\(X, labels\)"):
        rs.statistics.variance_ratio(x)
    with pytest.raises(ValueError, match=r"anisotropy\(X\)"):
        rs.statistics.anisotropy(x, x)


def test_own_statistics(rng):
    """A user's own function is declared like those of the library."""

    @statistic(
        label="Spread",
        family="spectrum",
        larger_is_more_stable=None,
        range=(0, np.inf),
        citation="none",
        invariant_to={"orthogonal", "translation"},
    )
    def spread(x: rs.Representation, *, power: int = 1) -> float:
        """Standard deviation of the points."""
        return float(np.std(x.array)) ** power

    x = rng.standard_normal((9, 5))
    assert spread(x) == np.std(x)
    assert str(spread.with_parameters(power=2)) == "spread[power=2]"
    assert spread(x, power=2) == np.std(x) ** 2
    assert spread.summary == "Standard deviation of the points."
    assert repr(spread).startswith("<statistic spread: ")
    with pytest.raises(ValueError, match="top level"):
        pickle.dumps(spread)
    with pytest.raises(ValueError, match="'weights'"):

        @statistic(
            label="W", family="spectrum", larger_is_more_stable=None, range=(0, 1), citation="none"
        )
        def weighted(x: rs.Representation, weights: np.ndarray) -> float:
            return 0.0


def test_the_value_of_an_own_statistic_must_be_finite(rng):
    @statistic(
        label="Bad", family="spectrum", larger_is_more_stable=None, range=(0, 1), citation="none"
    )
    def bad(x: rs.Representation) -> float:
        return float("nan")

    with pytest.raises(rs.UndefinedError, match="not a number"):
        bad(rng.standard_normal((4, 2)))
