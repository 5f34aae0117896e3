"""The commands of the ReSi benchmark: what they print and write, and one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from factories.models import write_models
from factories.output import assert_fits
from factories.synthetic import graded_outputs, noise_walk, tight_groups
from test_study_of_resi import OWN

import resemblance as rs
from papers import __main__ as papers
from resemblance import cli
from resemblance.bench.resi import load_evaluation, result_of, status
from resemblance.bench.study import Purpose, save_purpose, study_folder


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of models brought along, by three of the measures of the papers and one of a user's
    file."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "own.py").write_text(OWN)
    write_models(
        folder / "models",
        [*tight_groups(setting="labels"), *noise_walk(), *graded_outputs(models=4)],
    )
    words = f"bench run resi {folder}/study --models {folder}/models --quiet --jobs 1"
    own = ["--add-measure", f"{folder}/own.py:size_difference"]
    assert cli.run([*words.split(), "-m", "cka,GULP,jaccard", *own]) == 0
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
    result = rs.load(study / "result.json")
    assert set(result.labels.values()) == {"CKA", "GULP", "Jaccard", "SizeDiff"}
    assert all("size_difference" in ranks for ranks in result.ranks().values())


def test_results_as_csv_and_json_have_every_score(study, capsys):
    scores = load_evaluation(study).scores
    _, table, _ = run(capsys, "results", study)
    assert "no score: no models of the setting 'shortcut'" in " ".join(table.split())
    _, text, _ = run(capsys, "results", study, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    by_cell = {(*list(row.values())[:6], row["measure"]): row for row in rows}
    assert len(rows) == len(by_cell) == len(scores)
    for score in scores:
        row = by_cell[*score.cell, score.measure]
        assert (float(row["value"]), row["label"]) == (score.value, score.label)
    values = sorted(score.value for score in scores)
    _, text, _ = run(capsys, "results", study, "--format", "json")
    tables = [t for s in json.loads(text)["sections"] for t in s["tables"] if t["is_data"]]
    assert sorted(row[8] for t in tables for row in t["rows"]) == values


def test_too_few_models_are_an_answer_of_its_own_that_names_what_was_left_out(capsys, tmp_path):
    write_models(tmp_path / "models", noise_walk(models=2))
    (tmp_path / "models" / "model01" / "traits.json").unlink()
    traits = tmp_path / "models" / "model00" / "traits.json"
    traits.write_text(json.dumps({**json.loads(traits.read_text()), "layers": ["layer0"]}))
    words = ("--models", tmp_path / "models", "-m", "cka,gulp", "--jobs", 1, "--quiet")
    code, out, err = run(capsys, "run", tmp_path / "study", *words)
    assert (code, out) == (1, "")
    assert err.startswith("error: too few models for any test (Few models: ")
    assert "Left out: model01 (no traits.json beside its arrays).; accuracy: " in err
    left_out = {"model01": "no traits.json beside its arrays"}
    assert load_evaluation(tmp_path / "study").left_out == left_out


def test_a_report_of_some_families(study, capsys, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, "report", study, "--family", "neighbors", "--html", page)
    assert (code, str(page) in out) == (0, True)
    assert "got 'odd'" in run(capsys, "report", study, "--family", "odd", "--html", page)[2]
    assert "Jaccard" in page.read_text()
    assert ">GULP<" not in page.read_text()
    facts = load_evaluation(study).only(["neighbors", "descriptive"])
    assert {m.label for m in facts.measures} == {"Jaccard", "SizeDiff"}
    ranks = result_of(facts).ranks()
    assert {rank for of_cell in ranks.values() for rank in of_cell.values()} <= {1.0, 1.5, 2.0}
    with pytest.raises(ValueError, match="no measure of topology in this result; it has desc"):
        load_evaluation(study).only(["topology"])


def test_ranks_and_conclusions_of_the_papers_stand_beside_those_of_a_study(study, capsys, tmp_path):
    for words, said in {
        "": "Spearman correlation of the two orders",
        "--paper mka": "jaccard",
        "--domain vision": "no measure of this study has a published rank in the domain vision",
        f"-o {tmp_path / 'paper.html'}": "No data on 4 claims",
    }.items():
        papers.main(["resi-compare", str(study), *words.split()])
        assert said.lower() in capsys.readouterr().out.lower()
    assert "No measure is the best everywhere" in (tmp_path / "paper.html").read_text()
    with pytest.raises(
        ValueError, match="gone has no results yet; run: resemblance bench run resi go"
    ):
        papers.main(["resi-compare", "gone"])


def test_status_of_a_study_on_a_pack_names_the_pack(capsys, tmp_path):
    with study_folder(tmp_path / "study", Purpose("resi", models="made@1")):
        pass
    _, out, _ = run(capsys, "status", tmp_path / "study")
    assert out.splitlines()[0].endswith("study: resi, not running")
    assert out.splitlines()[1] == "models from made@1"


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
            said = (
                f"error: {name} has no results yet; run: resemblance bench run resi {name}{words}\n"
            )
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
    models = write_models(tmp_path / "models", noise_walk())
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
