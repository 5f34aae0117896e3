"""The conclusions of the ReSi paper: they can hold, they can fail, and some runs cannot say."""

from __future__ import annotations

import numpy as np

import resemblance as rs
from papers.resi.claims import CLAIMS, conclusions
from papers.resi.ranks import agreement_text, published_rows, published_section
from resemblance.bench.case import Score
from resemblance.bench.resi import Evaluation, result_of
from resemblance.bench.resi.page import add_judged_claims
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.comparison.comparison import measure_info
from resemblance.sections.claims import NO_DATA, NOT_REPRODUCED, REPRODUCED

STATISTICS = ["magnitude_difference", "concentricity_difference", "uniformity_difference"]
NAMES = [*STATISTICS, "mka", "cka", "procrustes", "rsa", "svcca", "pwcca", "jaccard", "imd"]
NAMES += ["rtd", "gulp"]
ORDERS = {"graphs": 1, "language": 1, "vision": 1}


def made_up(quality):
    """Facts of 12 cells in each of three domains; ``quality``: score of the measure at a place,
    domain and cell."""
    infos = [measure_info(rs.get_measure(name)) for name in NAMES]
    scores = [
        Score("labels", where, m.spec, m.label, value, (value,))
        for domain in ORDERS
        for cell in range(12)
        for where in [("labels", "auprc", domain, f"set{cell}", "net", "mean")]
        for place, m in enumerate(infos)
        for value in [float(quality(place, domain, cell))]
    ]
    return Evaluation(ScoringOptions(), tuple(infos), tuple(scores))


def verdicts(quality):
    return {c.number: c.verdict for c in conclusions(made_up(quality))}


def test_claims_of_resi_can_hold():
    random = np.random.default_rng(0)
    orders = {domain: random.permutation(np.arange(3, len(NAMES))) for domain in ORDERS}

    def differs(place, domain, cell):  # statistics last, MKA first, the others as the domain has it
        if place < 3:
            return place - 5
        return 20 if place == 3 and cell % 3 == 0 else orders[domain][place - 3]

    found = verdicts(differs)
    assert {found[n] for n in ("R1", "R2", "R3")} == {REPRODUCED}
    assert verdicts(lambda place, domain, cell: 20 if place == 3 else place)["K1"] == REPRODUCED


def test_claims_of_resi_can_fail():
    found = verdicts(lambda place, domain, cell: -place)
    assert {found[n] for n in ("R1", "R2", "R3")} == {NOT_REPRODUCED}
    late = verdicts(lambda place, domain, cell: -20 if place == 3 else place)
    assert late["K1"] == NOT_REPRODUCED


def test_variants_do_not_count_twice():
    result = made_up(lambda place, domain, cell: -place)
    twin = measure_info(rs.get_measure("cka[estimator=debiased]"))
    better = tuple(
        s._replace(measure=twin.spec, label=twin.label, value=9.0, parts=(9.0,))
        for s in result.scores
        if s.measure == "cka"
    )
    both = result._replace(measures=(*result.measures, twin), scores=(*result.scores, *better))
    assert [c.ours for c in conclusions(both)[:3]] == [c.ours for c in conclusions(result)[:3]]


def test_noise_is_no_dependence_on_the_domain():
    def verdict(seed):
        random = np.random.default_rng(seed)
        return verdicts(lambda place, domain, cell: place + 3 * random.normal())["R2"]

    assert [verdict(seed) for seed in range(10)].count(REPRODUCED) <= 2


def test_few_measures_decide_nothing():
    facts = made_up(lambda place, domain, cell: -place).among(NAMES[:5])
    assert {c.number: c.verdict for c in conclusions(facts)} == dict.fromkeys(
        ("R1", "R2", "R3", "K1"), NO_DATA
    )


def test_one_domain_decides_nothing_about_domains():
    facts = made_up(lambda place, domain, cell: -place)
    facts = facts._replace(scores=tuple(s for s in facts.scores if s.cell[2] == "vision"))
    found = {c.number: (c.verdict, c.note) for c in conclusions(facts)}
    assert found["R1"] == found["R2"] == (NO_DATA, "the run has one domain")


def test_conclusions_stand_with_the_ranking_and_not_in_a_trial():
    facts = made_up(lambda place, domain, cell: -place)
    assert add_judged_claims(result_of(facts), facts, CLAIMS)["ranking"].claims == conclusions(
        facts
    )
    small = facts._replace(size="slice")
    trial = add_judged_claims(result_of(small), small, CLAIMS)
    assert {c.verdict for c in trial.claims} == {NO_DATA}


def test_ranks_of_a_run_and_the_published_ones_are_a_table():
    rows = published_rows(made_up(lambda place, domain, cell: -place))
    section = published_section(rows)
    (table,) = section.tables
    assert [row[:3] for row in table.rows] == [row[:3] for row in rows]
    assert agreement_text(rows) in section.about
    vision = published_rows(made_up(lambda place, domain, cell: -place), "vision")
    assert [row.published for row in vision] != [row.published for row in rows]
    mka = published_rows(made_up(lambda place, domain, cell: -place), paper="mka")
    assert "mka" in [row.label for row in mka]
