"""Matplotlib figures: texts, numbers of marks, and settings and axes of the user that stay
unchanged."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import nullcontext

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_rgb

import resemblance as rs
from resemblance import plot
from resemblance.checks import check_figure
from resemblance.comparison import arrangements
from resemblance.inference.nulls import format_pvalue
from resemblance.plot._style import COLORBLIND_PALETTE, DASH_PATTERNS, PLOT_MARKERS, series_style
from resemblance.report.evidence_words import ALPHA
from resemblance.report.of_model_scores import model_scores_bars
from resemblance.report.svg import shorten_distinct_names
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

HOSTILE = ["a_b/$x$", "a_b/50%", "_c/<script>", "_c/\\frac{1", "_c/{x}^2"]
LAYERS = [f"{model}/{layer}" for model in ("one", "two", "three") for layer in ("in", "mid", "out")]


@pytest.fixture(autouse=True)
def settings_stay():
    """All figures are drawn without a window, and no setting changes."""
    backend = plt.get_backend()
    plt.switch_backend("agg")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")
    plt.switch_backend(backend)


@pytest.fixture(scope="module")
def layered():
    return compared(arrays(LAYERS))


@pytest.fixture(scope="module")
def evidence(layered):
    return made_evidence(layered)


@pytest.fixture(scope="module")
def rectangle():
    return compared(arrays(["a/0", "a/1"]), arrays(["b/0", "b/1", "b/2"], seed=1))


@pytest.fixture(scope="module")
def report():
    x = np.random.default_rng(0).standard_normal((60, 5)) * [3, 2, 1, 1, 0.5]
    return rs.drift(x, x + 1, progress=False, n_resamples=10)


def result(size="mini", cells=8):
    g = np.random.default_rng(0)
    merits = {"cka": 2.0, "procrustes": 1.9, "rsa": 0.0, "_mine$": -1.0}
    scores = {
        f"cell {i}": {m: v + 0.3 * g.standard_normal() for m, v in merits.items()}
        for i in range(cells)
    }
    labels = {"cka": "CKA", "procrustes": "Procrustes", "rsa": "RSA", "_mine$": "_mine$"}
    return Result("resi", size, (Section("all", "All", "", scores=scores),), labels)


def written(ax, kind="svg"):
    """What a figure is as a file."""
    file = io.BytesIO()
    with plot.style():
        ax.figure.savefig(file, format=kind)
    return file.getvalue().decode() if kind == "svg" else file.getvalue()


def names(axis, which="both"):
    kinds = ("minor", "major") if which == "both" else (which,)
    return [text.get_text() for kind in kinds for text in axis.get_ticklabels(which=kind)]


def mesh(ax):
    return next(c for c in ax.collections if isinstance(c, QuadMesh))


FIGURES = {
    "heatmap": lambda of: plot.heatmap(of["layered"], "cka"),
    "heatmap of evidence": lambda of: plot.heatmap(of["evidence"], "procrustes"),
    "rectangle": lambda of: plot.heatmap(of["rectangle"], "cka"),
    "layers": lambda of: plot.layers(of["layered"], "cka"),
    "best": lambda of: plot.layers(of["evidence"], "cka", against="two", match="best"),
    "mds": lambda of: plot.mds(of["layered"], "procrustes"),
    "tree": lambda of: plot.tree(of["layered"], "cka"),
    "intervals": lambda of: plot.intervals(of["evidence"], "cka"),
    "ranks": lambda of: plot.ranks(result()),
    "box": lambda of: plot.box(result()),
    "drift": lambda of: plot.drift(of["report"]),
    "points": lambda of: plot.points(of["report"], "threshold"),
    "scale_curve": lambda of: plot.scale_curve(
        rs.scale_curve(*np.random.default_rng(0).standard_normal((2, 60, 5)), k=[1, 5, 50])
    ),
}


# --------------------------------------------------------------------------------------------- axes


def test_axes_of_the_user_are_drawn_in_and_no_figure_is_made(layered, evidence, report):
    figure, all_axes = plt.subplots(2, 5, figsize=(20, 8))
    calls = [
        lambda ax: plot.heatmap(layered, "cka", ax=ax),
        lambda ax: plot.layers(layered, "cka", ax=ax),
        lambda ax: plot.mds(layered, "cka", ax=ax),
        lambda ax: plot.tree(layered, "cka", ax=ax),
        lambda ax: plot.intervals(evidence, "cka", ax=ax),
        lambda ax: plot.ranks(result(), ax=ax),
        lambda ax: plot.box(result(), ax=ax),
        lambda ax: plot.drift(report, ax=ax),
        lambda ax: plot.points(report, ax=ax),
    ]
    for call, ax in zip(calls, all_axes.flat):
        assert call(ax) is ax
        assert ax.has_data()
    assert plt.get_fignums() == [figure.number]
    assert all_axes[0, 1].spines["top"].get_visible()  # the style of the user's axes stays
    assert all_axes[0, 0].get_yticklabels()[0].get_fontsize() == 10
    assert all_axes[0, 3].get_ylim() == (len(layered.rows) - 0.5, -0.5)  # a row for each leaf


def test_a_new_figure_each_time_and_none_after_an_error(layered):
    current = plt.figure()
    ax = plot.heatmap(layered, "cka")
    assert ax.figure is not current
    assert not current.axes
    count = len(plt.get_fignums())
    with pytest.raises(ValueError, match="several layers"):
        plot.layers(compared(arrays(["one/a", "two/b"])), "cka")
    assert len(plt.get_fignums()) == count


def test_the_package_imports_its_figures_when_they_are_asked_for():
    assert rs.plot is plot
    code = (
        "import sys, resemblance as rs; assert 'resemblance.plot' not in sys.modules;"
        "assert rs.plot.heatmap and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="module 'resemblance' has no attribute 'plots'"):
        _ = rs.plots


# --------------------------------------------------------------------------------------------- maps


def test_a_map_has_the_range_of_the_measure_or_of_its_values(layered):
    ax = plot.heatmap(layered, "cka")
    assert mesh(ax).get_clim() == (0, 1)
    assert len(ax.texts) == 81
    assert ax.texts[0].get_text() == "1.00"  # as on the page
    stretched = plot.heatmap(layered, "cka", stretch=True, values=False)
    assert mesh(stretched).get_clim()[0] == pytest.approx(layered["cka"].min())
    assert not stretched.texts
    assert "colours span the values only" in written(stretched)


def test_a_map_takes_evidence_and_puts_lines_across_pairs_not_beyond_chance(layered, evidence):
    unsure = int((evidence.pvalue("procrustes", adjust="familywise") > ALPHA).sum())
    ax = plot.heatmap(layered, "procrustes", evidence=evidence)
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert len(lines.get_segments()) == 4 * unsure > 0


def test_a_tree_orders_the_map_and_what_has_no_value_comes_last():
    near, far, dead = arrays(["a", "c"]), arrays(["b", "d"], seed=7), {"dead": np.zeros((40, 3))}
    mixed = {k: (near | far | dead)[k] for k in ("dead", "a", "b", "c", "d")}
    ax = plot.heatmap(compared(mixed), "cka", order="tree")
    order = names(ax.yaxis, "minor")
    assert order[-1] == "dead"
    assert {frozenset(order[:2]), frozenset(order[2:4])} == {frozenset("ac"), frozenset("bd")}


def test_dissimilarities_are_drawn_in_groups_and_below_0(subtests):
    x = rs.Representation(arrays(["a"])["a"][:9], ids=[f"image{i}" for i in range(9)])
    labels = ["tool", "face", "tool"] * 3
    ax = plot.rdm(x, "euclidean", groups=labels)
    (mesh,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    order = [0, 2, 3, 5, 6, 8, 1, 4, 7]
    assert names(ax.yaxis, "minor") == [f"image{i}" for i in order]
    drawn = np.asarray(mesh.get_array()).reshape(9, 9)
    np.testing.assert_array_equal(drawn, rs.rdm(x, "euclidean")[np.ix_(order, order)])
    assert len(ax.lines) == 2  # one border along each side
    with subtests.test("below 0"):
        given = rs.from_dissimilarities(np.array([[0, -1, 2], [-1, 0, 3], [2, 3, 0.0]]))
        (mesh,) = [c for c in plot.rdm(given).collections if isinstance(c, QuadMesh)]
        assert mesh.get_clim() == pytest.approx((-1, 3))
    for options, words in (({"groups": ["a"]}, "1 groups for 9 samples"), ({"rdm": "x"}, "rdm")):
        with subtests.test(words), pytest.raises(ValueError, match=words):
            plot.rdm(x, **options)


# -------------------------------------------------------------------------------- layers, mds, tree


def test_layers_by_depth_against_one_model(layered):
    ax = plot.layers(layered, "cka", against="two")
    lines = [line for line in ax.lines if line.get_marker() not in ("", "None")]
    values = layered["cka"]
    np.testing.assert_allclose(lines[0].get_ydata(), values[[3, 4, 5], [0, 1, 2]])
    np.testing.assert_allclose(lines[1].get_ydata(), values[[3, 4, 5], [6, 7, 8]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "three", "chance"]
    assert names(ax.xaxis, "major") == ["in", "mid", "out"]


def test_a_layer_without_a_value_is_a_gap_of_its_line():
    layers = arrays(["a/0", "a/1", "a/2", "b/0", "b/1"]) | {"a/1": np.zeros((30, 5))}
    layers = {name: np.resize(array, (30, 5)) for name, array in layers.items()}
    ax = plot.layers(rs.compare(layers, measures="cka"), match="best")
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, True, False]


def test_the_best_match_of_each_layer_is_named(layered):
    ax = plot.layers(layered, "procrustes", against="three", match="best")
    values = layered["procrustes"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), values[6:, :3].min(axis=1))
    best = [LAYERS[j].split("/")[1] for j in values[6:, :3].argmin(axis=1)]
    assert [text.get_text() for text in ax.texts][:3] == best


def test_each_pair_of_models_has_its_chance_where_that_is_known(evidence, layered):
    ax = plot.layers(evidence, "cka", against="one")
    dotted = [line for line in ax.lines if line.get_linestyle() == ":" and len(line.get_xdata())]
    np.testing.assert_allclose(dotted[0].get_ydata(), evidence.chance("cka")[[0, 1, 2], [3, 4, 5]])
    colors = [line.get_color() for line in ax.lines if line.get_marker() not in ("", "None")]
    assert [line.get_color() for line in dotted] == colors
    without = plot.layers(layered, "procrustes")
    assert "chance" not in [text.get_text() for text in without.get_legend().get_texts()]


def test_of_many_pairs_of_models_the_legend_gives_the_number():
    ax = plot.layers(compared(arrays([f"{m}/{i}" for m in "abcdef" for i in "01"])), "procrustes")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["15 pairs of models"]


def test_the_layers_of_a_model_in_a_plane_are_numbered_and_other_names_written(layered):
    share = arrangements.plane_embedding(layered, "procrustes").share
    assert f"{100 * share:.0f} %" in plot.mds(layered, "procrustes").get_title(loc="left")
    mixed = plot.mds(compared(arrays(["m/0", "m/1", "x", "y"])), "cka")
    assert [text.get_text() for text in mixed.texts] == ["1", "2", "x", "y"]
    assert [text.get_text() for text in mixed.get_legend().get_texts()] == ["m", "other"]
    assert [line.get_linestyle() for line in mixed.lines] == ["-", "None"]


# ---------------------------------------------------------------------------------- rows, standings


def test_intervals_are_those_of_the_evidence_most_similar_first(evidence):
    ax = plot.intervals(evidence, "cka")
    values = evidence["cka"][np.triu_indices(9, 1)]
    drawn = np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(sorted(drawn), sorted(values))
    i, j = divmod(int(np.argmax(np.triu(evidence["cka"], 1))), 9)
    assert names(ax.yaxis, "major")[0] == f"{LAYERS[i]} – {LAYERS[j]}"
    one = plot.intervals(evidence, "procrustes", pairs=[("one/in", "two/in")])
    assert names(one.yaxis, "major") == ["one/in – two/in"]


def test_ranks_are_in_order_and_a_trial_says_so():
    ax = plot.ranks(result())
    assert names(ax.yaxis, "major")[-2:] == ["RSA", r"_mine\$"]
    assert "do not interpret these scores" in plot.ranks(result("slice")).get_title("left")


@pytest.fixture(scope="module")
def scores():
    subjects = arrays(["s1", "s2", "s3", "s4"])
    models = arrays(["good", "bad", "worse"], related=1, seed=1) | {"copy": subjects["s1"]}
    return rs.score_models(models, subjects, measure="rsa[compare=pearson]", progress=False)


@pytest.mark.parametrize("marks", ["points", "bars"])
@pytest.mark.parametrize("brackets", [None, "significant", "neighbors", [("good", "copy")]])
def test_scores_of_models_are_those_of_the_page(scores, marks, brackets):
    figure = model_scores_bars(scores, marks=marks, brackets=brackets)
    ax = scores.plot(marks=marks, brackets=brackets)
    assert [o for o in check_figure(figure, ax) if o.holds is False] == []
    assert [bar.name for bar in figure.bars] == [scores.models[i] for i in scores.order]
    assert figure.bars[0].points == tuple(scores.values[:, scores.order[0]])
    assert figure.band == (scores.ceiling[0], scores.ceiling[2])
    pvalues = scores.pairs()[np.ix_(scores.order, scores.order)]
    for first, second, text in figure.brackets:
        p = float(pvalues[first, second])
        assert text == format_pvalue(p if p >= 0.001 else float(f"{p:.1g}"))
    count = {"significant": (np.triu(pvalues, 1) <= 0.05)[np.triu_indices(4, 1)].sum(),
             "neighbors": 3, None: 0}  # fmt: skip
    assert len(figure.brackets) == (1 if isinstance(brackets, list) else count[brackets])


BAD_SCORES = [
    ({"marks": "violins"}, "marks must be 'points' or 'bars'; got 'violins'"),
    ({"marks": 3}, "marks must be 'points' or 'bars'; got 3"),
    ({"brackets": "all"}, "brackets must be 'significant' or 'neighbors'; got 'all'"),
    ({"brackets": [("good", "god")]}, "name no model 'god'; did you mean 'good'"),
    ({"brackets": [("good", "good")]}, "two different models"),
    ({"brackets": [("good", "bad")] * 16}, "at most 15 brackets; got 16; choose some"),
]


@pytest.mark.parametrize(("options", "words"), BAD_SCORES)
def test_other_marks_and_brackets_are_refused(scores, options, words):
    with pytest.raises(ValueError, match=words):
        plot.model_scores(scores, **options)


def test_widths_of_journals(scores):
    for width, inches in (("nature", 89 / 25.4), ("icml", 3.25), ("neurips", 5.5)):
        with plot.style(width=width):
            assert scores.plot(brackets="neighbors").figure.get_size_inches()[0] == inches


def test_drifts_without_a_threshold_are_named():
    x = np.random.default_rng(0).standard_normal((30, 4))
    ax = plot.drift(rs.drift(x, x + 0.1, threshold=0.1, progress=False, n_resamples=10))
    assert "not judged: " in ax.get_xlabel()
    assert "mmd" in ax.get_xlabel()


# ------------------------------------------------------------------------------------ names, errors


@pytest.mark.parametrize("kind", ["heatmap", "layers", "mds", "tree", "intervals"])
def test_hostile_names_are_shown_as_they_are(kind):
    hostile = made_evidence(compared(arrays(HOSTILE), None, ["cka"]))
    options = {"match": "best"} if kind == "layers" else {}
    page = written(hostile.plot(kind=kind, **options))
    assert "<script>" not in page
    shown = {"mds": "_c", "layers": "a_b – _c", "intervals": "a_b/$x$ – a_b/50%"}
    assert shown.get(kind, "$x$") in page


LONG = [f"encoder.layer.{i}.attention.output.dense" for i in range(12)]
FAMILIES = {
    "blocks": LONG,
    "blocks and a head": [*LONG, "pooler", "classifier.out_proj"],
    "two parts differ": [f"model.layers.{i}.mlp.experts.{j}.down_proj.weight" for i in (1, 11)
                         for j in (1, 10, 11)],
    "the end differs": [f"{'a' * 40}{i}" for i in range(12)],
    "one is the beginning of another": ["x." * 20, "x." * 21, "x." * 22],
    "no words": ["你" * 30 + c + "好" * 30 for c in "甲乙丙"],
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("longest", [8, 20])
def test_different_names_stay_different_where_they_are_cut(family, longest):
    """Found with 12 layers of a BERT: all labels of a map were one text."""
    names = FAMILIES[family]
    labels = shorten_distinct_names(names, longest)
    assert len(set(labels)) == len(names)
    assert shorten_distinct_names([*names, names[0]], longest)[-1] == labels[0]
    assert max(map(len, shorten_distinct_names(LONG[:2], longest))) <= longest


@pytest.mark.parametrize("kind", ["heatmap", "mds", "tree", "intervals"])
def test_figures_keep_the_part_in_which_names_differ(kind):
    known = rs.evidence(arrays(LONG), measures="cka", n_permutations=19, progress=False)
    pairs = {"pairs": [(LONG[0], name) for name in LONG[1:]]} if kind == "intervals" else {}
    ax = known.plot(kind=kind, **pairs)
    texts = {text.get_text() for text in ax.findobj(matplotlib.text.Text)}
    assert all(any(f"layer.{i}." in t or f".{i}…" in t for t in texts) for i in range(1, 12))


@pytest.mark.parametrize("is_styled", [False, True])
def test_the_names_of_both_models_of_a_rectangle_are_in_the_picture(is_styled):
    """Found in a saved figure: the name of one model lay left of the canvas."""
    rows, columns = ["embed_tokens", "layers.0", "layers.1"], ["wte", "h.0", "h.1", "h.2"]
    a, b = ({m: arrays(n)} for m, n in (("llama", rows), ("gpt2-medium", columns)))
    known = rs.evidence(a, b, measures="cka[estimator=debiased]", n_permutations=19, progress=False)
    with plot.style() if is_styled else nullcontext():
        figure = known.plot().figure
        figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [t for t in figure.findobj(matplotlib.text.Text) if t.get_visible()]
    boxes, cells = (
        [t.get_window_extent() for t in texts if t.get_text() in names]
        for names in (("llama", "gpt2-medium"), (*rows, *columns))
    )
    assert (len(boxes), len(cells)) == (2, 7)
    assert all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= width and b.y1 <= height for b in boxes)
    assert not any(b.overlaps(c) for b in boxes for c in cells)


def test_new_figures_have_the_width_of_the_style(layered, evidence, rectangle, report):
    of = {"layered": layered, "evidence": evidence, "rectangle": rectangle, "report": report}
    for name, draw in FIGURES.items():
        with plot.style(width=3.4):
            ax = draw(of)
        assert ax.figure.get_size_inches()[0] == pytest.approx(3.4), name
        ax.figure.canvas.draw()
        size = ax.figure.canvas.get_width_height()
        boxes = [t.get_window_extent() for t in ax.get_yticklabels() if t.get_visible()]
        assert all(box.x0 >= -1 and box.x1 <= size[0] + 1 for box in boxes), name
        plt.close(ax.figure)


def test_the_width_of_a_style_ends_with_it_and_the_ax_of_the_user_keeps_its_own(layered):
    figure, ax = plt.subplots(figsize=(4, 3))
    usual = plot.mds(layered, "cka").figure.get_size_inches()
    with plot.style(width="double"):
        plot.heatmap(layered, "cka", ax=ax)
        assert plt.subplots()[0].get_size_inches()[0] == pytest.approx(7)
    with pytest.raises(KeyError), plot.style(width="double"):
        plot.heatmap(layered, "absent")
    assert tuple(figure.get_size_inches()) == (4, 3)
    assert tuple(plot.mds(layered, "cka").figure.get_size_inches()) == tuple(usual)
    plt.close("all")


@pytest.mark.parametrize("width", ["triple", 0, -3.4, True, [3], float("nan")])
def test_other_widths_are_refused(width):
    with pytest.raises(ValueError, match=r"width must be 'single', .* or 1 to 100 inches; got"):
        plot.style(width=width)


def test_lines_can_be_told_without_colors():
    looks = [series_style(i) for i in range(len(COLORBLIND_PALETTE))]
    assert len({(seen.mark, seen.dash) for seen in looks}) == len(looks)
    assert len(set(PLOT_MARKERS)) == len(COLORBLIND_PALETTE)
    assert len(set(DASH_PATTERNS)) == 4
    grey = [np.dot(to_rgb(color), [0.2126, 0.7152, 0.0722]) for color in COLORBLIND_PALETTE]
    assert np.abs(np.diff(grey)).min() > 0.03


REFUSALS = {  # what is drawn, and the error
    "an unknown measure": (lambda of: plot.heatmap(of["layered"], "cks"), KeyError, "mean 'cka'"),
    "no measure": (lambda of: plot.mds(of["layered"]), ValueError, "name one of cka, procrustes"),
    "a number": (lambda of: plot.tree(3, "cka"), ValueError, r"plot\.tree draws .*got int"),
    "mds of two lists": (lambda of: plot.mds(of["rectangle"], "cka"), ValueError, "a rectangle"),
    "tree of two lists": (lambda of: plot.tree(of["rectangle"], "cka"), ValueError, "a rectangle"),
    "an order": (
        lambda of: plot.heatmap(of["layered"], "cka", order="size"), ValueError, "got 'size'"
    ),
    "an unknown model": (
        lambda of: plot.layers(of["layered"], "cka", against="thre"), ValueError, "mean 'three'"
    ),
    "a match": (
        lambda of: plot.layers(of["layered"], "cka", match="all"), ValueError, "'depth' or 'best'"
    ),
    "evidence of another shape": (
        lambda of: plot.heatmap(of["rectangle"], "cka", evidence=of["evidence"]),
        ValueError, r"evidence is on 9 x 9 .* comparison on 2 x 3",
    ),
    "no evidence": (
        lambda of: plot.layers(of["layered"], "cka", evidence="yes"), ValueError, "got str"
    ),
    "ranks of a comparison": (lambda of: plot.ranks(of["layered"]), ValueError, "got Comparison"),
    "boxes of a comparison": (lambda of: plot.box(of["layered"]), ValueError, "got Comparison"),
    "drift of a comparison": (lambda of: plot.drift(of["layered"]), ValueError, "got Comparison"),
    "intervals of a comparison": (
        lambda of: plot.intervals(of["layered"], "cka"), ValueError, "class Evidence; got Comp"
    ),
    "no pairs": (
        lambda of: plot.intervals(of["evidence"], "cka", pairs=[]), ValueError, "1 to 120 .* got 0"
    ),
    "no ranks": (lambda of: plot.ranks(Result("resi", "mini", ())), ValueError, "no measure has"),
    "no boxes": (lambda of: plot.box(Result("resi", "mini", ())), ValueError, "no measure has"),
    "an unknown kind": (
        lambda of: of["layered"].plot("cka", kind="heat"), ValueError, "'heat' of a Comparison"
    ),
    "a measure of a figure of all measures": (
        lambda of: Result("resi", "mini", ()).plot("cka"), ValueError, "takes no measure; leave 'c"
    ),
    "no result": (lambda of: plot.draw([1]), ValueError, "draws results; got list"),
    "a figure as axes": (
        lambda of: plot.heatmap(of["layered"], "cka", ax=plt.figure()), ValueError, "got Figure"
    ),
    "models of one layer": (
        lambda of: plot.layers(compared(arrays(["one/a", "two/b"])), "cka"),
        ValueError, r"several layers.*layers here: one: 1",
    ),
}  # fmt: skip


def test_errors_name_what_can_be_drawn(layered, evidence, rectangle, subtests):
    of = {"layered": layered, "evidence": evidence, "rectangle": rectangle}
    for name, (draw, error, message) in REFUSALS.items():
        with subtests.test(name), pytest.raises(error, match=message):
            draw(of)
