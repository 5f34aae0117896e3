"""Statistics of one representation: published values, closed forms, and every claim in both
directions."""

from __future__ import annotations

import json
import pickle
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from factories.files import GOLDEN
from scipy import optimize, stats
from scipy.stats import rankdata
from sklearn.metrics import silhouette_score

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
FEW_DRAWS = 4  # no claim depends on the number of draws
MEMBERS = [
    s.with_parameters(k=FEW_DRAWS) if "k" in s.defaults and "seed" in s.defaults else s
    for s in (*rs.list_statistics(), *map(rs.get_statistic, VARIANTS))
]
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
            checks = applicable_checks(s)
            outcomes = list(iterate_outcomes(statistic_check_context(s, 1e-9), checks))
            assert {o.check for o in outcomes} == set(checks)
            failed = {o.check: o.detail for o in outcomes if o.holds is False}
            assert set(failed) == ({"order of samples"} if str(s) == WITH_POSITIONS else set())
            undecided = {"variants"} if not s.defaults else set()
            undecided |= {"order of samples"} if s.name in DRAWN else set()
            assert {o.check for o in outcomes if o.holds is None} == undecided


def test_withdrawn_statistics_say_so_and_are_zero_on_average(subtests):
    """Redundant features, of which every split gives the same dissimilarities, still score about
    0."""
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((150, 20))
    redundant = np.tile(rng.standard_normal((150, 2)), (1, 10)) + noise
    assert rs.statistics.feature_split(redundant) > 0.95
    withdrawn = [s for s in rs.list_statistics() if s.caveat]
    assert {s.name for s in withdrawn} == {"sample_split", "anchor"}
    for s in withdrawn:
        with subtests.test(s.name):
            assert "with mean 0" in s.caveat
            assert "do not use it" in s.summary
            assert abs(s(redundant)) < 0.05


# --------------------------------------------------------------------------------- published values


def test_feature_split_equals_the_package_on_its_own_halves(inputs, subtests):
    for kind, case in product(["cosine", "correlation"], CLASSES):
        with subtests.test(f"{kind}, {case}"):
            x, random = inputs[f"{case}__X"], np.random.default_rng(320)
            pairs = [feature_halves(x, random.permutation(x.shape[1])) for _ in range(30)]
            theirs = THEIRS[case]["shesha_0_3_0"][f"feature_split_{kind}_seed320"]
            found = mean_rdm_agreement(pairs, kind, "spearman")
            assert found == pytest.approx(theirs, rel=1e-10)


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
        evidence = rs.statistics.logme(x, labels)
        assert 0 <= evidence - scripts["logme"] < 5e-4  # theirs stops before the maximum


def test_spectra_equal_the_authors_scripts(inputs, subtests):
    names = {
        "participation_ratio": "participation_ratio_X", "effective_rank": "effective_rank_X",
        "anisotropy": "steer_anisotropy",
    }  # fmt: skip
    for case in [case for case in THEIRS if case not in ("pert", "trials")]:
        theirs = THEIRS[case]["geometric_stability_scripts"]
        for name, key in names.items():
            if key in theirs:
                with subtests.test(f"{case}, {name}"):
                    value = rs.get_statistic(name)(inputs[f"{case}__X"])
                    assert value == pytest.approx(theirs[key], rel=1e-9)


def test_perturbations_equal_the_package(inputs, subtests):
    x, control, theirs = inputs["pert__perturbed"], inputs["pert__control"], THEIRS["pert"]
    spreads = {k: theirs[k]["spread"] for k in theirs if k.startswith("crispr")}
    for name, key in (
        ("spread", "crispr_enhanced"),
        ("spread[controls=whitened]", "crispr_enhanced_whitened"),
        ("spread[controls=neighbors]", "crispr_knn50"),
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
            assert value == pytest.approx((theirs | spreads)[key], rel=1e-10)


def test_gbc_follows_from_the_published_distance_of_two_classes(inputs):
    value = rs.statistics.gbc(inputs["two_class__X"], inputs["two_class__y"])
    scripts = THEIRS["two_class"]["geometric_stability_scripts"]
    theirs = scripts["transfer_compute_bhattacharyya_distance"]
    assert -np.log(-value / 2) == pytest.approx(theirs, rel=1e-8)


def test_trials_equal_the_authors_script(inputs):
    x, conditions, theirs = inputs["trials__X"], inputs["trials__cond"], THEIRS["trials"]
    halves = rs.statistics.trial_split(x, conditions, parity="recording")
    assert halves == pytest.approx(theirs["split_half"], rel=1e-10)
    drift = rs.statistics.temporal_drift(x, conditions)
    assert 1 - drift == pytest.approx(theirs["temporal"], rel=1e-10)
    assert 1 - rs.statistics.centroid_drift(x) == pytest.approx(theirs["centroid_drift"], rel=1e-8)
    null = st.permutation_null("centroid_drift", x)
    assert 1 - null.mean == pytest.approx(theirs["perm_null_mean_seed320"], abs=5e-4)
    assert null.std == pytest.approx(theirs["perm_null_std_ddof0"], rel=0.1)
    assert null.z == pytest.approx(-theirs["perm_null_z"], abs=0.25)
    assert null.pvalue == (1 + np.sum(null.draws >= null.value)) / 501


def test_intervals_agree_with_the_bootstrap_of_the_package(inputs):
    """Theirs leaves out pairs of copies; 20 and 50 draws there."""
    for case in CLASSES:
        theirs = THEIRS[case]["shesha_0_3_0"]["replicate_result_boot50_seed0"]
        x, y = inputs[f"{case}__X"], inputs[f"{case}__Y"]
        found = st.interval("replicate", x, y, n_resamples=100)
        assert found.value == pytest.approx(theirs["estimate"], rel=1e-10)
        assert found.low == pytest.approx(theirs["data_ci_low"], abs=0.02)
        assert found.high == pytest.approx(theirs["data_ci_high"], abs=0.02)


# ------------------------------------------------------------------------------------- closed forms


def test_a_rotation_changes_feature_split_but_not_basis_split(rng):
    """Independent axes with variances that fall like a power law: nothing is shared until they are
    mixed."""
    feature_split, basis_split = rs.statistics.feature_split, rs.statistics.basis_split
    aligned = rng.standard_normal((300, 64)) / np.arange(1, 65) ** 2
    rotated = aligned @ np.linalg.qr(rng.standard_normal((64, 64)))[0]
    assert abs(feature_split(aligned, rdm="euclidean", compare="pearson")) < 0.25
    assert feature_split(rotated) > 0.9
    assert 0.9 < basis_split(rotated) == pytest.approx(basis_split(aligned), abs=1e-9)
    alike = rng.standard_normal((200, 40))
    assert abs(feature_split(alike)) < 0.03
    assert abs(basis_split(alike)) < 0.03


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
        normal = stats.multivariate_normal(np.zeros(30), covariance)
        return -normal.logpdf((y == c).astype(float)) / 30

    options = {"method": "Nelder-Mead", "options": {"xatol": 1e-8, "fatol": 1e-12}}
    best = [-optimize.minimize(loss, [0.0, 0.0], (c,), **options).fun for c in (0, 1)]
    assert rs.statistics.logme(x, y) == pytest.approx(np.mean(best), abs=1e-8)


def test_logme_of_features_that_explain_nothing():
    """The best weights are zero, and the evidence is that of noise alone."""
    y = np.repeat([0, 1], 6)
    x = np.tile([1.0, -1.0], 6)[:, None]
    assert rs.statistics.logme(x, y) == pytest.approx((np.log(2 / (2 * np.pi)) - 1) / 2)


def test_a_common_shift_is_coherent(rng):
    coherence = rs.statistics.perturbation_coherence
    control, shift = rng.standard_normal((30, 5)), rng.standard_normal(5)
    x = np.tile(control.mean(axis=0) + shift, (8, 1))
    for form, controls in product(("cosine", "spread"), ("mean", "whitened")):
        assert coherence(x, control, controls=controls, form=form) == pytest.approx(1)
    assert rs.statistics.perturbation_magnitude(x, control) == pytest.approx(np.linalg.norm(shift))
    with pytest.raises(rs.UndefinedError, match="do not move"):
        coherence(np.tile(control.mean(axis=0), (8, 1)), control)


def test_input_noise_of_a_constant_and_of_a_linear_encoder(rng):
    stability, x = rs.statistics.input_noise_stability, rng.standard_normal((40, 3))
    assert stability(x, lambda z: np.ones((len(z), 2))) == stability(x, lambda z: z, noise=0.0) == 1
    # The mean length of a normal vector in three dimensions.
    expected = 1 / (1 + 0.1 * x.std() * np.sqrt(8 / np.pi))
    assert stability(x, lambda z: z, k=200) == pytest.approx(expected, rel=0.01)


def test_trial_statistics_of_repeated_trials(rng):
    means = rng.standard_normal((4, 6))
    conditions = np.tile(np.repeat(np.arange(4), 2), 4)
    x, still = means[conditions], pytest.approx(0, abs=1e-12)
    assert rs.statistics.trial_split(x, conditions) == pytest.approx(1)
    assert rs.statistics.temporal_drift(x, conditions) == still
    assert rs.statistics.centroid_drift(means[np.zeros(10, dtype=int)]) == still


@pytest.mark.parametrize("compiled", [1, 10**9])
@pytest.mark.parametrize("decimals", [16, 3, 0])
def test_ranks_are_exact(compiled, decimals, rng, monkeypatch):
    """Compiled and not, without ties, with many, and with little else; the rounding of values is no
    order."""
    monkeypatch.setattr(rdm, "MIN_COMPILED_VALUES", compiled)
    values = np.round(rng.standard_normal(4000), decimals)
    values[0] = 100  # most values agree in their leading bits
    assert np.array_equal(tie_tolerant_ranks(values), rankdata(values))
    if decimals < 16:
        rounded = values + 1e-15 * (np.arange(4000) % 2)
        assert np.array_equal(tie_tolerant_ranks(rounded), rankdata(values))


# ---------------------------------------------------------------------- intervals, seeds, hostility


def test_interval_covers_the_value_and_follows_its_level():
    x, (y,) = example(rs.statistics.variance_ratio)
    wide, narrow = (st.interval("variance_ratio", x, y, confidence_level=p) for p in (0.95, 0.5))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high
    assert (len(wide.draws), wide.samples) == (200, 60)
    again, other = (st.interval(rs.statistics.variance_ratio, x, y, seed=s) for s in (0, 1))
    assert np.array_equal(wide.draws, again.draws)
    assert not np.array_equal(wide.draws, other.draws)
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
    means, noise = g.standard_normal((conditions, 8)), g.standard_normal((len(labels), 8))
    return means[labels] + 0.5 * noise, labels


@pytest.mark.parametrize("conditions", [3, 4])
def test_trials_of_conditions_that_take_turns_are_split_within_each_condition(conditions, rng):
    x, labels = interleaved(conditions, 6, rng)
    halves = [x.reshape(6, conditions, 8)[start::2].mean(axis=0) for start in (0, 1)]
    value = rs.statistics.trial_split(x, labels)
    assert value == pytest.approx(rs.statistics.replicate(*halves), rel=1e-12)
    if conditions % 2 == 0:
        with pytest.raises(ValueError, match="even and an odd trial"):
            rs.statistics.trial_split(x, labels, parity="recording")
    assert st.interval("trial_split", x, labels, n_resamples=5).value == value


def test_nulls_and_intervals_of_conditions_with_few_trials(rng):
    """With five trials of each of eight conditions, a random order is likely to place all trials of
    a condition early, or all late."""
    x, labels = interleaved(8, 5, rng)
    for name in ("temporal_drift", "trial_split"):
        null = st.permutation_null(name, x, labels, n_permutations=40)
        assert null.draws.shape == (40,)
        assert 1 / 41 <= null.pvalue <= 1
        found = st.interval(name, x, labels, n_resamples=10)
        assert found.low < found.value < found.high
    # One early trial of each.
    early = st.interval("temporal_drift", x, labels, early=0.2, n_resamples=10)
    assert early.value == rs.statistics.temporal_drift(x, labels, early=0.2)
    assert np.isfinite(early.draws).all()


def own(**claims):
    """The decorator of a statistic of one's own."""
    defaults = {
        "label": "Own", "family": "spectrum", "citation": "none", "larger_is_more_stable": None,
        "range": (0, np.inf),
    }  # fmt: skip
    return statistic(**defaults | claims)


def test_intervals_halve_the_parts_that_a_statistic_declares():
    """A parameter called ``early`` says nothing by itself."""
    seen = []

    def share(x, *, early: float = 0.3) -> float:
        seen.append(early)
        return float(x.array[:, 0].mean())

    x = np.repeat([0.0, 1.0], 20)[:, None]
    loose = st.interval(own(family="trials")(share), x, n_resamples=20).draws
    assert set(seen) == {0.3}
    assert np.ptp(loose) > 0
    parted = own(family="trials", parts="early and late")
    assert (st.interval(parted(share), x, early=0.5, n_resamples=20).draws == 0.5).all()
    with pytest.raises(ValueError, match="need the parameter early"):
        parted(lambda x: 0.0)


def test_a_null_that_no_order_gives_says_so():
    """Forty conditions of two trials: a random order with one of each early is out of reach."""
    x, labels = interleaved(40, 2, np.random.default_rng(0))
    message = "none of 1000 permutations has a trial of every condition in both parts"
    with pytest.raises(ValueError, match=message):
        st.permutation_null("temporal_drift", x, labels, n_permutations=2)


def test_the_null_is_uniform_over_the_orders_that_have_a_value(rng):
    """Drift that is there has the smallest p-value, also when most orders are drawn again."""
    x, labels = interleaved(4, 4, rng)
    late = np.arange(16) >= 8
    x[late] += 3 * rng.standard_normal((4, 8))[labels[late]]
    assert st.permutation_null("temporal_drift", x, labels, n_permutations=60).pvalue < 0.1
    draws = (interleaved(4, 4, np.random.default_rng(seed)) for seed in range(30))
    nulls = [st.permutation_null("temporal_drift", *trials, n_permutations=19) for trials in draws]
    assert 0.3 < np.mean([null.pvalue for null in nulls]) < 0.75


def test_what_a_statistic_needs_can_be_given_by_name_everywhere_but_not_twice(rng):
    x, (y,) = example(rs.statistics.variance_ratio)
    named = st.interval("variance_ratio", x, labels=y, n_resamples=5)
    assert named.records() == st.interval("variance_ratio", x, y, n_resamples=5).records()
    by_name = st.permutation_null("temporal_drift", x, conditions=y, n_permutations=5)
    assert by_name.value == st.permutation_null("temporal_drift", x, y, n_permutations=5).value
    bins, options = rng.standard_normal((60, 4, 3)), {"width": 2, "axes": "trials bins units"}
    windows = st.sliding_windows("trial_split", bins, conditions=y, **options)
    assert windows == st.sliding_windows("trial_split", bins, y, **options)
    for call in (rs.statistics.variance_ratio, partial(st.interval, "variance_ratio")):
        with pytest.raises(ValueError, match="labels is given twice"):
            call(x, y, labels=y)


def test_a_rare_class_is_drawn_too(rng):
    """A random subset of 60 of 1000 samples contains a class of two samples, for every seed."""
    y = np.zeros(1000, dtype=int)
    y[[5, 700]] = 1
    x = rng.standard_normal((1000, 4)) + 2 * y[:, None]
    options = {"rdm": "euclidean", "max_samples": 60}
    values = {rs.statistics.supervised_alignment(x, y, seed=s, **options) for s in range(5)}
    assert len(values) == 5
    with pytest.raises(ValueError, match="max_samples=60 is less than one of each of 100 classes"):
        rs.statistics.supervised_alignment(x, np.arange(1000) % 100, max_samples=60)
    sizes = np.bincount(y[_stratified_subset([np.flatnonzero(y == c) for c in (0, 1)], 60, 0)])
    assert sizes.tolist() == [59, 1]


def test_a_value_is_a_float_whatever_the_array_and_follows_the_seed(subtests):
    """Supervised alignment has no other draw: 60 of at most 300 samples are all."""
    for s in MEMBERS:
        with subtests.test(str(s)):
            x, data = example(s)
            assert type(s(torch.from_numpy(x).float(), *data)) is float
            assert s(np.asfortranarray(x), *data) == s(rs.Representation(x), *data) == s(x, *data)
            if "seed" in s.defaults and s.name != "supervised_alignment":
                noise = np.random.default_rng(1).permuted(x, axis=0)
                assert s.with_parameters(seed=1)(noise, *data) != s(noise, *data)


def test_silhouettes_are_those_of_scikit_learn(rng):
    x, labels = rng.standard_normal((600, 5)) + 1, rng.integers(0, 7, 600)
    labels[0] = 7  # a class of one sample
    x[3] = 0
    for metric in ("cosine", "euclidean"):
        expected = pytest.approx(silhouette_score(x, labels, metric=metric), rel=1e-12)
        assert rs.statistics.silhouette(x, labels, rdm=metric) == expected


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
                few = [a[:, :1] if getattr(a, "ndim", 1) == 2 else a for a in data]
                with pytest.raises(rs.UndefinedError, match="features"):
                    s(x[:, : s.min_features - 1], *few)
    for name in ("anisotropy", "participation_ratio", "effective_rank"):
        with pytest.raises(rs.UndefinedError, match="no more than the rounding of float16"):
            rs.get_statistic(name)(hostile_pairs()["X of two values of half precision"][0])


def read_and_refused_labels(labels: np.ndarray, role: str) -> tuple[list, list]:
    """Labels of many kinds that are the same, and those that are none, with what is said."""
    words = np.array(["a", "b", "c", "d"])[labels].tolist()
    days = np.datetime64("2020-01-01") + labels
    shuffled = pd.Series(words, index=np.random.default_rng(0).permutation(60))
    read = [
        words, tuple(words), labels.tolist(), labels + 3, days, np.ma.masked_array(labels),
        shuffled, shuffled.astype("category"),
    ]  # fmt: skip
    lacking = [
        [None, *words[1:]], [np.nan, *words[1:]], [np.inf, *labels[1:]],
        np.array([None, *labels[1:]], dtype=object),
        np.where(labels == 0, np.datetime64("NaT"), days), np.ma.masked_equal(labels, 1),
        pd.Series(labels, dtype="Int64").where(labels > 0),
        pd.Series(words, dtype="category").where(labels > 0),
        pd.Series(words, dtype="string").where(labels > 0),
    ]  # fmt: skip
    refused = [(values, f"{role} are missing, NaN or infinite") for values in lacking]
    refused += [
        ([1, *words[1:]], f"{role} are of several types .*; make all of them words"),
        (labels[:, None], r"give their column, of shape \(60,\)"),
        ([object() for _ in labels], "must be numbers or words; got object"),
        (labels[:-1], "one per sample"),
        (np.zeros(60), "at least|needs from 2"),
        (np.where(labels == 0, np.nan, 1), "leave those samples out"),
    ]
    return read, refused


def test_labels_of_every_kind_are_read_by_position_or_refused_by_name(subtests):
    for s in (s for s in LABELLED if len(s.needs) == 1):
        with subtests.test(str(s)):
            x, (labels,) = example(s)
            read, refused = read_and_refused_labels(labels, s.needs[0])
            assert {s(x, values) for values in read} == {s(x, labels)}
            assert s(x, **{s.needs[0]: labels + 3}) == s(x, labels)
            for values, message in refused:
                with pytest.raises(ValueError, match=message):
                    s(x, values)


X = np.random.default_rng(0).standard_normal((9, 4))
TWO, THREE, PAIRS = np.arange(9) % 2, np.arange(9) % 3, np.arange(9) // 4
APART = [rs.Representation(X, ids=range(i, i + 9)) for i in (0, 1)]
SIXTY = np.random.default_rng(0).standard_normal((60, 6))
S = rs.statistics
MISTAKES = [
    (lambda: S.replicate(X, X[:8]), "same samples"),
    (lambda: S.replicate(*APART), "join_samples"),
    (lambda: S.replicate(X, np.where(X > 1, np.nan, X)), "NaN"),
    (lambda: S.perturbation_coherence(X, X[:, :3]), "same features"),
    (lambda: S.perturbation_magnitude(X, X[:1], unit="deviations"), "at least 2 controls"),
    (lambda: S.input_noise_stability(X, 3), "function"),
    (lambda: S.input_noise_stability(X, lambda z: z[:8]), "8 rows for 9"),
    *[
        (partial(S.anchor_profile, X, X, anchors=anchors), "anchor")
        for anchors in ((0, 0), (10,), "ab", tuple(range(8)))
    ],
    *[
        (partial(rs.get_statistic(name), X, PAIRS), "leave out or merge such classes")
        for name in (
            "variance_ratio", "class_separation", "label_conditioned_split", "gbc", "h_score",
            "logme",
        )
    ],
    (lambda: S.lda_stability(X, THREE), "two classes"),
    (lambda: S.label_conditioned_split(X, TWO), "at least 3 classes"),
    (lambda: S.trial_split(X, TWO), "at least 3 conditions"),
    (lambda: S.temporal_drift(X, np.arange(9) // 3), "early and a late trial"),
    (lambda: S.centroid_drift(X, early=0.01), "no early trial"),
    (lambda: S.leep(X, PAIRS, outputs="probabilities"), "with the sum 1"),
    (lambda: S.feature_split(X, splits=3), "no parameter 'splits'"),
    (lambda: S.feature_split(X, rdm="hamming"), "must be one of"),
    (lambda: S.feature_split(X, k=0), "from 1 to"),
    (lambda: S.anchor(SIXTY, max_samples=49), "anchor: max_samples must be from 50 to inf; got 49"),
    (lambda: S.sample_split(SIXTY, max_samples=4), "max_samples must be from 5 to inf; got 4"),
    (lambda: S.variance_ratio(X), r"variance_ratio\(X, labels\)"),
    (lambda: S.anisotropy(X, X), r"anisotropy\(X\)"),
    (lambda: st.interval("feature_split", X[:6]), "half of them are 3"),
    (lambda: st.interval("anisotropy", X, n_resamples=1), "n_resamples must be at least 2"),
    (lambda: st.interval("anchor_profile", X, X, anchors=(0, 40)), "anchors are row numbers"),
    (lambda: st.permutation_null("anisotropy", X, n_permutations=5), "not depend on the order"),
    (lambda: st.permutation_null("centroid_drift", X, n_permutations=1), "at least 2"),
    (lambda: own()(lambda x: float("nan"))(X), "not a number"),
    (lambda: own()(lambda x, weights: 0.0), "'weights'"),
    (lambda: pickle.dumps(own()(lambda x: 1.0)), "top level"),
    (lambda: rs.list_statistics(family="trial"), "did you mean 'trials'"),
    (lambda: rs.list_statistics(invariant_to="ortogonal"), "did you mean 'orthogonal'"),
    (lambda: rs.get_statistic("feature_spit"), "did you mean 'feature_split'"),
]  # fmt: skip


def test_mistakes_are_named(subtests):
    for call, message in MISTAKES:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()


def test_measures_and_statistics_take_the_same_rows_for_probabilities(rng):
    p, q = rng.dirichlet(np.ones(4), (2, 40))
    leep = rs.statistics.leep
    labels, options = p.argmax(axis=1), {"outputs": "probabilities"}
    half = leep(p.astype(np.float16), labels, **options)
    assert half == pytest.approx(leep(p, labels, **options), rel=1e-3)
    for call in (
        lambda x: rs.jensen_shannon(x, q, **options),
        lambda x: leep(x, labels, **options),
    ):
        assert np.isfinite(call(1.0005 * p))
        for wrong in (1.002 * p, p - 0.3):
            with pytest.raises(rs.UndefinedError, match=r"\(40, 4\) are not probabilities"):
                call(wrong)


# ---------------------------------------------------------------------------------------- catalogue


def test_every_statistic_is_found_by_any_name(subtests):
    for s in MEMBERS:
        with subtests.test(str(s)):
            assert rs.get_statistic(str(s)) == s
            assert rs.get_statistic(s) is s
            assert pickle.loads(pickle.dumps(s)) == s
            assert rs.get_statistic(s.label.upper()).name == s.name
            assert hash(s) == hash(rs.get_statistic(str(s)))
            assert s.name in rs.statistics.__all__


def test_lists():
    everything = rs.list_statistics()
    assert len({s.name for s in everything}) == len({s.label for s in everything}) == 40
    trials = {s.name for s in rs.list_statistics(family="trials")}
    assert trials == {"trial_split", "temporal_drift", "centroid_drift"}
    assert rs.statistics.basis_split in rs.list_statistics(invariant_to="orthogonal")
    assert rs.statistics.feature_split not in rs.list_statistics(invariant_to={"permutation"})


def test_anchors_probes_and_halves_fit_among_few_samples(rng, subtests):
    for limits in ({"anchors": 2}, {"anchors": 10_000}, {"probes": 3}, {"max_samples": 50}):
        with subtests.test(str(limits)):
            for n in (50, 53, 400):
                assert -1 <= rs.statistics.anchor(rng.standard_normal((n, 6)), k=3, **limits) <= 1
    assert -1 <= rs.statistics.sample_split(SIXTY, max_samples=5) <= 1


def test_an_encoder_that_writes_into_its_inputs_changes_neither_them_nor_the_value():
    def careless(inputs):
        inputs *= 2
        return np.tanh(inputs)

    before, stability = X.copy(), rs.statistics.input_noise_stability
    assert stability(X, careless) == stability(X, lambda inputs: np.tanh(2 * inputs))
    assert np.array_equal(X, before)


def test_own_statistics():
    """A user's own function is declared like those of the library."""

    @own(label="Spread", invariant_to={"orthogonal", "translation"})
    def spread(x: rs.Representation, *, power: int = 1) -> float:
        """Standard deviation of the points."""
        return float(np.std(x.array)) ** power

    assert spread(X) == np.std(X)
    assert str(spread.with_parameters(power=2)) == "spread[power=2]"
    assert spread(X, power=2) == np.std(X) ** 2
    assert spread.summary == "Standard deviation of the points."
    assert repr(spread).startswith("<statistic spread: ")
