"""The command ``resemblance drift``: exit codes, formats, the page, and one line for every
mistake."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import resemblance as rs
from resemblance import cli
from resemblance.base.formatting import format_number
from resemblance.base.results import saved_text
from resemblance.report.of_drift import drift_result


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files of a reference, a rotated and a shuffled version, and labels."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    labels = np.arange(80) % 2
    x = g.standard_normal((80, 4)) + 3 * labels[:, None]
    files = {
        "same": x,
        "turned": x @ np.linalg.qr(g.standard_normal((4, 4)))[0],
        "shuffled": x[g.permutation(80)],
    }
    files |= {"reference": x, "labels": labels, "short": x[:40], "square": np.zeros((80, 2))}
    files["noisy"] = x + 0.05 * x.std() * g.standard_normal(x.shape)
    files["gaps"] = np.where(labels == 0, np.nan, 1)
    for name, data in files.items():
        np.save(f"{name}.npy", data)
    np.savez("two.npz", a=x, b=x)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run the command: exit code, standard output, standard error."""

    def run(*words):
        code = cli.run(["drift", *map(str, words), "--n-resamples", "10"])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("current", "options", "code"),
    [
        ("same", "", 0),
        ("turned", "", 1),  # the purpose of the vectors is unknown: every harmful change counts
        ("turned", "--purpose head --threshold 0.05", 1),
        ("turned", "--purpose geometry", 0),  # an orthogonal map of all samples keeps the geometry
        ("turned", "--purpose geometry --threshold 0.05", 0),
        ("shuffled", "--purpose geometry", 1),
        ("noisy", "--tolerance 0.01", 1),
        ("noisy", "--tolerance 0.3", 0),
    ],
)
def test_the_exit_code_is_the_verdict(call, current, options, code):
    found, out, err = call("reference.npy", f"{current}.npy", *options.split())
    assert (found, err) == (code, "")
    assert ("No drift beyond the threshold for" in out) == (code == 0)


def test_the_table_names_classes_that_moved_and_how_many_samples_were_used(call):
    g, labels = np.random.default_rng(0), np.arange(240) % 6
    x = g.standard_normal((6, 8))[labels] + 0.2 * g.standard_normal((240, 8))
    moved = np.where((labels == 3)[:, None], x + x[1] - x[3], x)
    for name, data in (("x", x), ("moved", moved), ("classes", labels)):
        np.save(f"{name}.npy", data)
    options = ("--labels", "classes.npy", "--max-samples", "120", "--k", "5")
    code, out, _ = call("x.npy", "moved.npy", *options)
    assert code == 1
    assert "classes moved: 3 (" in out
    assert "120 of 240 samples were used, drawn at random; 5 neighbours of 120 of them" in out


def test_a_collapse_is_named_on_the_page(call, folder):
    np.save("flat.npy", 0 * np.load("same.npy"))
    assert call("reference.npy", "flat.npy", "--html", "page.html")[0] == 1
    page = (folder / "page.html").read_text()
    assert re.search(r"<th scope=.row.>loss of dimensions</th><td[^>]*>yes</td>", page)


def test_json_is_what_the_library_gives_with_its_origin(call, folder):
    options = "--labels", "labels.npy", "--format", "json", "--seed", 3
    code, out, _ = call("reference.npy", "shuffled.npy", *options)
    found = json.loads(out)
    labels = np.load("labels.npy").tolist()
    expected = rs.drift("reference.npy", "shuffled.npy", labels=labels, n_resamples=10, seed=3)
    theirs = json.loads(saved_text(expected))
    made, fingerprints = found.pop("provenance"), theirs.pop("provenance")
    assert code == 1
    assert theirs.items() <= found.items()
    assert found["changes"] == ["neighbours", "classes"]
    assert (made["reference"]["file"], made["current"]["file"]) == ("reference.npy", "shuffled.npy")
    assert made["reference"]["fingerprint"] == fingerprints["reference"]["fingerprint"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made["date"])
    assert made["command"].startswith("resemblance drift reference.npy shuffled.npy --labels la")


def test_a_mistake_is_one_line_and_code_2(refused):
    refused("""
        reference.npy short.npy | 80 samples and the current version 40
        reference.npy two.npz | two.npz contains 2 arrays; give a file with one
        reference.npy same.npy --threshold low | must be a number or calibrated; got 'low'
        reference.npy same.npy --threshold 5 | 5 % is 0.05
        reference.npy same.npy --tolerance 2 | tolerance must be
        reference.npy same.npy --labels square.npy | square.npy must be one label per sample
        reference.npy same.npy --labels gaps.npy | labels are missing, NaN or infinite
        reference.npy same.npy --labels two.npz | two.npz must contain one array
        reference.npy same.npy --purpose heads | got 'heads'; did you mean 'head'?
        reference.npy same.npy --max-samples 5 | --max-samples
        reference.npy same.npy -o same.xlsx | tables cannot be written as .xlsx; choose one of
    """)


def test_all_drifts_are_on_one_logarithmic_scale_of_thresholds():
    x = np.random.default_rng(0).normal(size=(60, 4))
    for y in (x, x + 1, 1e6 * x, x[::-1]):
        report = rs.drift(x, y, n_resamples=10)
        (figure,) = drift_result(report)["drifts"].figures
        assert (figure.threshold, figure.log_x, figure.is_limit) == (1, True, True)
        low, high = figure.span
        assert (low, high >= 100) == (0.1, True)
        assert np.log10(high) == int(np.log10(high))
        for d, bar in zip(report.drifts, figure.bars, strict=True):
            ratio = d.value / d.threshold
            assert bar.value == pytest.approx(np.clip(ratio, 0.1, 1e6))  # none is outside
            assert low <= bar.value <= high
            assert f"times the threshold of {format_number(d.threshold)}" in bar.note
            if bar.low is not None:
                assert low <= bar.low <= bar.value <= bar.high <= max(high, 1e6)


def test_maps_that_leave_more_than_all_fill_the_scale():
    x = np.random.default_rng(0).normal(size=(60, 4))
    (figure,) = drift_result(rs.drift(x, 100 + x, n_resamples=10))["maps"].figures
    assert [bar.name for bar in figure.bars][:2] == ["as it is (over 100 %)", "+ translation"]
    assert figure.bars[0].value == 100
    assert figure.bars[1].value == pytest.approx(0, abs=1e-9)


def save_layers(folder, **layers):
    folder.mkdir()
    for name, values in layers.items():
        np.save(folder / f"{name}.npy", values)


def test_two_folders_give_one_report_for_each_layer(call, folder):
    x, turned = np.load("same.npy"), np.load("turned.npy")
    save_layers(folder / "before", stem=x, block2=x, block10=x)
    save_layers(folder / "after", stem=x, block2=turned, block10=x[:, :3], head=x)
    code, out, _ = call("before", "after", "--html", "layers.html")
    assert code == 1
    rows = [line.split() for line in out.splitlines()]
    assert [row[:3] for row in rows[2:5]] == [
        ["block2", "drift", "rotation"],
        ["block10", "drift", "leading"],
        ["stem", "no", "drift"],
    ]
    assert "Left out: only after has head." in out
    assert "Drift in 2 of 3 layers: block2, block10." in out
    assert "block10" in (folder / "layers.html").read_text()
    code, _, _ = call("before", "before", "-o", "layers.json", "--quiet")
    assert code == 0
    saved = json.loads((folder / "layers.json").read_text())
    assert {layer: report["drifted"] for layer, report in saved["layers"].items()} == {
        "stem": False, "block2": False, "block10": False,
    }  # fmt: skip
    assert rs.load(folder / "layers.json")["layers"].tables[0].rows[0][1] == "no drift"


def test_batches_of_other_samples_are_compared_on_the_command_line(call, folder):
    x = np.load("same.npy")
    np.save("monday.npy", x[:40])
    np.save("tuesday.npy", x[40:] + 3 * np.eye(4)[2])
    np.save("first.npy", np.arange(40) % 2)
    code, out, _ = call("monday.npy", "tuesday.npy", "--unpaired", "--html", "batches.html")
    assert code == 1
    assert re.search(r"Features that moved, share +0[.]25", out)
    assert (
        "the test needs the same samples in both versions" in (folder / "batches.html").read_text()
    )
    labels = "--labels", "first.npy", "--batch-labels", "first.npy"
    code, out, _ = call("monday.npy", "monday.npy", "--unpaired", *labels, "--format", "json")
    assert code == 0
    assert json.loads(out)["row_facts"][0]["kind"] == "shared rows"
    assert "batches of different samples: --unpaired" in call("short.npy", "same.npy")[2]
    assert "--batch-labels" in call("short.npy", "same.npy", "--unpaired", "--labels", "x.npy")[2]
