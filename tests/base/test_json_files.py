"""What is read from JSON is what was promised, or an error that names the file; a page is never
made of less."""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_page_of_resi import models
from test_results import FINDINGS

import resemblance as rs
from resemblance.base.json_files import atomic_write, check_types, decode_record, read_document
from resemblance.bench import manifolds
from resemblance.bench.resi import evaluate
from resemblance.report import write_page
from resemblance.report.terminal import result_tables
from resemblance.sections.result import result_document

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


def test_what_was_promised_passes():
    check_types(GOOD, Outer)
    check_types(GOOD._replace(rest=object()), Outer)


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"parts": (Inner(5),)}, r"parts\[0\].name cannot be int"),
        ({"parts": (Inner("a", True),)}, r"parts\[0\].size cannot be bool"),
        ({"parts": [Inner("a")]}, "parts cannot be list"),
        ({"parts": (("a", 1),)}, r"parts\[0\] cannot be tuple"),
        ({"pair": (1.0,)}, "pair cannot be tuple"),
        ({"by_name": {"a": (1, "2")}}, r"by_name\['a'\]\[1\] cannot be str"),
        ({"by_name": {1: ()}}, "by_name key cannot be int"),
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
    with pytest.raises(
        ValueError, match=r"study\.json is not a list that can be read \(.*\); do this"
    ):
        read_document(file, lambda found: found["a"][5], "a list", "do this")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"study\.json is not a list"):
        read_document(file, list, "a list")
    with pytest.raises(ValueError, match=r"gone is not a list"):
        read_document(tmp_path / "gone", list, "a list")


def places_in(value, at=()):
    """Yield where every part of a document is."""
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield (*at, key)
        yield from places_in(part, (*at, key))


def damaged(document, chance):
    """Return a document in which one part is missing, there twice, or something else."""
    document = json.loads(json.dumps(document))
    every = list(places_in(document))
    *path, last = chance.choice(
        every if chance.random() < 0.5 else [p for p in every if len(p) <= 4]
    )
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


def shown(result, page):
    write_page(result, page)
    return result_tables(result, is_whole=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One result of each kind."""
    folder = tmp_path_factory.mktemp("saved")
    settings = [("normal", 0.0, 4), ("labels", 0.5, 2), ("labels", 1.0, 2)]
    subjects = models("graphs", "sage", "node", settings, dead=("normal", 1))
    evaluate(subjects, measures=["cka", "procrustes"]).save(folder / "resi.json")
    FINDINGS.save(folder / "findings.json")
    result = manifolds.run(measures=["cka", "mka"], size="small")
    replace(result, sections=result.sections[:3]).save(folder / "manifolds.json")
    return folder


@pytest.mark.parametrize(
    ("name", "load", "show", "count"),
    [
        ("resi", rs.load, shown, 60),
        ("findings", rs.load, shown, 150),
        ("manifolds", rs.load, shown, 40),
    ],
)
def test_a_result_that_was_tampered_with_is_refused_or_shown(
    saved, tmp_path, name, load, show, count
):
    document = json.loads((saved / f"{name}.json").read_text())
    chance, refused = random.Random(0), 0
    file = tmp_path / "result.json"
    for _ in range(count):
        file.write_text(json.dumps(damaged(document, chance)))
        try:
            found = load(file)
        except ValueError:
            refused += 1
            with pytest.raises(
                ValueError, match=rf"{file.name} is not a saved result .*can be read"
            ):
                load(file)
        else:
            show(found, tmp_path / "page.html")
    assert 0 < refused < count


@pytest.mark.parametrize(
    ("entry", "number"),
    [
        ("score", "NaN"),
        ("score", "-Infinity"),
        ("score", "1e999"),
        ("score", "1" + "0" * 400),
        ("score", '"nan"'),
        ("provenance", "NaN"),
        ("provenance", "1" + "0" * 400),
    ],
)
def test_a_number_that_no_page_can_show_is_refused(tmp_path, entry, number):
    document = result_document(FINDINGS)
    document["provenance"] = {"more": "this number" if entry == "provenance" else 1}
    document["sections"][0]["scores"] = {"cell": {"cka": "this number" if entry == "score" else 1}}
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document).replace('"this number"', number))
    with pytest.raises(ValueError, match=r"result\.json is not a saved result that can be read \("):
        rs.load(file)
    file.write_text(json.dumps(document).replace('"this number"', "2.5"))
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
