"""What the page of a comparison leads with: sentences that the numbers carry, and first figures."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_comparison, made_evidence

import resemblance as rs
from resemblance.report import write_page
from resemblance.report.comparing.figures import measure_order
from resemblance.report.comparing.finding import summary_sentences
from resemblance.report.comparing.stats import color_scale, page_context
from resemblance.report.comparing.tables import models_facts
from resemblance.report.diagrams import describe_tree
from resemblance.report.of_comparison import result_from_comparison
from resemblance.sections.figures import Chart, Dendrogram, Line, Merge
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

NAMES = tuple(f"{model}/{layer}" for model in "AB" for layer in ("one", "two", "three"))


def made(values, names=NAMES, measures=("cka",), columns=None):
    """A comparison with these values by measure, or for all of them."""
    tables = values if isinstance(values, dict) else dict.fromkeys(measures, values)
    return made_comparison(tables, names, columns)


def mixed(between, within=0.5):
    """Six layers of A and B: ``between`` is (3, 3) for A by B, other pairs are ``within``."""
    values = np.full((6, 6), within)
    values[:3, 3:] = between
    values[3:, :3] = np.transpose(between)
    np.fill_diagonal(values, 1.0)
    return values


def lines(comparison, **options):
    return summary_sentences(page_context(comparison, **options)).splitlines()


DEPTHS = mixed([[0.9, 0.2, 0.1], [0.3, 0.6, 0.2], [0.1, 0.2, 0.31]])


def test_two_models_lead_with_their_layers_of_equal_depth():
    first, second = lines(made(DEPTHS))
    assert first == (
        "Layers of equal depth of A and B are most similar at one (CKA 0.90) and least similar at "
        "three (0.31)."
    )
    assert second == (
        "For 3 of 3 layers of A, the most similar layer of B is the one of equal depth."
    )


def test_small_is_similar_for_a_distance():
    first, second = lines(made({"gulp": 1 - DEPTHS}))
    assert "most similar at one (GULP 0.10) and least similar at three (0.69)" in first
    assert second.startswith("For 3 of 3 layers")


def test_permuted_layers_match_at_another_depth():
    permuted = DEPTHS[:, [0, 1, 2, 4, 5, 3]][[0, 1, 2, 4, 5, 3]]
    assert lines(made(permuted))[1].startswith("For 0 of 3 layers of A")


def test_identical_models_are_the_most_similar_there_can_be():
    first, second = lines(made(mixed(np.ones((3, 3)))))
    assert first == (
        "Layers of equal depth of A and B all score CKA 1.00, the most similar value there can be."
    )
    assert second.endswith("; 3 more share the first place with another layer.")
    assert second.startswith("For 0 of 3 layers")


def test_chance_is_part_of_the_sentence_where_it_is_known():
    for chance, words in ((0.04, "0.04"), (np.nan, "")):
        comparison = made(DEPTHS)
        comparison.matrices["cka"].numbers["chance"] = np.full((6, 6), 0.05)
        comparison.matrices["cka"].numbers["chance"][0, 3] = chance
        first = lines(comparison)[0]
        assert f"at one (CKA 0.90{', chance 0.04' if words else ''}) and" in first
        assert first.endswith("(0.31, chance 0.05).")


def test_a_dead_layer_is_left_out_and_counted():
    dead = DEPTHS.copy()
    dead[0, :] = dead[:, 0] = np.nan
    first, second, third = lines(made(dead))
    assert "most similar at two (CKA 0.60) and least similar at three" in first
    assert second.startswith("For 2 of 2 layers of A")
    assert third == "5 of 15 pairs have no value by CKA: see Failures."


def test_no_value_at_all():
    assert lines(made(np.full((6, 6), np.nan))) == [
        "CKA has no value for any pair of different representations."
    ]
    assert lines(made([[1.0]], ["x"])) == ["There is no pair of different representations."]


def test_more_models_are_summed_up_by_medians():
    names = [f"{m}/{layer}" for m in "ABC" for layer in (1, 2)]
    values = np.full((6, 6), 0.2)
    for (i, j), value in {(0, 2): 0.9, (0, 4): 0.8, (2, 4): 0.4, (1, 3): 0.5, (1, 5): 0.3}.items():
        values[i, j] = values[j, i] = value
    np.fill_diagonal(values, 1.0)
    first, second, third = lines(made(values, names))
    assert first == (
        "Over 3 pairs of models, layers of equal depth are most similar at 1 (median CKA 0.80) and "
        "least similar at 2 (0.30)."
    )
    assert second == (
        "On average over depth, A and B are the most similar models (CKA 0.70), B and C the least "
        "similar (0.30)."
    )
    assert third.startswith("In 5 of 6 cases")


def test_models_are_compared_at_the_depths_that_all_have():
    names = [f"{m}/{layer}" for m in "ABC" for layer in (1, 2, 3)]
    values = np.full((9, 9), 0.5)
    depths = {(0, 3): 0.9, (0, 6): 0.8, (3, 6): 0.8, (1, 4): 0.8, (2, 5): 0.1, (2, 8): 0.2}
    for (i, j), value in depths.items():
        values[i, j] = values[j, i] = value
    values[5, 8] = values[8, 5] = np.nan
    first, second, *_ = lines(made(values, names))
    assert first == (
        "Over 3 pairs of models and the 2 depths at which all have values, layers of equal depth "
        "are most similar at 1 (median CKA 0.80) and least similar at 2 (0.50)."
    )
    assert second.startswith(
        "On average over depth, A and B are the most similar models (CKA 0.85)"
    )


def referred(values, measure="cka"):
    """A comparison of two layers of A, B, and a re-initialized copy of A."""
    names = [f"{m}/{layer}" for m in ("A", "B", "new") for layer in (1, 2)]
    comparison = made({measure: values}, names)
    comparison.provenance["reinitialized"] = "new"
    return comparison


def test_an_untrained_copy_is_what_similarity_is_compared_with():
    values = np.full((6, 6), 0.2)
    for (i, j), value in {(0, 2): 0.9, (1, 3): 0.5, (0, 4): 0.8, (1, 5): 0.6}.items():
        values[i, j] = values[j, i] = value
    first, second, third = lines(referred(values))
    assert first.startswith("Layers of equal depth of A and B are most similar at 1 (CKA 0.90)")
    assert second.startswith("For 2 of 2 layers of A")
    closer = "closer to A than a re-initialized copy of it is"
    assert third == f"At 2 B is no {closer} (CKA 0.50, the copy 0.60)."
    last = lines(referred(1 - values, "gulp"))[-1]
    assert last == f"At 2 B is no {closer} (GULP 0.50, the copy 0.40)."
    values[1, 3] = values[3, 1] = 0.7
    assert lines(referred(values))[-1] == f"At all 2 depths B is {closer}."
    values[[0, 1, 2, 3], [2, 3, 0, 1]] = 0.1
    assert lines(referred(values))[-1] == f"At 1, 2 B is no {closer}."
    assert result_from_comparison(referred(values)).title == "Comparison of A and B"


def test_an_untrained_copy_has_its_sentence_for_a_single_layer():
    values = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.2], [0.3, 0.2, 1.0]])
    comparison = made({"cka": values}, ["A/x", "B/x", "new/x"])
    comparison.provenance["reinitialized"] = "new"
    closer = "closer to A than a re-initialized copy of it is"
    assert lines(comparison)[-1] == f"B is {closer} (CKA 0.60, the copy 0.30)."
    values = values[:, [0, 2, 1]][[0, 2, 1]]
    comparison = made({"cka": values}, ["A/x", "B/x", "new/x"])
    comparison.provenance["reinitialized"] = "new"
    assert lines(comparison)[-1] == f"B is no {closer} (CKA 0.30, the copy 0.60)."


def test_models_of_another_depth_are_compared_at_the_nearest_share_of_it():
    names = ["A/1", "A/2", "B/1", "B/2", "C/1", "C/2", "C/3"]
    values = np.full((7, 7), 0.4)
    values[4:, 4:] = 0.95
    values[0, 2] = values[2, 0] = 0.8
    first, *_ = lines(made(values, names))
    assert first.startswith("Over 3 pairs of models, layers of nearest relative depth")
    *_, last = lines(made(values[:5, :5], names[:5]))
    assert last == "Left out, for too few layers or values: C."
    values[3, 6] = values[6, 3] = 0.7
    (first, *_) = lines(made(values[2:, 2:], names[2:]))
    assert first.startswith(
        "Layers of nearest relative depth of B and C are most similar at 2 with 3"
    )


def test_a_pair_has_both_directions_of_a_measure_with_two():
    table = {"linear_regression": [[1, 0.25], [0.75, 1]]}
    (line,) = lines(made(table, "ab"))
    assert line == "a and b: LinReg 0.25 and, the other way round, 0.75."


def test_without_models_the_extremes_and_clear_groups():
    values = np.full((5, 5), 0.1)
    values[:2, :2] = values[2:, 2:] = 0.8
    values[2, 3] = values[3, 2] = 0.9
    values[0, 4] = values[4, 0] = 0.05
    np.fill_diagonal(values, 1.0)
    first, second = lines(made(values, "abcde"))
    assert first == "Most similar are c and d (CKA 0.90), least similar a and e (0.05)."
    assert second == (
        "There are two groups, a, b and c, d, e: every pair within a group is more similar than "
        "every pair between them."
    )
    values[0, 3] = values[3, 0] = 0.85
    assert len(lines(made(values, "abcde"))) == 1


def test_unrelated_representations_claim_no_groups():
    g = np.random.default_rng(0)
    comparison = compared({name: g.standard_normal((40, 5)) for name in "abcdef"}, measures=["cka"])
    (first,) = lines(comparison)
    assert first.startswith("Most similar are ")


@pytest.mark.parametrize(
    ("values", "names", "words"),
    [
        ([[1, 0.5], [0.5, 1]], "ab", "a and b: CKA 0.50."),
        (np.where(np.eye(3), 1, 0.5), "abc", "All 3 pairs score CKA 0.50."),
    ],
)
def test_small_comparisons(values, names, words):
    assert lines(made(values, names)) == [words]


def test_a_rectangle_compares_models_of_both_sides():
    between = [[0.9, 0.2, 0.1], [0.3, 0.6, 0.2], [0.1, 0.2, 0.31]]
    first, second = lines(made(between, NAMES[:3], columns=NAMES[3:]))
    assert first.startswith("Layers of equal depth of A and B are most similar at one (CKA 0.90)")
    assert second.startswith("For 3 of 3")
    (figures,) = (
        s.figures
        for s in result_from_comparison(made(between, NAMES[:3], columns=NAMES[3:])).sections
        if s.name == "similarity"
    )
    assert [figure.name for figure in figures] == ["map", "depths"]


def test_measures_that_order_the_pairs_otherwise_are_named():
    g = np.random.default_rng(0)
    other = g.uniform(size=(6, 6))
    tables = {"cka": DEPTHS, "procrustes": 2 - DEPTHS, "mutual_knn": (other + other.T) / 2}
    last = lines(made(tables))[-1]
    assert last.startswith("1 of 2 measures of other families orders the pairs otherwise")
    assert "below 0.5): MutualKNN " in last
    assert len(lines(made({"cka": DEPTHS, "procrustes": 2 - DEPTHS}))) == 2


def test_which_measure_leads():
    tables = {"gulp": 1 - DEPTHS, "cka": DEPTHS, "cka[estimator=debiased]": DEPTHS}
    comparison = made(tables)
    assert page_context(comparison).leading.spec == "cka[estimator=debiased]"
    assert page_context(comparison, measure="gulp").leading.spec == "gulp"
    dead = made(tables | {"cka[estimator=debiased]": np.full((6, 6), np.nan)})
    assert page_context(dead).leading.spec == "cka"
    with pytest.raises(KeyError, match="no measure"):
        page_context(comparison, measure="rsa")


def test_values_that_mean_little_are_counted():
    known = made(DEPTHS)
    known.matrices["cka"].caveats = {(0, 3): "fewer samples than features"}
    assert lines(known)[-1] == "1 value of CKA: fewer samples than features."


def test_evidence_adds_intervals_and_how_many_pairs_are_beyond_chance():
    comparison = compared(arrays(["A/1", "A/2", "B/1", "B/2"]), measures=("cka",))
    evidence = made_evidence(comparison)
    first, _, third = lines(comparison, evidence=evidence)
    assert first.count("95 % interval") == 2
    assert (
        third == "4 of 4 pairs between models are beyond chance by CKA (adjusted p at most 0.05)."
    )
    names = [s.name for s in result_from_comparison(comparison, evidence=evidence).sections]
    assert names == ["similarity", "depths", "beyond", "values", "measures", "inputs"]
    line, chance = (
        result_from_comparison(comparison, evidence=evidence)["similarity"]
        .figures[1]
        .figures[0]
        .lines
    )
    assert len(line.intervals) == 2
    assert chance.is_dashed


def test_intervals_that_overlap_are_said_to():
    comparison = made(mixed(np.diag([0.51, 0.50, 0.52])))
    evidence = made_evidence(comparison, kind="groups")
    assert "these intervals overlap" in lines(comparison, evidence=evidence)[0]


def test_evidence_of_something_else_is_refused():
    comparison = compared(arrays("ABC"), measures=("cka",))
    other = made_evidence(compared(arrays("ABCD"), measures=("cka",)))
    with pytest.raises(ValueError, match=r"4 x 4 .* not of the 3 x 3"):
        result_from_comparison(comparison, evidence=other)
    more = compared(arrays("ABC"), measures=("cka", "gulp"))
    with pytest.raises(ValueError, match="gulp leads the page"):
        result_from_comparison(more, evidence=made_evidence(comparison), measure="gulp")


# ------------------------------------------------------------------------------- figures, sections


def test_the_first_section_moves_with_its_selector():
    choice, *rest = result_from_comparison(made({"cka": DEPTHS, "gulp": 1 - DEPTHS}))[
        "similarity"
    ].figures
    assert [option.choices for option in choice.options] == [("CKA",), ("GULP",)]
    assert [figure.name for figure in rest] == ["depths", "plane", "tree"]
    assert all(figure.choices == ("CKA", "GULP") for figure in rest)
    assert rest[0].figures[0].lines[0].points == ((1.0, 0.9), (2.0, 0.6), (3.0, 0.31))


def test_a_measure_without_values_has_empty_figures(tmp_path):
    comparison = made({"cka": DEPTHS, "gulp": np.full((6, 6), np.nan)})
    page = write_page(comparison, tmp_path / "page.html").read_text("utf-8")
    assert "There is nothing to draw" in page


def test_models_of_unequal_depth_have_their_best_matches():
    values = np.full((5, 5), 0.3)
    values[0, 3] = values[1, 3] = values[2, 4] = 0.7
    values = np.maximum(values, values.T)
    np.fill_diagonal(values, 1.0)
    names = ["A/1", "A/2", "A/3", "B/1", "B/2"]
    figures = result_from_comparison(made(values, names))["similarity"].figures
    depths, matches = figures[1].figures[0], figures[2].figures[0]
    assert figures[1].title == "Layers of nearest relative depth"
    assert depths.lines[0].points == ((1.0, 0.7), (2.0, 0.3), (3.0, 0.7))
    assert figures[2].name == "matches"
    assert [y for _, y in matches.lines[0].points] == [0.7] * 3
    assert matches.lines[0].titles[2] == "A/3 and B/2: 0.7"
    names = ["A/1", "A/2", "A/3", "B/1", "B/2", "C/1", "C/2", "C/3", "C/4"]
    figures = result_from_comparison(made(np.full((9, 9), 0.3), names))["similarity"].figures
    relative = figures[2].figures[0]
    assert relative.x == "relative depth of the first model"
    assert [[x for x, _ in line.points] for line in relative.lines] == [[0, 0.5, 1]] * 2 + [[0, 1]]


def test_many_measures_have_their_maps_by_family():
    specs = ["cka", "rsa", "procrustes", "mutual_knn", "gulp"]
    closed = [
        s
        for s in result_from_comparison(made(DEPTHS, measures=specs)).sections
        if s.name[:4] == "maps"
    ]
    assert all(section.is_closed for section in closed)
    assert {f.name for section in closed for f in section.figures} == set(specs)
    assert len(closed) > 1


def test_measures_that_agree_are_next_to_each_other():
    values = np.array([[1, 0.1, 0.9, 0], [0.1, 1, 0, 0.8], [0.9, 0, 1, 0], [0, 0.8, 0, 1]])
    order = measure_order(values)
    assert abs(order.index(0) - order.index(2)) == abs(order.index(1) - order.index(3)) == 1
    assert sorted(measure_order(np.full((3, 3), np.nan))) == [0, 1, 2]


def test_one_large_value_does_not_hide_the_others():
    values = np.array([*np.linspace(0, 1, 19), 50.0])
    scale = color_scale(values, (0.0, np.inf))
    assert scale.limits[1] < 1.01
    assert "of 20 values lie beyond" in scale.note
    assert color_scale(values, (0.0, np.inf), stretch=True).limits == (0.0, 50.0)


def test_models_and_data_are_in_the_line_under_the_title():
    provenance = {
        "models": {
            "A": {"source": "all-MiniLM-L6-v2", "parameters": 22_713_216, "pool": "mean"},
            "B": {"odd": [1, {"x": None}], "flag": True},
            "C": "not a mapping",
        },
        "data": {"name": "SST-2 validation", "n": 872, "unit": "sentences", "hash": "00ff"},
    }
    assert models_facts(provenance) == {
        "A": "all-MiniLM-L6-v2 (22.7 M parameters)",
        "data": "SST-2 validation, 872 sentences",
        "pooling": "mean",
    }
    copied = models_facts({"models": {"A": {"source": "x"}, "new": {}}, "reinitialized": "new"})
    assert copied == {"A": "x", "new": "A with weights drawn anew"}
    comparison = made(DEPTHS)
    known = replace(comparison, provenance={**comparison.provenance, **provenance})
    models, data = result_from_comparison(known)["models"].tables
    assert [row[0] for row in models.rows] == ["A", "B"]
    assert ("hash", "00ff") in data.rows
    assert models_facts({"models": 3, "data": None}) == {}
    bert = {"class": "transformers.models.bert.BertModel", "parameters": 1500, "pooling": ["mean"]}
    assert models_facts({"models": {"B": bert}}) == {
        "B": "BertModel (1.5 k parameters)",
        "pooling": "mean",
    }


def test_a_result_with_the_new_figures_can_be_saved(tmp_path):
    result = result_from_comparison(made({"cka": DEPTHS, "gulp": 1 - DEPTHS}))
    result.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json").sections == result.sections


def test_trees_say_what_is_joined_last_and_must_be_whole():
    tree = Dendrogram(
        "t", "T", "d", ("a", "b", "c"), (Merge(0, 2, 0.1), Merge(3, 1, 0.5)), (0, 2, 1)
    )
    assert describe_tree(tree) == "T: tree of 3; joined last, at 0.5: a, c, and b"
    Result("s", "", (Section("x", "X", "", figures=(tree,)),))
    for bad in (tree._replace(order=(0, 1)), tree._replace(merges=tree.merges[:1])):
        with pytest.raises(ValueError, match="leaves"):
            Result("s", "", (Section("x", "X", "", figures=(bad,)),))


def test_large_pages_stay_small(tmp_path):
    g = np.random.default_rng(0)
    names = [f"model {i}/layer {j}" for i in range(8) for j in range(12)]
    values = g.uniform(size=(96, 96))
    page = write_page(made((values + values.T) / 2, names), tmp_path / "page.html")
    assert page.stat().st_size < 450_000  # with the style, the script, and all numbers to save


def test_a_line_has_a_gap_where_there_is_no_value(tmp_path):
    names = [f"{m}/{layer}" for m in "AB" for layer in range(5)]
    values = np.full((10, 10), 0.5)
    values[2, :] = values[:, 2] = np.nan
    page = write_page(made(values, names), tmp_path / "page.html").read_text("utf-8")
    depths = page.split("Layers of equal depth: CKA by layer")[1].split("</svg>")[0]
    (path,) = re.findall(r'<path d="(M[^"]+L[^"]+)"', depths)
    assert path.count("M") == path.count("L") == 2


def test_a_value_between_gaps_keeps_its_interval(tmp_path):
    figure = Chart("f", "F", "x", "y", (Line("l", ((1, 1), (2, math.nan), (3, 2)), ((0, 2),) * 3),))
    page = write_page(
        Result("compare", "", (Section("s", "S", "", figures=(figure,)),)), tmp_path / "page.html"
    )
    assert page.read_text("utf-8").count('class="span"') == 2


def test_a_headline_has_no_digits_that_say_nothing():
    x = np.random.default_rng(0).standard_normal((200, 8))
    y = x + 1e-3 * np.random.default_rng(1).standard_normal(x.shape)
    known = rs.evidence({"a": x}, {"b": y}, measures=["cka", "procrustes"], progress=False)
    (first, *_) = lines(known.comparison, evidence=known)
    assert first == "a and b: CKA above 0.999, chance 0.04."
    (first, *_) = lines(known.comparison, evidence=known, measure="procrustes")
    assert first.startswith("a and b: OrthProc 0.00101, 95 % interval 0.00096 to 0.00106")
    equal = rs.evidence({"a": x}, {"b": x.copy()}, measures="cka", progress=False)
    assert "CKA 1" in lines(equal.comparison, evidence=equal)[0]
