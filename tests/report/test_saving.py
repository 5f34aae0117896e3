"""What a reader saves from a page in a browser: figures, tables, and the whole result."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import resemblance as rs
from resemblance.report import write_page
from resemblance.sections.figures import Chart, Cloud, Clouds, HeatMap, Line
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Sign, Table

SVG = "{http://www.w3.org/2000/svg}"
THIRD = 1 / 3
TABLE = Table(
    "values",
    "Values",
    ("measure", "value", "95 %", 'with "quotes"'),
    (
        ("CKA", THIRD, "0.1 to 0.5", "a, b"),
        ("RSA", -1234.5678, None, "–"),
        ("RTD", None, "< 0.1", "c"),
    ),
    groups=("", "first", "first", "second"),
    signs=(Sign(0, 1, "*", "p < 0.05"),),
)
CHART = Chart(
    "lines",
    "Lines",
    "noise",
    "drift",
    (
        Line("CKA", ((0.0, 0.1), (1.0, 0.9))),
        Line("hidden", ((0.0, 0.2), (1.0, 0.3)), is_shown=False),
    ),
)
MAP = HeatMap("map", "A map", ("a", "b"), ("a", "b"), ((0.0, None), (0.5, 1.0)))
CLOUDS = Clouds(
    "clouds", "Clouds", tuple(Cloud(n, ((1.0, 0.0), (0.0, 1.0)), (0, 1)) for n in ("one", "two"))
)
RESULT = Result("toy", "full", (Section("s", "S", "", (TABLE,), (CHART, MAP, CLOUDS)),))

ASK = """<script>
const saved = [], broken = [], create = URL.createObjectURL;
let last;
addEventListener("securitypolicyviolation", event => broken.push(event.violatedDirective));
URL.createObjectURL = blob => { last = blob; return create.call(URL, blob); };
HTMLAnchorElement.prototype.click = function () { saved.push([this.download, last]); };
addEventListener("load", async () => {
  const buttons = [...document.querySelectorAll(".save button")];
  for (const [i, button] of buttons.entries()) {
    button.click();
    while (saved.length <= i) await new Promise(resolve => setTimeout(resolve, 20));
  }
  const files = {};
  for (const [name, blob] of saved)
    files[name] = blob.type === "image/png" ? blob.size : await blob.text();
  const labels = buttons.map(button => button.getAttribute("aria-label"));
  document.body.textContent = "";
  document.body.dataset.saved = JSON.stringify({ files, labels, broken });
});
</script></body>"""


@pytest.fixture(scope="module")
def saved(open_page, tmp_path_factory):
    """What the buttons of a page save where it is dark outside."""
    path = tmp_path_factory.mktemp("saving") / "page.html"
    write_page(RESULT, path)
    path.write_text(path.read_text(encoding="utf-8").replace("</body>", ASK), encoding="utf-8")
    wait = "while (!document.body.dataset.saved) await new Promise(done => setTimeout(done, 20));"
    dom = open_page(path, script=wait, scheme="dark")
    return json.loads(html.unescape(re.search(r'data-saved="([^"]*)"', dom)[1]))


def test_everything_can_be_saved_under_the_policy_of_the_page(saved):
    assert saved["broken"] == []
    assert list(saved["files"]) == [
        *("toy-s-lines.svg", "toy-s-lines.png", "toy-s-map.svg", "toy-s-map.png"),
        *("toy-s-clouds.svg", "toy-s-clouds.png", "toy-s-values.csv", "toy-result.json"),
    ]
    assert saved["labels"][0] == "Save the figure “Lines drift” as SVG"
    assert all(size > 1000 for name, size in saved["files"].items() if name.endswith(".png"))


def test_a_saved_figure_needs_no_style_sheet_and_is_light(saved):
    for name in ("lines", "map", "clouds"):
        text = saved["files"][f"toy-s-{name}.svg"]
        tree = ElementTree.fromstring(text)
        assert tree.tag == f"{SVG}svg"
        assert not [e for e in tree.iter() if "class" in e.attrib or "style" in e.attrib]
        assert "var(" not in text
        assert "rgba(" not in text
        names = [e for e in tree.iter(f"{SVG}text") if e.text in ("drift", "a", "one")]
        assert all(
            e.get("fill") in ("rgb(28, 37, 48)", "rgb(92, 104, 117)", "#1c2530") for e in names
        )
    assert 'id="hatch"' in saved["files"]["toy-s-map.svg"]  # what has no value


def test_a_saved_figure_has_the_names_of_its_parts_and_of_the_lines_that_are_shown(saved):
    lines = saved["files"]["toy-s-lines.svg"]
    assert ">CKA</text>" in lines
    assert ">hidden</text>" not in lines
    clouds = ElementTree.fromstring(saved["files"]["toy-s-clouds.svg"])
    assert [e.text for e in clouds.findall(f"{SVG}text")] == ["one", "two"]
    assert len(clouds.findall(f"{SVG}svg")) == 2


def test_a_saved_table_has_every_number_in_full(saved):
    header, *rows = csv.reader(io.StringIO(saved["files"]["toy-s-values.csv"], newline=""))
    assert header == [
        "measure",
        "first: value",
        "first: value (sign)",
        "first: 95 %",
        'second: with "quotes"',
    ]
    assert rows == [
        ["CKA", repr(THIRD), "*", "0.1 to 0.5", "a, b"],
        ["RSA", "-1234.5678", "", "", ""],
        ["RTD", "", "", "< 0.1", "c"],
    ]  # fmt: skip


def test_the_saved_result_is_the_result(saved, tmp_path: Path):
    (tmp_path / "result.json").write_text(saved["files"]["toy-result.json"], encoding="utf-8")
    assert rs.load(tmp_path / "result.json") == RESULT


def test_a_result_with_numbers_that_no_document_holds_has_a_page_all_the_same(tmp_path):
    table = Table("t", "T", ("measure", "value"), (("CKA", float("inf")),))
    write_page(Result("toy", "full", (Section("s", "S", "", (table,)),)), tmp_path / "page.html")
    assert 'id="result"' not in (tmp_path / "page.html").read_text(encoding="utf-8")
