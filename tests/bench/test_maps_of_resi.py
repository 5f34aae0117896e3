"""Layers that are maps of channels, in the ReSi suite: as the authors' code compares them; and
comparisons on fewer samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from factories.files import GOLDEN
from factories.synthetic import graded_outputs

import resemblance as rs
from resemblance.bench.case import Part
from resemblance.bench.feature_maps import merge_chunks, position_step, split_by_map_size
from resemblance.bench.resi import assess, result_of
from resemblance.bench.resi.evaluation import choose_samples

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

OUTPUTS = json.loads((GOLDEN / "resi_outputs.json").read_text())["measures"]
MAPS = [case for case in OUTPUTS if "nchw" in case]
LARGE = "pub_shape_nchw_rows_gt_5000_stride2"
CHEAP = {"SVCCA", "HardCorr", "OrthProc", "LinReg", "EOS", "CKA", "MagDiff"}


RANDOM = ("IMD", "RTD")  # not computed for these cases
SIZES = ((7, 7), (7, 7), (4, 4), (2, 6), (1, 1))


def flat(maps):
    return rs.Representation(maps.reshape(len(maps), -1))


def compared(rows, shapes, measures, folder=None):
    """A comparison of representations; ``shapes``: by name, of those that are maps."""
    part = Part(rows, None, maps=shapes)
    pieces = split_by_map_size(part, measures, folder)
    results = [rs.compare(p.rows, measures=p.measures, progress=False) for p in pieces]
    return merge_chunks(part, pieces, results, measures)


@pytest.mark.parametrize("case", MAPS)
def test_pairs_of_maps_have_the_values_of_the_authors_code(case):
    with np.load(GOLDEN / "resi_inputs.npz") as inputs:
        maps = {side: inputs[f"{case}__{side}"] for side in ("R", "Rp")}
    part = {side: flat(array) for side, array in maps.items()}
    shapes = {side: array.shape[1:] for side, array in maps.items()}
    measures = [m for m in rs.preset("resi") if m.label not in RANDOM]
    measures = [m for m in measures if case != LARGE or m.label in CHEAP]
    comparison = compared(part, shapes, measures)
    theirs = {entry["paper_name"]: entry for entry in OUTPUTS[case]["measures"].values()}
    for m in measures:
        for order, (i, j) in {"R_Rp": (0, 1), "Rp_R": (1, 0)}.items():
            value = theirs[m.label][order]["value"]
            if value == "nan":  # PWCCA, wider first argument: an IndexError there
                assert m.label == "PWCCA"
                continue
            assert comparison[m][i, j] == pytest.approx(value, rel=1e-8), (m, order)


# --------------------------------------------------------------------------- a definition in NumPy


def pooled(maps, height, width):
    """Adaptive average pooling, bin by bin."""
    n, channels, h, w = maps.shape
    means = np.empty((n, channels, height, width))
    for i in range(height):
        for j in range(width):
            rows = slice(i * h // height, -(-(i + 1) * h // height))
            columns = slice(j * w // width, -(-(j + 1) * w // width))
            means[:, :, i, j] = maps[:, :, rows, columns].mean(axis=(2, 3))
    return means


def literally(m, x, y):
    """One pair, as its definition says."""
    if m.rows_of_maps == "samples":
        return m(x.reshape(len(x), -1), y.reshape(len(y), -1))
    size = [min(pair) for pair in zip(x.shape[2:], y.shape[2:])]
    both = [pooled(a, *size).transpose(0, 2, 3, 1).reshape(-1, a.shape[1]) for a in (x, y)]
    step = max(1, len(both[0]) // 5000)
    return m(*(rows[::step] for rows in both))


@pytest.fixture(scope="module")
def maps():
    g = np.random.default_rng(0)
    return {f"layer{i}": g.normal(size=(30, 3 + i, *size)) for i, size in enumerate(SIZES)}


@pytest.fixture(scope="module")
def features(maps):
    layers = {name: flat(array) for name, array in maps.items()}
    layers["head"] = rs.Representation(maps["layer4"][:, :4, 0, 0])
    shapes = {name: array.shape[1:] for name, array in maps.items()}
    return rs.ModelFeatures("m", layers, maps=shapes, traits={"setting": "layers"})


MEASURES = [rs.get_measure(name) for name in ("cka", "linear_regression", "jaccard")]


def same(evaluation, other):
    for a, b in zip(evaluation.parts(), other.parts(), strict=True):
        for spec, values in a.comparison.values.items():
            np.testing.assert_array_equal(values, b.comparison.values[spec])


def test_layers_of_several_sizes_are_compared_pair_by_pair_as_defined(maps, features):
    every = maps | {"head": maps["layer4"][:, :4]}  # what is no map is one of a single position
    facts = assess([features], measures=MEASURES)
    (matrices,) = (part.comparison for part in facts.parts())
    for m in MEASURES:
        for i, x in enumerate(every.values()):
            for j, y in enumerate(every.values()):
                assert matrices.values[m.spec][i][j] == pytest.approx(literally(m, x, y), rel=1e-9)
    assert [name.rpartition("/")[2] for name in matrices.rows] == list(every)
    stored = matrices.provenance["rows"]
    assert [stored[name]["n_features"] for name in matrices.rows] == [
        layer.shape[1] for layer in features.layers.values()
    ]


def test_rows_beyond_5000_are_every_second_third():
    assert [position_step(n, (7, 7)) for n in (102, 103, 204, 205, 5000)] == [1, 1, 1, 2, 49]
    assert [position_step(n, (1, 1)) for n in (5000, 9999, 10_000)] == [1, 1, 2]
    g = np.random.default_rng(1)
    x, y = (g.normal(size=(210, c, 7, 7)).astype("float32") for c in (2, 3))
    part = {"x": flat(x), "y": flat(y)}
    shapes = {"x": (2, 7, 7), "y": (3, 7, 7)}
    m = rs.get_measure("hard_correlation_match")
    assert compared(part, shapes, [m])[m][0, 1] == pytest.approx(literally(m, x, y), rel=1e-6)


# ---------------------------------------------------------------------- failures, files, sample ids


def test_a_failure_is_that_of_the_size_of_its_pair(maps):
    """Maps whose means are all zero fail only against maps of one position."""
    balanced = np.zeros((30, 3, 7, 7))
    balanced[:, :, 0, :2] = maps["layer0"][:, :, 0, :1] * [1, -1]
    part = {"x": flat(balanced), "y": flat(maps["layer1"]), "z": flat(maps["layer4"])}
    shapes = {"x": (3, 7, 7), "y": (4, 7, 7), "z": (7, 1, 1)}
    comparison = compared(part, shapes, [rs.get_measure("procrustes")])
    assert np.isnan(comparison["procrustes"]).tolist() == [
        [False, False, True], [False, False, False], [True, False, False],
    ]  # fmt: skip
    assert {(f.x, f.y) for f in comparison.failures} == {("x", "z"), ("z", "x")}


def test_a_second_evaluation_computes_nothing_and_leaves_one_file(features, tmp_path, monkeypatch):
    save = tmp_path / "comparisons.db"
    first = assess([features], measures=MEASURES, save=save)
    assert [path.name for path in tmp_path.iterdir()] == ["comparisons.db"]
    monkeypatch.setattr(rs.Measure, "evaluate", None)
    again = assess([features], measures=MEASURES, save=save)
    same(again, first)


def test_samples_in_another_order_are_noticed_at_every_size(maps):
    names = [f"s{i}" for i in range(30)]
    x = rs.Representation(flat(maps["layer0"]).source, "x", ids=names)
    y = rs.Representation(flat(maps["layer2"]).source, "y", ids=names[::-1])
    shapes = {"x": (3, 7, 7), "y": (5, 4, 4)}
    with pytest.raises(ValueError, match="order"):
        compared({"x": x, "y": y}, shapes, [rs.get_measure("jaccard")])


# ------------------------------------------------------------------------------------ fewer samples


def test_fewer_samples_are_the_same_rows_of_all_models_and_leave_outputs_alone():
    model_features = graded_outputs()[:4]
    n = model_features[0].last.shape[0]
    everything, some = (assess(model_features, measures=["cka"], max_samples=k) for k in (None, 60))
    rows = choose_samples(model_features[0].traits["dataset"], n, 60)
    arrays = [s.last.source[rows] for s in model_features]
    for part, whole in zip(some.parts(), everything.parts(), strict=True):
        for quality in whole.by_quality:
            np.testing.assert_array_equal(part.expected(quality), whole.expected(quality))
        for i, x in enumerate(arrays):
            for j, y in enumerate(arrays):
                assert part.comparison.values["cka"][i][j] == pytest.approx(rs.cka(x, y), rel=1e-12)
        assert part.comparison.provenance["n_samples"] == 60
    assert result_of(some).provenance["max_samples"] == 60
    assert "max_samples" not in result_of(everything).provenance


def test_fewer_samples_of_maps_in_files_are_those_in_memory(features, tmp_path):
    in_memory = assess([features], measures=MEASURES, max_samples=20)
    save = tmp_path / "comparisons.db"
    same(assess([features], measures=MEASURES, max_samples=20, save=save), in_memory)
    assert [path.name for path in tmp_path.iterdir()] == ["comparisons.db"]
    thin = {
        name: layer.source[choose_samples("own", 30, 20)] for name, layer in features.layers.items()
    }
    layers = {name: rs.Representation(array) for name, array in thin.items()}
    directly = rs.ModelFeatures("m", layers, maps=features.maps, traits=features.traits)
    same(assess([directly], measures=MEASURES), in_memory)
    with pytest.raises(AssertionError):
        same(assess([features], measures=MEASURES, max_samples=30), in_memory)


@pytest.mark.parametrize("samples", [0, 1, -5, 2.5, True, "100"])
def test_what_is_no_number_of_samples_is_refused(samples):
    with pytest.raises(ValueError, match="samples must be a whole number of at least 2; got"):
        assess([], max_samples=samples)
