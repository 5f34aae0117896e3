"""The pages of papers, and the tables in the documentation, are what the stored results make."""

from __future__ import annotations

import json
from dataclasses import replace

import compact
import pytest

from papers.__main__ import files_made, main
from papers.markdown import cell, decimal_table, fixed, percent, table
from papers.reproductions import NAMES, ROOT, documents, papers, store, stored
from resemblance.sections.claims import NOT_REPRODUCED, REPRODUCED, Claim
from resemblance.sections.sections import Section, Table

DOCS = ROOT / "docs"
# Made by scripts in benchmarks that measure.
PARTS = (
    "batches", "coverage", "dependent", "differences", "far", "independent", "maps",
    "not-offered", "power", "ranking", "recalls", "series", "subjects",
)  # fmt: skip
MEASURED = {f"{name}.md" for name in (
    "compact", "devices", "evidence-costs", "gpu", "how-big-large", "inference-elsewhere",
    "language-model", "layers", "own-suite", "ratios", "stream-costs", "token-stream",
    "upgrade-pair",
    *(f"validity-{part}" for part in PARTS),
)}  # fmt: skip


def test_committed_files_are_those_that_the_stored_results_make():
    files = files_made()
    assert {f"papers/{name}/README.md" for name in NAMES} < set(files)
    for name, text in files.items():
        assert (ROOT / name).read_text("utf-8") == text, name
    generated = {p.name for p in (DOCS / "_generated").iterdir()} - MEASURED
    made = {name for name in files if name.startswith("docs/")}
    assert {f"docs/_generated/{name}" for name in generated} == made


def test_the_table_of_packs_is_what_the_scores_that_ship_make():
    assert compact.TABLE.read_text() == compact.table(json.loads(compact.KEPT.read_text()))


def test_a_stored_result_says_how_it_was_made_and_has_every_claim():
    for paper in papers():
        result = stored(paper)
        assert {"resemblance", "date", "machine", "system", "libraries"} <= set(result.provenance)
        assert result.claims
        assert result.size == paper.sizes["default"]


def test_what_is_stored_is_what_a_page_is_made_of(tmp_path):
    (paper,) = papers(["shesha"])
    result = stored(paper)
    claim = Claim("X1", "a | b.", "1", "2", NOT_REPRODUCED, "other data")
    changed = replace(
        result, sections=(*result.sections, Section("more", "More", "", claims=(claim,)))
    )
    store(paper, changed, tmp_path)
    again = stored(paper, tmp_path)
    assert again.claims == (*result.claims, claim)
    page = documents(paper, again)["papers/shesha/README.md"]
    assert "| X1 | a \\| b. | 1 | 2 | **not reproduced**: other data |" in page
    assert f"{len(result.claims) + 1} claims: " in page
    assert "27 reproduced" in page


def test_a_part_of_a_paper_in_a_folder_of_ones_own_is_not_stored(tmp_path, capsys):
    (paper,) = papers(["shesha"])
    before = stored(paper)
    words = ["shesha", "--only", "chance", "--size", "small"]
    assert main([*words, "--study", str(tmp_path / "study")]) == 0
    assert "shesha: 3 claims: 3 no data." in capsys.readouterr().out  # of a trial
    assert "Random baseline (Table 10)" in (tmp_path / "study" / "index.html").read_text("utf-8")
    assert stored(paper) == before
    for wrong, remedy in ((words, "give --study FOLDER"), (["--study", "x"], "give its name")):
        with pytest.raises(SystemExit):
            main(wrong)
        assert remedy in capsys.readouterr().err


def test_papers_are_known_by_name():
    with pytest.raises(ValueError, match="no paper 'rezi'; known: resi, ding, mka, shesha"):
        papers(["rezi"])
    assert {c.verdict for p in papers() for c in stored(p).claims} >= {REPRODUCED, NOT_REPRODUCED}


def test_numbers_in_tables():
    assert table(("a", "b"), [("x", 0.12345), ("y", None)]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| x | 0.123 |",
        "| y | – |",
    ]
    assert (fixed(-0.001), fixed(-0.5), fixed("t"), fixed(None)) == ("0.00", "−0.50", "t", "–")
    assert (percent(0.456), cell("a\nb")) == ("46 %", "a b")
    numbers = Table("t", "T", ("n", "x"), ((1.0, 0.5), (None, 2.0)))
    assert decimal_table(numbers).splitlines()[2:] == ["| 1 | 0.50 |", "| – | 2.00 |"]
