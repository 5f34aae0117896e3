"""The pages on inference: their tables follow from the catalogue and from what was measured."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import inference_elsewhere as elsewhere
import pytest
from inference_tables import WITHOUT_LEFT_OUT, WITHOUT_PRODUCT, inference_rows

import resemblance as rs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_page_of_every_measure_says_how_inference_is_made_with_a_reason():
    rows = {m.name: inference_rows(m) for m in rs.list_measures()}
    expected = ["exact moments", "without each sample", "exact"]
    assert list(rows["cka"].values()) == expected
    assert rows["mutual_knn"]["intervals"] == "40 halves"
    assert rows["imd"]["p-values"].startswith("none: ")
    assert all(rs.get_measure(spec).product is None for spec in WITHOUT_PRODUCT)
    assert all(rs.get_measure(spec).leave_one_out is None for spec in WITHOUT_LEFT_OUT)
    for m in rs.list_measures():
        row = rows[m.name]
        assert (row["p-values"] == "exact moments") == bool(m.product)
        assert m.product or re.match("(orders|none): ", row["p-values"])
        assert row["intervals"] != "20 groups", f"{m.name}: groups without a reason"


def test_the_table_of_other_packages_is_what_was_measured():
    answers = json.loads(elsewhere.MEASURED.read_text())
    assert elsewhere.TABLE.read_text() == elsewhere.table_of(answers)
    packages = {row["package"] for row in answers["rows"]}
    assert packages == {"resemblance", *elsewhere.PACKAGES} == set(answers["versions"])


def test_other_packages_give_the_same_values_and_pvalues():
    """So the page says; the p-values are of 1000 random orders each."""
    rows = json.loads(elsewhere.MEASURED.read_text())["rows"]
    for row in rows:
        answer = row["answer"]
        if row["package"] == "resemblance" or row["call"] == "Dcorr().test(X, Y)":
            continue
        same = [r for r in rows if r["package"] == "resemblance" and r["data"] == row["data"]]
        ours = [r["answer"] for r in same if r["question"] == row["question"]][-1]
        assert answer["value"] == pytest.approx(ours["value"], rel=1e-6)
        for name in ("p", "low", "high"):
            if answer[name] is not None:
                assert answer[name] == pytest.approx(ours[name], abs=0.03), (row["call"], name)


def test_what_was_measured_is_what_this_library_says():
    rows = json.loads(elsewhere.MEASURED.read_text())["rows"]
    exact = [r for r in rows if re.fullmatch(r'evidence\(X, Y, measures="\S*"\)', r["call"])]
    assert len(exact) == 3
    for row in exact:
        measure = re.search(r'measures="(.*)"', row["call"])[1]
        again = elsewhere.ours(measure, elsewhere.arrays(row["data"]), elsewhere.DRAWS)
        numbers = {name: n for name, n in row["answer"].items() if n is not None}
        assert {name: getattr(again, name) for name in numbers} == pytest.approx(numbers)


def test_pages_have_the_pictures_that_are_drawn_for_them():
    pictures = importlib.import_module("make_inference_pictures").PICTURES
    pages = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    for name in pictures:
        assert f"{{image}} _static/{name}.svg\n:alt: " in pages
        assert "<svg" in (DOCS / "_static" / f"{name}.svg").read_text()
