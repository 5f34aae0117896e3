"""What benchmarks answer: scores, intervals, equal measures, trivial measures, and words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from resemblance.bench.answer_tables import (
    answers_section,
    best_text,
    conclusion_of_answers,
    format_interval,
    missing_measures,
    networks_sentence,
)
from resemblance.bench.answers import Interval, answer_questions
from resemblance.bench.questions import QUESTIONS, question_of
from resemblance.sections.ranks import is_ranked_reading
from resemblance.sections.result import Result
from resemblance.sections.sections import RankRule, Section

NETWORKS = ("graphs/a", "language/b", "vision/c")
LABELS = {"cka": "CKA", "twin": "Twin", "good": "Good", "bad": "Bad", "trivial": "Trivial"}
LEVELS = {"cka": 0.6, "twin": 0.6, "good": 0.9, "bad": 0.2, "trivial": 0.5}


def result(noise: float = 0.01, suite: str = "resi", test: str = "layers", **changes) -> Result:
    """Return two tasks on each of three networks, with five seeds; "twin" equals CKA."""
    scores, rules = {}, {}
    for i, network in enumerate(NETWORKS):
        for task in range(2):
            rng = np.random.default_rng([i, task])
            level = {m: v + 0.1 * i for m, v in LEVELS.items()} | changes
            name = f"{test}/{network}/{task}"
            shifts = {m: noise * rng.standard_normal(5) for m in level}
            shifts["twin"] = shifts["cka"]
            scores[name] = level
            rules[name] = RankRule(
                test=test,
                models=network,
                without={
                    m: {f"{s}": None if v is None else v + e for s, e in enumerate(shifts[m])}
                    for m, v in level.items()
                },
            )
    return Result(suite, "", (Section(test, test, "", scores=scores, rules=rules),), LABELS)


def test_an_answer_has_the_mean_over_networks_and_says_who_differs() -> None:
    (answer,) = answer_questions([result()])
    names = ["+".join(line.measures) for line in answer.measures]
    assert names == ["good", "cka+twin", "trivial", "bad"]
    good, cka, _, bad = answer.measures
    assert good.score == pytest.approx(1.0)
    assert good.by_models == pytest.approx({"graphs/a": 0.9, "language/b": 1.0, "vision/c": 1.1})
    assert answer.best == (good,)
    assert good.joint.is_better
    assert bad.joint.is_worse
    assert cka.joint == (0, 0, 0)
    assert (answer.n_tasks, answer.models, answer.degrees_of_freedom) == (6, NETWORKS, 12)
    assert answer.shortfall("twin") == pytest.approx(0.3)
    assert answer.n_differ_by_models == 3  # the same difference on every network


def test_a_dropped_seed_moves_all_tasks_of_a_network_together() -> None:
    """Two readings of the same networks are not two experiments: the interval stays as wide."""
    once = result(0.1)
    section = once.sections[0]
    again = {f"{name}/again": of for name, of in section.scores.items()}
    rules = {f"{name}/again": rule for name, rule in section.rules.items()}
    both = section._replace(scores={**section.scores, **again}, rules={**section.rules, **rules})
    twice = Result("resi", "", (both,), LABELS)
    (one,), (two,) = answer_questions([once]), answer_questions([twice])
    assert two.of("good").single == pytest.approx(one.of("good").single)


def test_with_networks_as_the_unit_an_interval_is_that_of_a_paired_t_test() -> None:
    """The paired t-interval of scipy, over three networks with differences of their own."""
    (section,) = result().sections
    shifts = dict(zip(NETWORKS, (0.1, 0.3, 0.2)))
    scores = {
        name: of | {"good": of["good"] + shifts[section.rules[name].models]}
        for name, of in section.scores.items()
    }
    run = Result("resi", "", (section._replace(scores=scores),), LABELS)
    (answer,) = answer_questions([run], unit="networks")
    good, cka = (list(answer.of(m).by_models.values()) for m in ("good", "cka"))
    ends = ttest_rel(good, cka).confidence_interval(0.95)
    assert answer.of("good").single == pytest.approx((0.5, *ends))
    assert (answer.unit, answer.degrees_of_freedom) == ("networks", 2)
    assert networks_sentence([answer], LABELS) == ""
    assert "hold for other networks" in answers_section([answer], LABELS, LEVELS).tables[0].note


def test_trivial_measures_do_not_compete() -> None:
    (answer,) = answer_questions([result()], trivial=("trivial",))
    assert [line.measures for line in answer.trivial] == [("trivial",)]
    assert answer.of("trivial").may_be_best is None
    assert answer.of("trivial").single.is_worse
    section = answers_section([answer], LABELS, LEVELS, own=("good",))
    questions, measures = section.tables
    assert questions.rows[0][1] == "Good 1.00"
    assert questions.rows[0][2] == "2 of 3"
    assert questions.rows[0][-1] == "CKA 0.70; Trivial 0.60"
    assert [row[0] for row in measures.rows][:2] == ["→ Good", "CKA"]
    assert measures.marked == (0,)


def test_a_measure_without_a_score_is_named_with_the_reason() -> None:
    run = result(bad=None)
    (section,) = run.sections
    reason = "3 comparisons failed; most often: bad: the arrays have 2 and 3 columns"
    rules = {n: rule._replace(reasons={"bad": reason}) for n, rule in section.rules.items()}
    run = Result("resi", "", (section._replace(rules=rules),), LABELS)
    (answer,) = answer_questions([run])
    assert answer.missing == {
        "bad": "no score in 6 of 6 tasks: bad: the arrays have 2 and 3 columns"
    }
    assert list(missing_measures([answer], LABELS).values()) == [["Bad"]]
    assert answer.of("bad") is None
    assert answer.shortfall("bad") is None


def test_a_measure_without_scores_by_seeds_takes_no_part_where_others_have_them() -> None:
    bare = result()
    section = bare.sections[0]
    rules = {
        name: rule._replace(without={m: w for m, w in rule.without.items() if m != "good"})
        for name, rule in section.rules.items()
    }
    (answer,) = answer_questions([Result("resi", "", (section._replace(rules=rules),), LABELS)])
    assert answer.missing == {"good": "not computed by seeds"}
    assert answer.has_intervals


def test_without_several_seeds_there_are_scores_and_no_intervals() -> None:
    bare = result()
    section = bare.sections[0]
    rules = {name: rule._replace(without={}) for name, rule in section.rules.items()}
    (answer,) = answer_questions([Result("resi", "", (section._replace(rules=rules),), LABELS)])
    assert not answer.has_intervals
    assert answer.measures[0].measures == ("good",)
    assert conclusion_of_answers([answer], LABELS).startswith("No ranking: ")
    assert networks_sentence([answer], LABELS) == ""


def test_damage_and_kendall_are_shown_and_not_ranked() -> None:
    (answer,) = answer_questions([result(suite="stability", test="canary")])
    assert (answer.question.name, answer.has_intervals) == ("damage", False)
    assert best_text(answer, LABELS).startswith("shown, not ranked (nearly half of the measures")
    assert not is_ranked_reading(("layers", "graphs", "kendall"))
    assert is_ranked_reading(("layers", "graphs", "spearman"))
    assert question_of("mine", "own").words == "own"
    names = [test for question in QUESTIONS for test in question.tests]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("unreliable", "is_ranked"), [(0, True), (3, True), (4, False)])
def test_a_question_with_mostly_unreliable_tasks_is_shown_and_not_ranked(unreliable, is_ranked):
    (section,) = result(test="output").sections
    rules = {
        name: rule._replace(is_ranked=i >= unreliable)
        for i, (name, rule) in enumerate(section.rules.items())
    }
    (answer,) = answer_questions([Result("resi", "", (section._replace(rules=rules),), LABELS)])
    assert (answer.question.name, answer.n_tasks) == ("outputs", 6 - unreliable)
    assert answer.has_intervals == is_ranked
    reason = "" if is_ranked else "the reliability of 4 of 6 tasks is below 0.5"
    assert answer.unranked_reason == reason


def test_a_baseline_needs_scores() -> None:
    with pytest.raises(ValueError, match="the baseline 'goood' has no scores; did you mean 'good'"):
        answer_questions([result()], baseline="goood")
    (answer,) = answer_questions([result()], baseline="good")
    assert answer.of("cka").single.is_worse
    sentence = networks_sentence([answer], LABELS)
    assert sentence.endswith("3 measures (how far apart layers are) differ from Good.")


def test_an_interval_in_words() -> None:
    assert format_interval(Interval(0.083, 0.02, 0.144)) == "+0.08 (0.02 to 0.14)"
    assert format_interval(Interval(-0.1, -0.2, 0.0)) == "−0.10 (−0.20 to 0.00)"
    assert format_interval(Interval(-0.14, -0.29, -0.002)) == "−0.14 (−0.29 to −0.002)"
    assert format_interval(Interval(0.1, 0.0004, 0.2)) == "+0.10 (0.0004 to 0.20)"
