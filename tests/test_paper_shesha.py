"""The paper of Shesha on made data: its numbers as printed, and claims that can fail."""

from __future__ import annotations

import math
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import resemblance as rs
from papers.shesha import chance, deletion, encoders, invariances, null_model, quadrants, recovery
from papers.shesha.partial_correlation import bootstrapped, correlated, stream
from papers.shesha.protocol import mixture, split_score
from papers.shesha.published_values import printed
from papers.shesha.suite import EXPERIMENTS, run
from resemblance.results import headlines
from resemblance.results.claims import NO_DATA, NOT, PARTLY, REPRODUCED
from resemblance.results.result import load_result
from resemblance.stability.transformations import regime
from resemblance.suites.experiments import RunConfig
from resemblance.suites.stability import models
from resemblance.suites.stability.spectral import harmonic, without_leading
from resemblance.suites.stability.suite import SIZES

MEASURES = ["cka[estimator=debiased]", "linear_regression"]


def setting(size="default", measures=()):
    return RunConfig(Path("nowhere"), size, tuple(rs.get_measure(m) for m in measures))


def concluded(experiment, found, size="default", measures=()):
    return experiment.conclude(setting(size, measures), found)


def verdicts(section, number):
    return [claim.verdict for claim in section.claims if claim.number == number]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small run whose claims are judged all the same, which a trial's are not."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(headlines, "TRIALS", {})
        yield (
            folder,
            run(folder, size="small", measures=MEASURES, only=["chance", "spectral", "quadrants"]),
        )


def test_the_scores_of_all_mixtures_are_those_of_the_authors_script():
    theirs = [row.value for row in printed("test1")]
    scores = [
        split_score(mixture(a, 320 + i), 320 + i) for i, a in enumerate(np.linspace(0, 1, 21))
    ]
    np.testing.assert_allclose(scores, theirs, atol=1e-12)
    array = (
        ".0037 .0002 .0109 .0037 .0060 .0276 .0492 .1023 .1845 .2700 .3642 .4568 .5399 .5919 "
        ".6276 .6549 .6841 .6949"
    )
    assert [f"{s:.4f}"[1:] for s in scores] == [*array.split(), ".7051", ".7119", ".7080"]
    assert correlated(np.arange(21), np.array(scores)) == pytest.approx(0.9896, abs=5e-5)


def test_the_claims_of_recovery_hold_for_these_scores_and_fail_for_others():
    theirs = [row.value for row in printed("test1")]
    shares = np.linspace(0, 1, 21)

    def section(scores):
        rest = {"ours": 0.0, "default": 0.0, "basis": 0.0}
        noise = np.random.default_rng(0).standard_normal(21)
        found = [
            ({"share": float(a)}, {"author": s, **rest, "formula": float(n)})
            for a, s, n in zip(shares, scores, noise)
        ]
        return concluded(recovery.RECOVERY, found)

    assert verdicts(section(theirs), "S1") == [REPRODUCED, REPRODUCED]
    assert verdicts(section(theirs[::-1]), "S1") == [NOT, NOT]
    assert verdicts(section([*theirs[:-1], 0.5]), "S1") == [NOT, NOT]


def test_a_split_is_that_of_the_library_with_other_halves():
    points = mixture(0.7, 1)
    assert rs.stability.feature_split(points, rdm="correlation") == pytest.approx(
        split_score(points, 1), abs=0.01
    )
    assert split_score(points, count(3), k=2) == pytest.approx(
        np.mean([split_score(points, seed, k=1) for seed in (3, 4)]), abs=1e-12
    )


def test_independent_noise_and_the_random_baseline(small):
    section = small[1]["chance"]
    assert verdicts(section, "S2") == [REPRODUCED, REPRODUCED]
    assert verdicts(section, "S12") == [REPRODUCED]
    first = section.tables[0].rows
    assert [round(value, 4) for _, value, _ in first] == [0.0027, 0.0192, 0.0060]
    assert {row[0]: row[2] for row in section.tables[1].rows}["linear_regression"] == pytest.approx(
        1
    )


def test_claims_about_noise_can_fail():
    pair = {"author": 0.1, "debiased": 0.1, "biased": 0.5, "ours": 0.0, "basis": 0.0}
    one = {"feature_split": 0.0, "variance_ratio": 0.0192, "z_score": 0.006}
    found = [({"what": "pair"}, pair), *(({"what": "baseline"}, one),) * 2]
    section = concluded(chance.CHANCE, found)
    assert verdicts(section, "S2") == [NOT, NOT]
    assert verdicts(section, "S12") == [PARTLY]


def test_z_score_is_that_of_its_definition():
    points, labels = np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([0, 0, 1, 1])
    assert chance.z_score(points, labels) == pytest.approx((10 - 1) / (10 + 1))


def test_every_recorded_cell_of_table_11_and_every_tenth_value_of_the_script():
    found = {
        k: deletion._compute(
            setting(), {"what": "table 11", "removed": k, "seed": 420, "splits": 50}
        )
        for k in (0, 1, 10, 30, 50)
    }
    cells = printed("11")
    assert len(cells) == 20
    for cell in cells:
        assert found[int(cell.at)][cell.quantity] == pytest.approx(cell.value, abs=5.1e-4), cell
    points = harmonic(520)
    for cell in printed("test3", "cka"):
        (left,) = without_leading(points, [int(cell.at)])
        assert rs.cka(points, left, estimator="debiased") == pytest.approx(cell.value, abs=1e-10)
    for cell in printed("test3", "shesha")[::10]:
        k = int(cell.at)
        assert split_score(without_leading(points, [k])[0], 520 + k) == pytest.approx(
            cell.value, abs=1e-10
        )


def test_small_runs_reproduce_what_they_can_and_say_what_they_cannot(small):
    section = small[1]["spectral"]
    assert verdicts(section, "S3") == [REPRODUCED, REPRODUCED]
    assert verdicts(section, "S4") == [REPRODUCED, NO_DATA, NOT]
    assert next(c.note for c in section.claims if c.verdict == NO_DATA).startswith(
        "the run lacks some numbers of"
    )
    assert verdicts(section, "S5") == [REPRODUCED, PARTLY]
    assert verdicts(section, "S6") == [NO_DATA]
    assert set(verdicts(small[1]["quadrants"], "S7")) == {NO_DATA}
    assert (
        "same value whatever" in section.reasons["LinReg"]
    )  # 200 samples of 256 features fit anything
    assert section.scores["order"] == {
        "cka[estimator=debiased]": pytest.approx(1),
        "linear_regression": None,
    }


def falling(start, step):
    """Rows in which every value falls in a straight line."""
    value = lambda k: max(start - step * k, -0.1)  # noqa: E731
    return {
        k: dict.fromkeys(
            ("shesha", "cka", "pwcka", "procrustes", "cka_biased", "whitened"), value(k)
        )
        for k in range(51)
    }


def test_claims_about_deletion_can_fail_and_can_hold():
    rows = [
        ({"what": what, "removed": k}, v)
        for what in ("table 11", "script", "whitening")
        for k, v in falling(1, 0.01).items()
    ]
    rows += [
        ({"what": "table 12", "as": how, "removed": 30}, falling(1, 0.01)[30])
        for how in deletion.PREPROCESSINGS
    ]
    rows = [(p, v) for p, v in rows if p["what"] != "script" or p["removed"] < 50]
    section = concluded(deletion.DELETION, rows)
    assert verdicts(section, "S3") == [NOT, NOT]
    assert verdicts(section, "S4")[0] == NO_DATA  # nothing ever falls below a half
    section = concluded(deletion.DELETION, [(p, falling(1, 0.022)[p["removed"]]) for p, _ in rows])
    assert verdicts(section, "S4") == [NOT, REPRODUCED, NOT]
    assert verdicts(section, "S6") == [PARTLY]


def test_deletion_leaves_what_it_should():
    points = harmonic(5)
    np.testing.assert_allclose(without_leading(points, [0])[0], points, atol=1e-12)
    (left,) = without_leading(points, [3])
    whole, rest = (np.linalg.svd(p - p.mean(axis=0), compute_uv=False) for p in (points, left))
    np.testing.assert_allclose(rest[:190], whole[3:193], atol=1e-10)
    np.testing.assert_allclose(left.mean(axis=0), points.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.svd(points, compute_uv=False), 100 / np.arange(1, 201), atol=1e-9
    )


def test_pairs_of_every_quadrant_are_those_of_the_authors_script():
    theirs = {q: printed("test4", q) for q in ("shesha", "cka")}
    for position, name in enumerate(quadrants.QUADRANTS):
        part = next(p for p in quadrants._parts(setting()) if p["quadrant"] == name)
        found = quadrants._compute(setting(), part)
        assert found["stability"] == pytest.approx(theirs["shesha"][15 * position].value, abs=1e-10)
        assert found["similarity"] == pytest.approx(theirs["cka"][15 * position].value, abs=1e-10)


def test_claims_about_quadrants_hold_for_the_recorded_pairs_and_fail_for_others():
    values = [[row.value for row in printed("test4", q)] for q in ("shesha", "cka")]

    def section(stabilities, similarities):
        names = [name for name in quadrants.QUADRANTS for _ in range(15)]
        found = [
            ({"quadrant": n}, {"stability": a, "similarity": b})
            for n, a, b in zip(names, stabilities, similarities)
        ]
        return concluded(quadrants.QUADRANT_PAIRS, found)

    assert {c.verdict for c in section(*values).claims} == {REPRODUCED}
    swapped = section(*values[::-1])
    assert verdicts(swapped, "S7") == verdicts(swapped, "S10") == [NOT]
    assert verdicts(swapped, "S11") == [REPRODUCED]  # a correlation is symmetric
    assert verdicts(section([0.9] * 45 + [0.1] * 15, values[1]), "S11") == [NOT]


def test_rotations_of_unequal_axes_change_the_feature_split_and_not_the_basis_split():
    found = invariances._compute(setting(), {"share": None, "seed": 320, "splits": 5})
    assert abs(found["before"]) < 0.02 < 0.97 < found["after"]
    assert found["basis_before"] == pytest.approx(found["basis_after"], abs=1e-9)


def test_claims_about_invariances():
    changes = invariances._compute(setting(), {"share": 0.9, "seed": 320, "splits": 5})
    own = {"before": 0.0, "after": 0.98, "basis_before": 0.98, "basis_after": 0.98}

    def section(changes, own):
        found = [({"share": share}, changes) for share in invariances.SHARES]
        return concluded(invariances.INVARIANCES, [*found, ({"share": None}, own)])

    held = section({**changes, "rotation": 0.001}, own)
    assert verdicts(held, "S14") == [PARTLY, REPRODUCED, PARTLY, REPRODUCED]
    assert (
        verdicts(section({**changes, "rotation": 0.0031}, own), "S14")[0] == NOT
    )  # it is not below 0.003
    worse = {
        **changes,
        "rotation": 0.1,
        "scaling": 0.1,
        "constant": 0.1,
        "noise": [0.1, 0.2, 0.3, 0.4, 0.5],
    }
    assert verdicts(section(worse, own), "S14") == [NOT, NOT, NOT, NOT]
    invariant = section({**changes, "rotation": 0.0, "shift": 0.0}, {**own, "after": 0.0})
    assert verdicts(invariant, "S14")[0] == verdicts(invariant, "S14")[2] == REPRODUCED


def test_the_null_model_is_that_of_table_67():
    made = null_model.simulate()
    x, snr, y = made["magnitude"], made["snr"], made["coherence"]
    assert [f"{correlated(*pair):.3f}" for pair in ((x, y), (snr, y), (x, y, snr))] == [
        "0.639",
        "0.999",
        "0.292",
    ]
    value, low, high = bootstrapped(x, y, draws=200, random=np.random.default_rng(320))
    assert (value, low, high) == (
        pytest.approx(0.639, abs=5e-4),
        pytest.approx(0.612, abs=0.01),
        pytest.approx(0.664, abs=0.01),
    )


def test_claims_about_the_null_model():
    def section(shift, size="default"):
        found = [
            ({"what": name}, {"found": [v + shift for v in value], "curve": [[1.0, 0.5, 0.4, 0.6]]})
            for name, value in null_model.PRINTED.items()
        ]
        return concluded(null_model.NULL_MODEL, found, size)

    assert verdicts(section(0.0), "S13") == [REPRODUCED] * 3
    assert verdicts(section(0.003), "S13") == [PARTLY] * 3
    assert verdicts(section(-0.1), "S13") == [NOT] * 3
    assert verdicts(section(0.0, "small"), "S13") == [NO_DATA] * 3  # 100 bootstraps


def test_correlations_of_ranks():
    x = np.arange(50.0)
    assert correlated(x, x**3) == pytest.approx(1)
    assert math.isnan(correlated(x, np.ones(50)))
    assert (
        abs(correlated(2 * x + np.sin(7 * x), x + np.cos(5 * x), x)) < 0.3
    )  # what they share is given
    low, high = bootstrapped(x, x, draws=20, random=stream("a"))[1:]
    assert low == high == pytest.approx(1)


def test_parts_name_what_they_are_computed_with():
    for experiment in (
        recovery.RECOVERY,
        chance.CHANCE,
        deletion.DELETION,
        quadrants.QUADRANT_PAIRS,
        encoders.ENCODERS,
    ):
        for part in experiment.parts(setting("default", MEASURES)):
            named = [
                part[key] for key in ("uses", "measures", "statistics", "measure") if key in part
            ]
            assert named, (experiment.name, part)
            every = [[one] if isinstance(one[0], str) else one for one in named]
            assert all(isinstance(version, int) for own in every for _, version in own)


def test_claims_about_encoders_hold_and_fail():
    random = np.random.default_rng(3)

    def section(make):
        rows = []
        for i in range(400):
            name = "noise_005" if i % 2 else "pca_005"
            x, y = make(random, name)
            rows.append([f"{name}{i}", regime(name), 10, x, -x, y, y])
        return concluded(
            encoders.ENCODERS,
            [({"domain": "vision", "model": "m", "base": "last layer", "seed": 0}, rows)],
            "small",
        )

    made = [
        (
            {"domain": encoders.MADE, "base": "last layer", "seed": 0},
            [["pca_005", "compression", 5, 0, 0, 1, 1]] * 5,
        )
    ]
    assert verdicts(concluded(encoders.ENCODERS, made, "small"), "T15") == [NO_DATA, NO_DATA]
    independent = section(lambda r, _: r.standard_normal(2))
    assert verdicts(independent, "T15")[0] == REPRODUCED
    same = section(lambda r, _: np.repeat(r.standard_normal(1), 2))
    assert verdicts(same, "T15") == [NOT, PARTLY]
    opposed = section(
        lambda r, name: (
            r.standard_normal(1)[0] * np.array([1.0, 1.0 if name == "noise_005" else -1.0])
        )
    )
    assert verdicts(opposed, "T15")[1] == REPRODUCED


def test_models_of_what_is_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "transformers" else object()
    )
    assert {r.domain for r in encoders._models(setting())} == {"graphs", "vision"}
    assert encoders._absent(setting()) == {"models of language": "transformers is not installed"}
    assert {p["domain"] for p in encoders._parts(setting())} == {encoders.MADE, "graphs", "vision"}
    assert len(encoders._models(setting())) == 4


def test_findings_are_read_as_they_were_saved_and_a_second_run_computes_nothing(small, monkeypatch):
    folder, findings = small
    assert load_result(folder / "result.json") == findings
    for module, experiment in (
        (deletion, deletion.DELETION),
        (quadrants, quadrants.QUADRANT_PAIRS),
    ):
        assert experiment.compute is module._compute
    before = {p: p.stat().st_mtime_ns for p in (folder / "parts").rglob("*.json")}
    again = run(folder, size="small", measures=MEASURES, only=["chance", "spectral", "quadrants"])
    assert again == findings
    assert {p: p.stat().st_mtime_ns for p in (folder / "parts").rglob("*.json")} == before


def test_every_experiment_has_a_name_of_its_own_and_parts_at_every_size():
    assert len({e.name for e in EXPERIMENTS}) == len(EXPERIMENTS)
    for size in SIZES:
        for experiment in EXPERIMENTS:
            parts = experiment.parts(setting(size, MEASURES))
            assert 0 < len({str(p) for p in parts}) == len(parts)


def test_a_published_table_that_does_not_exist():
    with pytest.raises(
        ValueError, match="no published table '13'; known: test1, 11, 12, test3, test4"
    ):
        printed("13")
