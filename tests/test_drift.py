"""Drift between two versions: each synthetic change is named as what it is, thresholds, verdicts, recorded values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import GOLDEN
from scipy.stats import wasserstein_distance

import resemblance as rs
from resemblance.drift.findings import shared_neighbours
from resemblance.views.distributions import effective_rank, participation_ratio

SHESHA = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())
CASES = [case for case in SHESHA if "geometric_stability_scripts" in SHESHA[case]]


def orthogonal(d: int, g: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(g.standard_normal((d, d)))[0]


def reference(d: int, g: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four classes in a space with directions of different variance, away from the origin."""
    labels = np.arange(400 if d > 100 else 240) % 4
    samples = g.standard_normal((len(labels), d)) * np.linspace(1, 2, d) @ orthogonal(d, g)
    return samples + 3 * g.standard_normal((4, d))[labels] + 2 * g.standard_normal(d), labels


def anisotropic(d: int, g: np.random.Generator) -> np.ndarray:
    return orthogonal(d, g) * np.linspace(0.4, 2.5, d) @ orthogonal(d, g)


def collapsed(x: np.ndarray, g: np.random.Generator) -> np.ndarray:
    """A quarter of the dimensions is left: the leading ones."""
    centred = x - x.mean(axis=0)
    kept = np.linalg.svd(centred, full_matrices=False)[2][: max(1, x.shape[1] // 4)]
    return x.mean(axis=0) + centred @ kept.T @ kept


def merged(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Classes 1 and 3 moved onto 0 and 2."""
    means = np.array([x[labels == c].mean(axis=0) for c in range(4)])
    return x + (means[labels - labels % 2] - means[labels])


CHANGES = {
    "identical": (lambda x, y, g: x.copy(), ()),
    "translation": (lambda x, y, g: x + g.standard_normal(x.shape[1]), ("translation",)),
    "scale": (lambda x, y, g: 1.4 * x, ("scale",)),
    "rotation": (lambda x, y, g: x @ orthogonal(x.shape[1], g), ("rotation",)),
    "linear": (lambda x, y, g: x @ anisotropic(x.shape[1], g), ("linear",)),
    "collapse": (lambda x, y, g: collapsed(x, g), ("collapse",)),
    "shuffled": (lambda x, y, g: x[g.permutation(len(x))], ("neighbours",)),
    "merged": (lambda x, y, g: merged(x, y), ("classes",)),
    "all at once": (
        lambda x, y, g: 0.5 * x @ orthogonal(x.shape[1], g) + 4,
        ("translation", "scale", "rotation"),
    ),
    "rotation into more dimensions": (
        lambda x, y, g: np.c_[x, np.zeros((len(x), 3))] @ orthogonal(x.shape[1] + 3, g),
        ("rotation",),
    ),
    "linear into more dimensions": (
        lambda x, y, g: x @ (np.eye(x.shape[1], x.shape[1] + 2) + 0.4 * g.standard_normal((1, x.shape[1] + 2))),
        ("linear",),
    ),
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("d", [2, 16, 128])
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named_as_what_it_is(change, d, seed):
    g = np.random.default_rng([seed, d])
    x, labels = reference(d, g)
    make, named = CHANGES[change]
    given = labels if change in ("merged", "rotation", "identical") else None
    found = rs.drift(x, make(x, labels, g), labels=given, threshold=0.05, draws=10)
    assert found.named == named, [(f.kind, f.said) for f in found.findings]


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    g = np.random.default_rng(0)
    return *reference(6, g), g


def test_noise_is_a_loss_of_neighbours_and_no_map(pair):
    x, _, g = pair
    found = rs.drift(x, x + 0.3 * x.std() * g.standard_normal(x.shape), draws=10)
    assert found.named == ("neighbours",)
    assert found.map == "identity"
    assert 0.03 < found.unexplained < 0.15


def test_a_change_through_noise_is_named_too(pair):
    x, _, g = pair
    noise = 0.1 * x.std() * g.standard_normal(x.shape)
    assert rs.drift(x, x @ orthogonal(6, g) + noise, draws=10).named == ("rotation", "neighbours")
    assert rs.drift(x, 2 * x + noise, draws=10).named == ("scale", "neighbours")


def test_lost_correspondence_is_not_a_change_of_scale(pair):
    """Half of the rows shuffled: least squares would shrink, which is what regression to the mean looks like."""
    x, _, g = pair
    rows = np.arange(len(x))
    rows[:120] = g.permutation(120)
    assert rs.drift(x, x[rows], draws=10).named == ("neighbours",)


def test_amounts_are_those_of_the_change(pair):
    x, labels, _ = pair
    angle = np.radians(30)
    turn = np.eye(6)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    radius = np.sqrt(x.var(axis=0).sum())
    shift = np.r_[radius, np.zeros(5)]
    by = {f.kind: f for f in rs.drift(x, x + shift, draws=10).findings}
    assert by["translation"].amount == pytest.approx(1, rel=1e-9)
    by = {f.kind: f for f in rs.drift(x, 1.25 * x @ turn, draws=10).findings}
    assert by["scale"].amount == pytest.approx(1.25, rel=1e-9)
    assert by["rotation"].named
    by = {f.kind: f for f in rs.drift(x, merged(x, labels), labels=labels, draws=10).findings}
    assert by["classes"].amount > 0.4


def test_a_collapse_to_one_point_is_drift_not_an_error(pair):
    x, _, _ = pair
    found = rs.drift(x, np.ones_like(x), draws=10)
    assert found.drifted
    assert found.named == ("collapse",)
    assert found.drifts[0].value is None
    assert found.drifts[0].reason
    json.loads(found.to_json())


def test_nothing_happened_to_an_identical_version(pair):
    x, labels, _ = pair
    for threshold in ("calibrated", 1e-9):
        found = rs.drift(x, x, labels=labels, threshold=threshold, draws=10)
        assert not found.drifted
        assert all(d.value < 1e-9 for d in found.drifts)
        assert found.unexplained < 1e-20


def test_a_rotation_keeps_what_rotations_keep_and_moves_the_rest(pair):
    x, _, g = pair
    drifts = {d.name: d for d in rs.drift(x, x @ orthogonal(6, g), draws=20).drifts}
    still = {name for name, d in drifts.items() if d.value < 1e-9}
    assert still == set(drifts) - {"mmd", "sliced_wasserstein"}
    assert {name for name, d in drifts.items() if d.exceeds} == {"mmd", "sliced_wasserstein"}


def test_the_squared_procrustes_drift_is_quadratic_in_a_small_change_and_its_root_linear(pair):
    x, _, g = pair
    noise = g.standard_normal(x.shape)
    small, large = ({d.name: d.value for d in rs.drift(x, x + s * noise, draws=10).drifts} for s in (0.01, 0.02))
    assert large["procrustes"] / small["procrustes"] == pytest.approx(4, rel=0.01)
    assert large["procrustes_root"] / small["procrustes_root"] == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("d", [2, 16, 64])
def test_calibrated_thresholds_pass_other_samples_of_the_same_and_catch_another_distribution(d):
    """Distribution drifts: a fresh sample of the same distribution has no more drift than halves of the reference."""
    g = np.random.default_rng(d)
    x, fresh = (g.standard_normal((300, d)) * np.linspace(1, 2, d) for _ in "ab")
    names = ("mmd", "sliced_wasserstein", "effective_rank", "participation_ratio")
    same = {r.name: r.exceeds for r in rs.drift(x, fresh, draws=20).drifts}
    other = {r.name: r.exceeds for r in rs.drift(x, fresh * np.linspace(3, 0.2, d) + 1, draws=20).drifts}
    assert not any(same[name] for name in names)
    assert all(other[name] for name in names)


def test_thresholds_as_numbers_judge_shares_and_losses_only(pair):
    x, labels, g = pair
    found = rs.drift(x, x @ orthogonal(6, g) + 5, threshold=0.99, draws=10)
    assert not found.drifted
    judged = {d.name for d in found.drifts if d.threshold is not None}
    assert judged == {d.name for d in found.drifts if d.is_share}
    assert rs.drift(x, merged(x, labels), labels=labels, threshold=0.3, draws=10).drifted
    assert rs.drift(x, x[g.permutation(240)], threshold=0.9, draws=10).drifted


def test_the_samples_that_moved_most(pair):
    x, _, g = pair
    y = x @ orthogonal(6, g)
    y[[7, 31]] += 4 * x.std()
    found = rs.drift(rs.Representation(x, ids=[f"s{i}" for i in range(len(x))]), y, draws=10)
    assert {m.id for m in found.moved[:2]} == {"s7", "s31"}
    assert [m.index for m in found.moved_before[:2]] != [m.index for m in found.moved[:2]]
    assert found.moved_before[0].distance >= found.moved_before[1].distance


def test_maps_of_more_freedom_leave_less(pair):
    x, _, g = pair
    left = dict(rs.drift(x, 2 * x @ anisotropic(6, g) + 3, draws=10).ladder)
    assert left["nothing"] > left["scale"] > left["rotation"] > left["linear map"]
    assert left["linear map"] < 1e-20


def test_the_same_call_gives_the_same_report_and_another_seed_other_intervals(pair):
    x, _, g = pair
    y = x + 0.1 * g.standard_normal(x.shape)
    first, again, other = (rs.drift(x, y, draws=10, seed=s) for s in (0, 0, 1))
    assert first.to_json() == again.to_json()
    assert [d.value for d in first.drifts if d.paired] == [d.value for d in other.drifts if d.paired]
    assert [d.low for d in first.drifts] != [d.low for d in other.drifts]


def test_many_samples_are_thinned_out_and_the_settings_say_so():
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 3))
    found = rs.drift(x, x, max_samples=100, draws=10)
    assert (found.settings["samples"], found.settings["used"]) == (400, 100)


def test_what_a_notebook_shows(pair):
    x, _, _ = pair
    assert (
        rs.drift(x, 2 * x, threshold=0.5, draws=10)
        ._repr_html_()
        .startswith("<p><b>No drift beyond the threshold. What happened:")
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: rs.drift(x, x[:-1]), "has 240 samples and the current version 239"),
        (lambda x: rs.drift(x[:10], x[:10]), "at least 20 samples; got 10"),
        (lambda x: rs.drift(x, x, labels=[0, 1]), "2 labels for 240 samples"),
        (lambda x: rs.drift(x, x, labels=[0] * 240), "one class only"),
        (lambda x: rs.drift(x, x, threshold=-1), "calibrated"),
        (lambda x: rs.drift(x, x, threshold="high"), "calibrated"),
        (lambda x: rs.drift(x, x, draws=1), "draws must be at least 10"),
        (lambda x: rs.drift(0 * x, x), "reference is constant"),
        (lambda x: rs.drift(x, np.where(x == x[0, 0], np.nan, x)), "NaN"),
        (
            lambda x: rs.drift(rs.Representation(x, ids=range(240)), rs.Representation(x, ids=range(1, 241))),
            "join_samples",
        ),
    ],
)
def test_mistakes_are_named(call, message, pair):
    with pytest.raises(ValueError, match=message):
        call(pair[0])


# ------------------------------------------------------------------------------------- recorded values and identities


@pytest.fixture(params=CASES)
def recorded(request) -> tuple[np.ndarray, np.ndarray, dict, dict]:
    with np.load(GOLDEN / "stab_inputs.npz") as archive:
        x, y = archive[f"{request.param}__X"], archive[f"{request.param}__Y"]
    found = SHESHA[request.param]
    return x, y, found["geometric_stability_scripts"], found["shesha_0_3_0"]


def test_drifts_equal_the_authors_code_where_the_definition_is_the_same(recorded):
    x, y, scripts, package = recorded
    rank = min(np.linalg.matrix_rank(z - z.mean(axis=0)) for z in (x, y))
    for k in (k for k in (5, 10, 20) if k <= rank):  # beyond, their k is that of the narrower side for both
        assert rs.subspace_overlap(x, y, k=k) == pytest.approx(scripts[f"subspace_overlap_k{k}"], rel=1e-8)
    assert rs.eigenspectrum_similarity(x, y) == pytest.approx(scripts["eigenspectrum_similarity"], rel=1e-9)
    assert rs.pwcka(x, y) == pytest.approx(scripts["pwcka_0.99"], rel=1e-9)
    assert float(participation_ratio(rs.Representation(x))) == pytest.approx(scripts["participation_ratio_X"], rel=1e-9)
    assert float(effective_rank(rs.Representation(y))) == pytest.approx(scripts["effective_rank_Y"], rel=1e-9)
    assert rs.cka(x, y, estimator="debiased") == pytest.approx(scripts["song_debiased_linear_cka"], rel=1e-8)
    if isinstance(package["rdm_drift"], float):  # theirs refuses rows of zeros
        assert 1 - rs.rsa(x, y, rdm="cosine") == pytest.approx(package["rdm_drift"], abs=1e-6)


def test_mmd_equals_the_authors_code_with_its_bandwidth(recorded):
    x, y, scripts, _ = recorded
    if x.shape[1] == y.shape[1]:
        assert rs.mmd(x, y, bandwidth=0.5**0.5) == pytest.approx(scripts["mmd_rbf"], abs=2e-3)
    else:
        assert scripts["mmd_rbf"].startswith("ValueError")  # there is no padding there


def test_sliced_wasserstein_is_that_of_the_authors_but_for_the_directions(recorded):
    """Theirs draws 100 directions from NumPy's default generator, ours from its own: they differ as two draws do."""
    x, y, scripts, _ = recorded
    if x.shape[1] != y.shape[1]:
        assert scripts["sliced_wasserstein"].startswith("ValueError")
        return
    drawn = np.random.default_rng(320).standard_normal((x.shape[1], 100))
    drawn /= np.linalg.norm(drawn, axis=0)
    each = np.abs(np.sort(x @ drawn, axis=0) - np.sort(y @ drawn, axis=0)).mean(axis=0)
    assert each.mean() == pytest.approx(scripts["sliced_wasserstein"], rel=1e-9)
    assert abs(rs.sliced_wasserstein(x, y) - each.mean()) < 4 * each.std() * np.sqrt(2 / 100)


def test_sliced_wasserstein_of_one_dimension_is_the_wasserstein_distance():
    x, y = np.random.default_rng(0).standard_normal((2, 50, 1))
    y = 2 * y + 0.3
    assert rs.sliced_wasserstein(x, y, projections=3) == pytest.approx(
        wasserstein_distance(x[:, 0], y[:, 0]), rel=1e-12
    )


def test_pwcka_of_all_components_is_cka():
    x, y = np.random.default_rng(0).standard_normal((2, 40, 7))
    assert rs.pwcka(x, y, explained_variance=1.0) == pytest.approx(rs.cka(x, y), rel=1e-12)


def test_subspace_overlap_of_all_components_is_the_mean_squared_canonical_correlation():
    x, y = np.random.default_rng(0).standard_normal((2, 40, 4))
    expected = rs.mean_cca(x, y, aggregation="mean_squared")
    assert rs.subspace_overlap(x, y, k=9) == pytest.approx(expected, rel=1e-12)


def test_mmd_is_the_sum_over_pairs():
    x, y = np.random.default_rng(0).standard_normal((2, 12, 3))
    y = y + 1
    z = np.concatenate([x, y])
    d = np.linalg.norm(z[:, None] - z, axis=2)
    kernel = np.exp(-(d**2) / 2 / np.median(d[np.triu_indices(24, 1)]) ** 2)
    off = ~np.eye(12, dtype=bool)
    expected = kernel[:12, :12][off].mean() + kernel[12:, 12:][off].mean() - 2 * kernel[:12, 12:].mean()
    assert rs.mmd(x, y) == pytest.approx(np.sqrt(expected), rel=1e-9)


def test_neighbours_of_unrelated_samples_are_shared_by_chance():
    x, y = np.random.default_rng(0).standard_normal((2, 300, 5))
    assert abs(shared_neighbours(x, y, 10).mean()) < 0.02
    assert shared_neighbours(x, x, 10).mean() == 1
