"""What notebooks show: pictures that need nothing else, in the colours of the notebook."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_comparison, made_evidence

import resemblance as rs
from resemblance.plot._style import COLORBLIND_PALETTE
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

HOSTILE = ["<script>alert(1)</script>", "b\"&'", "c/</svg>"]


def drawings(page):
    """The SVG elements of a page, each well formed by itself."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def result(count=14, size="mini"):
    scores = {
        f"cell {i}": {f"measure {k:02d}": k + (i * k) % 5 for k in range(count)} for i in range(8)
    }
    return Result("resi", size, (Section("all", "All", "", scores=scores),))


def test_at_most_four_maps_are_shown_and_the_rest_is_named():
    measures = ["cka", "rsa", "gulp", "procrustes", "svcca", "pwcca"]
    page = compared(arrays(["a", "b"]), None, measures)._repr_html_()
    assert len(drawings(page)) == 4
    assert ".plot(&#x27;svcca&#x27;) draws the map of a measure; 2 not here." in page


def test_what_a_notebook_keeps_is_small():
    names = [f"{m}/layer {i}" for m in "ab" for i in range(25)]
    fifty = made_comparison({"cka": np.eye(50)}, names)
    page = fifty._repr_html_()
    assert len(page) < 60_000
    (svg,) = drawings(page)
    (image,) = svg.iter("image")
    assert (image.get("width"), image.get("height")) == ("50", "50")
    many = made_comparison({"rsa": np.eye(65)}, map(str, range(65)))
    assert not drawings(many._repr_html_())
    assert "1 not here" in many._repr_html_()


def test_pictures_need_no_style_sheet():
    """What is filled or drawn says so itself, and the pointer reads the cells of evidence."""
    x = np.random.default_rng(0).standard_normal((40, 4))
    things = (made_evidence(compared(arrays(["a", "b", "c"]), None)), result(), rs.drift(x, x + 1))
    for thing in things:
        page = thing._repr_html_()
        assert "class=" not in page
        for svg in drawings(page):
            assert {path.get("fill", "none") for path in svg.iter("circle")} <= {
                *COLORBLIND_PALETTE
            }
            assert all(rect.get("fill") for rect in svg.iter("rect"))
    first = drawings(things[0]._repr_html_())[0]
    assert len(list(first.iter("title"))) == 9


@pytest.mark.parametrize("side", [1, 21])
def test_names_are_escaped(side):
    names = HOSTILE + [f"x{i}" for i in range(side)]
    comparison = compared(arrays(names, d=2), None, ["cka"])
    for shown in (comparison, made_evidence(comparison)):
        page = shown._repr_html_()
        assert "<script>" not in page
        assert drawings(page) or side == 1


def test_a_result_shows_its_headline_and_the_first_ten_ranks():
    page = result()._repr_html_()
    assert "measure 13 has the best mean rank" in page
    (svg,) = drawings(page)
    assert len(list(svg.iter("circle"))) == 10
    assert "4 more: .plot() draws all." in page
    assert "more:" not in result(3)._repr_html_()
    assert not drawings(Result("resi", "mini", ())._repr_html_())
    assert "do not interpret these scores" in result(size="slice")._repr_html_()


def test_a_report_of_drift_shows_its_drifts_on_one_axis():
    x = np.random.default_rng(0).standard_normal((40, 4))
    report = rs.drift(x, x + 1, progress=False, n_resamples=10)
    (svg,) = drawings(report._repr_html_())
    judged = [d for d in report.drifts if d.value is not None and d.threshold]
    assert len(list(svg.iter("circle"))) == len(judged)
    assert "<td style='text-align:left'>coordinates</td>" in report.drifts[8]._repr_html_()


def test_notebooks_need_no_other_package():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'jinja2']));"
        "import numpy, resemblance as rs; x = numpy.eye(5);"
        "c = rs.compare({'a': x, 'b': x[::-1]}, measures='cka', progress=False);"
        "assert '<svg' in c._repr_html_()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
