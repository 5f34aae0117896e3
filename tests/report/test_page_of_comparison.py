"""Reports: the data behind every figure and table, the page, and the tables of a terminal."""

from __future__ import annotations

import inspect
import io
import itertools
import json
import re
import sys

import numpy as np
import pytest
from factories.evidence import made_comparison
from scipy.stats import spearmanr

import resemblance as rs
from resemblance.base.formatting import format_number
from resemblance.report import colors, explain, maps, output, page, terminal, write_page
from resemblance.report.comparing import stats as report_data
from resemblance.report.comparing.figures import measure_heat_map
from resemblance.report.comparing.tables import measures_table
from resemblance.report.of_comparison import result_from_comparison
from resemblance.report.svg import place_labels
from resemblance.sections.figures import Choice, HeatMap, Option

MEASURES = ["cka", "pwcca", "procrustes", "gulp"]


def similar_arrays(names, n=30, d=6, seed=0):
    g = np.random.default_rng(seed)
    base = g.standard_normal((n, d))
    return {
        name: base @ g.standard_normal((d, d)) + 0.2 * g.standard_normal((n, d)) for name in names
    }


@pytest.fixture(scope="module")
def comparison():
    return rs.compare(
        similar_arrays(["a/x", "a/y", "b/x", "b/y", "b/z"]), measures=MEASURES, progress=False
    )


@pytest.fixture(scope="module")
def failing():
    arrays = similar_arrays(["a", "b", "c"]) | {"dead": np.ones((30, 4))}
    return rs.compare(arrays, measures=["cka", "rsm_norm_difference"], progress=False)


def made_up(values, names=None, measure="cka"):
    """A comparison with these values, as if they had been computed."""
    return made_comparison({measure: values}, names or map(str, range(len(values))), seconds=1.5)


# --------------------------------------------------------------------------------------------- data


def table_of(comparison):
    """The rows of the table of measures, by measure and column."""
    table = measures_table(comparison)
    return {row[0]: dict(zip(table.columns, row)) for row in table.rows}


def test_summary_is_over_pairs_of_different_representations_or_models(comparison):
    rows = table_of(comparison)
    between = comparison["cka"][:2, 2:]  # a/x, a/y with b/x, b/y, b/z
    spread = (between.min(), np.median(between), between.max())
    assert tuple(rows["cka"][name] for name in ("smallest", "median", "largest")) == spread
    both_orders = [comparison["pwcca"][:2, 2:], comparison["pwcca"][2:, :2].T]
    assert rows["pwcca"]["median"] == np.median(both_orders)
    values = comparison["cka"]
    plain = table_of(made_up(values, ["x", "y", "z", "v", "w"]))["cka"]  # names of no model
    upper = values[np.triu_indices(5, 1)]
    assert (plain["smallest"], plain["largest"]) == (upper.min(), upper.max())
    assert rows["procrustes"]["more similar is"] == "smaller"
    sizes = [report_data.scores_of_distinct_pairs(comparison, m).size for m in comparison.measures]
    assert sizes == [6, 12, 6, 6]


def test_summary_counts_failures_and_survives_only_failures(failing):
    assert [row["failed"] for row in table_of(failing).values()] == [3, None]
    assert measures_table(failing).signs[0].text == "of 6"
    nothing = table_of(made_up(np.full((3, 3), np.nan)))["cka"]
    names = ("smallest", "median", "largest", "most similar", "failed")
    assert [nothing[name] for name in names] == [None, None, None, "–", 3]


SCALES = [  # values, the range of the measure, the ends of the colours and what is said of them
    ([0.1, 0.9], (0, 1), False, (0, 1), ""),
    ([0.01, 0.1], (0, 1), False, (0, 1), ""),  # little similarity is drawn as little
    ([0.01, 0.1], (0, 1), True, (0.01, 0.1), "span the values"),
    ([-0.1, 0.9], (-1, 1), False, (-0.1, 1), ""),  # the negative values that occur
    ([0.1, 0.9], (-1, 1), False, (0, 1), ""),
    ([2.0, 9.0], (0, np.inf), False, (0, 9), "largest value"),
    ([2.0, 9.0], (-np.inf, np.inf), False, (0, 9), "at the values"),
    ([-2.0, 9.0], (-np.inf, np.inf), False, (-2, 9), "at the values"),
    ([0.0, 50.0], (0, 18316), False, (0, 50), "largest value"),
    ([0.0, 0.0], (0, np.inf), False, (0, 1), "largest value"),
    ([np.nan, np.nan], (0, 1), False, (0, 1), ""),
    ([0.5, 0.5], (0, 1), True, (0, 1), ""),
]


@pytest.mark.parametrize(("values", "bounds", "stretch", "limits", "note"), SCALES)
def test_the_scale_of_colors_is_the_range_of_the_measure_or_says_what_else(
    values, bounds, stretch, limits, note
):
    scale = report_data.color_scale(np.resize(values, (3, 3)), bounds, stretch=stretch)
    assert scale.limits == limits
    assert note in scale.note
    assert bool(note) == bool(scale.note)


def test_agreement_is_the_rank_correlation_of_differences(comparison):
    found = report_data.measure_agreement(comparison)
    off = ~np.eye(5, dtype=bool)
    expected = spearmanr(1 - comparison["cka"][off], comparison["procrustes"][off]).statistic
    assert found.values[0, 2] == pytest.approx(expected)
    assert np.allclose(np.diag(found.values), 1)
    assert found.labels == ("CKA", "PWCCA", "OrthProc", "GULP")


def test_agreement_needs_pairs_and_variation():
    assert report_data.measure_agreement(made_up(np.eye(3))) is None  # one measure
    few = rs.compare(similar_arrays("ab"), measures=["cka", "gulp"], progress=False)
    assert report_data.measure_agreement(few) is None
    same = {name: similar_arrays("a")["a"] for name in "abcd"}
    three = rs.compare(same, measures=["cka", "gulp", "rsa"], progress=False)
    assert np.isnan(report_data.measure_agreement(three).values).all()
    (figure,) = result_from_comparison(three)["agreement"].figures
    assert "same value" in figure.titles[0][1]


# ------------------------------------------------------------------------------------------ figures


def brightness(color):
    return color @ np.array([0.2126, 0.7152, 0.0722])


def shades(comparison, measure):
    """The colours of the map of a measure, as the style sheet has them."""
    heat = measure_heat_map(comparison, comparison.info(measure))
    ends = colors.color_limits(heat)
    tables = [colors.color_palette(colors.N_COLOR_LEVELS, opposite=o) for o in (False, True)]
    steps = [[colors.color_level(heat, value, ends) for value in row] for row in heat.values]
    return np.array([[tables[step < 0][abs(step)] for step in row] for row in steps])


@pytest.mark.parametrize("measure", ["cka", "procrustes"])
def test_dark_is_similar_whatever_the_direction(comparison, measure):
    drawn = brightness(shades(comparison, measure))
    difference = comparison.dissimilarity(measure)
    assert spearmanr(difference.ravel(), drawn.ravel()).statistic > 0.99
    assert np.diag(drawn).max() < drawn[~np.eye(5, dtype=bool)].min()


def test_a_value_below_0_changes_no_color_of_the_others():
    values = np.array([[1, 0.6, 0.1], [0.6, 1, 0.3], [0.1, 0.3, 1]])
    few = values.copy()
    few[0, 2] = few[2, 0] = -0.026
    drawn = [shades(made_up(v, measure="rsa"), "rsa") for v in (values, few)]
    same = values == few
    assert np.array_equal(drawn[0][same], drawn[1][same])
    assert drawn[1][0, 2, 0] > drawn[1][0, 2, 2]  # brown, not blue
    assert np.allclose(drawn[0][0, 0], colors.color_palette()[-1])


def test_names_depend_on_the_room():
    names = [f"model {i}/layer {j}" for i in range(10) for j in range(6)]
    roomy, tight = (maps.fit_axis_names(names, pitch, turn=False) for pitch in (16, 5.1))
    assert len(roomy.names) == 70
    assert {t.name for t in roomy.names} >= {"layer 5", "model 9"}
    assert {t.name for t in tight.names} == {
        *(f"model {i}" for i in range(10)),
        *("layer 0", "layer 2", "layer 4"),  # thinned, never gone
    }
    assert roomy.borders == tight.borders == tuple(range(6, 60, 6))
    flat = maps.fit_axis_names([n.replace("/", " ") for n in names], 5.1, turn=True)
    assert len(flat.names) == 30
    crowded = maps.fit_axis_names([str(i) for i in range(400)], 0.8, turn=True)
    assert 20 < len(crowded.names) < 100


# --------------------------------------------------------------------------------------------- page


def written(comparison, tmp_path, **options):
    return write_page(comparison, tmp_path / "page.html", **options).read_text(encoding="utf-8")


def embedded(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    )


def unpacked(values, n):
    """The matrix of which a page has the part from the diagonal up, if it is symmetric."""
    if len(values) == n * n:
        return [values[i * n : (i + 1) * n] for i in range(n)]
    upper = dict(zip(zip(*np.triu_indices(n)), values))
    return [[upper[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]


def test_values_on_the_page_are_those_of_the_comparison(comparison, tmp_path):
    text = written(comparison, tmp_path)
    data = embedded(text)
    for info in comparison.measures:
        known = data["maps"][f"section-maps-{info.spec}"]
        assert data["names"][known["rows"]] == list(comparison.rows)
        assert np.allclose(
            unpacked(known["values"], 5), comparison[info.spec], rtol=5e-4, atol=1e-9
        )
        assert info.label in text
    cells = re.findall(r'<td[^>]* data-v="([^"]+)"', text)
    between = comparison["cka"][:2, 2:]
    assert {str(between.min()), str(float(np.median(between))), str(between.max())} <= set(cells)


def test_failures_are_null_with_a_reason(failing, tmp_path):
    text = written(failing, tmp_path)
    assert "NaN" not in text.split('id="data">')[1].split("</script>")[0]
    data = embedded(text)["maps"]["section-maps-cka"]
    assert unpacked(data["values"], 4)[0][3] is None
    assert "constant" in data["titles"]["0,3"]
    assert "7 values could not be computed" in " ".join(text.split())


def test_a_large_page_stays_small(tmp_path):
    names = [f"model {i}/layer {j}" for i in range(10) for j in range(6)]
    g = np.random.default_rng(0)
    large = made_up(g.uniform(size=(60, 60)), names)
    assert len(written(large, tmp_path)) < 6_000_000 / 24  # 24 such maps make 6 MB at most


def test_a_missing_package_names_the_extra(comparison, tmp_path, monkeypatch):
    page._page_template.cache_clear()  # of the tests before
    for name in [name for name in sys.modules if name == "jinja2" or name.startswith("jinja2.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install .*\[report\]"'):
        written(comparison, tmp_path)


def test_what_a_page_paints_is_what_is_drawn():
    """The levels, hatching and numbers that the program of a page puts into an empty map."""
    values = ((1.0, -0.2, None), (0.4, 1.0, 0.61), (0.05, 0.61, 1.0))
    names = ("a", "b", "c")
    heat = HeatMap("h", "h", names, names, values, span=(-1.0, 1.0), is_diverging=True)
    heat = heat._replace(hatched=((0, 1),))
    choice = Choice("map", "Maps", ("measure",), (Option(("h",), (0,)),), (heat,))
    data, frames = maps.page_data([("map", choice)])
    painted = data["maps"]["map-0"]
    drawn = maps.heat_map_svg(heat, "map")
    steps = [painted["levels"][k : k + 2] for k in range(0, 18, 2)]
    for code, value in zip(steps, (value for row in values for value in row)):
        level = None if code == "--" else int(code, 16) - colors.N_COLOR_LEVELS
        assert level == colors.color_level(heat, value, (-1.0, 1.0))
        assert f'class="{colors.css_class(level)}"' in drawn
    assert painted["hatched"] == [1]
    assert re.findall(r'class="count[^>]*>([^<]+)<', drawn) == [x for x in painted["texts"] if x]
    words = [word for _, word in painted["ticks"]]
    assert re.findall(r'class="tick">([^<]+)<', drawn) == words
    assert len(painted["scale"]) == 2 * maps.COLOR_SCALE_STEPS
    assert all("data-lines" in frame for frame in frames.values())


# ----------------------------------------------------------------------------------------- terminal


def printed(parts):
    target = io.StringIO()
    output.print_tables(parts, target)
    return target.getvalue()


def test_a_few_representations_are_matrices_and_many_a_summary(comparison):
    text = printed(terminal.comparison_tables(comparison))
    assert "GULP  gulp  (smaller is more similar)" in text
    assert format_number(comparison["gulp"][1, 2], 4) in text
    opposite = made_up(np.where(np.eye(3, dtype=bool), 1.0, -1.0), measure="rsa")
    assert printed(terminal.comparison_tables(opposite)).count("−1") == 6
    many = printed(terminal.comparison_tables(made_up(np.eye(30))))
    assert "most similar" in many
    assert many.count("\n") < 12
    all_measures = made_comparison({m.name: np.eye(3) for m in rs.list_measures()}, "abc")
    assert "most similar" in printed(terminal.comparison_tables(all_measures))


def test_every_measure_has_a_line_with_its_claims():
    text = printed([explain.measure_table(rs.list_measures()), explain.measure_legend()])
    for m in rs.list_measures():
        assert re.search(rf" {m.name} .*{re.escape(m.label)}.*{m.family}", text)
    assert explain.invariance_letters(rs.get_measure("gulp").invariant_to) == "POSLTA"
    size_and_shape = rs.get_measure("procrustes_size_shape").invariant_to
    assert explain.invariance_letters(size_and_shape) == "PO··T·"


def test_every_measure_can_be_explained(subtests):
    for measure in rs.list_measures():
        with subtests.test(str(measure)):
            text = printed(explain.explain(measure))
            assert measure.summary.split(":")[0].split()[0] in text
            assert "\\" not in text.replace("\\cdot", "")
            assert "``" not in text
            assert ":math:" not in text
            assert measure.citation in text
            for name in measure.defaults:
                assert name in text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\frac{1}{n} \sum_i x_i^2", "1/n Σᵢ xᵢ²"),
        (r"\sqrt{\frac{a + b}{c}}", "√((a + b) / c)"),
        (r"\lVert X^\top Y \rVert_*", "‖ Xᵀ Y ‖_*"),
        (r"\operatorname{tr} e^{-t L_X}, \qquad t > 0", "tr e^(-t L_X),    t > 0"),
        (r"\unknown{x}", "unknownx"),
    ],
)
def test_formulas_become_readable(formula, text):
    assert explain.latex_to_text(formula) == text


def test_no_formula_keeps_a_command_of_latex():
    upright = {"max", "min", "argmin", "argmax", "arg", "log", "exp", "cos", "arccos", "tr", "corr"}
    for found in [*rs.list_measures(), *rs.list_statistics()]:
        for block in (inspect.getdoc(found.function) or "").split("\n\n"):
            if block.lstrip().startswith(".. math::"):
                text = explain.latex_to_text(block.split("::", 1)[1])
                for command in set(re.findall(r"\\([a-zA-Z]+)", block)) - upright:
                    shown = text if len(command) > 3 else re.findall("[a-zA-Z]+", text)
                    assert command not in shown, (found.name, text)


# ------------------------------------------------------------------------------------------ browser


def test_labels_of_near_points_cover_nothing():
    rng = np.random.default_rng(0)
    points = [*map(tuple, 200 + 6 * rng.standard_normal((9, 2))), (390.0, 60.0)]
    widths, box = [60.0] * len(points), (0.0, 0.0, 400.0, 400.0)
    places = place_labels(points, widths, 11.0, box)
    assert places[-1][0] + 60 < 390  # at its left, where there is room
    assert not places[-1][2]
    assert sum(is_led for _, _, is_led in places) > 2
    boxes = [(x, y - 5.5, x + 60, y + 5.5) for x, y, _ in places]
    boxes += [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for (a, b, c, d), (e, f, g, h) in itertools.combinations(boxes[: len(places)], 2):
        assert c < e or g < a or d < f or h < b
    crowded = place_labels([(50.0, 50.0)] * 70, [60.0] * 70, 11.0, box)
    assert crowded.count(None) > 60  # of so many, no label is led away
