"""Scores of measures on packs: their file, what damages it, and computing them again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from factories.boards import SPECS, scores_of
from factories.packs import packs_in

import resemblance as rs
from resemblance.bench.case import Score
from resemblance.bench.pinned import PackTask, pack_cases
from resemblance.bench.ranking import read_scores, write_scores
from resemblance.bench.ranking.ranking import SHIPPED, SHIPPED_ARCHITECTURES, packs_of
from resemblance.bench.ranking.scoring import (
    SCORE_DIGITS,
    TOO_SLOW_REASON,
    measure_code_hash,
    score_pack_tasks,
)
from resemblance.bench.ranking.trivial import TRIVIAL_MEASURES, TRIVIAL_SPECS
from resemblance.bench.scoring import score
from scripts import board_scores
from scripts.board_scores import TOLERANCE, check, differences, reliabilities


@pytest.fixture
def file(tmp_path):
    return write_scores(tmp_path / "scores.jsonl", scores_of())


@pytest.fixture
def tiny(tiny_board, tmp_path):
    """A copy of the scores on two tiny packs, and the packs."""
    return Path(shutil.copy(tiny_board / "scores.jsonl", tmp_path)), packs_in(tiny_board)


# ----------------------------------------------------------------------------------------- the file


def test_the_code_of_a_measure_is_its_function_and_not_its_file():
    assert measure_code_hash(rs.pwcca) != measure_code_hash(rs.svcca)


def test_scores_are_read_as_they_were_written(tmp_path):
    full = [
        s._replace(
            environment=dict(sorted(s.environment.items())),
            cells=(
                s.cells[0]._replace(parts=(0.25, None), is_incomplete=True, reliability=0.125),
                s.cells[1]._replace(value=None, reason="it has \u2028 and \x85, too"),
                *s.cells[2:],
            ),
        )
        for s in scores_of()
    ]
    file = write_scores(tmp_path / "scores.jsonl", reversed(full))
    assert set(map(repr, read_scores(file))) == set(map(repr, full))
    assert [json.loads(line)["measure"]["spec"] for line in file.read_text().split("\n")[3:-1]] == (
        sorted(SPECS)
    )


def test_the_line_of_a_measure_is_replaced(file):
    before = file.read_text().splitlines()
    other = [s for s in scores_of(seed=1) if s.measure.spec == "jaccard"]
    write_scores(file, other)
    changed = [a for a, b in zip(before, file.read_text().splitlines(), strict=True) if a != b]
    assert len(changed) == 1
    assert [s for s in read_scores(file) if s.measure.spec == "jaccard"] == sorted(other)
    write_scores(file, [other[0]._replace(code="0" * 64)])  # scores of other code are not kept
    assert len([s for s in read_scores(file) if s.measure.spec == "jaccard"]) == 1


def test_what_is_known_of_cells_stays_when_scores_are_added(file):
    cells = [s.cells[0]._replace(reliability=0.125) for s in scores_of()]
    known = [s._replace(cells=(c, *s.cells[1:])) for s, c in zip(scores_of(), cells)]
    write_scores(file, known)
    write_scores(file, [s for s in scores_of(seed=1) if s.measure.spec == "cka"])
    assert {s.cells[0].reliability for s in read_scores(file)} == {0.125}
    assert {s.cells[1].reliability for s in read_scores(file)} == {None}


def test_scores_on_another_pack_of_a_name_are_not_added(file):
    other = scores_of(seed=1)[0]._replace(manifest="0" * 64)
    before = file.read_text()
    with pytest.raises(ValueError, match=r"another pack resi-tiny@1 \(manifest .* give a new file"):
        write_scores(file, [other])
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"seconds": 1.0', '"seconds": "x"', "seconds cannot be str"),
        ('"seconds": 1.0', '"seconds": 1e999', "seconds is not a finite number"),
        ('"code": ', '"cod": ', "no entry 'code'"),
        ('"version": ', '"version": 0.5, "x": ', "it has an entry 'x'"),
        ('"values": [', '"values": [0.5, ', "argument"),
        ('"values": [', '"values": ["x", ', "value"),
        ('"values": [', '"values": [["x", [], false, ""], ', "value cannot be str"),
        ('"scores": {"manifolds-tiny@1"', '"scores": {"other-tiny@1"', "'other-tiny@1'"),
        ('"spec": "cka"', '"spec": "jaccard"', "an earlier line has scores of jaccard"),
        ('"without": [[', '"without": [["x"], [', ""),
        ('{"measure"', '["measure"', ""),
        ('"cells": [[', '"cells": [[[', ""),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_the_line(file, before, after, problem):
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    with pytest.raises(ValueError, match=r"line \d of .*scores.jsonl has no scores") as error:
        read_scores(file)
    assert problem in str(error.value)


def test_a_file_without_measures_has_no_scores(file):
    file.write_text("\n".join(file.read_text().split("\n")[:3]))
    with pytest.raises(ValueError, match="holds no scores of measures"):
        read_scores(file)


# ------------------------------------------------------------------------------ scores in the cells


def test_a_score_says_that_comparisons_are_missing(tiny):
    """Unless the measure has no score then."""
    pack, cka = tiny[1][1], rs.get_measure("cka")
    cases = pack_cases(pack)
    lenient = [case._replace(rule=case.rule._replace(is_complete=False)) for case in cases]
    rows = score(cases, [cka])
    failing = [row._replace(failed=3) for row in rows]
    runs = ((cases, failing, False), (lenient, rows, False), (lenient, failing, True))
    for of, some, expected in runs:
        assert {c.is_incomplete for c in score_pack_tasks(pack, of, some)} == {expected}


def test_a_reason_is_that_of_the_cell():
    pinned = [PackTask("canary", f"net/{kind}") for kind in ("rounding", "noise", "adapters")]
    reasons = {"rounding": "the SVD failed", "noise": "the same difference"}
    row = Score("canary", ("net", "else"), "cka", "CKA", float("nan"))
    rows = [row._replace(cell=("net", kind), reason=why) for kind, why in reasons.items()]
    facts = {"cells": list(map(list, pinned))}
    pack = SimpleNamespace(manifest=SimpleNamespace(identity="tiny@1", facts=facts))
    scored = score_pack_tasks(pack, [], [*rows, row])
    assert [cell.reason for cell in scored] == [*reasons.values(), TOO_SLOW_REASON]
    with pytest.raises(ValueError, match="tiny@1 has no task"):
        score_pack_tasks(pack, [], [*rows, row._replace(value=0.5)])


# ----------------------------------------------------------------------------- computing them again


def test_scores_within_the_tolerance_are_the_same(tiny):
    file, packs = tiny
    scores = read_scores(file)
    values = [c.value for s in scores for c in s.cells if c.value is not None]
    assert values == [round(value, SCORE_DIGITS) for value in values]
    assert any(value != round(value, 11) for value in values)
    near = [c._replace(value=c.value and c.value + 1e-8) for c in scores[0].cells]
    write_scores(file, [scores[0]._replace(cells=tuple(near))])
    measures = [rs.get_measure(scores[0].measure.spec)]
    assert check(packs, measures, file, 1) == []
    assert len(check(packs, measures, file, 1, tolerance=1e-9)) == len(near)


def test_every_difference_is_found(subtests):
    (stored,) = scores_of(suites=["resi"])[:1]
    cell = stored.cells[0]._replace(value=0.5, parts=(0.25, None))
    stored = stored._replace(cells=(cell, *stored.cells[1:]))
    where = f"{cell.test}, {cell.cell}"
    assert not list(differences(stored, stored, 0.0))
    for changes, row in (
        ({"value": 0.6}, (where, "0.5", "0.6")),
        ({"value": None, "reason": "none"}, (where, "0.5", "no score")),
        ({"parts": (0.5, None)}, (f"{where}, part 1", "0.25", "0.5")),
        ({"parts": (0.25, 1.0)}, (f"{where}, part 2", "no score", "1")),
        ({"is_incomplete": True}, (where, "complete", "incomplete")),
        ({"cell": "another"}, ("cells", f"{cell[0]} {cell[1]} one 2", f"{cell[0]} another one 2")),
        ({"models": "two"}, ("cells", f"{cell[0]} {cell[1]} one 2", f"{cell[0]} {cell[1]} two 2")),
        ({"parts": ()}, ("cells", f"{cell[0]} {cell[1]} one 2", f"{cell[0]} {cell[1]} one 0")),
    ):
        again = stored._replace(cells=(cell._replace(**changes), *stored.cells[1:]))
        for one, other, expected in (
            (stored, again, row), (again, stored, (row[0], row[2], row[1]))
        ):  # fmt: skip
            with subtests.test(changes):
                assert [*differences(one, other, TOLERANCE)] == [expected]
    for changes, what in (
        ({"manifest": "0" * 64}, "manifest"),
        ({"measure": stored.measure._replace(metric=True)}, "metric"),
        ({"cells": stored.cells[1:]}, "cells"),
    ):
        with subtests.test(what):
            assert [w for w, *_ in differences(stored, stored._replace(**changes), 0.0)] == [what]


def test_the_script_prints_differences_and_writes_nothing(tiny, monkeypatch, capsys):
    file, packs = tiny
    monkeypatch.setattr(board_scores, "packs_of", lambda name: packs)
    words = ["--check", "--file", str(file), "--jobs", "1", "cka"]
    assert board_scores.main(words) == 0
    assert "1 measure on 2 packs: no score differs by more than 1e-06" in capsys.readouterr().out
    scores = next(s for s in read_scores(file) if s.measure.spec == "cka")
    cells = tuple(c._replace(value=-1.0, reason="") for c in scores.cells)
    before = write_scores(file, [scores._replace(cells=cells)]).read_text()
    assert board_scores.main(words) == 1
    out = capsys.readouterr().out
    assert out.count(scores.pack) == len(cells)
    assert board_scores.main([*words[:-1], "mean_cca"]) == 1
    assert "all scores" in capsys.readouterr().out
    assert file.read_text() == before


def test_the_script_ends_well_only_without_the_pack_of_architectures(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tmp_path))
    words = ["--series", "architectures", "cka"]
    assert board_scores.main(words) == 0
    assert "nothing computed: " in capsys.readouterr().out
    for more in (["--check"], ["--packs", "bad.tar.xz"]):
        with pytest.raises(ValueError, match=r"build the pack|bad\.tar\.xz"):
            board_scores.main([*words, *more])


def test_the_script_computes_what_the_file_lacks(tiny, monkeypatch, capsys):
    file, packs = tiny
    monkeypatch.setattr(board_scores, "packs_of", lambda name: packs)
    words = ["--file", str(file), "--jobs", "1", "cka", "mean_cca"]
    scores = read_scores(file)
    cka = next(s for s in scores if s.measure.spec == "cka")
    write_scores(file, [cka._replace(code="0" * 64)])  # which drops the other scores of CKA
    assert board_scores.main(words) == 0
    assert "4 scores of measures on packs to compute" in capsys.readouterr().out
    again = {(s.measure.spec, s.pack): s.cells for s in read_scores(file)}
    assert {spec for spec, _ in again} == {s.measure.spec for s in scores} | {"mean_cca"}
    assert [again["cka", s.pack] for s in scores if s.measure.spec == "cka"] == [
        tuple(c._replace(reliability=r.reliability) for c, r in zip(s.cells, again["cka", s.pack]))
        for s in scores
        if s.measure.spec == "cka"
    ]
    assert board_scores.main(words) == 0
    assert "0 scores of measures on packs to compute" in capsys.readouterr().out


# ------------------------------------------------------------------------ the scores of the library


def test_the_scores_that_ship_are_what_is_computed():
    """Recompute a measure on all packs, and a measure with many equal values on the packs of the
    stability suite, which have several draws."""
    packs = packs_of()
    assert check(packs, [rs.cka], SHIPPED, 1, tolerance=1e-9) == []
    stability = [p for p in packs if p.manifest.suite == "stability"]
    assert check(stability, [rs.cycle_knn], SHIPPED, 1) == []


def test_the_scores_that_ship_are_of_the_measures_as_they_are():
    known = {
        (s.pack, s.measure.spec, s.measure.version)
        for s in read_scores(SHIPPED)
        if s.measure.spec not in TRIVIAL_SPECS
    }
    packs = [pack.manifest.identity for pack in packs_of()]
    assert known == {(p, m.spec, m.version) for p in packs for m in rs.preset("leaderboard")}
    versions = {(m.spec, m.version) for m in (*rs.preset("leaderboard"), *TRIVIAL_MEASURES)}
    assert {s.measure[:4:3] for s in read_scores(SHIPPED_ARCHITECTURES)} <= versions


def test_reliabilities_are_those_of_the_inputs_of_the_packs():
    cells = {s.pack: {c.cell: c.reliability for c in s.cells} for s in read_scores(SHIPPED)}
    for pack in packs_of():
        known = {c: r for c, r in cells[pack.manifest.identity].items() if r is not None}
        assert known == pytest.approx(reliabilities(pack), abs=1e-6)
