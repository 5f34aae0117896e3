"""What the page of a comparison leads with: the numbers of its sentences, and its figures."""

from __future__ import annotations

import re

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_comparison, made_evidence

import resemblance as rs
from resemblance.report.comparing.finding import summary_sentences
from resemblance.report.comparing.stats import color_scale, page_context
from resemblance.report.of_comparison import result_from_comparison

NAMES = tuple(f"{model}/{layer}" for model in "AB" for layer in ("one", "two", "three"))
COPIED = [f"{m}/{layer}" for m in ("A", "B", "new") for layer in (1, 2)]


def made(values, names=NAMES, columns=None, **provenance):
    """A comparison with these values by measure, or of CKA."""
    tables = values if isinstance(values, dict) else {"cka": values}
    comparison = made_comparison(tables, names, columns)
    comparison.provenance.update(provenance)
    return comparison


def mixed(between, within=0.5):
    """Six layers of A and B: ``between`` is (3, 3) for A by B, other pairs are ``within``."""
    values = np.full((6, 6), within)
    values[:3, 3:] = between
    values[3:, :3] = np.transpose(between)
    np.fill_diagonal(values, 1.0)
    return values


def pairs(n, background, entries):
    """A symmetric matrix (n, n) with these entries."""
    values = np.full((n, n), background)
    for (i, j), value in entries.items():
        values[i, j] = values[j, i] = value
    np.fill_diagonal(values, 1.0)
    return values


def lines(comparison, **options):
    return summary_sentences(page_context(comparison, **options)).splitlines()


BETWEEN = [[0.9, 0.2, 0.1], [0.3, 0.6, 0.2], [0.1, 0.2, 0.31]]
DEPTHS = mixed(BETWEEN)
PERMUTED = DEPTHS[:, [0, 1, 2, 4, 5, 3]][[0, 1, 2, 4, 5, 3]]
DEAD = DEPTHS.copy()
DEAD[0, :] = DEAD[:, 0] = np.nan
THREE = [f"{m}/{layer}" for m in "ABC" for layer in (1, 2)]
THREE_VALUES = pairs(6, 0.2, {(0, 2): 0.9, (0, 4): 0.8, (2, 4): 0.4, (1, 3): 0.5, (1, 5): 0.3})
NINE = [f"{m}/{layer}" for m in "ABC" for layer in (1, 2, 3)]
NINE_VALUES = pairs(9, 0.5, {(0, 3): 0.9, (0, 6): 0.8, (3, 6): 0.8, (1, 4): 0.8, (2, 5): 0.1,
                             (2, 8): 0.2, (5, 8): np.nan})  # fmt: skip
UNLIKE = ["A/1", "A/2", "B/1", "B/2", "C/1", "C/2", "C/3"]
UNLIKE_VALUES = pairs(7, 0.4, {(0, 2): 0.8, (4, 5): 0.95, (4, 6): 0.95, (5, 6): 0.95})
COPY = pairs(6, 0.2, {(0, 2): 0.9, (1, 3): 0.5, (0, 4): 0.8, (1, 5): 0.6})
NEAR_COPY = pairs(6, 0.2, {(0, 2): 0.9, (1, 3): 0.7, (0, 4): 0.8, (1, 5): 0.6})
FAR_COPY = pairs(6, 0.2, {(0, 2): 0.1, (1, 3): 0.1, (0, 4): 0.8, (1, 5): 0.6})
SINGLE = pairs(3, 0.2, {(0, 1): 0.6, (0, 2): 0.3})
TURNED = SINGLE[:, [0, 2, 1]][[0, 2, 1]]
GROUPS = pairs(5, 0.1, {(0, 1): 0.8, (2, 3): 0.9, (2, 4): 0.8, (3, 4): 0.8, (0, 4): 0.05})
OTHER = np.random.default_rng(0).uniform(size=(6, 6))
AS_NEW = {"reinitialized": "new"}
# A comparison, and for each sentence what it carries, in this order.
CASES = {
    "equal depth": (made(DEPTHS), [("A", "B", "one", "CKA 0.90", "three", "0.31"), ("3 of 3",)]),
    "a distance": (made({"gulp": 1 - DEPTHS}), [("one", "GULP 0.10", "three", "0.69"), ()]),
    "another depth": (made(PERMUTED), [(), ("0 of 3",)]),
    "identical": (made(mixed(np.ones((3, 3)))), [("all score CKA 1.00",), ("0 of 3", "3 more")]),
    "a dead layer": (
        made(DEAD), [("two", "CKA 0.60", "three"), ("2 of 2",), ("5 of 15 pairs have no value",)]
    ),
    "no value": (made(np.full((6, 6), np.nan)), [("CKA has no value",)]),
    "no pair": (made([[1.0]], ["x"]), [("no pair",)]),
    "three models": (
        made(THREE_VALUES, THREE),
        [("3 pairs", "1 (median CKA 0.80)", "2 (0.30)"), ("A and B", "0.70", "B and C", "0.30"),
         ("5 of 6",)],
    ),
    "common depths": (
        made(NINE_VALUES, NINE),
        [("3 pairs", "2 depths", "1 (median CKA 0.80)", "2 (0.50)"), ("A and B", "0.85"), (), ()],
    ),
    "a copy": (
        made(COPY, COPIED, **AS_NEW),
        [("1 (CKA 0.90)",), ("2 of 2",), ("At layer 2", "0.50", "0.60")],
    ),
    "a copy by a distance": (
        made({"gulp": 1 - COPY}, COPIED, **AS_NEW),
        [(), (), ("At layer 2", "no", "GULP 0.50", "0.40")],
    ),
    "a far copy": (made(NEAR_COPY, COPIED, **AS_NEW), [(), (), ("all 2 depths", "closer")]),
    "a near copy": (made(FAR_COPY, COPIED, **AS_NEW), [(), (), ("At layers 1 and 2, B is no",)]),
    "a near copy by names": (
        made(FAR_COPY, [name.replace("1", "stem") for name in COPIED], **AS_NEW),
        [(), (), ("At stem and layer 2, B is no closer",)],
    ),
    "one layer and a copy": (
        made(SINGLE, ["A/x", "B/x", "new/x"], **AS_NEW), [(), ("B is closer", "0.60", "0.30")]
    ),
    "one layer and a nearer copy": (
        made(TURNED, ["A/x", "B/x", "new/x"], **AS_NEW), [(), ("B is no closer", "0.30", "0.60")]
    ),
    "unlike depths": (made(UNLIKE_VALUES, UNLIKE), [("3 pairs", "nearest relative depth"), (), ()]),
    "too few layers": (made(UNLIKE_VALUES[:5, :5], UNLIKE[:5]), [(), (), ("few layers", "C")]),
    "two directions": (made({"pwcca": [[1, 0.25], [0.75, 1]]}, "ab"), [("0.25", "0.75")]),
    "groups": (
        made(GROUPS, "abcde"),
        [("c and d (CKA 0.90)", "a and e (0.05)"), ("two groups", "a, b and c, d, e")],
    ),
    "no groups": (made(pairs(5, 0.1, {(0, 1): 0.8, (0, 3): 0.85}), "abcde"), [("a and d",)]),
    "one pair": (made([[1, 0.5], [0.5, 1]], "ab"), [("a and b", "CKA 0.50")]),
    "equal pairs": (made(np.where(np.eye(3), 1, 0.5), "abc"), [("All 3 pairs", "CKA 0.50")]),
    "a rectangle": (made(BETWEEN, NAMES[:3], NAMES[3:]), [("one (CKA 0.90)",), ("3 of 3",)]),
    "permutations": (
        made({"cka": DEPTHS, "procrustes": 2 - DEPTHS, "mutual_knn": (OTHER + OTHER.T) / 2}),
        [(), (), ("1 of 2 measures", "orders", "below 0.5", "MutualKNN ")],
    ),
    "the same order": (made({"cka": DEPTHS, "procrustes": 2 - DEPTHS}), [(), ()]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sentences_carry_the_numbers(name):
    comparison, expected = CASES[name]
    found = lines(comparison)
    assert len(found) == len(expected), found
    for line, parts in zip(found, expected):
        assert re.search(".*".join(map(re.escape, parts)), line), (line, parts)


def test_chance_is_part_of_the_sentence_where_it_is_known():
    for chance, words in ((0.04, ", chance 0.04"), (np.nan, "")):
        comparison = made(DEPTHS)
        comparison.matrices["cka"].numbers["chance"] = np.full((6, 6), 0.05)
        comparison.matrices["cka"].numbers["chance"][0, 3] = chance
        first = lines(comparison)[0]
        assert f"(CKA 0.90{words})" in first
        assert "(0.31, chance 0.05)" in first


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


def test_the_line_of_chance_names_layers_that_models_share():
    for names, words in (
        (["a/0", "a/1", "b/0", "b/1"], "layer 0"),
        (["a/0", "a/1", "b/x", "b/y"], "depth 1"),
    ):
        comparison = made(np.where(np.eye(4), 1, 0.5), names)
        comparison.matrices["cka"].numbers["chance"] = np.full((4, 4), 0.05)
        line = result_from_comparison(comparison)["similarity"].figures[1].figures[0].lines[-1]
        assert line.titles[0] == f"mean chance at {words}: 0.05"


def test_evidence_adds_intervals_and_how_many_pairs_are_beyond_chance():
    comparison = compared(arrays(["A/1", "A/2", "B/1", "B/2"]), measures=("cka",))
    evidence = made_evidence(comparison)
    first, _, third = lines(comparison, evidence=evidence)
    assert first.count("95 % interval") == 2
    assert third.startswith("4 of 4 pairs between models are significantly above chance with CKA")
    overlapping = made(mixed(np.diag([0.51, 0.50, 0.52])))
    evidence = made_evidence(overlapping, kind="groups")
    assert "these intervals overlap" in lines(overlapping, evidence=evidence)[0]


def test_evidence_of_something_else_is_refused():
    comparison = compared(arrays("ABC"), measures=("cka",))
    other = made_evidence(compared(arrays("ABCD"), measures=("cka",)))
    with pytest.raises(ValueError, match=r"4 x 4 .* not of the 3 x 3"):
        result_from_comparison(comparison, evidence=other)
    more = compared(arrays("ABC"), measures=("cka", "gulp"))
    with pytest.raises(ValueError, match="gulp leads the page"):
        result_from_comparison(more, evidence=made_evidence(comparison), measure="gulp")


def test_a_headline_has_no_digits_that_say_nothing():
    x = np.random.default_rng(0).standard_normal((200, 8))
    y = x + 1e-3 * np.random.default_rng(1).standard_normal(x.shape)
    known = rs.evidence({"a": x}, {"b": y}, measures=["cka", "procrustes"], progress=False)
    assert "CKA above 0.999" in lines(known.comparison, evidence=known)[0]
    first = lines(known.comparison, evidence=known, measure="procrustes")[0]
    assert "OrthProc 0.00101, 95 % interval 0.00096 to 0.00106" in first


# ------------------------------------------------------------------------------- figures, sections


def test_the_first_section_moves_with_its_selector():
    result = result_from_comparison(made({"cka": DEPTHS, "gulp": 1 - DEPTHS}))
    choice, *rest = result["similarity"].figures
    views = ("between models", "all")
    options = [(label, view) for label in ("CKA", "GULP") for view in views]
    assert [option.choices for option in choice.options] == options
    between, whole = choice.maps[:2]
    assert (between.rows, between.columns) == (whole.rows[:3], whole.columns[3:])
    assert between.values == tuple(row[3:] for row in whole.values[:3])
    assert [figure.name for figure in rest] == ["depths", "plane", "tree"]
    assert all(figure.choices == ("CKA", "GULP") for figure in rest)
    assert rest[0].figures[0].lines[0].points == ((1.0, 0.9), (2.0, 0.6), (3.0, 0.31))


def test_models_of_unequal_depth_have_their_best_matches():
    values = pairs(5, 0.3, {(0, 3): 0.7, (1, 3): 0.7, (2, 4): 0.7})
    names = ["A/1", "A/2", "A/3", "B/1", "B/2"]
    figures = result_from_comparison(made(values, names))["similarity"].figures
    depths, matches = figures[1].figures[0], figures[2].figures[0]
    assert depths.lines[0].points == ((1.0, 0.7), (2.0, 0.3), (3.0, 0.7))
    assert [y for _, y in matches.lines[0].points] == [0.7] * 3
    assert matches.lines[0].titles[2] == "A/3 and B/2: 0.7"
    names = ["A/1", "A/2", "A/3", "B/1", "B/2", "C/1", "C/2", "C/3", "C/4"]
    figures = result_from_comparison(made(np.full((9, 9), 0.3), names))["similarity"].figures
    relative = figures[2].figures[0]
    assert [[x for x, _ in line.points] for line in relative.lines] == [[0, 0.5, 1]] * 2 + [[0, 1]]


def test_one_large_value_does_not_hide_the_others():
    values = np.array([*np.linspace(0, 1, 19), 50.0])
    scale = color_scale(values, (0.0, np.inf))
    assert scale.limits[1] < 1.01
    assert "of 20 values lie beyond" in scale.note
    assert color_scale(values, (0.0, np.inf), stretch=True).limits == (0.0, 50.0)
