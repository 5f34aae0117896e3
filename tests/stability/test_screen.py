"""Screens of perturbations: published values, AnnData in every form, matched controls, and nothing
lost silently."""

from __future__ import annotations

import json
import tracemalloc
from functools import partial
from itertools import product

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from factories.files import GOLDEN

import resemblance as rs
from resemblance import stability as st
from resemblance.statistics.perturbation import nearest_means

THEIRS = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())["pert"]
TABLE = {
    "perturbation_coherence": THEIRS["table_Sp"],
    "perturbation_magnitude": THEIRS["table_Mp"],
    "perturbation_reproducibility": THEIRS["table_repro"],
}
VARIANTS = (
    "perturbation_coherence", "perturbation_coherence[controls=neighbors,k=7]",
    "perturbation_coherence[controls=neighbors,k=7,neighbors=cosine]",
    "perturbation_coherence[controls=whitened]",
    "perturbation_coherence[form=spread]", "perturbation_magnitude",
    "perturbation_magnitude[unit=deviations]",
    "perturbation_spread", "perturbation_spread[controls=neighbors,k=7]",
    "perturbation_reproducibility",
    "perturbation_reproducibility[controls=halved]",
)  # fmt: skip
DETERMINISTIC = VARIANTS[:-2]


@pytest.fixture
def screen(rng) -> tuple[np.ndarray, np.ndarray]:
    """Counts of 12 genes in 60 control cells, 40 that move together, 30 that scatter, in a random
    order."""
    labels = np.repeat(["control", "together", "scatter"], [60, 40, 30])
    rates = np.full((130, 12), 4.0)
    rates[60:100, :3] += 6
    rates[100:] += rng.exponential(3, (30, 12))
    order = rng.permutation(130)
    return rng.poisson(rates)[order], labels[order]


@pytest.fixture
def published() -> tuple[np.ndarray, np.ndarray]:
    with np.load(GOLDEN / "stab_labels.npz") as archive:
        control, perturbed = archive["pert__control"], archive["pert__perturbed"]
    return np.concatenate([control, perturbed]), np.repeat(["control", "g1", "g2"], [300, 60, 60])


def same(found: st.Perturbations, other: st.Perturbations) -> None:
    assert found.statistics == other.statistics
    assert [row[:4] for row in found.rows] == [row[:4] for row in other.rows]
    for s in found.statistics:
        np.testing.assert_allclose(found[s], other[s], rtol=1e-12, atol=1e-12)


# --------------------------------------------------------------------------------- published values


def test_a_screen_equals_the_package(published):
    found = st.perturbations(*published)
    for place, name in enumerate(("g1", "g2")):
        for kind in ("coherence", "magnitude"):
            expected = pytest.approx(THEIRS[f"compute_{kind}"][name], rel=1e-10)
            assert found[f"perturbation_{kind}"][place] == expected
        theirs = {k: v[place] for k, v in THEIRS["split_half_reproducibility"].items()}
        assert found.names[place] == theirs["perturbation"]
        assert found.rows[place].cells == theirs["n_cells"]
        # Other splits: the standard error of 50 is about 0.01.
        expected = pytest.approx(theirs["split_half_cosine"], abs=0.03)
        assert found["perturbation_reproducibility"][place] == expected
    # The same number in every process, which Python's hash would not give; recorded here.
    first = found["perturbation_reproducibility"][0]
    assert first == pytest.approx(0.7292197173140705, rel=1e-10)
    other = st.perturbations(*published, seed=1)["perturbation_reproducibility"][0]
    assert other != pytest.approx(first, rel=1e-6)


def test_bins_of_magnitude_equal_the_package():
    bins, theirs = st.magnitude_matched(TABLE), THEIRS["magnitude_matched"]
    names = {"n": "n", "low": "mag_min", "high": "mag_max", "coherent": "high_coherence_mean",
             "incoherent": "low_coherence_mean", "difference": "difference",
             "rho": "within_bin_rho",
             "pvalue": "within_bin_pvalue"}  # fmt: skip
    for ours, name in names.items():
        assert [getattr(b, ours) for b in bins] == pytest.approx(theirs[name], rel=1e-10)
    frame = pd.DataFrame(TABLE).sample(frac=1, random_state=0)
    assert np.allclose([b[:8] for b in st.magnitude_matched(frame)], [b[:8] for b in bins])


def test_discordance_equals_the_package():
    for form in ("linear", "rank", "loess"):
        expected = pytest.approx(THEIRS[f"discordance_{form}"], rel=1e-9, abs=1e-10)
        assert st.discordance(TABLE, form=form) == expected


# ---------------------------------------------------------------------------- one row per statistic


def test_each_value_is_that_of_the_statistic(screen, subtests):
    for spec in VARIANTS:
        with subtests.test(str(spec)):
            X, labels = screen
            found, s = st.perturbations(X, labels, statistics=(spec,)), rs.get_statistic(spec)
            for name in ("scatter", "together"):
                value = found[spec][found.names.index(name)]
                # Its splits have the label's own seed.
                tolerance = 0.05 if "reproducibility" in spec else 1e-10
                expected = s(X[labels == name], X[labels == "control"])
                assert value == pytest.approx(expected, abs=tolerance)


def test_a_value_depends_neither_on_the_others_nor_on_their_order(screen):
    X, labels = screen
    kept = labels != "scatter"
    both = st.perturbations(X, labels, max_samples=20)
    alone = st.perturbations(X[kept], labels[kept], max_samples=20)
    assert both.rows[both.names.index("together")] == alone.rows[0]
    assert alone.rows[0].used == alone.used_controls == 20


def test_halved_controls_are_halved_within_strata():
    """No effect, and most perturbed cells where few controls are: sharing those looks like an
    effect."""
    rng, found = np.random.default_rng(0), []
    specs = ("perturbation_reproducibility", "perturbation_reproducibility[controls=halved]")
    batch, labels = np.repeat([0, 1, 0, 1], [80, 20, 20, 80]), np.repeat(["control", "gene"], 100)
    for _ in range(8):
        X = rng.standard_normal((200, 60)) + 5 * batch[:, None]
        screened = st.perturbations(X, labels, match=batch, statistics=specs)
        found.append([screened[spec][0] for spec in specs])
    shared, halved = np.mean(found, axis=0)
    assert shared > 0.5
    assert abs(halved) < 0.08


# ------------------------------------------------------------------------------------------- inputs


def annotated(X: object, labels: np.ndarray, **parts: object) -> anndata.AnnData:
    """Text as objects throughout: anndata 0.12 cannot write the text type of pandas 3."""
    codes, names = pd.factorize(labels)
    column = pd.Categorical.from_codes(codes, pd.Index(names, dtype=object))
    cells = pd.DataFrame({"perturbation": column}, names_of_cells(len(labels)))
    data = anndata.AnnData(X, obs=cells, **parts)
    data.var_names = data.var_names.astype(object)
    return data


def names_of_cells(n: int) -> pd.Index:
    return pd.Index([f"cell{i}" for i in range(n)], dtype=object)


FORMS = [
    np.asarray, np.float32, np.asfortranarray, torch.as_tensor, sp.csr_matrix, sp.csc_matrix,
    sp.coo_matrix, sp.csr_array, np.ndarray.tolist, rs.Representation, pd.DataFrame,
]  # fmt: skip


def test_arrays_of_every_kind(screen, subtests):
    X, labels = screen
    expected = st.perturbations(X.astype(float), labels)
    for form in FORMS:
        with subtests.test(form.__name__):
            same(st.perturbations(form(X), labels), expected)
            same(st.perturbations(form(X), pd.Series(labels, names_of_cells(130))), expected)


# The warning is that of anndata, for a view.
@pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option")
def test_anndata_in_memory_as_a_view_and_on_disk(screen, tmp_path, subtests):
    X, labels = screen
    expected, path = st.perturbations(X, labels), tmp_path / "screen.h5ad"
    for form in (np.asarray, sp.csr_matrix, sp.csc_matrix):
        with subtests.test(form.__name__):
            data = annotated(form(X), labels)
            same(st.perturbations(data), expected)
            twice = annotated(form(np.concatenate([X, X])), np.tile(labels, 2))
            same(st.perturbations(twice[:130]), expected)
            data.write_h5ad(path)
            same(st.perturbations(path), expected)
            same(st.perturbations(str(path)), expected)
            path.unlink()  # was closed
    Z = X @ np.random.default_rng(1).standard_normal((12, 5))
    obsm = {"X_pca": Z, "frame": pd.DataFrame(Z, names_of_cells(130))}
    parts = {"layers": {"counts": sp.csr_matrix(X)}, "obsm": obsm}
    data = annotated(np.zeros((130, 12)), labels, **parts)
    same(st.perturbations(data, layer="counts"), expected)
    for key in obsm:
        same(st.perturbations(data, obsm=key), st.perturbations(Z, labels))


# The warning is that of anndata, for a view.
@pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option")
def test_rows_of_sparse_values_on_disk(screen, tmp_path):
    """With some versions of SciPy, anndata cannot select such rows on disk; rows of a copy in
    memory always work."""
    X, labels = screen
    path, expected = tmp_path / "screen.h5ad", st.perturbations(X, labels)
    annotated(sp.csr_matrix(np.concatenate([X, X])), np.tile(labels, 2)).write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    same(st.perturbations(backed.to_memory()[:130]), expected)
    try:
        has_rows = backed[:130].X.shape == (130, 12)
    except AttributeError:
        has_rows = False
    if has_rows:
        same(st.perturbations(backed[:130]), expected)
    else:
        with pytest.raises(ValueError, match=r"cannot be read .* adata\.to_memory\(\)\[rows\]"):
            st.perturbations(backed[:130])
    backed.file.close()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_cells_without_a_label_are_counted_and_belong_to_nothing(missing, screen):
    X, labels = screen
    given = np.where(np.arange(130) < 25, None, labels)
    given[:25] = [missing] * 25
    found = st.perturbations(X, given)
    assert found.unlabeled == 25
    same(found, st.perturbations(X[25:], labels[25:]))
    if missing is not pd.NaT:
        same(st.perturbations(annotated(X, given)), found)


@pytest.mark.parametrize(
    "values", [[0, 1, 2], [0.1, 1.0, 10.0], [False, True, True], ["", "b", "ç"]]
)
def test_labels_of_every_kind(values, screen):
    X, labels = screen
    codes = np.unique(labels, return_inverse=True)[1]
    found = st.perturbations(X, np.array(values)[codes], control=values[0])
    assert found.control == (str(values[0]),)
    assert list(found.names) == sorted({str(v) for v in values[1:]})
    # Numbered categories stay whole numbers beside missing ones, -1.
    column = pd.Categorical.from_codes(codes - 1, [3, 7])
    for given in (column, pd.Series(column)):
        found = st.perturbations(X, given, control=3)
        assert (found.control, found.names, found.unlabeled) == (("3",), ("7",), 60)


def test_without_anndata_the_error_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "screen.h5ad").touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install .*\[bio\]"'):
        st.perturbations(tmp_path / "screen.h5ad")


@pytest.mark.parametrize("role", ["labels", "match"])
def test_a_series_is_taken_by_the_names_of_the_cells(role, batches):
    X, labels, batch, _ = batches
    given = {"labels": labels, "match": batch}
    data, expected = annotated(X, labels), st.perturbations(X, **given)
    whole = pd.Series(given[role], names_of_cells(130))
    more = pd.concat([whole, pd.Series(["other"], ["cell130"])])
    shuffled, categories = whole.sample(frac=1, random_state=0), whole.astype("category")[::-1]
    for series in (whole, shuffled, more[::-1], categories):
        same(st.perturbations(data, **given | {role: series}), expected)
    same(st.perturbations(data, **given | {role: whole[::-1].to_numpy()[::-1]}), expected)
    for series in (whole.reset_index(drop=True), whole[1:], pd.concat([whole, whole[:1]])):
        with pytest.raises(ValueError, match=rf"index of {role} .* give {role}\.to_numpy\(\)"):
            st.perturbations(data, **given | {role: series})


# ----------------------------------------------------------------------------------------- controls


def test_control_labels(screen, subtests):
    """Never one that only contains a usual name, such as ANTXR1 ("nt")."""
    X, labels = screen
    is_control = labels == "control"
    expected = st.perturbations(X, labels)
    named = np.where(is_control, "Non-Targeting", labels)
    for control in ("Non-Targeting", None):
        found = st.perturbations(X, named, control=control)
        assert found.control == ("Non-Targeting",)
        same(found, expected)
    two = np.where(is_control & (np.arange(130) % 2 == 0), "NT", labels)
    for form in [list, np.array, pd.Index, pd.Series, set, pd.Categorical]:
        with subtests.test(form.__name__):
            found = st.perturbations(X, two, control=form(["NT", "control"]))
            assert (found.control, found.controls) == (("NT", "control"), 60)
            same(found, expected)
    numbers = np.unique(labels, return_inverse=True)[1].astype(float)
    for given, control, message in (
        (named, "control", r"'control'; did you mean 'Non-Targeting'\?; labels: 'No"),
        (labels, "CONTROL", r"'CONTROL'; did you mean 'control'\?"),
        (numbers, 0, r"no sample is labelled '0'; did you mean '0\.0'\?"),
        (two, None, "several labels may be controls: 'NT', 'control'"),
        (np.where(is_control, "ANTXR1", labels), None, "no usual control .* labels: 'ANTXR1', 's"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            st.perturbations(X, given, control=control)


# ----------------------------------------------------------------------------------------- matching


@pytest.fixture
def batches(screen) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The screen in two batches that hold unequal parts of the perturbations, without and with an
    offset."""
    X, labels = screen
    rng = np.random.default_rng(2)
    batch = np.where(rng.random(130) < np.where(labels == "together", 0.8, 0.4), "b1", "b2")
    shifted = X + 3 * rng.standard_normal(12) * (batch == "b1")[:, None]
    return X.astype(float), labels, batch, shifted


def test_matching_takes_away_what_differs_between_batches(batches, subtests):
    plain, labels, batch, shifted = batches
    for spec in VARIANTS:
        options = {"statistics": spec}
        with subtests.test(str(spec)):
            without = st.perturbations(plain, labels, match=batch, **options)[spec]
            if spec in DETERMINISTIC and "cosine" not in spec:
                found = st.perturbations(shifted, labels, match=batch, **options)[spec]
                assert found == pytest.approx(without, rel=1e-9)
                unmatched = st.perturbations(shifted, labels, **options)[spec]
                assert abs(unmatched - without).max() > 1e-3
            one = st.perturbations(plain, labels, match=np.zeros(130), **options)[spec]
            expected = st.perturbations(plain, labels, **options)[spec]  # one stratum is none
            assert one == pytest.approx(expected, rel=1e-9)


def test_matched_shifts_by_hand(batches):
    X, labels, batch, _ = batches
    specs = ("perturbation_coherence", "perturbation_coherence[controls=neighbors,k=3]")
    found = st.perturbations(X, labels, match=batch, statistics=specs)
    cells = np.flatnonzero(labels == "together")
    for spec, k in zip(specs, (1000, 3)):
        shifts = []
        for cell in cells:
            own = X[(labels == "control") & (batch == batch[cell])]
            near = np.argsort(np.linalg.norm(own - X[cell], axis=1), kind="stable")[:k]
            shifts.append(X[cell] - own[near].mean(axis=0))
        mean = np.mean(shifts, axis=0)
        cosines = shifts @ mean / np.linalg.norm(shifts, axis=1) / np.linalg.norm(mean)
        value = found[spec][found.names.index("together")]
        assert value == pytest.approx(cosines.mean(), rel=1e-10)


def test_cells_without_matching_controls_are_counted(batches):
    X, labels, batch, _ = batches
    batch = np.where((labels == "together") & (np.arange(130) % 5 == 0), "b3", batch)
    data = annotated(X, labels)
    data.obs["batch"] = batch
    found = st.perturbations(data, match="batch")
    row = found.rows[found.names.index("together")]
    assert row.unmatched == (batch == "b3").sum() > 0
    assert row.used == row.cells - row.unmatched
    kept = batch != "b3"
    left = st.perturbations(X[kept], labels[kept], match=batch[kept])
    assert row.values == left.rows[found.names.index("together")].values
    assert found.used_controls == found.controls == 60
    few = np.where((labels == "control") & (np.cumsum(labels == "control") <= 9), "b4", batch)
    assert st.perturbations(X, labels, match=few).used_controls == 51
    nowhere = st.perturbations(X, labels, match=np.where(labels == "together", "b3", batch))
    row = nowhere.rows[nowhere.names.index("together")]
    assert row.values == (None,) * 4
    assert row.reasons[0].startswith("0 samples in strata with enough controls are fewer than")


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_covariance_within_strata_by_hand(ridge, batches):
    X, labels, batch, _ = batches
    batch = np.where(np.arange(130) % 3 == 0, "b0", batch)
    spec = f"perturbation_spread[controls=whitened,ridge={ridge}]"
    deviations = "perturbation_magnitude[unit=deviations]"
    found = st.perturbations(X, labels, match=batch, statistics=(spec, deviations))
    own = {b: X[(labels == "control") & (batch == b)] for b in np.unique(batch)}
    within = np.concatenate([points - points.mean(axis=0) for points in own.values()])
    covariance = within.T @ within / (60 - 3)
    cells = np.flatnonzero(labels == "together")
    shifts = np.stack([X[i] - own[batch[i]].mean(axis=0) for i in cells])
    variances, axes = np.linalg.eigh(covariance + ridge * np.eye(12))
    white = shifts @ (axes / np.sqrt(variances) @ axes.T)
    place = found.names.index("together")
    spread = np.linalg.norm(white - white.mean(axis=0), axis=1).mean()
    assert found[spec][place] == pytest.approx(spread, rel=1e-10)
    pooled = np.mean((shifts.var(axis=0, ddof=1) + np.diag(covariance)) / 2)
    expected = np.linalg.norm(shifts.mean(axis=0)) / pooled**0.5
    assert found[deviations][place] == pytest.approx(expected, rel=1e-10)


def test_fewer_controls_are_drawn_in_every_stratum(batches):
    X, labels, _, _ = batches
    batch = np.repeat("large", 130).astype(object)
    for name, cells in (("control", 10), ("together", 15)):
        batch[np.flatnonzero(labels == name)[:cells]] = "small"
    for most in (20, 35, 59):
        found = st.perturbations(X, labels, match=batch, max_samples=most)
        assert (found.controls, found.used_controls) == (60, most)
        row = found.rows[found.names.index("together")]
        assert (row.unmatched, row.used, row.reasons) == (0, min(most, 40), ("",) * 4)
    with pytest.raises(ValueError, match=r"max_samples=19 .* min_samples=10 in each of 2 strata"):
        st.perturbations(X, labels, match=batch, max_samples=19)
    one = st.perturbations(X, labels, match=np.zeros(130), max_samples=30)
    same(one, st.perturbations(X, labels, max_samples=30))


# ----------------------------------------------------------------------------------------- extremes


def test_values_at_extreme_scales(batches, subtests):
    """Powers of two leave ties as they are. A ridge is nothing beside large data and everything
    beside small ones."""
    X, labels, batch, _ = batches
    for spec, scale in product(VARIANTS, [2.0**-660, 2.0**660]):
        equal = spec
        if "whitened" in spec:
            equal = "perturbation_coherence" + "[controls=whitened,ridge=0]" * (scale > 1)
        data_units = "spread" in spec.partition("[")[0] or spec == "perturbation_magnitude"
        with subtests.test(f"{spec}, {scale}"):
            for match in (None, batch):
                expected = st.perturbations(X, labels, match=match, statistics=equal)[equal]
                found = st.perturbations(X * scale, labels, match=match, statistics=spec)[spec]
                factor = scale if data_units else 1
                assert found == pytest.approx(expected * factor, rel=1e-9, abs=0)


def test_neighbors_are_found_by_blocks(rng):
    """In far less memory than all distances, 48 MB, and as if each sample were the only one."""
    points, control = rng.standard_normal((1500, 3)), rng.standard_normal((4000, 3))
    tracemalloc.start()
    means = nearest_means(points, control, 5, "euclidean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48e6
    for i in (0, 255, 256, 1499):
        near = np.argsort(np.linalg.norm(control - points[i], axis=1), kind="stable")[:5]
        assert means[i] == pytest.approx(control[near].mean(axis=0), rel=1e-12)


# ------------------------------------------------------------------------------- reasons and errors


def test_nothing_is_dropped(screen):
    X, labels = screen
    X, labels = X.astype(float), labels.astype(object)
    places = np.flatnonzero(labels == "together")
    labels[places[:4]] = "rare"
    labels[places[4:20]] = "broken"
    X[places[5], 2] = np.nan
    labels[places[20:32]] = "still"
    X[places[20:32]] = X[labels == "control"].mean(axis=0)
    found = st.perturbations(X, labels)
    assert found.names == ("broken", "rare", "scatter", "still", "together")
    why = {r["perturbation"]: r["reason"] for r in found.records()}
    assert "'broken' has 1 NaN" in why["broken"]
    assert why["rare"] == "4 samples are fewer than min_samples=10"
    assert "do not move on average" in why["still"]
    assert why["together"] == "8 samples are fewer than min_samples=10"
    assert why["scatter"] is None
    # Magnitude and spread are 0, not undefined.
    assert found.rows[3].values[1:3] == pytest.approx((0, 0), abs=1e-12)
    assert [bool(reason) for reason in found.rows[3].reasons] == [True, False, False, True]
    assert np.isnan(found["perturbation_coherence"]).tolist() == [True, True, False, True, True]
    assert "4 lack a value; 0 samples" in repr(found)
    assert st.perturbations(X, labels, min_samples=8).rows[4].used == 8
    frame = found.to_pandas()
    counts = ["perturbation", "cells", "unmatched", "used"]
    assert list(frame) == list(found.records()[0]) == [*counts, *found.statistics, "reason"]
    with pytest.raises(KeyError, match="did you mean 'perturbation_spread'"):
        found["perturbation_sprad"]
    few = st.perturbations(X, labels, min_samples=2, statistics="perturbation_reproducibility")
    assert few.rows[1].values[0] is not None  # four samples are enough to be halved


MISTAKES = [
    ({"labels": np.zeros(5)}, r"labels must be one per sample, .*\(130,\); .*\(5,\)"),
    ({"labels": "perturbation"}, "names of columns are for AnnData; with an array give labels"),
    ({"layer": "counts"}, "are for AnnData"),
    ({"match": np.zeros((130, 2))}, "match must be one per sample"),
    ({"match": [None] * 130}, "130 labelled samples have no stratum"),
    ({"match": np.arange(130)}, "no stratum of match has min_samples=10 controls"),
    ({"labels": [None] * 130}, "no sample is labelled 'control'; no sample has a label"),
    ({"labels": np.array([1, "1"] * 65, object), "control": 1}, "different kinds look the same"),
    ({"control": []}, "control is empty"),
    ({"control": ["control", "NTC"]}, "no sample is labelled 'NTC'; did you mean 'control'"),
    ({"statistics": ["variance_ratio"]}, r"with controls; it needs \('labels',\)"),
    ({"statistics": []}, "at least one statistic"),
    ({"statistics": ["perturbation_spread"] * 2}, "each once"),
    ({"statistics": ["perturbation_coherense"]}, "did you mean 'perturbation_coherence'"),
    ({"min_samples": 1}, "min_samples must be an integer of at least 2"),
    ({"min_samples": 61}, "60 controls are fewer than min_samples=61"),
    ({"max_samples": 9}, "max_samples=9 is less than min_samples=10"),
    ({"seed": -1}, "seed must be .*; got -1"),
    ({"X": np.zeros(130)}, r"X must be \(n_samples, n_features\); got shape \(130,\)"),
    ({"X": np.full((130, 2), np.nan)}, "'the controls' has 120 NaN"),
    ({"X": np.full((130, 2), "a")}, "must hold real numbers"),
    ({"X": np.ma.masked_equal(np.eye(130), 0)}, "masked"),
    ({"X": "nowhere.h5ad"}, "no file at nowhere.h5ad"),
    ({"X": np.zeros((130, 0))}, "is empty"),
]
MISTAKES_WITH_ANNDATA = [
    ({"labels": "perturbatoin"}, "no 'perturbatoin' in obs; did you mean 'perturbation'"),
    ({"match": "batch"}, "no 'batch' in obs"),
    ({"layer": "counts"}, "no 'counts' in layers; it has none"),
    ({"obsm": "X_pca"}, "no 'X_pca' in obsm; it has none"),
    ({"obsm": "X_pca", "layer": "counts"}, "layer or obsm, not both"),
]


def test_errors_say_what_to_do(screen, subtests):
    for change, message in MISTAKES:
        options = dict(zip(("X", "labels"), screen)) | change
        with subtests.test(message), pytest.raises(ValueError, match=message):
            st.perturbations(options.pop("X"), options.pop("labels"), **options)
    data = annotated(*screen)
    for change, message in MISTAKES_WITH_ANNDATA:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            st.perturbations(data, **change)
    with pytest.raises(ValueError, match="has no X; name one"):
        st.perturbations(anndata.AnnData(obs=data.obs))


def test_inputs_are_left_alone(screen):
    X, labels = screen
    X.flags.writeable = labels.flags.writeable = False
    data = annotated(sp.csc_matrix(X), labels)
    before = data.copy()
    names = ["control", "scatter", "together"]
    st.perturbations(data, match="perturbation", control=names, min_samples=2)
    st.perturbations(X, labels, match=labels == "x")
    assert (before.X != data.X).nnz == 0
    assert before.obs.equals(data.obs)


# ---------------------------------------------------------------------------------------- magnitude


def test_bins_say_why_they_have_no_values():
    base = {
        "perturbation_coherence": np.r_[np.ones(8), np.arange(8.0)],
        "perturbation_magnitude": np.arange(16.0),
        "perturbation_reproducibility": np.arange(16.0),
    }
    first, second = st.magnitude_matched(base, bins=2)
    assert (first.rho, first.reason) == (None, "coherence or reproducibility does not vary")
    assert (second.rho, second.difference, second.reason) == (pytest.approx(1), 4.0, "")
    few = st.magnitude_matched(base, bins=4)
    assert [b.reason for b in few] == ["4 perturbations are fewer than 6"] * 4
    most = base | {"perturbation_coherence": np.r_[np.zeros(9), np.arange(7.0)]}
    (whole,) = st.magnitude_matched(most, bins=1)
    assert whole.reason == "no coherence is below the median"


@pytest.mark.parametrize("form", ["linear", "loess", "rank", "difference"])
def test_discordance_finds_the_one_that_departs(form):
    magnitude = np.linspace(1, 5, 30)
    coherence = 0.1 + 0.15 * magnitude + 0.001 * np.sin(np.arange(30) * 7)
    coherence[20] = 0.2
    table = {"perturbation_coherence": coherence, "perturbation_magnitude": magnitude}
    found = st.discordance(table, form=form)
    assert found.argmax() == 20
    assert (found.mean(), found.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    with_gap = {name: np.r_[values, np.nan] for name, values in table.items()}
    assert np.array_equal(st.discordance(with_gap, form=form), np.r_[found, np.nan], equal_nan=True)


LINE = {"perturbation_coherence": np.arange(12.0), "perturbation_magnitude": 2 * np.arange(12.0)}
TABLE_MISTAKES = [
    (lambda: st.discordance(LINE), "nothing departs"),
    (lambda: st.discordance(LINE | {"perturbation_magnitude": np.ones(12)}), "do not vary"),
    (
        lambda: st.discordance({k: v[:9] for k, v in LINE.items()}),
        "needs 10 perturbations with both values; got 9",
    ),
    (lambda: st.discordance(LINE, form="lowess"), "form must be one of 'linear', 'loess'"),
    (lambda: st.discordance(LINE, form="loess", share=0.1), "share leave 3 of 12"),
    (
        lambda: st.magnitude_matched(LINE | {"perturbation_reproducibility": np.arange(12.0)}),
        "4 bins need 16 perturbations .*; got 12",
    ),
    *[(partial(st.magnitude_matched, TABLE, bins=n), "bins") for n in (2.5, 2.0, "2", True, 0)],
]


def test_errors_of_what_magnitude_explains(screen, subtests):
    for call, message in TABLE_MISTAKES:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()
    lacking = {k: v for k, v in TABLE.items() if k != "perturbation_coherence"}
    short = TABLE | {"perturbation_coherence": [1.0, 2.0, 3.0]}
    for function in (st.magnitude_matched, st.discordance):
        name = function.__name__
        for table, message in (
            (lacking, f"{name}: no column 'perturbation_coherence'"),
            (st.perturbations(*screen, statistics="perturbation_spread"), f"{name}: no column"),
            (short, rf"{name}: .* columns of equal length; .* \[\(3,\)"),
        ):
            with subtests.test(message), pytest.raises(ValueError, match=message):
                function(table)
        with pytest.raises(ValueError, match="did you mean 'perturbation_magnitude'"):
            function(pd.DataFrame(TABLE), magnitude="perturbation_magnitud")
