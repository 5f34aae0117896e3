"""The six tests on models with known answers, scores with reasons, ranks, and results that
survive being saved."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from factories.synthetic import graded_outputs, independent_noise, noise_walk, tight_groups

import resemblance as rs
from resemblance.bench.case import Score
from resemblance.bench.reliability import DISAGREEMENTS_BY_INPUT
from resemblance.bench.resi import Evaluation, assess, evaluate, result_of
from resemblance.bench.resi.cases import TEST_TITLES, six_tests
from resemblance.bench.resi.groups import choose_groups, separated
from resemblance.bench.resi.models import resi_recipes
from resemblance.bench.resi.page import failed_in_evaluation
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.data.model_features import ModelFeatures
from resemblance.sections.figures import Choice
from resemblance.sections.ranks import rank_within, summarize
from resemblance.significance import stars

MEASURES = ["cka", "procrustes", "jaccard", "linear_regression"]
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "resi_evaluation.json").read_text())[
    "rank_aggregation"
]


def cell_ranks(scores, **options):
    return Evaluation(ScoringOptions(**options), (), tuple(scores)).ranks()


def by_quality(result, test):
    return {(s.cell[1], s.measure): s.value for s in result.scores if s.test == test}


# ------------------------------------------------------------------- does what is expected repeat?


def answering(shares, samples=400):
    """Models without relation that are right on random inputs, each on a share of its own."""
    g = np.random.default_rng(5)
    labels = np.arange(samples) % 4
    for seed, share in enumerate(shares):
        wrong = (labels + g.integers(1, 4, samples)) % 4
        answers = np.where(g.random(samples) < share, labels, wrong)
        last = rs.Representation(g.normal(size=(samples, 5)), f"seed{seed}/last")
        traits = {"seed": seed, "accuracy": float((answers == labels).mean())}
        yield ModelFeatures(f"seed{seed}", {"last": last}, 3.0 * np.eye(4)[answers], traits, labels)


def test_measures_are_not_ranked_by_differences_that_are_noise():
    cell = ("accuracy", "spearman_accuracy", "own", "own", "model", "")
    alike = assess(answering([0.8] * 8), measures=["cka"])
    unlike = assess(answering(np.linspace(0.3, 0.95, 8)), measures=["cka"])
    assert alike.reliabilities()[cell] < 0.5
    assert unlike.reliabilities()[cell] > 0.95
    assert cell in {s.cell for s in alike.scores}
    assert cell not in alike.ranks()
    assert cell in unlike.ranks()
    assert cell in assess(answering([0.8] * 8), measures=["cka"], protocol="resi-code").ranks()


def test_only_what_depends_on_the_inputs_can_fail_to_repeat():
    for models in (tight_groups(setting="labels"), noise_walk()):
        assert not {"labels", "layers"} & {
            t for t, *_ in assess(models, measures=["cka"]).reliabilities()
        }
    unlabeled = [replace(s, labels=None) for s in answering([0.6, 0.7, 0.8, 0.9])]
    known = assess(unlabeled, measures=["cka"]).reliabilities()
    assert {test for test, *_ in known} == {"output"}
    assert assess(answering([0.3, 0.6, 0.9], samples=3), measures=["cka"]).reliabilities() == {}


def test_differences_in_outputs_are_means_over_inputs():
    x, y = (s.outputs for s in answering([0.5, 0.8], samples=30))
    for name, measure in (("jsd", rs.jensen_shannon), ("disagreement", rs.disagreement)):
        each = DISAGREEMENTS_BY_INPUT[name](rs.Representation(x, "x"), rs.Representation(y, "y"))
        assert each[:9].mean() == pytest.approx(measure(x[:9], y[:9]))


# ------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize("protocol", ["paper", "resi-code"])
@pytest.mark.parametrize("setting", ["labels", "shortcut", "augmentation"])
def test_tight_groups_are_found_without_fault(setting, protocol):
    result = assess(tight_groups(setting=setting), measures=MEASURES, protocol=protocol)
    values = by_quality(result, setting)
    assert len(values) == 2 * len(MEASURES)
    assert list(values.values()) == pytest.approx([1] * len(values))


def test_a_similarity_without_bounds_is_ranked_like_one_with_bounds():
    """ENSD has no largest value, so its differences are negative: the authors' code never forms
    them."""
    result = assess(
        tight_groups(setting="labels"), measures=["ensd", "cknna", "cka"], protocol="resi-code"
    )
    assert list(by_quality(result, "labels").values()) == pytest.approx([1] * 6)


def test_groups_without_structure_are_at_chance():
    result = assess(independent_noise(setting="labels"), measures=MEASURES)
    for (quality, _), value in by_quality(result, "labels").items():
        # Of the pairs with a member of a group of 5, 10 of 60 are inside; two pairs are in either
        # order by chance.
        assert abs(value - {"auprc": 1 / 6, "conformity": 1 / 2}[quality]) < 0.15


@pytest.mark.parametrize("protocol", ["paper", "resi-code"])
def test_a_walk_of_noise_has_monotone_layers(protocol):
    result = assess(noise_walk(models=2), measures=MEASURES, protocol=protocol)
    scores = [s for s in result.scores if s.test == "layers"]
    assert {s.cell[1] for s in scores} == {"spearman", "conformity"}
    for s in scores:
        assert len(s.parts) == 2
        assert s.value == pytest.approx(np.mean(s.parts))
        assert s.value > 0.9


def test_representations_that_differ_as_outputs_do():
    result = assess(graded_outputs(), measures=MEASURES)
    for test in ("accuracy", "output"):
        for s in (s for s in result.scores if s.test == test):
            assert s.value > 0.9
            assert s.pvalue <= 0.01
            assert s.pairs == (
                90 if s.measure == "linear_regression" else 45
            )  # both orders of an asymmetric measure


def test_what_cannot_be_tested_says_why():
    result = assess(noise_walk(), measures=["cka"])
    assert {a.test for a in result.absent} == set(TEST_TITLES) - {"layers"}
    assert all(a.reason for a in result.absent)
    assert "at least 4" in next(a.reason for a in result.absent if a.test == "accuracy")


def test_twins_are_refused():
    walk = noise_walk()[0]
    with pytest.raises(ValueError, match=r"two models are 'synthetic/.*seed"):
        six_tests([walk, replace(walk)])


# ----------------------------------------------------------------------------------------- failures


def with_constant(model_features):
    """The last layer of the first model is constant, which most measures cannot compare."""
    first = model_features[0]
    layers = {
        **first.layers,
        list(first.layers)[-1]: rs.Representation(np.ones(first.last.shape), first.name),
    }
    return (replace(first, layers=layers), *model_features[1:])


def test_failed_comparisons_are_counted_and_ranked_last():
    result = assess(
        with_constant(tight_groups(setting="labels")), measures=["cka", "magnitude_difference"]
    )
    scores = {(s.cell[1], s.measure): s for s in result.scores}
    cka = scores["auprc", "cka"]
    assert (cka.pairs, cka.failed) == (91, 14)
    assert "constant" in cka.reason
    assert not np.isnan(cka.value)
    assert scores["auprc", "magnitude_difference"].failed == 0
    assert result.ranks()[cka.cell] == {"magnitude_difference": 1.0, "cka": 2.0}
    assert cell_ranks(result.scores, failures="unranked")[cka.cell]["cka"] == 1.0
    failed = next(f for f in failed_in_evaluation(result) if f.test == TEST_TITLES["labels"])
    assert failed.measure == "cka"
    assert "constant" in failed.reason


def test_a_measure_without_any_value_has_a_reason_and_the_last_rank():
    values = {"good": 0.9, "bad": 0.1, "none": np.nan}
    assert rank_within(values) == {"good": 1.0, "bad": 2.0, "none": 3.0}
    assert rank_within(values, ["good"]) == {"bad": 1.0, "good": 2.0, "none": 2.0}
    assert rank_within(values, failures="unranked") == {"good": 1.0, "bad": 2.0}
    assert rank_within({"a": 1.0000000000000002, "b": 0.9999999999999999, "c": 0.5}) == {
        "a": 1.0,
        "b": 1.0,
        "c": 3.0,
    }
    with pytest.raises(ValueError, match="failures must be"):
        rank_within(values, failures="first")


# -------------------------------------------------------------------------------------------- ranks


def golden_scores():
    tests = {"mem": "labels", "sc": "shortcut", "aug": "augmentation", "mono": "layers"}
    functions = {
        "JSD": "spearman_jsd",
        "Disagreement": "spearman_disagreement",
        "AbsoluteAccDiff": "spearman_accuracy",
    }
    qualities = {"AUPRC": "auprc", "correlation": "spearman"}
    found = defaultdict(list)
    for row in GOLDEN["input_rows"]:
        quality = functions.get(row["functional"]) or qualities[row["quality_measure"]]
        test = tests.get(row["setting"]) or quality
        names = [row[name] or "" for name in ("domain", "dataset", "architecture", "token")]
        found[(test, quality, *names), row["measure"]].append(
            np.nan if row["value"] is None else row["value"]
        )
    return [
        Score(cell[0], cell, measure, measure, float(np.mean(values)), tuple(values))
        for (cell, measure), values in found.items()
    ]


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda s: cell_ranks(s, failures="unranked"), "intended_ranks"),
        (lambda s: cell_ranks(s, protocol="resi-code"), "reference_ranks_fig3"),
    ],
)
def test_ranks_over_cells_as_in_the_golden_table(make, key):
    ranks = make(golden_scores())
    words = {"GRAPHS": "Graph", "NLP": "Language", "VISION": "Vision"}
    for domain, word in words.items():
        expected = GOLDEN[key].get(domain) or GOLDEN[key][word]
        found = {
            r.measure: (r.mean, r.median)
            for r in summarize({c: r for c, r in ranks.items() if c[2] == domain})
        }
        assert found.keys() == expected.keys()
        for measure, values in expected.items():
            np.testing.assert_allclose(
                found[measure], (values["mean_rank"], values["median_rank"]), rtol=1e-12
            )


def test_mean_and_median_ranks():
    cells = {i: {"a": 1.0, "b": 2.0 + i % 2, "c": np.nan} for i in range(20)}
    first, second = summarize(cells)  # c has no rank anywhere
    assert (first.measure, first.mean, first.median) == ("a", 1, 1)
    assert (second.mean, second.median, second.ranks[:2]) == (2.5, 2.5, (2, 3))
    assert summarize({}) == ()


# Two architectures with two poolings each, by two qualities of which one counts; one value is
# missing, one measure failed some comparisons, two scores are equal. Conformity has every measure
# in another order.
WORKED = {  # architecture, pooling: AUPRC of a, b, c
    ("bert", "cls"): (0.9, 0.5, 0.5),
    ("bert", "mean"): (0.2, 0.8, 0.8),  # c failed some comparisons
    ("albert", "cls"): (np.nan, 0.4, 0.6),
    ("albert", "mean"): (0.1, 0.3, 0.2),
}
BY_HAND = {
    ("bert", "cls"): {"a": 1, "b": 2, "c": 2},
    ("bert", "mean"): {"b": 1, "a": 2, "c": 3},
    ("albert", "cls"): {"c": 1, "b": 2, "a": 3},
    ("albert", "mean"): {"b": 1, "c": 2, "a": 3},
}


def worked():
    found = []
    for (architecture, pooling), values in WORKED.items():
        for m, value in zip("abc", values):
            cell = ("labels", "auprc", "language", "text", architecture, pooling)
            failed = int((architecture, pooling, m) == ("bert", "mean", "c"))
            found.append(Score(cell[0], cell, m, m, value, (value,), failed=failed))
            conformity = (cell[0], "conformity", *cell[2:])
            found.append(
                Score(cell[0], conformity, m, m, "abc".index(m) / 3, ("abc".index(m) / 3,))
            )
    return found


def test_ranks_worked_out_by_hand():
    cells = {("labels", "auprc", "language", "text", *key): ranks for key, ranks in BY_HAND.items()}
    ranks = cell_ranks(worked())
    assert (
        ranks == cells
    )  # four cells: every architecture under every pooling, and conformity in none
    assert {r.measure: (r.mean, r.median) for r in summarize(ranks)} == {
        "b": (1.5, 1.5),
        "c": (2, 2),
        "a": (2.25, 2.5),
    }


def test_ranks_by_the_authors_code_worked_out_by_hand():
    """Of each architecture the first pooling only; without a value no rank, and so fewer measures
    to be behind."""
    assert cell_ranks(worked(), protocol="resi-code") == {
        ("labels", "auprc", "language", "text", "bert", "cls"): {"a": 1, "b": 2, "c": 2},
        ("labels", "auprc", "language", "text", "albert", "cls"): {"c": 1, "b": 2},
    }
    unranked = cell_ranks(worked(), failures="unranked")
    assert unranked["labels", "auprc", "language", "text", "bert", "mean"] == {
        "b": 1,
        "c": 1,
        "a": 3,
    }


def test_stars():
    assert [stars(p) for p in (None, 0.2, 0.05, 0.01, float("nan"))] == ["", "", "*", "**", ""]


# ------------------------------------------------------------------------------------------- groups


def test_groups_are_kept_unless_their_accuracies_overlap():
    assert separated({"0": [0.9, 0.95], "50": [0.5, 0.6], "100": [0.1, 0.2]}) == ("0", "50", "100")
    assert separated({"0": [0.9, 0.95], "50": [0.5, 0.92], "100": [0.1, 0.2]}) == ("0", "100")
    assert separated({"0": [0.5], "50": [0.5], "100": [0.5]}) == ("0",)
    assert separated({}) == ()


def test_a_group_of_one_model_is_left_out_and_says_so():
    def models(*accuracies):
        return [{"test": a} for a in accuracies]

    members = {
        "normal": (0.0, models(0.9, 0.8)),
        "50%": (0.5, models(0.5)),
        "100%": (1.0, models(0.1, 0.2)),
    }
    groups = {g.name: g for g in choose_groups(("labels", "d", "s", "a"), members)}
    assert [groups[n].kept for n in members] == [True, False, True]
    assert "1 model" in groups["50%"].note


def test_strengths_that_look_alike_are_different_groups():
    model_features = [
        replace(
            s, name=f"{s.name}{i}", traits={**s.traits, "strength": 0.251 if i % 10 < 5 else 0.254}
        )
        for i, s in enumerate(tight_groups(setting="shortcut", groups=2))
    ]
    assert {g.name for g in six_tests(model_features).groups} == {"25.1%", "25.4%"}


def test_outputs_with_different_classes_are_no_test():
    model_features = list(graded_outputs(models=4))
    model_features[0] = replace(model_features[0], outputs=model_features[0].outputs[:, :2])
    absent = {a.test: a.reason for a in six_tests(model_features).absent}
    assert "different numbers of classes" in absent["output"]


def test_outputs_that_cannot_be_compared_are_no_test():
    model_features = list(graded_outputs(models=4))
    huge = np.full_like(model_features[0].outputs, 1.7e308, dtype=float)
    model_features[0] = replace(model_features[0], outputs=huge)
    absent = {a.test: a.reason for a in six_tests(model_features).absent}
    assert "outputs of the models cannot be compared" in absent["output"]


def test_the_protocol_of_the_code_has_its_own_way_with_failures():
    model_features = with_constant(tight_groups(setting="labels"))
    result = assess(model_features, measures=["cka", "magnitude_difference"], protocol="resi-code")
    assert (result.options.failures, result.options.permute) == ("unranked", "pairs")
    ranked = {s.cell for s in result.scores if s.cell[1] == "auprc"}
    assert ranked <= set(result.ranks())
    with pytest.raises(ValueError, match="ranks no failures last"):
        assess(model_features, measures=["cka"], protocol="resi-code", failures="last")


def test_robustness_decides_about_augmentation_when_clean_accuracies_do_not():
    def models(clean, augmented):
        return [{"test": c, "augmented": a} for c, a in zip(clean, augmented)]

    members = {
        "normal": (0.0, models([0.9, 0.8], [0.1, 0.2])),
        "100%": (1.0, models([0.85, 0.8], [0.7, 0.6])),
    }
    groups = choose_groups(("augmentation", "d", "s", "a"), members)
    assert all(g.kept and g.criterion == "augmented" for g in groups)
    same = {"normal": members["normal"], "100%": (1.0, models([0.85, 0.8], [0.1, 0.3]))}
    first, second = choose_groups(("augmentation", "d", "s", "a"), same)
    assert (first.kept, second.kept) == (True, False)
    assert "overlap with those of normal" in second.note
    unknown = choose_groups(
        ("labels", "d", "s", "a"), {"normal": (0.0, [{}, {}]), "100%": (1.0, [{}, {}])}
    )
    assert all(g.kept and g.criterion == "none" for g in unknown)


# ------------------------------------------------------------------------------- results and suites


def test_a_result_ranks_as_the_facts_do(tmp_path):
    """Among all measures or some, by every protocol and with every kind of failure."""
    model_features = (*with_constant(tight_groups(setting="labels")), *noise_walk(models=3))
    measures = ["cka", "jaccard", "magnitude_difference", "uniformity_difference"]
    for options in ({}, {"failures": "unranked"}, {"protocol": "resi-code"}):
        facts = assess(model_features, measures=measures, **options)
        result_of(facts).save(tmp_path / "result.json")
        result = rs.load(tmp_path / "result.json")
        for specs in (None, measures[:2], measures[1:]):
            expected = facts.ranks() if specs is None else facts.among(specs).ranks()
            ranks = {tuple(cell.split("/")): r for (_, cell), r in result.ranks(specs).items()}
            assert ranks == expected
            assert [test for test, _ in result.ranks(specs)] == [cell[0] for cell in expected]


def test_a_model_is_counted_once_whatever_its_layers_are_called(tmp_path):
    """Here each is compared by its accuracy, and by its layers."""
    models = [
        replace(s, traits={**s.traits, "setting": "normal", "accuracy": 0.9 - 0.1 * i})
        for i, s in enumerate(noise_walk(models=3))
    ]
    nested = [replace(s, layers={f"b/{name}": x for name, x in s.layers.items()}) for s in models]
    results = [evaluate(of, measures=["cka"], save=tmp_path / "a.db") for of in (models, nested)]
    assert [r.facts["models"].split()[0] for r in results] == ["3", "3"]
    figures = [next(f for f in r["layers"].figures if isinstance(f, Choice)) for r in results]
    names = [figure.maps[0].rows for figure in figures]
    assert names[1] == tuple(f"b/{name}" for name in names[0])


def test_names_with_slashes_do_not_mix_cells():
    names = [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")]
    model_features = [
        replace(s, traits={**s.traits, "dataset": dataset, "architecture": architecture})
        for s in noise_walk()
        for dataset, architecture in names
    ]
    assert len(evaluate(model_features, measures=["cka", "jaccard"]).ranks()) == len(names)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: evaluate(noise_walk(), measures=["cka"], protocol="papers"), "papers"),
        (lambda: evaluate(noise_walk(), measures=["cka"], failures="first"), "first"),
        (lambda: evaluate(noise_walk(), measures=["cka"], permute="rows"), "rows"),
        (lambda: resi_recipes("tiny"), r"size must be .*; got 'tiny'"),
        (lambda: resi_recipes("mini", ["sound"]), r"domain must be .*; got 'sound'"),
    ],
)
def test_unknown_words_are_refused(run, message):
    with pytest.raises(ValueError, match=message):
        run()
