"""Tables for papers: rows by depth, matrices, chosen columns, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence

import resemblance as rs
from resemblance import cli

NAMES = [f"{model}/{layer}" for model in "ab" for layer in ("in", "mid", "out")]


@pytest.fixture(scope="module")
def evidence():
    return made_evidence(compared(arrays(NAMES), None, ("cka", "procrustes")))


def latex_rows(path):
    lines = path.read_text().splitlines()
    return [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")]


def test_a_table_by_depth_has_the_layers_of_equal_depth(evidence, tmp_path):
    path = evidence.to_table(tmp_path / "t.tex", layout="depth", columns=["x", "y", "value"])
    head, *rows = latex_rows(path)
    assert head == ["x", "y", "value"]
    assert [row[:2] for row in rows] == [[f"a/{x}", f"b/{x}"] for x in ("in", "mid", "out")]
    values = [evidence["cka"][i, i + 3] for i in range(3)]
    np.testing.assert_allclose([float(row[2]) for row in rows], values, atol=6e-4)


def test_a_matrix_of_two_models_has_the_values_between_them(evidence, tmp_path):
    path = evidence.comparison.to_table(tmp_path / "t.tex", layout="matrix")
    rows = latex_rows(path)
    assert rows[0] == ["", "in", "mid", "out"]
    assert [row[0] for row in rows[1:4]] == ["in", "mid", "out"]
    found = np.array([row[1:] for row in rows[1:4]], dtype=float)
    np.testing.assert_allclose(found, evidence["cka"][:3, 3:], atol=6e-5)
    assert len(rows) == 8  # two measures
    whole = compared(arrays(["p", "q"]), None, ("cka",))
    assert latex_rows(whole.to_table(tmp_path / "p.tex", layout="matrix"))[0] == ["", "p", "q"]


def test_columns_are_those_named_in_their_order(evidence, tmp_path):
    path = evidence.to_table(tmp_path / "t.md", columns=["interval", "x", "y"])
    assert path.read_text().splitlines()[0] == "| 95 % interval | x | y |"
    path = evidence.to_table(tmp_path / "t.txt", layout="pairs", columns=["measure", "p"])
    assert path.read_text().split()[:2] == ["measure", "p"]


BAD = [
    ({"layout": "rows"}, "layout must be one of 'pairs', 'depth', 'matrix'; got 'rows'"),
    ({"layout": "Depth"}, "layout must be .* did you mean 'depth'"),
    ({"columns": ["valu"]}, "no column 'valu'; did you mean 'value'"),
    ({"columns": ["x", "interval of b"]}, "no column 'interval of b'; "),
    ({"columns": ["x"], "format": "csv"}, "for .txt, .md and .tex; a csv file has all"),
    ({"layout": "depth", "format": "json"}, "for .txt, .md and .tex; a json file has all"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_other_layouts_and_columns_are_refused(evidence, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        evidence.to_table(tmp_path / "t.tex", **options)
    assert not (tmp_path / "t.tex").exists()


def test_a_result_without_models_or_pairs_has_no_such_layout(tmp_path):
    with pytest.raises(ValueError, match="'depth' needs layers of two models or more"):
        compared(arrays(["p", "q", "r"])).to_table(tmp_path / "t.tex", layout="depth")
    with pytest.raises(ValueError, match="a layout is for comparisons, evidence and scores"):
        rs.scale_curve(*arrays("pq").values(), k=[1, 2]).to_table(
            tmp_path / "t.tex", layout="pairs"
        )


def test_scores_of_models_have_rows_by_pair_and_by_subject(tmp_path, capsys):
    data = arrays("mnst")
    sides = [{name: data[name] for name in names} for names in ("mn", "st")]
    scores = rs.score_models(*sides, progress=False)
    rows = latex_rows(scores.to_table(tmp_path / "t.tex", columns=["model", "mean"]))
    assert rows[0] == ["model", "mean"]
    rows = latex_rows(scores.to_table(tmp_path / "t.tex", layout="matrix"))
    models = [scores.models[i] for i in scores.order]
    assert rows[0] == ["subject", *models]
    found = np.array([row[1:] for row in rows[1:]], dtype=float)
    np.testing.assert_allclose(found, scores.values[:, scores.order], atol=6e-4)
    for name, x in data.items():
        np.save(tmp_path / f"{name}.npy", x)
    files = {name: str(tmp_path / f"{name}.npy") for name in "mnst"}
    call = ["score-models", files["s"], files["t"], "--models", files["m"]]
    chosen = ["--layout", "pairs", "--columns", "model,other model,difference"]
    assert cli.run([*call, "--models", files["n"], *chosen, "--quiet"]) == 0
    difference = scores.difference(*models).value
    assert capsys.readouterr().out.split()[-3:] == [*models, f"{difference:.3g}"]
    for options, words in (
        (["--layout", "depth"], "--layout must be 'pairs' or 'matrix'; got 'depth'"),
        (["--layout", "pairs"], "got 'pairs'; the only model is 'm'"),
    ):
        assert cli.run([*call, *options, "--quiet"]) == 2
        assert words in capsys.readouterr().err


def test_the_command_writes_the_same_tables(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, x in arrays(NAMES).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / f"{name}.npy", x)
    call = ["compare", "a", "b", "-m", "cka"]
    options = ["--layout", "depth", "--columns", "x,CKA", "-o", str(tmp_path / "t.tex")]
    assert cli.run([*call, *options]) == 0
    assert [row[0] for row in latex_rows(tmp_path / "t.tex")] == ["x", "a/in", "a/mid", "a/out"]
    assert cli.run([*call, "--layout", "deep"]) == 2
    assert "--layout must be one of" in capsys.readouterr().err
    assert cli.run([*call, "--columns", "x", "-o", str(tmp_path / "t.csv")]) == 2
    assert "--layout and --columns are for .txt, .md and .tex" in capsys.readouterr().err
