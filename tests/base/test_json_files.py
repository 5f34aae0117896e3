"""What is read from JSON is what was promised, or an error that names the file; a page is never
made of less."""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import resemblance as rs
from resemblance.base.json_files import atomic_write, check_types, decode_record, read_document
from resemblance.report import write_page
from resemblance.report.terminal import result_tables
from resemblance.sections.claims import REPRODUCED, Claim
from resemblance.sections.figures import (
    Bar,
    Bars,
    Box,
    Boxes,
    Chart,
    Dendrogram,
    HeatMap,
    Line,
    Merge,
)
from resemblance.sections.result import Result, result_document
from resemblance.sections.sections import Section, Table

ODD = (None, True, 5, -1.5, "x", "", [], {}, [1], {"a": 1}, [[]], 1e308)
ODD += (float("nan"), float("inf"), 10**300, -(10**400), "nan")


class Inner(NamedTuple):
    name: str
    size: float | None = None


class Outer(NamedTuple):
    parts: tuple[Inner, ...]
    pair: tuple[float, str]
    by_name: Mapping[str, tuple[int, ...]]
    flag: bool
    rest: Any = None


GOOD = Outer((Inner("a", 1), Inner("b")), (1.5, "x"), {"a": (1, 2)}, True)


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"parts": (Inner(5),)}, r"parts\[0\].name cannot be int"),
        ({"parts": (Inner("a", True),)}, r"parts\[0\].size cannot be bool"),
        ({"parts": [Inner("a")]}, "parts cannot be list"),
        ({"parts": (("a", 1),)}, r"parts\[0\] cannot be tuple"),
        ({"pair": (1.0,)}, "pair cannot be tuple"),
        ({"by_name": {"a": (1, "2")}}, r"by_name\['a'\]\[1\] cannot be str"),
        ({"by_name": {1: ()}}, "by_name has a key that cannot be int"),
        ({"by_name": ()}, "by_name cannot be tuple"),
        ({"flag": 1}, "flag cannot be int"),
        ({"by_name": {"a": (2**63,)}}, r"by_name\['a'\]\[0\] cannot be so large a number"),
    ],
)
def test_what_was_not_promised_is_named(changed, where):
    with pytest.raises(ValueError, match=where):
        check_types(GOOD._replace(**changed), Outer)


@dataclass(frozen=True)
class Around:
    outer: Outer
    either: Inner | Outer | tuple[int, ...] | None = None


def test_records_come_back_from_what_json_holds():
    inner, outer = {"name": "a", "size": 1}, GOOD._asdict()
    outer |= {"parts": [inner, {"name": "b", "kind": "Inner"}], "pair": [1.5, "x"]}
    outer |= {"by_name": {"a": [1, 2]}}
    assert decode_record(Outer, outer) == GOOD
    assert decode_record(tuple[Inner, ...], [inner, ["b"]]) == (Inner("a", 1), Inner("b"))
    assert np.isnan(decode_record(Outer, outer | {"pair": ["nan", "x"]}).pair[0])
    for entry, either in [
        (inner | {"kind": "Inner"}, Inner("a", 1)),
        (outer | {"kind": "Outer"}, GOOD),
        ([1, 2], (1, 2)),
        (None, None),
    ]:
        found = decode_record(Around, {"outer": outer, "either": entry})
        assert found == Around(GOOD, either)
    for wrong, message in [
        ({"name": "a", "width": 1}, "it has an entry 'width'"),
        ({"size": 1}, "name"),
        ({"name": 5}, "name cannot be int"),
        (["a", 1.0, None], "zip"),
        ({"name": "a", "size": "1"}, "size cannot be str"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            decode_record(Inner, wrong)
    for either in (inner, inner | {"kind": "Around"}):
        with pytest.raises((ValueError, KeyError), match="kind"):
            decode_record(Around, {"outer": outer, "either": either})


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "{}", "5", "\x00", '{"a": [1, 2'])
def test_a_damaged_file_is_named(tmp_path, text):
    file = tmp_path / "study.json"
    file.write_text(text)
    message = r"study\.json is not a list that can be read \(.*\); do this"
    with pytest.raises(ValueError, match=message):
        read_document(file, lambda found: found["a"][5], "a list", "do this")
    file.write_bytes(b"\xff\xfe")
    for path in (file, tmp_path / "gone"):
        with pytest.raises(ValueError, match=f"{path.name} is not a list"):
            read_document(path, list, "a list")


def places_in(value, at=()):
    """Yield where every part of a document is."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*at, key)
            yield from places_in(value[key], (*at, key))


def damaged(document, chance):
    """Return a document in which one part is missing, there twice, or something else."""
    document = json.loads(json.dumps(document))
    every = list(places_in(document))
    high = [place for place in every if len(place) <= 4]
    *path, last = chance.choice(every if chance.random() < 0.5 else high)
    holder = document
    for key in path:
        holder = holder[key]
    if chance.random() < 0.2:
        del holder[last]
    elif isinstance(holder, list) and chance.random() < 0.1:
        holder.append(holder[last])
    else:
        holder[last] = chance.choice(ODD)
    return document


LINE = Line("CKA", ((0.0, 0.1), (1.0, 0.9)), ((0.0, 0.2), (0.8, 1.0)))
FIGURES = (
    Chart("noise", "Weight noise", "noise", "drift", (LINE,), "The line is chance.", threshold=0.5),
    Bars(
        "taus", "Correlations", "τ", (Bar("CKA", 0.5, 0.4, 0.6), Bar("RSA", -0.2)), "Sorted.", 0.3
    ),
    Boxes("boxes", "Boxes", "rank", (Box("CKA", (1.0, 2.0, 3.0), group="spectral"),)),
    HeatMap("map", "A map", ("a", "b"), ("a", "b"), ((0.0, 0.2), (0.5, 1.0))),
    Dendrogram("tree", "Tree", "height", ("a", "b"), (Merge(0, 1, 0.5),), (0, 1)),
)
ROWS = (("CKA", 8, 0.5, 1234.5, "a"), ("GULP", 9, None, None, None))
TABLE = Table("deletion", "Deletion", ("measure", "k", "p", "value", "mixed"), ROWS, "A note.")
CLAIMS = (Claim("S1", "Stability is recovered.", "ρ > 0.99", "ρ = 0.997", REPRODUCED),)
SCORES = {"a": {"cka": 0.9, "rsa": 0.5}, "b": {"cka": 0.8, "rsa": None}}
RECOVERY = Section(
    "recovery", "Recovery", "What is known.", (TABLE,), FIGURES, CLAIMS, SCORES, {"GULP": "k < n"}
)
LABELS, SECONDS = {"cka": "CKA", "rsa": "RSA"}, {"recovery": 12.34}
SAVED = Result("toy", "small", (RECOVERY,), LABELS, SECONDS, {"version": "1", "seeds": [0, 1]})


def test_a_result_that_was_tampered_with_is_refused_or_shown(tmp_path):
    document, chance, refused = result_document(SAVED), random.Random(0), 0
    file = tmp_path / "result.json"
    for _ in range(120):
        file.write_text(json.dumps(damaged(document, chance)))
        try:
            found = rs.load(file)
        except ValueError as error:
            refused += "result.json is not a saved result" in str(error)
            continue
        write_page(found, tmp_path / "page.html")
        result_tables(found, is_whole=True)
    assert 30 < refused < 120


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1" + "0" * 400, '"nan"', "2.5"])
def test_a_number_that_no_page_can_show_is_refused(tmp_path, number):
    file, mark = tmp_path / "result.json", '"this number"'
    for entry in ("score", "provenance"):
        document = result_document(SAVED)
        document["provenance"] = {"more": "this number" if entry == "provenance" else 1}
        scores = {"cell": {"cka": "this number" if entry == "score" else 1}}
        document["sections"][0]["scores"] = scores
        file.write_text(json.dumps(document).replace(mark, number))
        if number == "2.5" or (entry == "provenance" and number == '"nan"'):
            rs.load(file)
        elif entry == "score" or number in ("NaN", "1" + "0" * 400):
            with pytest.raises(ValueError, match=r"result\.json is not a saved result that can be"):
                rs.load(file)


def test_two_that_write_one_file_at_once_never_write_into_each_other(tmp_path):
    """Also two processes of one number, on machines or in containers that share a folder."""
    with atomic_write(tmp_path / "f") as first, atomic_write(tmp_path / "f") as second:
        first.write_text("a" * 9)
        second.write_text("b")
    assert (tmp_path / "f").read_text() == "a" * 9
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_a_disk_that_is_full_is_named(tmp_path):
    with (
        pytest.raises(OSError, match=r"No space left.*file\.txt"),
        atomic_write(tmp_path / "file.txt"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())
