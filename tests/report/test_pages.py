"""What holds for the page of every kind of result: it loads nothing, names are text, equal results
are equal pages, a phone shows it, and the pointer reads every figure; what a page leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence
from factories.figures import CHART, FIGURES, LINES

import resemblance as rs
from resemblance.report import write_page
from resemblance.report.chapters import has_values
from resemblance.report.page import format_setting
from resemblance.sections.claims import NOT_REPRODUCED, Claim
from resemblance.sections.figures import Bar, Bars
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Sign, Table

MARKS = {  # of each kind of figure: what the pointer is at
    "chart": "svg .m:not(.off) .marks",
    "bars": "svg .dot",
    "boxes": "svg .point",
    "strips": "svg .dot",
    "map": "svg .cells",
    "clouds": "svg",
    "tree": "svg .branch path",
    "diagram": "svg .branch path",
    "switch": ".view:not([hidden]) :is(.marks, .branch path)",
    "choice": ".maps .cells",
}
DISTINCT = tuple({figure.name: figure for figure in FIGURES.values()}.values())
NAMES = ("a/1", "a/2", "b/1", "b/2")


HOSTILE = (
    "<script>alert(1)</script>/1",
    "a $x^2$ & b/2",
    "naïve 日本語/]]> --> {{ x }}",
    "x\n" * 90 + "/4",
)
Made = Callable[[Sequence[str]], Any]


def every_figure(names: Sequence[str]) -> Result:
    rows = tuple((name, 1.0) for name in names)
    bad, claim = names[0], Claim(*names, NOT_REPRODUCED, names[0])
    tables = (Table("t", bad, (bad, names[1]), rows, names[2]),)
    figures = (*DISTINCT, Bars("named", bad, bad, tuple(Bar(name, 1.0) for name in names), bad))
    section = Section("all", bad, bad, tables, figures, (claim,), {bad: {bad: 1.0}}, {bad: bad})
    return Result("toy", "full", (section,), {bad: bad}, {bad: 1.0}, {bad: bad}, title=bad)


def comparison(names: Sequence[str]) -> Any:
    return rs.compare(arrays(names), measures=["cka", "gulp", "rsa"], progress=False)


def pair(names: Sequence[str]) -> Any:
    return made_evidence(compared(arrays(names[:2])))


def evidence(names: Sequence[str]) -> Any:
    return made_evidence(compared(arrays(names)))


def drift(names: Sequence[str]) -> Any:
    g = np.random.default_rng(0)
    x = rs.Representation(g.normal(size=(60, 4)), ids=[f"{names[0]}{i}" for i in range(60)])
    changed = x.array + 0.3 * g.normal(size=x.shape)
    return rs.drift(x, changed, labels=np.repeat(names[:3], 20), n_resamples=10, progress=False)


def upgrade(names: Sequence[str]) -> Any:
    g = np.random.default_rng(0)
    old, queries = g.normal(size=(200, 6)), g.normal(size=(80, 6))
    turn = np.linalg.qr(g.normal(size=(6, 6)))[0]
    groups = np.repeat(names, 20)
    return rs.upgrade_index(old, old @ turn, queries, queries @ turn, groups=groups, progress=False)


KINDS = [every_figure, comparison, pair, evidence, drift, upgrade]
of_every_kind = pytest.mark.parametrize("made", KINDS, ids=lambda f: f.__name__)


@of_every_kind
def test_a_page_loads_nothing_and_names_are_text(made: Made, tmp_path: Path) -> None:
    result = made(HOSTILE)
    page = write_page(result, tmp_path / "page.html", introduction=HOSTILE[0])
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script") <= 3
    assert "<script>alert" not in text
    own, _, rest = text.partition('<pre id="bibtex"')
    own += rest.partition("</pre>")[2]
    own = re.sub(r'<a href="https://[^"]+" rel="noreferrer">', "", own)  # for a reader to follow
    assert not re.search(r"https?:|//cdn|@import|<link|<iframe|<object|<embed|<base|\ssrc=", own)
    assert "default-src 'none'" in own
    ids = re.findall(r'\sid="([^"]+)"', own.partition("<script")[0])
    assert len(ids) == len(set(ids))
    again = write_page(result, tmp_path / "again.html", introduction=HOSTILE[0])
    assert again.read_bytes() == page.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.html", "page.html"]


@of_every_kind
def test_a_phone_shows_the_page_and_the_pointer_reads_every_figure(
    made: Made, tmp_path: Path, look: Any
) -> None:
    path = write_page(made(NAMES), tmp_path / "page.html")
    text = path.read_text(encoding="utf-8").replace("<details", "<details open")
    path.write_text(text, encoding="utf-8")
    places = re.findall(r'<figure class="(\w+)[^"]*" id="([^"]+)"', text)
    marks = [f"[id='{place}'] {MARKS[kind]}" for kind, place in places]
    seen = look(path, marks, width=390)
    assert [m for m, said in zip(marks, seen.said) if not _is_read(said)] == []
    assert (bool(places), seen.hidden) == (made is not pair, [])
    assert seen.wide <= 390


def _is_read(said: str) -> bool:
    return bool(said) and not said.startswith("nothing is ")


# --------------------------------------------------------------------- what has nothing is left out


def test_names_alone_and_signs_are_values():
    assert has_values(Table("t", "T", ("name",), (("CKA",),)))
    rows = (("CKA", None),)
    assert not has_values(Table("t", "T", ("name", "a"), rows))
    assert has_values(Table("t", "T", ("name", "a"), rows, signs=(Sign(0, 1, "†", "too few"),)))


def test_settings_without_a_value_are_left_out():
    settings = {"x": {"file": None}, "models": [None, "a", {"b": None}], "seed": 0}
    assert format_setting(settings) == "models a, seed 0"


def test_a_legend_has_several_entries(tmp_path):
    for lines, count in ((LINES[:1], 0), (LINES, 1)):
        section = Section("s", "S", "", figures=(CHART._replace(lines=lines),))
        path = write_page(Result("toy", "full", (section,)), tmp_path / "page.html")
        assert path.read_text(encoding="utf-8").count('<div class="legend"') == count
