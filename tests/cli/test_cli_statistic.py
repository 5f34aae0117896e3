"""The command ``statistic``: statistics of single representations."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import resemblance as rs

OWN = '''
import numpy as np
import resemblance as rs

def relu(x):
    return np.maximum(x, 0)

@rs.statistic(label="Norm", family="spectrum", larger_is_more_stable=None, range=(0, float("inf")),
    citation="x")
def norm(x):
    """Norm: the length of all values."""
    return float((x.array**2).sum()) ** 0.5
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with representations of 40 samples, their classes, and other files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    a = rng.standard_normal((40, 8))
    a[::2] += 2
    np.save("a.npy", a)
    np.save("b.npy", a @ rng.standard_normal((8, 6)))
    np.save("again.npy", a + 0.1 * rng.standard_normal(a.shape))
    np.save("narrow.npy", np.ones((40, 3)))
    np.save("map.npy", a[:, :2])
    np.save("weights.npy", rng.standard_normal((2, 8)))
    np.savez("last.npz", weight=rng.standard_normal((2, 8)), bias=np.ones(2))
    np.savez("wrong.npz", W=np.ones((2, 8)))
    np.savetxt("classes.csv", np.arange(40) % 2, fmt="%d")
    np.savetxt("conditions.csv", np.arange(40) % 5, fmt="%d")
    np.savetxt("few.csv", np.arange(7) % 2, fmt="%d")
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def records(call, *words):
    code, out, err = call("statistic", *words, "--format", "json", "-q")
    assert (code, err) == (0, "")
    return json.loads(out)["records"]


def test_values_are_those_of_the_functions(call):
    names = "participation_ratio,feature_split[k=4],variance_ratio,own.py:norm"
    found = records(call, "a.npy", "b.npy", "-s", names, "--labels", "classes.csv")
    a, labels = np.load("a.npy"), np.arange(40) % 2
    expected = [
        rs.statistics.participation_ratio(a),
        rs.statistics.feature_split(a, k=4),
        rs.statistics.variance_ratio(a, labels),
        pytest.approx(np.linalg.norm(a)),
    ]
    assert [r["value"] for r in found if r["representation"] == "a"] == expected
    assert [r["statistic"] for r in found[:2]] == ["participation_ratio", "feature_split[k=4]"]
    assert (found[3]["label"], len(found)) == ("Norm", 8)
    code, out, _ = call("statistic", "a.npy", "narrow.npy", "-s", "participation_ratio", "-q")
    rows = [line.split() for line in out.splitlines() if line.startswith(" Participation")]
    assert (code, rows[1][3:5]) == (1, ["narrow", "–"])
    assert float(rows[0][4]) == pytest.approx(expected[0], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("replicate", ("--replicate", "again.npy")),
        ("trial_split", ("--conditions", "conditions.csv")),
        ("perturbation_magnitude", ("--control", "again.npy")),
        ("input_noise_stability", ("--encoder", "own.py:relu")),
        ("silhouette", ("--labels", "classes.csv")),
        ("trustworthiness", ("--projection", "map.npy")),
        ("nc3", ("--labels", "classes.csv", "--classifier", "last.npz")),
        ("nc4", ("--labels", "classes.csv", "--classifier", "weights.npy")),
    ],
)
def test_a_statistic_takes_what_it_needs_from_a_file(call, name, options):
    (found,) = records(call, "a.npy", "-s", name, *options)
    assert isinstance(found["value"], float)
    code, _, err = call("statistic", "a.npy", "-s", name)
    assert (code, err) == (2, f"error: {name} needs {options[0]}\n")


def test_the_seed_is_that_of_random_statistics_without_one(call):
    chosen = "feature_split[k=2],feature_split[k=2,seed=7],anisotropy"
    first, again = (records(call, "a.npy", "-s", chosen, "--seed", seed) for seed in (1, 2))
    same = [x["value"] == y["value"] for x, y in zip(first, again)]
    assert same == [False, True, True]


def test_a_value_that_does_not_exist_has_its_reason(call):
    words = ("statistic", "a.npy", "narrow.npy", "-s", "participation_ratio")
    code, out, err = call(*words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, [bool(row["value"]) for row in rows]) == (1, [True, False])
    assert rows[1]["reason"]
    assert "error: 1 of 2 values could not be computed; first: participation_ratio of narrow" in err
    assert call(*words, "--exit-zero", "-q")[0] == 0


def test_transformations_are_those_of_the_study(call):
    np.save("wide.npy", np.random.default_rng(1).standard_normal((30, 20)))
    found = records(call, "wide.npy", "--transformations")
    study = rs.stability.transformation_study(np.load("wide.npy"))
    assert [r["transformation"] for r in found] == [t.name for t in study]
    assert [r["feature_split"] for r in found] == [t.stability for t in study]
    code, out, _ = call("statistic wide.npy --transformations")
    assert code == 0
    assert "randproj_016" in out


def test_mistakes_are_one_line(refused):
    refused("""
        statistic a.npy | name statistics, such as -s feature_split
        statistic a.npy -s anisotropy --transformations | name statistics
        statistic a.npy -s anisotropi | no statistic 'anisotropi'; did you mean 'anisotropy'?
        statistic a.npy -s cka | no statistic 'cka'
        statistic a.npy -s anisotropy --labels classes.csv | no statistic of this call uses
        statistic a.npy -s silhouette --labels few.csv | few.csv has 7 labels for 40 samples
        statistic a.npy -s nc3 --labels classes.csv --classifier wrong.npz | np.savez(path, weight=
        statistic a.npy -s nc3 --labels classes.csv --classifier a.npy | weights of shape (40, 8)
        statistic narrow.npy --transformations | at least 10 samples and 5 features
    """)
