"""Several suites together: their answers, their papers' claims, trials, and what is refused."""

from __future__ import annotations

import pytest
from factories.output import assert_fits

from resemblance import cli
from resemblance.bench import combine
from resemblance.sections.claims import NO_DATA, NOT_REPRODUCED, Claim
from resemblance.sections.result import Result
from resemblance.sections.sections import RankRule, Section

LABELS = {"cka": "CKA", "rsa": "RSA", "mine": "Mine"}
SCORES = {"cka": 0.5, "rsa": 0.9, "mine": 0.2}
CLAIM = Claim("S1", "it holds", "1", "2", NOT_REPRODUCED)
TESTS = {"resi": "layers", "sensitivity": "deletion", "manifolds": "rings", "stability": "spectral"}


def study(folder, suite, scores=SCORES, labels=LABELS, size="default"):
    """A folder with the result of a suite: one task on each of two networks, with four seeds."""
    folder.mkdir()
    test = TESTS[suite]
    wobble = {m: 0.01 * (i + 1) for i, m in enumerate(scores)}
    cells = {f"{test}/{network}": scores for network in ("one", "two")}
    rules = {
        name: RankRule(
            test=test,
            models=name.partition("/")[2],
            without={
                m: {f"{s}": None if v is None else v + wobble[m] * (-1) ** s for s in range(4)}
                for m, v in scores.items()
            },
        )
        for name in cells
    }
    part = Section("part", "Part", "about", scores=cells, rules=rules, claims=(CLAIM,))
    Result(suite, size, (part,), labels).save(folder / "result.json")
    return folder


def table(findings, section, name):
    (found,) = [t for t in findings[section].tables if t.name == name]
    return found


def test_two_suites_answer_their_questions(tmp_path):
    found = combine(*(study(tmp_path / s, s) for s in ("resi", "sensitivity")))
    assert [s.name for s in found.sections] == ["answers", "resi", "sensitivity"]
    rows = table(found, "answers", "questions").rows
    assert [row[0] for row in rows] == [
        "how far apart layers are (2 tasks, Spearman)",
        "what deleted components cost (2 tasks, Spearman)",
    ]
    assert [row[1] for row in rows] == ["RSA 0.90"] * 2
    assert [row[3][:9] for row in rows] == ["RSA +0.40"] * 2
    assert [row[4][:10] for row in rows] == ["Mine −0.30"] * 2
    measures = table(found, "answers", "measures")
    assert measures.columns == ("measure", "layers", "deletion", "largest shortfall")
    assert measures.rows[0] == ("RSA", "0.90*+", "0.90*+", "0.00")
    assert found.summary().startswith("To know how far apart layers are: RSA is the best measure.")
    assert found.facts["studies"].startswith("resi, default")
    scores = table(found, "resi", "scores")
    assert scores.rows[0] == ("CKA", 0.5)
    assert found["resi"].claims == (CLAIM,)
    baseline = combine(tmp_path / "resi", tmp_path / "sensitivity", baseline="rsa")
    assert "surely worse than RSA" in table(baseline, "answers", "questions").columns


def test_a_trial_is_left_out_and_named(tmp_path):
    one, third = (study(tmp_path / s, s) for s in ("stability", "manifolds"))
    trial = study(tmp_path / "trial", "sensitivity", size="small")
    found = combine(one, trial, third)
    assert found.caveats == ("Left out: sensitivity, small: for trying out, which is a trial.",)
    assert [s.name for s in found.sections] == ["answers", "stability", "manifolds"]
    assert not found.is_trial


def test_with_fewer_than_two_others_the_whole_result_is_a_trial(tmp_path):
    one = study(tmp_path / "one", "stability")
    found = combine(one, study(tmp_path / "trial", "sensitivity", size="small"))
    assert found.is_trial
    assert found.summary().startswith("Trial run: do not interpret these scores.")
    assert [s.name for s in found.sections] == ["stability", "sensitivity"]
    assert {c.verdict for c in found.claims} == {NO_DATA}


def test_mistakes_are_named(tmp_path):
    one = study(tmp_path / "one", "resi")
    with pytest.raises(ValueError, match="at least two suites"):
        combine(one)
    with pytest.raises(ValueError, match="one of each suite"):
        combine(one, one)
    with pytest.raises(ValueError, match="has no results yet"):
        combine(one, tmp_path / "nothing")
    with pytest.raises(ValueError, match="the baseline 'rssa' has no scores; did you mean 'rsa'"):
        combine(one, study(tmp_path / "other", "sensitivity"), baseline="rssa")


def test_the_tables_fit_the_terminal_and_have_no_none(tmp_path, capsys, monkeypatch):
    labels = {f"measure_{i}": f"A measure {i}" for i in range(9)}
    scores = {m: float(3 * i % 11) / 11 for i, m in enumerate(labels)}
    suites = ("stability", "sensitivity")
    folders = [str(study(tmp_path / s, s, scores, labels)) for s in suites]
    monkeypatch.chdir(tmp_path)
    shown = assert_fits(lambda: cli.run(["bench", "combine", *folders, "--html", "j.html"]), capsys)
    assert "None" not in shown
