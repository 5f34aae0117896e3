"""The commands of the ReSi benchmark: what they print and write, and one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from factories.output import assert_fits
from test_study_of_resi import OWN, bring

import resemblance as rs
from papers import __main__ as papers
from resemblance import cli
from resemblance.bench.resi import load_evaluation, result_of, status
from resemblance.bench.study import Purpose, save_purpose, study_folder
from resemblance.bench.synthetic import graded_outputs, noise_walk, tight_groups


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of models brought along, by three of the measures of the papers and one of a user's
    file."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "own.py").write_text(OWN)
    bring(
        folder / "models",
        [*tight_groups(setting="labels"), *noise_walk(), *graded_outputs(models=4)],
    )
    words = [
        "bench",
        "run",
        "resi",
        str(folder / "study"),
        "--models",
        str(folder / "models"),
        "--quiet",
    ]
    words += ["-m", "cka,GULP,jaccard", "--add-measure", f"{folder / 'own.py'}:size_difference"]
    assert cli.run([*words, "--jobs", "1"]) == 0
    return folder / "study"


def run(capsys, *words):
    command, *more = map(str, words)
    code = cli.run(["bench", command, *["resi"] * (command == "run"), *more])
    return code, *capsys.readouterr()


def test_run_prints_the_ranking_and_where_the_page_is(study, capsys):
    """A finished study is asked for one measure more and nothing else: the others are its own."""
    before = status(study).comparisons
    own = f"{study.parent / 'own.py'}:size_difference"
    code, out, err = run(capsys, "run", study, "--jobs", 1, "--add-measure", own)
    assert code == 0
    assert status(study).comparisons == before
    assert "mean rank" in out
    assert f"Open {study / 'index.html'}" in out
    assert "comparing:" in err
    assert (study / "index.html").stat().st_size > 10_000


def test_a_measure_of_ones_own_stands_beside_the_others(study):
    result = rs.load(study / "result.json")
    assert set(result.labels.values()) == {"CKA", "GULP", "Jaccard", "SizeDiff"}
    assert all("size_difference" in ranks for ranks in result.ranks().values())
    assert "SizeDiff" in (study / "index.html").read_text()


def test_results_in_every_format(study, capsys, tmp_path):
    scores = load_evaluation(study).scores
    _, table, _ = run(capsys, "results", study)
    assert "Layer monotonicity" in table
    assert "no score: no models of the setting 'shortcut'" in " ".join(table.split())
    _, text, _ = run(capsys, "results", study, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    by_cell = {(*list(row.values())[:6], row["measure"]): row for row in rows}
    assert len(rows) == len(by_cell) == len(scores)
    for score in scores:
        row = by_cell[*score.cell, score.measure]
        assert float(row["value"]) == score.value
        assert row["label"] == score.label
    _, text, _ = run(capsys, "results", study, "--format", "json")
    tables = [t for s in json.loads(text)["sections"] for t in s["tables"] if t["is_data"]]
    assert sorted(row[8] for t in tables for row in t["rows"]) == sorted(s.value for s in scores)
    code, _, _ = run(capsys, "results", study, "-o", tmp_path / "scores.parquet")
    assert code == 0
    frame = pandas.read_parquet(tmp_path / "scores.parquet")
    assert sorted(frame["value"]) == sorted(s.value for s in scores)


def test_too_few_models_are_an_answer_of_its_own_that_names_what_was_left_out(capsys, tmp_path):
    bring(tmp_path / "models", noise_walk(models=2))
    (tmp_path / "models" / "model1" / "traits.json").unlink()
    traits = tmp_path / "models" / "model0" / "traits.json"
    traits.write_text(json.dumps({**json.loads(traits.read_text()), "layers": ["layer0"]}))
    words = ("--models", tmp_path / "models", "-m", "cka,gulp", "--jobs", 1, "--quiet")
    code, out, err = run(capsys, "run", tmp_path / "study", *words)
    assert (code, out) == (1, "")
    assert err.startswith("error: too few models for any test (Few models: ")
    assert "Left out: model1 (no traits.json beside its arrays).; accuracy: " in err
    left_out = {"model1": "no traits.json beside its arrays"}
    assert load_evaluation(tmp_path / "study").left_out == left_out


def test_the_terminal_says_what_the_page_says(capsys, tmp_path):
    bring(tmp_path / "models", graded_outputs(models=4))
    (tmp_path / "models" / "stray").mkdir()
    np.save(tmp_path / "models" / "stray" / "a.npy", np.eye(3))
    words = ("--models", tmp_path / "models", "-m", "cka,gulp", "--jobs", 1)
    code, out, _ = run(capsys, "run", tmp_path / "study", *words)
    assert code == 0
    page = (tmp_path / "study" / "index.html").read_text()
    for said in (
        "cells do not settle the order of 2 measures: with fewer than 6",
        "All cells are on the models of one architecture.",
        "Few models: at most 4 are compared with each other, where the benchmark has 10.",
        "Left out: stray (no traits.json beside its arrays).",
        "models of your own",
    ):
        assert said in out
        assert said in page
    assert "95 %" not in out


def test_a_trial_is_marked_wherever_it_is_read(study, capsys, tmp_path):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    facts = load_evaluation(study)._replace(size="slice")
    result_of(facts).save(folder / "result.json")
    _, out, err = run(capsys, "results", folder)
    assert "Trial run: the scores mean nothing." in out
    assert err == ""
    _, out, err = run(capsys, "results", folder, "--format", "json")
    assert (json.loads(out)["size"], json.loads(out)["trial"]) == ("slice", True)
    assert err == "Trial run: the scores mean nothing.\n"
    run(capsys, "results", folder, "-o", tmp_path / "scores.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text(encoding="utf-8"))))
    assert {(row["trial"], row["rank"]) for row in rows} == {("True", "")}
    run(capsys, "results", folder, "-o", tmp_path / "scores.parquet")
    assert pandas.read_parquet(tmp_path / "scores.parquet")["trial"].all()


def test_status_counts_comparisons_with_itself_apart_from_those_on_the_page(study, capsys):
    _, text, _ = run(capsys, "status", study, "--format", "json")
    found = json.loads(text)
    shown = rs.load(study / "result.json").counts["comparisons"]
    assert f"{found['comparisons'] - found['alone']:,}".replace(",", "\u202f") == shown
    _, out, _ = run(capsys, "status", study)
    assert (
        f"{found['comparisons']} comparisons, {found['alone']} of them of a representation with "
        "itself" in out
    )


def test_no_name_sends_commands_to_the_terminal(study, capsys, tmp_path):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    text = (
        (folder / "result.json")
        .read_text()
        .replace('"SizeDiff"', '"Size\\u001b[31m\\u009b2J\\u0007Diff"')
    )
    (folder / "result.json").write_text(text)
    _, out, _ = run(capsys, "results", folder)
    assert r"Size\x1b[31m\x9b2J\x07Diff" in out
    assert not {"\x1b", "\x9b", "\x07"} & set(out)


def test_the_difference_of_measure_and_measures_is_explained(capsys):
    assert cli.run(["bench", "run", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Add a measure to" in said
    assert "instead of the usual measures" in said


def test_status_and_report(study, capsys, tmp_path):
    _, out, _ = run(capsys, "status", study)
    assert "not running" in out
    ranked = sum(map(len, rs.load(study / "result.json").scores().values()))
    assert f"{ranked} scores" in out
    _, out, _ = run(capsys, "status", study, "--format", "json")
    assert json.loads(out)["running"] is False
    code, out, _ = run(capsys, "report", study, "--html", tmp_path / "page.html")
    assert code == 0
    assert str(tmp_path / "page.html") in out
    assert (tmp_path / "page.html").exists()


def test_status_of_a_study_on_a_pack_names_the_pack(capsys, tmp_path):
    with study_folder(tmp_path / "study", Purpose("resi", models="made@1")):
        pass
    _, out, _ = run(capsys, "status", tmp_path / "study")
    assert out.splitlines()[0].endswith("study: resi, not running")
    assert out.splitlines()[1] == "models from made@1"


def test_ranks_of_a_study_and_the_published_ones(study, capsys):
    papers.main(["resi-compare", str(study)])
    out = capsys.readouterr().out
    assert "CKA" in out
    assert "Spearman correlation of the two orders" in out
    papers.main(["resi-compare", str(study), "--paper", "mka"])
    assert "jaccard" in capsys.readouterr().out.lower()
    papers.main(["resi-compare", str(study), "--domain", "vision"])
    said = "no measure of this study has a published rank in the domain vision"
    assert said in capsys.readouterr().out
    with pytest.raises(
        ValueError, match="gone has no results yet: resemblance bench run resi gone"
    ):
        papers.main(["resi-compare", "gone"])


def test_the_conclusions_of_the_paper_are_judged_on_a_study(study, capsys, tmp_path):
    papers.main(["resi-compare", str(study), "-o", str(tmp_path / "paper.html")])
    assert "No data on 4 claims" in capsys.readouterr().out
    page = (tmp_path / "paper.html").read_text()
    assert "No measure is the best everywhere" in page
    assert "published position" in page


def test_a_report_of_some_families(study, capsys, tmp_path):
    code, _, _ = run(
        capsys, "report", study, "--family", "neighbors", "--html", tmp_path / "page.html"
    )
    assert code == 0
    page = (tmp_path / "page.html").read_text()
    assert "Jaccard" in page
    assert ">GULP<" not in page
    facts = load_evaluation(study).only(["neighbors", "descriptive"])
    assert (
        {m.label for m in facts.measures}
        == {s.label for s in facts.scores}
        == {"Jaccard", "SizeDiff"}
    )
    ranks = result_of(facts).ranks()
    assert {rank for of_cell in ranks.values() for rank in of_cell.values()} <= {1.0, 1.5, 2.0}
    with pytest.raises(
        ValueError, match="no measure of topology in this result; it has descriptive, neighbors"
    ):
        load_evaluation(study).only(["topology"])
    code, _, err = run(capsys, "report", study, "--family", "odd", "--html", tmp_path / "page.html")
    assert (code, err.count("\n")) == (2, 1)
    assert "got 'odd'" in err


def test_a_study_of_another_format_is_refused_and_says_how_to_make_it_again(
    study, capsys, tmp_path, subtests
):
    for name, remedy, commands in (
        ("study.json", "give a new folder", ("run", "status", "results", "report")),
        ("result.json", "run the suite again", ("status", "results", "report")),
    ):
        folder = Path(shutil.copytree(study, tmp_path / name))
        document = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(document | {"format": 1}))
        for words in commands:
            with subtests.test(name, words=words):
                command, *options = words.split()
                code, out, err = run(capsys, command, folder, *options)
                assert (code, out, err.count("\n")) == (2, "", 1)
                assert f"{name} is not " in err
                assert remedy in err


def test_a_study_without_results_says_how_to_continue(capsys, tmp_path, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    for name, models, words in (("s", None, ""), ("p", "made@1", " --pack made@1")):
        Path(name).mkdir()
        save_purpose(Path(name), Purpose("resi", "" if models else "slice", models))
        with subtests.test(name):
            code, _, err = run(capsys, "report", name)
            said = f"error: {name} has no results yet: resemblance bench run resi {name}{words}\n"
            assert (code, err) == (2, said)


def test_mistakes_are_one_line(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused("""
        bench run resi x --size tiny | got 'tiny'
        bench run resi x --domain sound | got 'sound'
        bench run resi x --protocol code | got 'code'
        bench run resi x --failures first | got 'first'
        bench run resi x --permute rows | got 'rows'
        bench run resi x --memory much | memory
        bench run resi x --add-measure gone.py:mine | gone.py does not exist
        bench run resi x --models gone | holds no model
        bench results gone | gone has no results yet; run a benchmark there
        bench report gone | no results yet
        bench status gone | gone is not a study
    """)


def test_models_that_change_are_compared_again(tmp_path, capsys):
    models = bring(tmp_path / "models", noise_walk())
    words = ("run", tmp_path / "study", "--models", models, "-m", "cka", "--jobs", 1, "--quiet")
    assert run(capsys, *words)[0] == 0
    before = [s.value for s in load_evaluation(tmp_path / "study").scores]
    layer = next(models.rglob("*.npy"))
    np.save(layer, np.random.default_rng(1).normal(size=np.load(layer).shape))
    assert run(capsys, *words)[0] == 0
    assert [s.value for s in load_evaluation(tmp_path / "study").scores] != before


def test_the_tables_fit_the_terminal(study, capsys):
    assert_fits(lambda: cli.run(["bench", "results", str(study)]), capsys)
    assert_fits(lambda: papers.main(["resi-compare", str(study)]), capsys)
