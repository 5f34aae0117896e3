"""The command ``resemblance drift``: exit codes, formats, the page, and one line for every
mistake."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
import torch

import resemblance as rs
from resemblance import cli
from resemblance.base.formatting import format_number
from resemblance.base.results import saved_text
from resemblance.report.of_drift import drift_result
from resemblance.report.page import write_page


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
        ("same", (), 0),
        (
            "turned",
            (),
            1,
        ),  # what the vectors are for is not known: then all that could break counts
        ("turned", ("--purpose", "index"), 1),
        ("turned", ("--purpose", "head"), 1),
        (
            "turned",
            ("--purpose", "geometry"),
            0,
        ),  # it does not change when all samples turn together
        ("shuffled", ("--purpose", "geometry"), 1),
        ("shuffled", (), 1),
    ],
)
@pytest.mark.parametrize("threshold", ["calibrated", "0.05"])
def test_the_exit_code_is_the_verdict(call, current, options, threshold, code):
    found, out, err = call("reference.npy", f"{current}.npy", "--threshold", threshold, *options)
    assert (found, err) == (code, "")
    assert ("No drift beyond the threshold for" in out) == (code == 0)


def test_code_0_says_what_it_does_not_cover(call, folder):
    options = "reference.npy", "turned.npy", "--purpose", "geometry", "--html", "page.html"
    code, out, _ = call(*options)
    assert code == 0
    assert "Coordinates changed (" in out
    assert "not counted for the geometry alone." in out
    last, hint = out.strip().splitlines()[-2:]
    assert hint == "Use --purpose index to count it."
    assert last.startswith(
        "No drift beyond the threshold for the geometry alone. What happened: rotation. But "
    )
    assert "For an index or a head this is drift." in last
    assert last in (folder / "page.html").read_text()
    assert json.loads(call(*options[:4], "--format", "json")[1])["conclusion"] == last
    assert "changed, not counted" in out
    help_text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", call("--help")[1]).split())
    assert "does not cover old vectors or heads" in help_text
    assert "a rotation passes" in help_text


@pytest.mark.parametrize("threshold", ["1", "2", "5", "50"])
def test_a_threshold_that_nothing_can_exceed_is_refused_with_the_remedy(call, threshold):
    code, out, err = call("reference.npy", "shuffled.npy", "--threshold", threshold)
    assert (code, out) == (2, "")
    assert f"{threshold} % is {float(threshold) / 100:g}" in err


def test_the_option_that_was_replaced_is_refused(call):
    code, _, err = call("reference.npy", "turned.npy", "--coordinates")
    assert code == 2
    assert "--coordinates" in err


def test_the_tolerance_is_a_choice(call):
    x = np.load("reference.npy")
    np.save("noisy.npy", x + 0.05 * x.std() * np.random.default_rng(0).standard_normal(x.shape))
    assert call("reference.npy", "noisy.npy", "--tolerance", "0.01")[0] == 1
    assert call("reference.npy", "noisy.npy", "--tolerance", "0.3")[0] == 0
    assert "tolerance must be" in call("reference.npy", "noisy.npy", "--tolerance", "2")[2]


def test_the_table_has_every_drift_and_every_kind_of_change(call):
    _, out, _ = call("reference.npy", "turned.npy")
    for words in (
        "coordinates   RDM: 1 − RSA of cosine dissimilarities",
        "Sliced Wasserstein",
        "yes",
        "old index     Neighbours lost",
        "result",
    ):
        assert words in out
    said = [cell for line in out.splitlines() for cell in re.split(" {2,}", line)[1:2]]
    assert (said.count("yes"), said.count("no"), said.count("explained by the map")) == (1, 4, 1)
    assert "Not assessed: loss of class structure, classes moved (it needs labels)." in out
    assert (
        "All 80 samples were used; 10 neighbours of 80 of them were looked up among all 80." in out
    )
    assert not re.search(r"\d(\.\d+)?e[-−]1\d", out)  # rounding is 0


def test_samples_and_neighbors_are_choices(call):
    _, out, _ = call(
        "reference.npy", "shuffled.npy", "--max-samples", "40", "--k", "5", "--format", "json"
    )
    settings = json.loads(out)["settings"]
    assert [settings[name] for name in ("samples", "used", "queries", "k")] == [80, 40, 40, 5]
    _, out, _ = call("reference.npy", "shuffled.npy", "--max-samples", "40", "--k", "5")
    assert "40 of 80 samples were used, drawn at random; 5 neighbours of 40 of them" in out


def section(report, name):
    return drift_result(report)[name]


def test_json_is_what_the_library_gives_with_its_origin(call, folder):
    options = "--labels", "labels.npy", "--format", "json", "--seed", 3
    code, out, _ = call("reference.npy", "shuffled.npy", *options)
    found = json.loads(out)
    labels = np.load("labels.npy").tolist()
    expected = rs.drift("reference.npy", "shuffled.npy", labels=labels, n_resamples=10, seed=3)
    made, theirs = found.pop("provenance"), json.loads(saved_text(expected))
    assert code == 1
    assert {key: found[key] for key in theirs if key != "provenance"} == {
        key: value for key, value in theirs.items() if key != "provenance"
    }
    assert found["changes"] == list(expected.changes) == ["neighbours", "classes"]
    assert made["resemblance"] == rs.__version__
    assert (made["reference"]["file"], made["current"]["file"]) == ("reference.npy", "shuffled.npy")
    assert made["reference"]["fingerprint"] == theirs["provenance"]["reference"]["fingerprint"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made["date"])
    assert made["command"] == (
        "resemblance drift reference.npy shuffled.npy --labels labels.npy --n-resamples 10 --seed "
        "3 --format json"
    )
    call("reference.npy", "shuffled.npy", "--format", "json", "-o", "found.json")
    assert json.loads((folder / "found.json").read_text())["drifted"]


def test_the_file_is_a_result_that_can_be_read_and_shown(call, folder, monkeypatch):
    seconds = itertools.count()

    class Clock(datetime):
        """A clock that a second has passed on whenever it is read."""

        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, tzinfo=tz) + timedelta(seconds=next(seconds))

    monkeypatch.setattr("resemblance.cli.ending.datetime", Clock)
    options = ("reference.npy", "turned.npy", "--labels", "labels.npy")
    call(*options, "-o", "drift.json", "--html", "page.html")
    saved = rs.load(folder / "drift.json")
    assert isinstance(saved, rs.DriftReport)
    assert saved.drifted
    page = (folder / "page.html").read_text()
    first, *others = drift_result(saved).conclusion.splitlines()
    assert f"<p>{first}</p>" in page
    assert "<ul>" + "".join(f"<li>{line}</li>" for line in others) + "</ul>" in page
    assert len(others) == 4
    assert "resemblance upgrade-index" in others[-1]
    assert write_page(saved, folder / "again.html").read_text() == page


def test_the_page_is_complete_and_loads_nothing(call, folder):
    assert call("reference.npy", "turned.npy", "--html", "page.html")[0] == 1
    page = (folder / "page.html").read_text()
    assert re.search(r"<th scope=.row.>rotation</th><td[^>]*>yes</td>", page)
    assert re.search(r"<th scope=.row.>translation</th><td[^>]*>no</td>", page)
    assert "<dt>loss of class structure</dt><dd>not assessed: it needs labels</dd>" in page
    assert "Geometry did not change beyond the threshold." in page
    assert "Coordinates changed" in page
    assert len(re.findall(r"<svg[^>]*role=.img", page)) == 2 + 1 + 1  # clouds, maps, drifts
    assert not re.findall(r"<(?!a )[^>]* (?:src|href)=", page)
    assert "nan" not in re.findall(r"<(?:path|rect)[^>]*>", page)


def test_the_page_says_from_which_files_by_which_command_it_was_made(call, folder):
    call("reference.npy", "turned.npy", "--html", "page.html", "--purpose", "head")
    page = (folder / "page.html").read_text()
    for words in (
        "file reference.npy, shape 80, 4, dtype float64, fingerprint ",
        "file turned.npy, shape 80, 4",
        f"<dt>resemblance</dt><dd>{rs.__version__}</dd>",
    ):
        assert words in page
    assert (
        "resemblance drift reference.npy turned.npy --purpose head --n-resamples 10 --html "
        "page.html" in page
    )
    assert "<dt>date</dt>" in page
    assert "False" not in page


def test_there_is_a_table_of_classes(folder):
    x, labels = np.load("reference.npy"), np.where(np.load("labels.npy") == 1, "<cat>", "dog")
    report = rs.drift(x, x + 3 * (labels == "dog")[:, None], labels=labels, n_resamples=10)
    (table,) = section(report, "classes").tables
    assert {row[:2] for row in table.rows} == {("<cat>", 40), ("dog", 40)}
    page = write_page(drift_result(report), folder / "page.html").read_text()
    assert '<th scope="row">&lt;cat&gt;</th>' in page


def test_a_class_that_moved_is_named_in_the_terminal_the_page_and_the_exit_code(call, folder):
    g = np.random.default_rng(0)
    labels = np.arange(240) % 6
    x = g.standard_normal((6, 8))[labels] + 0.2 * g.standard_normal((240, 8))
    moved = np.where((labels == 3)[:, None], x + x[1] - x[3], x)
    for name, data in (("x", x), ("moved", moved), ("classes", labels)):
        np.save(f"{name}.npy", data)
    options = ("--labels", "classes.npy", "--purpose", "geometry", "--html", "page.html")
    code, out, _ = call("x.npy", "moved.npy", *options)
    assert code == 1
    for text in (out, (folder / "page.html").read_text()):
        assert "classes moved: 3 (" in text
        assert "now nearest to 1)" in text
    code, out, _ = call("x.npy", "x.npy", *options)
    assert (code, "classes moved: " in out) == (0, False)


def test_the_page_of_a_collapse_and_of_names_that_are_markup(folder):
    x = np.load("reference.npy")
    named = rs.Representation(x, ids=[f"<b>{i}" for i in range(80)])
    report = rs.drift(named, 0 * x, n_resamples=10)
    page = write_page(drift_result(report, title="<i>"), folder / "page.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>1" not in page
    assert "<title>&lt;i&gt;</title>" in page
    happened = section(report, "kinds")
    assert [row[:2] for row in happened.tables[0].rows] == [("loss of dimensions", "yes")]
    assert list(happened.reasons)[:3] == ["translation", "change of scale", "rotation"]


def test_a_mistake_is_one_line_and_code_2(refused):
    refused("""
        reference.npy missing.npy | missing.npy does not exist
        reference.npy short.npy | 80 samples and the current version 40
        reference.npy two.npz | two.npz holds 2 arrays; give a file with one
        reference.npy same.npy --threshold low | must be a number or calibrated; got 'low'
        reference.npy same.npy --threshold -1 | a number between 0 and 1; got -1.0
        reference.npy same.npy --labels none.npy | none.npy does not exist
        reference.npy same.npy --labels square.npy | square.npy must be one label per sample
        reference.npy same.npy --labels gaps.npy | labels are missing, NaN or infinite
        reference.npy same.npy --labels two.npz | two.npz must hold one array
        reference.npy same.npy --purpose heads | got 'heads'; did you mean 'head'?
        reference.npy same.npy --max-samples 5 | --max-samples
        reference.npy same.npy -o same.xlsx | no table is written as .xlsx; choose one of
    """)


def test_all_drifts_are_on_one_logarithmic_scale_of_thresholds():
    x = np.random.default_rng(0).normal(size=(60, 4))
    for y in (x, x + 1, 1e6 * x, x[::-1]):
        report = rs.drift(x, y, n_resamples=10)
        (figure,) = section(report, "drifts").figures
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


def test_what_has_no_threshold_has_no_bar():
    x = np.load("reference.npy")
    report = rs.drift(x, x + 1, n_resamples=10, threshold=0.05)
    (mmd,) = (d for d in report.drifts if d.name == "mmd")
    assert mmd.threshold is None
    drifts = section(report, "drifts")
    assert "mmd" not in [bar.name for bar in drifts.figures[0].bars]
    (row,) = (row for row in drifts.tables[0].rows if row[0] == "MMD")
    assert row[-3:] == (None, None, "not judged by a number")
    assert "cannot be judged by a number and has no bar" in drifts.about


def test_maps_that_leave_more_than_all_fill_the_scale():
    x = np.random.default_rng(0).normal(size=(60, 4))
    (figure,) = section(rs.drift(x, 100 + x, n_resamples=10), "maps").figures
    assert [bar.name for bar in figure.bars][:2] == ["as it is (over 100 %)", "+ translation"]
    assert figure.bars[0].value == 100
    assert figure.bars[1].value == pytest.approx(0, abs=1e-9)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are no text")
def test_a_file_may_have_a_name_that_is_no_text(folder):
    name = os.fsdecode(b"n\xff.npy")
    os.rename("same.npy", name)
    assert (
        cli.run(
            [
                "drift",
                "reference.npy",
                name,
                "--n-resamples",
                "10",
                "-o",
                "d.json",
                "--html",
                "d.html",
            ]
        )
        == 0
    )
    assert (
        json.loads((folder / "d.json").read_text())["provenance"]["current"]["file"]
        == "n\ufffd.npy"
    )


def test_what_the_pointer_reads(call, folder, look):
    call("reference.npy", "shuffled.npy", "--html", "page.html")
    seen = look(
        folder / "page.html",
        ["#section-drifts .dot", "#section-maps .dot", "#section-samples .cloud path"],
    )
    assert re.fullmatch(r"CKA: .+: [\d.]+, [\d.]+ times the threshold of [\d.]+", seen.said[0])
    assert re.fullmatch(r"as it is: (over 100|[\d.]+) %", seen.said[1])
    assert seen.said[2] == "points: as they are"
    assert seen.hidden == []
    assert look(folder / "page.html", width=390).wide <= 390


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


def test_two_folders_of_features_are_compared_by_the_names_of_their_layers(call, folder):
    for name, seed in (("first", 0), ("second", 1)):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
        inputs = torch.tensor(np.load("same.npy"), dtype=torch.float32)
        rs.extract_features(model.eval(), inputs, name, layers="*", progress=False)
    code, out, _ = call("first", "second")
    assert code == 1
    assert "Drift in 3 of 3 layers: 0, 1, 2." in out
    layers = [rs.open_features(name).layers for name in ("first", "second")]
    each = {name: rs.drift(*(side[name] for side in layers), n_resamples=10) for name in layers[0]}
    assert all(report.drifted for report in each.values())


def test_batches_of_other_samples_are_compared_on_the_command_line(call, folder):
    x = np.load("same.npy")
    np.save("monday.npy", x[:40])
    np.save("tuesday.npy", x[40:] + 3 * np.eye(4)[2])
    np.save("first.npy", np.arange(40) % 2)
    code, out, _ = call("monday.npy", "tuesday.npy", "--unpaired", "--html", "batches.html")
    assert code == 1
    assert re.search(r"Features that moved, share +0[.]25", out)
    assert "it needs the same samples in both" in (folder / "batches.html").read_text()
    labels = "--labels", "first.npy", "--batch-labels", "first.npy"
    code, out, _ = call("monday.npy", "monday.npy", "--unpaired", *labels, "--format", "json")
    assert code == 0
    assert json.loads(out)["row_facts"][0]["kind"] == "shared rows"
    assert "paired=False, or --unpaired" in call("short.npy", "same.npy")[2]
    assert "--batch-labels" in call("short.npy", "same.npy", "--unpaired", "--labels", "x.npy")[2]


def test_facts_are_the_first_words_of_the_command(call):
    x, turned = np.load("same.npy"), np.load("turned.npy")
    np.save("half.npy", np.concatenate([x[:40], turned[40:]]))
    code, out, _ = call("same.npy", "half.npy")
    assert code == 1
    assert out.startswith("40 of 80 rows (50 %) are equal to the last bit in both versions")
    assert "Two models in one index?" in out
