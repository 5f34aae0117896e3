"""The command ``resemblance drift``: exit codes, formats, the page, and one line for every mistake."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from conftest import assert_fits, look

import resemblance as rs
from resemblance import cli
from resemblance.report.drift_figures import bar
from resemblance.report.drift_page import write_drift_page


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files of a reference, a rotated and a shuffled version, and labels."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    labels = np.arange(80) % 2
    x = g.standard_normal((80, 4)) + 3 * labels[:, None]
    files = {"same": x, "turned": x @ np.linalg.qr(g.standard_normal((4, 4)))[0], "shuffled": x[g.permutation(80)]}
    files |= {"reference": x, "labels": labels, "short": x[:40], "square": np.zeros((80, 2))}
    files["gaps"] = np.where(labels == 0, np.nan, 1)
    for name, data in files.items():
        np.save(f"{name}.npy", data)
    np.savez("two.npz", a=x, b=x)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run the command: exit code, standard output, standard error."""

    def run(*words):
        code = cli.run(["drift", *map(str, words), "--draws", "10"])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("current", "threshold", "code"),
    [
        ("same", "calibrated", 0),
        ("same", "0.05", 0),
        ("turned", "0.05", 0),  # the geometry does not change when all samples turn together
        ("turned", "calibrated", 0),
        ("shuffled", "0.05", 1),
        ("shuffled", "calibrated", 1),
    ],
)
def test_the_exit_code_is_the_verdict(call, current, threshold, code):
    found, out, err = call("reference.npy", f"{current}.npy", "--threshold", threshold)
    assert (found, err) == (code, "")
    assert ("No drift beyond the threshold" in out) == (code == 0)


@pytest.mark.parametrize("threshold", ["0.05", "calibrated"])
def test_heads_that_read_the_coordinates_have_a_verdict_of_their_own(call, threshold):
    code, out, _ = call("reference.npy", "turned.npy", "--threshold", threshold)
    assert code == 0
    assert "geometry: no drift beyond the threshold\ncoordinates: drift (" in out
    assert "beyond the threshold) (not asked for)" in out
    code, out, _ = call("reference.npy", "turned.npy", "--threshold", threshold, "--coordinates")
    assert code == 1
    assert "not asked for" not in out
    assert call("reference.npy", "same.npy", "--threshold", threshold, "--coordinates")[0] == 0


def test_the_tolerance_is_a_choice(call):
    x = np.load("reference.npy")
    np.save("noisy.npy", x + 0.05 * x.std() * np.random.default_rng(0).standard_normal(x.shape))
    assert call("reference.npy", "noisy.npy", "--tolerance", "0.01")[0] == 1
    assert call("reference.npy", "noisy.npy", "--tolerance", "0.3")[0] == 0
    assert "tolerance must be" in call("reference.npy", "noisy.npy", "--tolerance", "2")[2]


def test_the_table_has_every_drift_and_every_kind_of_change(call):
    _, out, _ = call("reference.npy", "turned.npy")
    for words in ("coordinates   rdm", "sliced_wasserstein", "yes", "not looked for"):
        assert words in out
    said = [line.split("  ")[0].strip() for line in out.splitlines()]
    assert (said.count("yes"), said.count("no"), said.count("not looked for")) == (1, 5, 1)


def test_json_is_what_the_library_gives(call, folder):
    code, out, _ = call("reference.npy", "shuffled.npy", "--labels", "labels.npy", "--format", "json", "--seed", 3)
    found = json.loads(out)
    labels = np.load("labels.npy").tolist()
    expected = rs.drift("reference.npy", "shuffled.npy", labels=labels, draws=10, seed=3)
    assert (code, found) == (1, json.loads(expected.to_json()))
    assert found["named"] == list(expected.named) == ["neighbours", "classes"]
    call("reference.npy", "shuffled.npy", "--format", "json", "-o", "found.json")
    assert json.loads((folder / "found.json").read_text())["drifted"]


def test_the_page_is_complete_and_loads_nothing(call, folder):
    assert call("reference.npy", "turned.npy", "--html", "page.html")[0] == 0
    page = (folder / "page.html").read_text()
    assert "<b>Rotation</b>" in page
    assert "No translation" in page
    assert "<b>Loss of class structure: not looked for</b>" in page
    assert "No loss of class structure" not in page
    assert "<li>geometry: no drift" in page
    assert "<li>coordinates: drift" in page
    assert page.count("<svg") == 3 + 11
    assert not re.findall(r"(?:src|href)=", page)
    assert "nan" not in re.findall(r"<(?:path|rect)[^>]*>", page)
    call("reference.npy", "turned.npy", "--html", "again.html")
    assert (folder / "again.html").read_text() == page


def test_the_page_of_a_collapse_and_of_names_that_are_markup(folder):
    x = np.load("reference.npy")
    found = rs.drift(rs.Representation(x, ids=[f"<b>{i}" for i in range(80)]), 0 * x, draws=10)
    write_drift_page(found, folder / "page.html", title="<i>")
    page = (folder / "page.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>1" not in page
    assert "<title>&lt;i&gt;</title>" in page
    assert "<b>Loss of dimensions</b>" in page
    assert "<b>Rotation: not looked for</b>" in page
    assert "<b>No " not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reference.npy", "missing.npy"), "missing.npy does not exist"),
        (("reference.npy", "short.npy"), "80 samples and the current version 40"),
        (("reference.npy", "two.npz"), "two.npz holds 2 arrays; give a file with one"),
        (("reference.npy", "same.npy", "--threshold", "low"), "--threshold must be a number or calibrated; got 'low'"),
        (("reference.npy", "same.npy", "--threshold", "-1"), "positive number; got -1.0"),
        (("reference.npy", "same.npy", "--labels", "none.npy"), "none.npy does not exist"),
        (("reference.npy", "same.npy", "--labels", "square.npy"), "square.npy must be a .npy file with one class"),
        (("reference.npy", "same.npy", "--labels", "gaps.npy"), "labels are missing, NaN or infinite"),
        (("reference.npy", "same.npy", "--labels", "two.npz"), "two.npz must be a .npy file with one class"),
        (("reference.npy", "same.npy", "--format", "csv"), "--format cannot be 'csv'"),
        (("reference.npy", "same.npy", "--html", "no/page.html"), "the folder no does not exist"),
        (("reference.npy", "same.npy", "-o", "same.npy"), "same.npy is given twice"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(call, words, message):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_rounding_draws_no_bar():
    x = np.random.default_rng(0).normal(size=(60, 4))
    found = rs.drift(x, x @ np.linalg.qr(x[:4])[0], draws=10)
    (root,) = [d for d in found.drifts if d.name == "procrustes_root"]
    assert 0 < root.value < 1e-9
    assert float(re.search(r'width="([\d.]+)"[^>]*class="under"', bar(root))[1]) == 1.0


def test_the_table_fits_the_terminal(capsys):
    words = ["drift", "reference.npy", "shuffled.npy", "--labels", "labels.npy", "--draws", "10"]
    assert_fits(lambda: cli.run(words), capsys)


def test_what_the_pointer_reads(call, folder):
    call("reference.npy", "shuffled.npy", "--html", "page.html")
    seen = look(folder / "page.html", folder, ["svg.bar rect", "svg.ladder rect", "svg.cloud path"])
    assert re.fullmatch(r"CKA: .+: [\d.]+, threshold [\d.]+", seen.said[0])
    assert seen.said[1] == "unexplained variance by map"
    assert seen.said[2] == "samples before and after"
    assert seen.hidden == []
    assert look(folder / "page.html", folder, width=390).wide <= 390
