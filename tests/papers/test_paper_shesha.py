"""The paper of Shesha on made data: its numbers as printed, and claims that can fail."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from papers.judging import judged
from papers.published import printed
from papers.shesha import deletion, encoders, null_model, synthetic
from papers.shesha.correlations import bootstrapped
from papers.shesha.reproduction import run
from papers.shesha.synthetic import mixture, split_score
from resemblance.bench.stability.spectral import delete_leading_components, harmonic_representation
from resemblance.sections import headlines
from resemblance.sections.claims import NO_DATA, NOT_REPRODUCED, PARTLY_REPRODUCED, REPRODUCED
from resemblance.stability._transformations import regime

ON_MADE_DATA = ("chance", "spectral", "quadrants")


def verdicts(experiment, facts, number=""):
    claims = judged(experiment.claims, facts)
    return [claim.verdict for claim in claims if number in ("", claim.number)]


def test_the_scores_of_all_mixtures_are_those_of_the_authors_script():
    theirs = [row.value for row in printed("test1")]
    scores = [
        split_score(mixture(a, 320 + i), 320 + i) for i, a in enumerate(np.linspace(0, 1, 21))
    ]
    np.testing.assert_allclose(scores, theirs, atol=1e-12)


def test_the_claims_of_recovery_hold_for_these_scores_and_fail_for_others():
    theirs = [row.value for row in printed("test1")]

    def judge(scores):
        facts = {"author": np.array(scores), "share": np.linspace(0, 1, 21)}
        facts |= {name: np.zeros(21) for name in ("ours", "default")}
        noise = np.random.default_rng(0).standard_normal(21)
        return verdicts(synthetic.RECOVERY, {**facts, "formula": noise})

    assert judge(theirs) == [REPRODUCED, REPRODUCED]
    assert judge(theirs[::-1]) == [NOT_REPRODUCED, NOT_REPRODUCED]
    assert judge([*theirs[:-1], 0.5]) == [NOT_REPRODUCED, NOT_REPRODUCED]


def test_small_runs_reproduce_what_they_can_and_say_what_they_cannot(tmp_path, monkeypatch):
    monkeypatch.setattr(headlines, "TRIAL_SIZES", set())  # whose claims are not judged
    result = run(tmp_path, size="small", only=ON_MADE_DATA)
    assert rs.load(tmp_path / "result.json") == result
    assert [section.name for section in result.sections] == list(ON_MADE_DATA)
    found = {s.name: [(claim.number, claim.verdict) for claim in s.claims] for s in result.sections}
    assert found["chance"] == [("S2", REPRODUCED), ("S2", REPRODUCED), ("S12", REPRODUCED)]
    assert found["spectral"] == [
        *[("S3", REPRODUCED), ("S3", REPRODUCED)],
        *[("S4", REPRODUCED), ("S4", NO_DATA), ("S4", NOT_REPRODUCED)],
        *[("S5", REPRODUCED), ("S5", PARTLY_REPRODUCED), ("S6", REPRODUCED)],
    ]
    notes = [claim.note for claim in result["spectral"].claims if claim.verdict == NO_DATA]
    assert notes[0].startswith("the run lacks some numbers of")
    assert [number for number, _ in found["quadrants"]] == ["S7", "S8", "S9", "S10", "S11"]
    with pytest.raises(ValueError, match="no experiment 'change'; known: recovery, chance"):
        run(tmp_path, size="small", only=["change"])
    with pytest.raises(ValueError, match=r"size must be .*; got 'tiny'"):
        run(tmp_path / "new", size="tiny", only=["steering"])


def test_claims_about_noise_can_fail():
    pair = {"author": 0.1, "debiased": 0.1, "biased": 0.5, "ours": 0.0}
    one = {"feature_split": 0.0, "variance_ratio": 0.0192, "z_score": 0.006}
    facts = {"pair": pair, "baselines": [one, one]}
    assert verdicts(synthetic.CHANCE, facts) == [NOT_REPRODUCED, NOT_REPRODUCED, PARTLY_REPRODUCED]


def test_every_recorded_cell_of_table_11_and_every_tenth_value_of_the_script():
    found = {
        k: deletion.row_of_table_11(points, left, k)
        for points, at in [(harmonic_representation(420), (0, 1, 10, 30, 50))]
        for k, left in zip(at, delete_leading_components(points, at))
    }
    cells = printed("11")
    assert len(cells) == 20
    for cell in cells:
        assert found[int(cell.at)][cell.quantity] == pytest.approx(cell.value, abs=5.1e-4), cell
    points = harmonic_representation(520)
    for cell in printed("test3", "cka"):
        (left,) = delete_leading_components(points, [int(cell.at)])
        assert rs.cka(points, left, estimator="debiased") == pytest.approx(cell.value, abs=1e-10)
    for cell in printed("test3", "shesha")[::10]:
        k = int(cell.at)
        assert split_score(delete_leading_components(points, [k])[0], 520 + k) == pytest.approx(
            cell.value, abs=1e-10
        )


def falling(step):
    """Facts in which every value falls from 1 in a straight line."""
    names = ("shesha", "cka", "pwcka", "procrustes", "cka_biased", "whitened")
    rows = {k: dict.fromkeys(names, max(1 - step * k, -0.1)) for k in range(51)}
    facts = dict.fromkeys(("table 11", "script", "whitening"), rows)
    return {**facts, "table 12": dict.fromkeys(deletion.PREPROCESSINGS, rows[30])}


def test_claims_about_deletion_can_fail_and_can_hold():
    slow, fast = (
        {n: verdicts(deletion.DELETION, falling(step), n) for n in ("S3", "S4", "S6")}
        for step in (0.01, 0.022)
    )
    assert slow["S3"] == [NOT_REPRODUCED, NOT_REPRODUCED]
    assert slow["S4"][0] == NO_DATA  # nothing ever falls below a half
    assert fast["S4"] == [NOT_REPRODUCED, REPRODUCED, NOT_REPRODUCED]
    assert fast["S6"] == [PARTLY_REPRODUCED]


def test_pairs_of_every_quadrant_are_those_of_the_authors_script():
    stability, similarity = (printed("test4", q) for q in ("shesha", "cka"))
    for i, (name, (_, seeds, *_)) in enumerate(synthetic.PRINTED.items()):
        found = synthetic.pair_scores(name, *(320 + seed for seed in seeds))
        theirs = stability[15 * i].value, similarity[15 * i].value
        assert found == pytest.approx(theirs, abs=1e-10)


def test_claims_about_quadrants_hold_for_the_recorded_pairs_and_fail_for_others():
    values = [[row.value for row in printed("test4", q)] for q in ("shesha", "cka")]

    def judge(stabilities, similarities):
        pairs = list(zip(stabilities, similarities))
        facts = {name: pairs[15 * i : 15 * i + 15] for i, name in enumerate(synthetic.PRINTED)}
        return verdicts(synthetic.QUADRANTS, facts)

    assert set(judge(*values)) == {REPRODUCED}
    swapped = judge(*values[::-1])
    assert swapped[0] == swapped[3] == NOT_REPRODUCED
    assert swapped[4] == REPRODUCED  # a correlation is symmetric
    assert judge([0.9] * 45 + [0.1] * 15, values[1])[4] == NOT_REPRODUCED


def test_claims_about_invariances():
    changes = {name: [of] for name, of in synthetic.changes_of(mixture(0.9, 320), k=5).items()}
    axes = {"feature split": (0.0, 0.98), "basis split": (0.98, 0.98)}

    def judge(**others):
        return verdicts(synthetic.INVARIANCES, {**changes, "axes": axes, **others})

    assert judge(rotation=[0.001]) == [PARTLY_REPRODUCED, REPRODUCED, PARTLY_REPRODUCED, REPRODUCED]
    assert judge(rotation=[0.0031])[0] == NOT_REPRODUCED  # it is not below 0.003
    worse = {name: [0.1] for name in ("rotation", "scaling", "constant")}
    assert judge(**worse, noise=[[0.1, 0.2, 0.3, 0.4, 0.5]]) == [NOT_REPRODUCED] * 4
    unchanged = {**axes, "feature split": (0.0, 0.0)}
    invariant = judge(rotation=[0.0], shift=[0.0], axes=unchanged)
    assert invariant[0] == invariant[2] == REPRODUCED


def test_the_null_model_is_that_of_table_67():
    made = null_model.simulate()
    x, snr, y = made["magnitude"], made["snr"], made["coherence"]
    for digits, pair in (("0.639", (x, y)), ("0.999", (snr, y)), ("0.292", (x, y, snr[:, None]))):
        value, *_ = bootstrapped(*pair, draws=0, random=np.random.default_rng(0))
        assert f"{value:.3f}" == digits
    value, low, high = bootstrapped(x, y, draws=200, random=np.random.default_rng(320))
    assert (low, high) == (pytest.approx(0.612, abs=0.01), pytest.approx(0.664, abs=0.01))


def test_claims_about_the_null_model():
    def judge(shift):
        found = {name: [v + shift for v in of] for name, of in null_model.TABLE_67.items()}
        return verdicts(null_model.NULL_MODEL, found)

    assert judge(0.0) == [REPRODUCED] * 3
    assert judge(0.003) == [PARTLY_REPRODUCED] * 3
    assert judge(-0.1) == [NOT_REPRODUCED] * 3


def test_claims_about_encoders_hold_and_fail():
    random = np.random.default_rng(3)

    def judge(make):
        configurations = []
        for i in range(400):
            name = "noise_005" if i % 2 else "pca_005"
            x, y = make(random, name)
            of = encoders.Configuration("vision", "m last layer", f"{name}{i}", x, -x, y)
            configurations.append(of)
        return verdicts(encoders.ENCODERS, (configurations, 100))

    made = encoders.Configuration(encoders.MADE, "last layer", "pca_005", 0, 0, 1)
    assert verdicts(encoders.ENCODERS, ([made] * 5, 100)) == [NO_DATA, NO_DATA]
    assert judge(lambda r, _: r.standard_normal(2))[0] == REPRODUCED
    assert judge(lambda r, _: np.repeat(r.standard_normal(1), 2)) == [
        NOT_REPRODUCED,
        PARTLY_REPRODUCED,
    ]

    def opposed(r, name):
        sign = 1 if regime(name) == "preserving" else -1
        return r.standard_normal(1)[0] * np.array([1.0, sign])

    assert judge(opposed)[1] == REPRODUCED


def test_a_published_table_that_does_not_exist():
    with pytest.raises(
        ValueError, match="no published table '13'; known: test1, 11, 12, test3, test4"
    ):
        printed("13")
