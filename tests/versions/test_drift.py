"""Drift between two versions: thresholds, verdicts for a purpose, the authors' values, refusals."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from factories.files import GOLDEN
from factories.versions import CHANGES, PURPOSES, by_name, merged, orthogonal, quick, strict
from scipy.stats import wasserstein_distance

import resemblance as rs
from resemblance.base.results import saved_text
from resemblance.statistics.spectrum import effective_rank, participation_ratio
from resemblance.versions.table import DriftRules, drift_table, noisy_versions

SHESHA = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())
CASES = [case for case in SHESHA if "geometric_stability_scripts" in SHESHA[case]]


# --------------------------------------------------------------------------------------- the table


def test_nothing_happened_to_an_identical_version(pair):
    x, labels, _ = pair
    for threshold in ("calibrated", 1e-9):
        found = quick(x, x, labels=labels, threshold=threshold)
        assert not found.drifted
        assert all(d.value < 1e-9 for d in found.drifts)
        assert found.unexplained < 1e-20


def test_a_motion_moves_the_coordinates_and_old_vectors_alone(pair):
    x, _, g = pair
    drifts = by_name(rs.drift(x, 0.3 * x @ orthogonal(6, g) + 7, n_resamples=20))
    still = {name for name, d in drifts.items() if d.value < 1e-9}
    assert still == {name for name, d in drifts.items() if d.aspect == "geometry"}
    places = {"displacement", "rdm", "sliced_wasserstein", "mmd"}
    assert {name for name, d in drifts.items() if d.aspect == "coordinates"} == places
    assert {name for name, d in drifts.items() if d.exceeds_threshold} == {*places, "old_index"}


def test_the_same_call_gives_the_same_report_and_another_seed_other_intervals(pair):
    x, _, g = pair
    y = x + 0.1 * g.standard_normal(x.shape)
    first, again, other = (quick(x, y, seed=s) for s in (0, 0, 1))
    assert saved_text(first) == saved_text(again)
    paired = [[d.value for d in found.drifts if d.paired] for found in (first, other)]
    assert paired[0] == paired[1]
    assert [d.low for d in first.drifts] != [d.low for d in other.drifts]


def test_the_unit_of_the_data_does_not_matter_and_overflow_is_refused(pair):
    x, _, g = pair
    y = 1.3 * x @ orthogonal(6, g)
    plain, huge, tiny = (quick(s * x, s * y) for s in (1.0, 1e180, 1e-180))
    assert plain.changes == huge.changes == tiny.changes == ("scale", "rotation")
    values = [d.value for d in plain.drifts]
    assert [d.value for d in huge.drifts] == pytest.approx(values, abs=1e-9)
    for factor in (1e200, 1e-200):
        with pytest.raises(ValueError, match="in the same unit"):
            quick(x, x * factor)
    json.loads(saved_text(quick(x, x * 1e20)))


def test_rounding_is_no_drift_of_the_subspace():
    g = np.random.default_rng(0)
    z = g.standard_normal((150, 3)) @ g.standard_normal((3, 320))
    found = strict(z, z.astype("f4"))
    assert (found.drifted, found.changes) == (False, ())
    assert by_name(found)["subspace"].value < 1e-6
    leading = np.linalg.svd(z, full_matrices=False)[2][:2]
    assert by_name(strict(z, z @ leading.T @ leading))["subspace"].value > 0.3


def test_another_width_is_drift_for_whatever_reads_the_vectors(pair):
    x, _, _ = pair
    y = np.c_[x, np.zeros((len(x), 3))]  # the same points: no distance changes
    by = {p: strict(x, y, purpose=p) for p in PURPOSES}
    assert [p for p in PURPOSES if by[p].drifted] == ["index", "head"]
    assert "the width changed from 6 to 9" in by["geometry"].details[1]
    assert by["index"].details[2].startswith("New queries cannot search old vectors")
    by_column = {d.name: d for d in by["index"].drifts if "column by column" in d.reason}
    assert set(by_column) == {"displacement", "sliced_wasserstein", "mmd"}
    assert all(d.value is None and "6 and 9 columns" in d.reason for d in by_column.values())


# ------------------------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("d", [2, 32])
def test_calibrated_thresholds_pass_other_samples_of_the_same_and_catch_another_distribution(d):
    """Distribution drifts: a fresh sample of the same distribution has no more drift than halves of
    the reference."""
    g = np.random.default_rng(d)
    x, fresh = (g.standard_normal((200, d)) * np.linspace(1, 2, d) for _ in "ab")
    names = ("mmd", "sliced_wasserstein", "effective_rank", "participation_ratio")
    same = by_name(quick(x, fresh, n_resamples=20))
    other = by_name(quick(x, fresh * np.linspace(3, 0.2, d) + 1, n_resamples=20))
    assert not any(same[name].exceeds_threshold for name in names)
    assert all(other[name].exceeds_threshold for name in names)


def test_thresholds_as_numbers_judge_shares_and_losses_only(pair):
    x, labels, g = pair
    found = quick(x, x @ orthogonal(6, g) + 5, threshold=0.99, purpose="geometry")
    assert not found.drifted
    judged = {d.name for d in found.drifts if d.threshold is not None}
    assert judged == {d.name for d in found.drifts if d.is_share}
    assert quick(x, merged(x, labels), labels=labels, threshold=0.3).drifted
    assert quick(x, x[g.permutation(240)], threshold=0.9).drifted


@pytest.mark.parametrize(("d", "rank"), [(1, 1), (16, 3), (64, 64)])
def test_calibrated_thresholds_mean_noise_of_the_tolerance_in_every_dimension(d, rank):
    """The same noise within the data passes up to the tolerance and not at four times as much."""
    g = np.random.default_rng(d)
    frame = np.linalg.qr(g.standard_normal((d, rank)))[0]
    x = g.standard_normal((150, rank)) * np.linspace(1, 2, rank) @ frame.T
    radius = np.sqrt(x.var(axis=0).sum())
    noise = radius / np.sqrt(rank) * g.standard_normal((150, rank)) @ frame.T
    names = ("cka", "procrustes", "displacement")
    for size, expected in ((0.02, False), (0.4, True)):
        found = quick(x, x + size * noise, tolerance=0.1)
        assert [by_name(found)[name].exceeds_threshold for name in names] == [expected] * 3
        assert found.geometry.drifted == expected
    limit = {d.name: d.threshold for d in found.drifts}
    assert limit["displacement"] == pytest.approx(0.01, rel=0.35)
    assert min(limit[name] for name in names) > 1e-4


def test_noise_of_the_tolerance_is_rarely_drift():
    x = np.random.default_rng(0).standard_normal((60, 5))
    rules = DriftRules(threshold=None, tolerance=0.1, n_resamples=20, seed=0)
    versions = noisy_versions(x, rules._replace(seed=1), 12)
    drifts = [d for y in versions for d in drift_table(x, y, (16, 16), rules, lambda share: None)]
    assert sum(d.exceeds_threshold for d in drifts if d.name == "displacement") <= 2


# --------------------------------------------------------------------------- verdicts for a purpose


@pytest.mark.parametrize("threshold", [0.05, "calibrated"])
@pytest.mark.parametrize("change", ["translation", "scale", "rotation"])
def test_the_purpose_decides_whether_a_change_of_the_coordinates_alone_is_drift(
    change, threshold, pair
):
    x, labels, g = pair
    y = x + x.std() if change == "translation" else CHANGES[change][0](x, labels, g)
    by = {p: quick(x, y, threshold=threshold, purpose=p) for p in PURPOSES}
    assert [p for p in PURPOSES if by[p].drifted] == ["index", "head"]
    for found in by.values():
        assert (found.geometry.drifted, found.coordinates.drifted) == (False, True)
    geometry = by["geometry"]
    assert geometry.details[1].endswith("; not counted for the geometry alone.")
    assert "For an index or a head this is drift." in geometry.conclusion
    assert not by["head"].details[1].endswith("head.")


# ------------------------------------------------------------ values of the authors, and identities


@pytest.fixture(params=CASES)
def recorded(request) -> tuple[np.ndarray, np.ndarray, dict, dict]:
    with np.load(GOLDEN / "stab_inputs.npz") as archive:
        x, y = archive[f"{request.param}__X"], archive[f"{request.param}__Y"]
    found = SHESHA[request.param]
    return x, y, found["geometric_stability_scripts"], found["shesha_0_3_0"]


def test_drifts_equal_the_authors_code_where_the_definition_is_the_same(recorded):
    x, y, scripts, package = recorded
    rank = min(np.linalg.matrix_rank(z - z.mean(axis=0)) for z in (x, y))
    values = {
        "eigenspectrum_similarity": rs.eigenspectrum_similarity(x, y),
        "pwcka_0.99": rs.pwcka(x, y),
        "participation_ratio_X": float(participation_ratio(rs.Representation(x))),
        "effective_rank_Y": float(effective_rank(rs.Representation(y))),
    }
    for name, value in values.items():
        assert value == pytest.approx(scripts[name], rel=1e-9), name
    debiased = rs.cka(x, y, estimator="debiased")
    assert debiased == pytest.approx(scripts["song_debiased_linear_cka"], rel=1e-8)
    # Beyond, their k is that of the narrower side for both.
    for k in (k for k in (5, 10, 20) if k <= rank):
        theirs = scripts[f"subspace_overlap_k{k}"]
        assert rs.subspace_overlap(x, y, k=k) == pytest.approx(theirs, rel=1e-8)
    if isinstance(package["rdm_drift"], float):  # theirs refuses rows of zeros
        assert 1 - rs.rsa(x, y, rdm="cosine") == pytest.approx(package["rdm_drift"], abs=1e-6)


def test_drifts_by_column_are_those_of_the_authors_but_for_the_directions(recorded):
    """Their sliced Wasserstein draws 100 directions from NumPy's default generator, ours from its
    own: they differ as two draws do."""
    x, y, scripts, _ = recorded
    if x.shape[1] != y.shape[1]:  # there is no padding there
        assert scripts["mmd_rbf"].startswith("ValueError")
        assert scripts["sliced_wasserstein"].startswith("ValueError")
        return
    assert rs.mmd(x, y, bandwidth=0.5**0.5) == pytest.approx(scripts["mmd_rbf"], abs=2e-3)
    drawn = np.random.default_rng(320).standard_normal((x.shape[1], 100))
    drawn /= np.linalg.norm(drawn, axis=0)
    each = np.abs(np.sort(x @ drawn, axis=0) - np.sort(y @ drawn, axis=0)).mean(axis=0)
    assert each.mean() == pytest.approx(scripts["sliced_wasserstein"], rel=1e-9)
    assert abs(rs.sliced_wasserstein(x, y) - each.mean()) < 4 * each.std() * np.sqrt(2 / 100)


def test_sliced_wasserstein_of_one_dimension_is_the_wasserstein_distance():
    x, y = np.random.default_rng(0).standard_normal((2, 50, 1))
    y = 2 * y + 0.3
    expected = pytest.approx(wasserstein_distance(x[:, 0], y[:, 0]), rel=1e-12)
    assert rs.sliced_wasserstein(x, y, projections=3) == expected


# ------------------------------------------------------------ arrays, labels, files and progress


def test_progress_is_told_in_order_and_ends_at_the_total(pair, capsys):
    x, _, g = pair
    told: list[tuple[int, int]] = []
    for y in (x + 0.1 * g.standard_normal(x.shape), np.ones_like(x)):
        told.clear()
        quick(x, y, progress=lambda *step: told.append(step))
        assert len(told) > 9
        assert told == sorted(told)
        assert len({total for _, total in told}) == 1
        assert told[-1][0] == told[-1][1]
    quick(x, x, progress=True)
    assert capsys.readouterr() == ("", "")  # which is no terminal


def test_a_value_that_is_not_drawn_is_still_checked(tmp_path):
    x = np.random.default_rng(0).standard_normal((20_000, 30)).astype("f4")
    bad = x.copy()
    bad[17_001, 4], bad[17_002, 5] = np.nan, np.inf
    np.save(tmp_path / "bad.npy", bad)
    for pair in ((x, tmp_path / "bad.npy"), (tmp_path / "bad.npy", x)):
        with pytest.raises(rs.UndefinedError, match="row 17001, column 4"):
            quick(*pair, max_samples=50)


def test_a_file_on_disk_is_not_read_as_a_whole(tmp_path):
    """Three times as many rows, 41 MB more in double precision, take no more memory."""
    peaks = []
    for n in (20_000, 60_000):
        x = np.random.default_rng(0).standard_normal((n, 128)).astype("f4")
        np.save(tmp_path / f"{n}.npy", x)
        np.save(tmp_path / f"{n}-new.npy", x + 0.01)
        del x
        tracemalloc.start()
        strict(tmp_path / f"{n}.npy", tmp_path / f"{n}-new.npy", max_samples=200)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 5e6


# -------------------------------------------------------------------- refusals, degenerate data

ONE = np.random.default_rng(0).standard_normal((240, 6))
CLASSES = np.arange(240) % 4
APART = [rs.Representation(ONE, ids=range(i, i + 240)) for i in (0, 1)]
MISTAKES = [
    ({"current": ONE[:-1]}, "has 240 samples and the current version 239.*paired=False"),
    ({"reference": ONE[:10], "current": ONE[:10]}, "at least 20 samples; got 10"),
    ({"reference": 0 * ONE}, "reference is constant"),
    ({"current": np.where(ONE[0, 0] == ONE, np.nan, ONE)}, "NaN"),
    (dict(zip(("reference", "current"), APART)), "join_samples"),
    ({"threshold": True}, "calibrated"),
    ({"threshold": -1}, "calibrated"),
    ({"threshold": np.array([0.1, 0.2])}, "calibrated"),
    ({"threshold": 5}, r"between 0 and 1; got 5: .* never finds drift.*; 5 % is 0.05"),
    ({"threshold": 1}, "never finds drift; 1 % is 0.01"),
    ({"threshold": 1000.0}, "never finds drift"),
    ({"k": 2.5}, "k must be at least 1 and a whole number; got 2.5"),
    ({"n_resamples": 1}, "n_resamples must be at least 10"),
    ({"max_samples": 1e3}, "max_samples must be at least 20"),
    ({"seed": -1}, "seed must be"),
    ({"tolerance": 0}, "tolerance must be a number between 0 and 1"),
    ({"purpose": "heads"}, "did you mean 'head'"),
    ({"labels": [0] * 240}, "one class only"),
    ({"labels": [0, 1]}, r"one per sample, shape \(240,\); got shape \(2,\)"),
    ({"labels": [None, *CLASSES[1:]]}, "drift: labels"),
    ({"labels": np.ma.masked_equal(CLASSES, 3)}, "drift: labels"),
]


def test_mistakes_are_named(subtests):
    for change, message in MISTAKES:
        with subtests.test(f"{[*change]}, {message}"), pytest.raises(ValueError, match=message):
            rs.drift(**{"reference": ONE, "current": ONE} | change)


@pytest.mark.parametrize("offset", [5e7, 1e8])
def test_versions_without_digits_are_refused(offset, pair):
    x, _, g = pair
    y = x + 0.1 * g.standard_normal(x.shape)
    far = [(z + offset).astype(np.float32) for z in (x, y)]
    queries = [(g.standard_normal((30, 6)) + offset).astype(np.float32) for _ in far]
    for call in (
        lambda: quick(*far),
        lambda: rs.drift(*far, paired=False, progress=False),
        lambda: rs.upgrade_index(*far, *queries, progress=False),
    ):
        with pytest.raises(rs.UndefinedError, match="centre first"):
            call()
    assert quick(*(z + offset for z in (x, y))).drifts  # in double precision there are digits


DEGENERATE = {
    "one row": lambda g, n, d: 1.5 * np.eye(n, 1, -3) * np.ones((n, d)),
    "one other row": lambda g, n, d: np.r_[np.zeros((n - 1, d)), np.ones((1, d))],
    "duplicates": lambda g, n, d: g.standard_normal((3, d))[g.integers(3, size=n)],
    "normal": lambda g, n, d: g.standard_normal((n, d)),
    "tiny": lambda g, n, d: 1e-200 * g.standard_normal((n, d)),
    "huge": lambda g, n, d: 1e200 * g.standard_normal((n, d)),
    "one direction": lambda g, n, d: g.standard_normal((n, 1)) * np.eye(1, d),
    "rounding": lambda g, n, d: 1e16 + g.standard_normal((n, d)),
    "no rank": lambda g, n, d: 1e8 + 1e-9 * g.standard_normal((n, d)),
    "saturated": lambda g, n, d: (1 + 1e-3 * g.integers(0, 2, (n, d))).astype("f2"),
    "binary": lambda g, n, d: g.integers(0, 2, (n, d)),
    "all scales": lambda g, n, d: g.standard_normal((n, d)) * 10.0 ** g.integers(-100, 100, (n, 1)),
    "constant": lambda g, n, d: np.ones((n, d)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_degenerate_data_give_a_report_or_a_value_error(subtests):
    """Each kind of reference with three others, and itself, in three shapes."""
    kinds = [*DEGENERATE]
    for first, before in enumerate(kinds):
        for step in (0, 1, 5, 9):
            after = kinds[(first + step) % len(kinds)]
            g = np.random.default_rng(first + step)
            n, d, e = ((20, 1, 1), (24, 6, 6), (22, 40, 3))[(first + step) % 3]
            options = ({"threshold": 0.05, "labels": np.arange(n) % 2}, {})[step % 2]
            x, y = DEGENERATE[before](g, n, d), DEGENERATE[after](g, n, e)
            with subtests.test(f"{before}, {after}"):
                reason, found = "", None
                try:
                    found = quick(x, y, **options)
                except ValueError as error:
                    reason = str(error)
                known = ("constant", "in the same unit", "centre first")
                assert found or any(words in reason for words in known)
                if found:
                    json.loads(saved_text(found))
                    assert all(d.value is not None or d.reason for d in found.drifts)
