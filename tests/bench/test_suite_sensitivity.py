"""The benchmark of Ding et al. on models of which is known what measures must find; continued,
hostile, by command."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from factories.models import SAMPLES, finetuned, normal, write_finetuned, write_model

import resemblance as rs
from papers.ding import claims, tables
from papers.ding.claims import CLAIMS
from papers.judging import NoData
from papers.published import published
from resemblance import bench, cli
from resemblance.bench.packs import open_pack
from resemblance.bench.pinned import build_pack, pack_cases, pack_tasks
from resemblance.bench.sensitivity.cases import FamilySets, round_differences
from resemblance.bench.sensitivity.findings import P_VALUE_KINDS, Correlations, Findings
from resemblance.bench.sensitivity.models import functionalities, parse_bits, sensitivity_recipes
from resemblance.bench.sensitivity.suite import BENCHMARKS, MEASURES, SIZES
from resemblance.bench.study import Purpose, is_running, purpose, save_purpose
from resemblance.bench.study_models import ModelFamily
from resemblance.models.model_folder import read_models
from resemblance.models.recipe import add_default_traits
from resemblance.sections import headlines

run = partial(bench.run, "sensitivity")

THREE = ("procrustes", "cka", "pwcca[directions=all]")
TESTED = [*THREE, "magnitude_difference"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Four seeds, and four pretrained models with four fine-tuned ones each, and more of the
    first."""
    root = tmp_path_factory.mktemp("models")
    for seed in range(4):
        write_model(root / f"normal{seed}", normal(seed), {"setting": "normal", "seed": seed})
    hidden = np.random.default_rng(5).permutation(np.linspace(0, 1, 20))
    position = 0
    for pretrain in range(4):
        for seed in range(8 if pretrain == 0 else 4):
            t = float(hidden[position])
            traits = {"setting": "finetuned", "pretrain": pretrain, "seed": seed}
            accuracies = {
                "test": 0.9,
                "fog/1": 0.9 - 0.5 * t,
                "fog/3": 0.8 - 0.6 * t,
                "rain": 0.7 - 0.3 * t,
            }
            write_model(
                root / f"tuned{pretrain}-{seed}",
                finetuned(pretrain, seed, t),
                traits | {"accuracies": accuracies},
            )
            position += 1
    return root


@pytest.fixture(scope="module")
def study(models, tmp_path_factory):
    """A small run whose claims are judged all the same, which a trial's are not."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(headlines, "TRIAL_SIZES", set())
        yield folder, run(folder, models=models, measures=TESTED, size="small", claims=CLAIMS)


# ------------------------------------------------------------------------------------ what is found


def test_every_benchmark_is_made_and_the_known_order_is_found(study):
    _, findings = study
    names = [s.name for s in findings.sections]
    own = ["summary", *(b.name for b in BENCHMARKS)]
    rest = ["times", "failures", "measures"]
    first = ["answers", "ranking", "distribution", "scores"]
    assert [n for n in names if n != "before"] == [*first, *own, *rest]
    for benchmark in ("finetuning", "pretraining"):
        for functionality in ("fog", "rain"):
            found = findings[benchmark].scores[f"made/known/line/{functionality}/spearman"]
            assert all(found[m] > 0.95 for m in THREE), (benchmark, functionality)
    probe = findings["layers"].scores["made/known/line/probe/spearman"]
    assert all(probe[m] > 0.5 for m in THREE)
    (shown,) = findings["scores"].tables
    columns = {(group, head): i for i, (group, head) in enumerate(zip(shown.groups, shown.columns))}
    rows = {row[0]: row for row in shown.rows}
    assert rows["Procrustes"][columns["2 deletion", "probe τ"]] > 0.3


def test_a_measure_that_normalisation_leaves_nothing_has_no_value(study):
    _, findings = study
    for section in (findings[benchmark.name] for benchmark in BENCHMARKS):
        for name, scores in section.scores.items():
            assert scores["magnitude_difference"] is None, name
        assert "all distances are equal" in section.reasons["made/known/line, magnitude_difference"]
    assert {s["procrustes"] is None for _, s in findings.scores().items()} == {False}
    ranked = [rule for section in findings.sections for rule in section.rules.values()]
    assert {rule.models for rule in ranked} == {"made/known/line"}


def test_tables_say_how_sure_they_are(study):
    _, findings = study
    table = next(t for t in findings["finetuning"].tables if t.name == "made/known/line: measures")
    row = dict(zip(table.columns, table.rows[0]))
    assert row["ρ low"] <= row["ρ"] <= row["ρ high"]
    assert row["permuted p ≤ 0.05"] == 1.0
    assert "assume that pairs are independent" in table.note
    pvalues = next(t for t in findings["layers"].tables if t.name == "made/known/line: p-values")
    naive, permuted = (float(pvalues.rows[0][i]) for i in (5, 7))
    assert naive < permuted  # 16 representations, but 4 seeds and 4 layers
    best = next(t for t in findings["summary"].tables if t.name == "table 1 made/known/line")
    assert {"Spearman", "Kendall"} <= {word for words in best.choices for word in words}
    assert "(" in best.rows[0][2]  # with its interval


def test_claims_have_verdicts_that_can_fail(study):
    _, findings = study
    verdicts = {claim.number: claim.verdict for claim in findings.claims}
    assert set(verdicts) == {"1a", "1b", "2a", "2b", "3a", "3b", "4a", "T1", "T2", "T3"}
    assert verdicts["3a"] == "reproduced"
    assert verdicts["4a"] == "not reproduced"  # here all measures follow accuracy
    assert "no data" not in verdicts.values()


def test_an_interrupted_run_keeps_probes_and_makes_damaged_ones_again(study, models, tmp_path):
    _, findings = study
    options = {"models": models, "measures": TESTED, "size": "small"}
    killed = tmp_path / "killed"

    def until(stage, last):
        def progress(now, done, total):
            if now == stage and done >= last:
                raise KeyboardInterrupt

        return progress

    for stage, last in (("probes", 2), ("comparing", 500), ("resampling", 1)):
        with pytest.raises(KeyboardInterrupt):
            run(killed, **options, progress=until(stage, last))
        assert not is_running(killed)
    assert len(list((killed / "probes").iterdir())) == 4
    (killed / "probes" / f".{'0' * 24}.json-1").write_text("{")  # of a process that was killed
    next((killed / "probes").glob("[!.]*")).write_text("{")  # damaged: computed again
    stages = []
    again = run(killed, **options, progress=lambda *about: stages.append(about))
    assert next(about for about in stages if about[0] == "comparing")[1] > 500
    assert again.scores() == findings.scores()
    assert len(list((killed / "probes").iterdir())) == 4


# --------------------------------------------------------------------------------- models of others


def test_models_make_the_benchmarks_that_they_can(tmp_path):
    for seed in range(3):
        write_model(tmp_path / "models" / f"a{seed}", normal(seed), {"seed": seed}, labels=None)
        tuned = {"setting": "finetuned", "seed": seed, "architecture": "other"}
        write_model(tmp_path / "models" / f"b{seed}", finetuned(0, seed, seed / 2), tuned)
    findings = run(models=tmp_path / "models", measures=["cka"], size="small")
    why = {s.name: dict(s.reasons) for s in findings.sections}
    assert "labels.npy is missing" in why["layers"]["made/known/line"]
    assert "0 models of the setting 'normal'" in why["deletion"]["made/known/other"]
    assert "'accuracies' in traits.json" in why["finetuning"]["made/known/other"]
    assert "no models of the setting 'finetuned'" in why["pretraining"]["made/known/line"]
    assert findings.scores() == {}


def test_one_pretrained_model_is_too_few_for_the_fourth(tmp_path):
    write_finetuned(tmp_path, [{"fog": 0.5 + seed / 10} for seed in range(3)])
    findings = run(
        models=tmp_path, measures=["cka"], size="small", only=["finetuning", "pretraining"]
    )
    assert list(findings["finetuning"].scores) == [
        f"made/known/line/fog/{q}" for q in ("spearman", "kendall")
    ]
    assert "1 pretrained models" in findings["pretraining"].reasons["made/known/line"]


def test_severities_are_averaged(models):
    features = map(add_default_traits, read_models(models))
    tuned = [s for s in features if s.traits["setting"] == "finetuned"]
    found, first = functionalities(tuned), tuned[0].traits["accuracies"]
    assert list(found) == ["fog", "rain"]
    assert found["fog"][0] == pytest.approx((first["fog/1"] + first["fog/3"]) / 2)


def test_a_dead_layer_has_reasons_and_spoils_nothing(tmp_path):
    write_finetuned(tmp_path, [{"fog": 0.5 + seed / 10} for seed in range(4)])
    np.save(tmp_path / "m1" / "block0.npy", np.ones((SAMPLES, 8)))
    findings = run(
        models=tmp_path,
        measures=["cka", "procrustes"],
        size="small",
        only=["finetuning"],
        claims=CLAIMS,
    )
    reason = findings["finetuning"].reasons["made/known/line, cka"]
    assert "comparisons failed" in reason
    assert "constant" in reason
    table = next(t for t in findings["finetuning"].tables if t.name.endswith(": measures"))
    rows = {r[0]: dict(zip(table.columns, r)) for r in table.rows}
    assert rows["CKA"]["ρ"] is None  # nothing is gained by failing
    assert "(7 of 8)" in rows["CKA"]["known pairs only"]
    assert findings["finetuning"].scores["made/known/line/fog/spearman"]["cka"] is None
    by_layer = next(t for t in findings["finetuning"].tables if t.name.endswith(": layer spearman"))
    layers = {r[0]: dict(zip(by_layer.columns, r)) for r in by_layer.rows}["CKA"]
    assert layers["block0"] is None
    assert layers["block1"] > 0.5  # and nothing is spoilt
    pvalues = next(t for t in findings["finetuning"].tables if t.name.endswith(": p-values"))
    assert "(3 of 4 pairs)" in pvalues.rows[0][3]
    assert {c.verdict for c in findings["finetuning"].claims} == {"no data"}
    table = next(t for t in findings["summary"].tables if t.name == "table 1 made/known/line")
    assert [r[1] for r in table.rows] == [None, None]
    assert {c[0] for c in table.choices[1:]} == {"Spearman", "Kendall"}


def test_one_shift_without_differences_is_left_out_for_all(tmp_path):
    accuracies = [
        {"fog": 0.5 + i / 10, "rain": 0.2, "hail/1": 0.3 + i / 10, "hail/2": 0.2} for i in range(4)
    ]
    del accuracies[0]["hail/2"]
    write_finetuned(tmp_path, accuracies)
    section = run(models=tmp_path, measures=["cka"], size="small", only=["finetuning"])[
        "finetuning"
    ]
    assert section.scores["made/known/line/fog/spearman"]["cka"] > 0.5
    assert not [name for name in section.scores if "rain" in name]
    assert "all models have 0.200" in section.reasons["made/known/line, block0, rain"]
    assert "1 of 4 models have no accuracy there" in section.reasons["made/known/line, hail/2"]
    means = next(t for t in section.tables if t.name.endswith(": measures"))
    assert means.rows[0][1] > 0.5


def test_differences_that_do_not_repeat_on_other_inputs_are_shown_and_not_ranked(tmp_path):
    random = np.random.default_rng(0)
    for seed in range(6):
        # models differ by much in fog, and by chance in rain; hail does not say which are right
        right = {"fog/1": random.random(400) < 0.2 + seed / 10, "rain": random.random(400) < 0.5}
        accuracies = {name: float(answers.mean()) for name, answers in right.items()}
        words = {name: "".join(map(str, answers.astype(int))) for name, answers in right.items()}
        traits = {"accuracies": accuracies | {"hail": 0.5 + seed / 10}, "right": words}
        traits |= {"setting": "finetuned", "seed": seed}
        write_model(tmp_path / f"m{seed}", finetuned(0, seed, seed / 5), traits)
    result = run(models=tmp_path, measures=["cka"], size="small", only=["finetuning"])
    found = result["finetuning"]
    assert {cell.split("/")[3] for _, cell in result.scores()} == {"fog", "rain", "hail"}
    assert {cell.split("/")[3] for _, cell in result.ranks()} == {"fog", "hail"}
    assert "not ranked: on other inputs" in found.reasons["made/known/line, rain"]


def test_a_pack_of_a_study_ranks_what_the_study_ranks(tmp_path):
    random, study = np.random.default_rng(4), tmp_path / "study"
    for number, recipe in enumerate(sensitivity_recipes("small", ["graphs"])):
        folder = study / "models" / recipe.name
        is_normal = recipe.setting == "normal"
        layers = normal(number) if is_normal else finetuned(0, number, number / 10)
        right = random.random(400) < number / 10
        more = {
            "recipe": recipe.fingerprint,
            "layers": {"node": list(layers)},
            "accuracies": {"fog": float(right.mean())},
            "right": {"fog": "".join(map(str, right.astype(int)))},
        }
        named = {f"node.{layer}": x for layer, x in layers.items()}
        write_model(folder, named | {"outputs": random.random((SAMPLES, 3))}, recipe.traits | more)
    save_purpose(study, Purpose("sensitivity", "small"))
    archive, _ = build_pack(study, tmp_path, half=True)
    pack = open_pack(archive, cache=tmp_path / "cache")
    again = run(pack=pack, measures=["cka", "rtd"])
    cells = {(cell.test, cell.cell) for cell in pack_tasks(pack)}
    assert set(again.ranks()) == {cell for cell in cells if not cell[1].endswith("kendall")}
    assert {cell.split("/")[4] for test, cell in cells if test == "finetuning"} == {"fog"}
    assert "layers" in {test for test, _ in cells}
    assert {len(of_cell) for of_cell in again.scores().values()} == {2}  # few samples: RTD, too
    case = next(case for case in pack_cases(pack) if case.test == "layers")
    assert case.reliability == pack.manifest.facts["reliability"]["/".join(case.key)]
    (part,) = case.parts
    assert len(part.rows) == 2  # the best representation, and the best of the other seeds


def test_answers_are_words_of_0_and_1():
    assert parse_bits("0110").tolist() == [0, 1, 1, 0]
    for answers in ("0120", [1, 0], 10):
        with pytest.raises(ValueError, match="words of 0 and 1"):
            parse_bits(answers)


def test_without_any_difference_there_is_a_reason(tmp_path):
    write_finetuned(tmp_path, [{"fog": 0.5}] * 3)
    findings = run(models=tmp_path, measures=["cka"], size="small", only=["finetuning"])
    assert findings.scores() == {}
    assert "left out for all measures" in findings["finetuning"].reasons["made/known/line"]


def test_one_bad_model_does_not_stop_the_others(tmp_path):
    for seed in range(3):
        layers = normal(seed)
        if seed == 1:
            layers["block2"][3, 3] = np.nan
        write_model(tmp_path / "nan" / f"m{seed}", layers, {"setting": "normal", "seed": seed})
    section = run(models=tmp_path / "nan", measures=["cka"], size="small", only=["layers"])[
        "layers"
    ]
    (reason,) = section.reasons.values()
    assert "block2 holds NaN" in reason
    assert list(section.scores) == [f"made/known/line/probe/{q}" for q in ("spearman", "kendall")]
    for name, labels in (
        ("one", np.zeros(SAMPLES, int)),
        ("lone", (np.arange(SAMPLES) == 5).astype(int)),
    ):
        for seed in range(2):
            traits = {"setting": "normal", "seed": seed}
            write_model(tmp_path / name / f"m{seed}", normal(seed), traits, labels=None)
            np.save(tmp_path / name / f"m{seed}" / "labels.npy", labels)
        section = run(models=tmp_path / name, measures=["cka"], size="small", only=["layers"])[
            "layers"
        ]
        assert "probe: every part" in section.reasons["made/known/line"]


def test_few_models_have_neither_intervals_nor_pvalues(tmp_path):
    for seed in range(3):
        write_model(tmp_path / f"m{seed}", normal(seed), {"setting": "normal", "seed": seed})
    section = run(models=tmp_path, measures=THREE, size="small", only=["layers"])["layers"]
    table = next(t for t in section.tables if t.name.endswith(": measures"))
    row = dict(zip(table.columns, table.rows[0]))
    values = [row[name] for name in ("ρ low", "τ high", "permuted p ≤ 0.05", "resamples")]
    assert values == [None, None, None, 0.0]
    assert "drawn from 3 blocks, and 4 are needed" in table.note
    assert "that these models can give is 0.17, so that none is given" in table.note


# ------------------------------------------------------------------------------------------ numbers


def found(values, domain="made", names=(("block0", "fog"),), draws=None, failed=None):
    """Return minimal findings for one family of models.

    ``values``: Spearman's correlation of every measure in every cell. Kendall's correlation is half
    of Spearman's.
    """
    table = np.array([[np.nan if v is None else v for v in of] for of in values.values()], float)
    observed = np.array([[table, table / 2]] * len(P_VALUE_KINDS))
    if draws is None:
        draws = observed[:2, ..., None] - 0.1
    family = ModelFamily(domain, "known", "line", "")
    correlations = Correlations(
        tuple(values), tuple(names), observed, draws, table[:0], table[:0], 0, 0, 1.0
    )
    return Findings(family, {}, FamilySets(family), {}, correlations, failed or {})


def test_the_papers_layers_and_corruptions_next_to_ours():
    names = [(f"block{i}", name) for i in (1, 2, 3) for name in ("fog", "brightness")]
    values = {m: [int(layer[-1]) / 10 for layer, _ in names] for m in THREE}
    language, vision = (found(values, d, names) for d in ("language", "vision"))
    several = {"finetuning": (language,), "deletion": (language,), "pretraining": (vision,)}
    by_name = {table.name: table for table in tables.published_tables(several)}
    layers, corruptions = by_name["paper layers spearman"], by_name["paper corruptions spearman"]
    rows = {r[:2]: dict(zip(layers.columns, r)) for r in layers.rows}
    assert len(rows) == 5 + 12
    last = rows["HANS lexical non-entailed", "BERT-base layer 12"]
    assert (last["our layer"], last["CKA, ours"], last["mean CCA, ours"]) == ("block3", 0.3, None)
    printed = published("9", paper="ding")
    (value,) = {
        v.value for v in printed if v.label == "mean_CCA" and v.architecture == "BERT-base layer 12"
    }
    assert last["mean CCA, paper"] == value
    assert rows["HANS lexical non-entailed", "BERT-base layer 1"]["our layer"] == "block1"
    assert rows["PC deletion SST-2", "BERT-base layer 8"]["our layer"] is None
    assert rows["PC deletion SST-2", "BERT-base layer 11"]["our layer"] == "block2"
    by_corruption = {r[0]: r for r in corruptions.rows}
    assert by_corruption["brightness"][1:] == (0.122, 0.11, "brightness", *[pytest.approx(0.2)] * 2)
    assert by_corruption["frost"][3:] == (None, None, None)
    assert by_corruption["Average"][3] == "mean of all"
    table_1 = {r[:2]: r for r in by_name["paper spearman"].rows}
    deleted = table_1["2 Probe: SST-2 (PC deletion)", "language"]
    assert deleted[2:5] == (0.86, 0.751, 0.87)
    assert deleted[5:] == pytest.approx((0.2, 0.2, 0.2))
    few = tables.published_tables({"layers": (found(values, names=names),)})
    assert [table.name for table in few] == ["paper spearman", "paper kendall"]


def test_the_best_of_all_measures_and_no_mean_without_a_value():
    one, other = found({"cka": [0.25]}), found({"cka": [0.75], "mine": [0.8]}, "other")
    table = tables.leaders({"layers": (one, other)})
    assert table.columns[-1] == "best of 2"
    assert table.rows == (
        ("1 made", None, 0.25, None, "CKA 0.25"),
        ("1 other", None, 0.75, None, "mine 0.80"),
        ("mean", None, 0.5, None, "CKA 0.50"),
    )


def test_rounding_is_relative_and_noise_is_none():
    tiny = np.array([1e-9, 2e-9, 2e-9 + 1e-24, np.nan])
    found = round_differences(tiny)
    assert found[1] == found[2]
    assert found[0] == pytest.approx(1e-9, rel=1e-4)
    large = np.array([1e6, 1e6 + 1e-8, 2e6])
    assert round_differences(large)[0] == round_differences(large)[1]
    assert not round_differences(np.array([1e-17, 3e-16, -2e-15])).any()
    assert np.isnan(round_differences(np.full(3, np.nan))).all()


def finding(p, c, w, domain="made", failed=None):
    return found({spec: [v] for spec, v in zip(THREE, (p, c, w))}, domain, failed=failed)


def test_a_domain_counts_only_when_all_holds():
    one, other = finding(0.5, 0.52, 0.4), finding(0.5, 0.52, 0.51, "other")
    assert claims.order_in_layers([one]).holds == (True,)
    evidence = claims.order_in_layers([one, other])
    assert evidence.holds == (True, False)
    assert evidence.ours.startswith(
        "holds in 1 of 2 domains. made/known/line: Procrustes 0.500, CKA 0.520, PWCCA 0.400"
    )
    assert claims.order_in_layers([finding(0.5, 0.6, 0.4)]).holds == (False,)  # not a little
    assert claims.order_in_layers([finding(0.5, 0.5, 0.4)]).holds == (False,)  # a tie is not ahead
    assert claims.order_in_deletion([finding(0.5, 0.5, 0.6)]).holds == (False,)
    with pytest.raises(NoData, match=r"made/known/line: CKA has no mean: 3 comparisons failed"):
        claims.weak([finding(0.1, None, 0.1, failed={"cka": "3 comparisons failed"})])


def test_the_best_overall_needs_all_benchmarks_and_no_tie():
    names = ("layers", "deletion", "finetuning", "pretraining")
    best = {name: [finding(0.6, 0.5, 0.4)] for name in names}
    tied = {name: [finding(0.6, 0.6, 0.4)] for name in names}
    assert claims.best_overall(best).holds == (True,)
    assert claims.best_overall(tied).holds == (False,)
    with pytest.raises(
        NoData, match="all four benchmarks are needed; without models or not run: pretraining"
    ):
        claims.best_overall({name: best[name] for name in names[:3]})
    assert claims.no_dominance(best).holds == (False,)
    other = {**best, "layers": [finding(0.5, 0.6, 0.4)]}
    assert claims.no_dominance(other).holds == (True,)
    assert claims.no_dominance(tied).holds == (False,)  # both are the best everywhere
    assert claims.out_of_distribution_is_hard(best).holds == (False,)
    falling = {n: [finding(v, v, v)] for n, v in zip(names, (0.9, 0.8, 0.5, 0.1))}
    assert claims.out_of_distribution_is_hard(falling).holds == (True,)


def test_late_layers_by_intervals_without_copies():
    def family(procrustes, copies):
        """CKA and PWCCA are 0 in all samples, and Procrustes differs from them by these."""
        draws = np.zeros((2, 2, 3, 1, 2))
        draws[0, 1, 0, 0], draws[1, 1, 0, 0] = procrustes, copies
        return draws

    def judged(ahead, behind):
        draws = family(ahead, (-1, 1))
        draws[0, 1, 2, 0] = behind
        return claims.late_layers([found({m: [0.5] for m in THREE}, draws=draws)]).holds

    assert judged((0.1, 0.2), (0.3, 0.4)) == (True,)
    assert judged((-0.1, 0.2), (0.3, 0.4)) == (False,)
    assert judged((0.1, 0.2), (0.1, 0.2)) == (False,)
    empty = found({m: [0.5] for m in THREE}, draws=np.zeros((2, 2, 3, 1, 0)))
    with pytest.raises(NoData, match="no interval for Procrustes - CKA"):
        claims.late_layers([empty])


def test_slow_measures_are_left_out_with_a_reason(models):
    findings = run(models=models, measures=["cka", "rtd"], size="small", only=["finetuning"])
    assert SIZES["small"].slow < SAMPLES <= SIZES["small"].samples
    assert findings["finetuning"].scores["made/known/line/fog/spearman"].keys() == {"cka"}
    assert "too slow" in findings["finetuning"].reasons["made/known/line, rtd"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": "nowhere"}, "holds no model"),
        ({"size": 3}, r"size must be .*; got 3"),
        ({"domains": []}, "domains must be a list of some of graphs, language"),
        ({"only": []}, "only must be a list of some of layers, deletion"),
        ({"only": "layers"}, "only must be"),
        ({"domains": "vision"}, "domains must be a list"),
        ({"study": __file__}, "is a file; give a new"),
        (
            {"only": ["finetuning"], "claims": {"summary": lambda facts: ["a claim"]}},
            "section 'summary' must return a list",
        ),
    ],
)
def test_mistakes_are_named(options, message, models):
    with pytest.raises(ValueError, match=message):
        run(**{"models": models, "measures": ["cka"], "size": "small", **options})


# --------------------------------------------------------------------------------------- by command


def test_a_study_of_own_models_remembers_them(models, tmp_path, capsys, subtests):
    study = tmp_path / "study"
    options = {"models": models, "measures": ["cka"], "size": "small", "only": ["finetuning"]}
    run(study, **options)
    known = purpose(study)
    assert (known.models, known.size) == (str(models), "small")
    shutil.copytree(models, tmp_path / "others")
    for other in (tmp_path / "others", None):
        with subtests.test(str(other)), pytest.raises(ValueError, match="use another folder for"):
            run(study, **{**options, "models": other})
    (study / "result.json").unlink()  # as after an interruption
    assert cli.run(["bench", "results", str(study)]) == 2
    command = capsys.readouterr().err.partition("no results yet; run: ")[2]
    assert command == f"resemblance bench run sensitivity {study} --models {models} --size small\n"
    with pytest.raises(ValueError, match="not trained for a size of the suite"):
        build_pack(study, tmp_path)


def test_too_few_models_of_ones_own_are_an_answer_of_its_own(models, tmp_path, capsys):
    few = Path(shutil.copytree(models / "normal0", tmp_path / "few" / "normal0")).parent
    shutil.copytree(models / "normal1", few / "normal1")
    (few / "normal1" / "traits.json").unlink()
    words = ["bench", "run", "sensitivity", str(tmp_path / "study"), "--models", str(few)]
    assert cli.run([*words, "-m", "cka", "-j", "1", "--size", "small", "-q"]) == 1
    told = capsys.readouterr().err
    assert "too few models for any test (Few models: at most 1 are" in told
    assert "Left out: normal1 (no traits.json beside its arrays)." in told


def test_trained_models_by_command(models, tmp_path, capsys):
    """Two seeds, trained in seconds; the second time nothing is trained, nor for another
    measure."""
    study = tmp_path / "study"
    options = ["--size", "small", "--only", "layers", "--domain", "vision", "-j", "1", "-q"]
    assert cli.run(["bench", "run", "sensitivity", str(study), *options, "-m", "cka"]) == 0
    findings = rs.load(study / "result.json")
    assert not findings.ranks()  # its few inputs do not say which seed is the better one
    (shown,) = findings["scores"].tables
    assert [hint.partition(", ")[2][:7] for hint in shown.hints] == ["", "vision/", "vision/"]
    trained = {p: p.stat().st_mtime_ns for p in study.rglob("weights.npz")}
    assert len(trained) == 2  # of the others no benchmark was asked for
    assert cli.run(["bench", "run", "sensitivity", str(study), *options, "-m", "cka,mka"]) == 0
    again = rs.load(study / "result.json")
    assert {p: p.stat().st_mtime_ns for p in study.rglob("weights.npz")} == trained
    values = {row[0]: row[1:] for row in again["scores"].tables[0].rows}
    assert values["CKA"] == shown.rows[0][1:]
    assert None not in values["MKA"]  # 120 inputs are enough for its 100 neighbours
    assert cli.run(["bench", "run", "sensitivity", str(study), "--models", str(models)]) == 2
    assert "is a study of trained models" in capsys.readouterr().err


# --------------------------------------------------------------------------------- what was printed


def test_the_published_tables():
    rows = published(paper="ding")
    assert len(rows) == 488
    assert {r.table for r in rows} == {"1", *map(str, range(3, 15)), "16", "17"}
    assert {r.measure for r in rows} <= set(MEASURES)
    value = {(r.dataset, r.architecture, r.label): r.value for r in published("9", paper="ding")}
    mean = np.mean(
        [value["HANS lexical non-entailed", f"BERT-base layer {i}", "CKA"] for i in range(1, 13)]
    )
    printed = next(
        r for r in published("1", paper="ding") if "HANS" in r.dataset and r.label == "CKA"
    )
    assert round(float(mean), 3) == printed.value
    doubtful = [r for r in rows if r.doubtful]
    assert {(r.label, r.quality) for r in doubtful} == {
        ("Procrustes", "kendall"),
        ("CKA", "spearman"),
    }
