"""Ten programs as users write them, from data to a conclusion, with what each result means."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from factories.packs import OWN
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import resemblance as rs
from resemblance.intermediates.spectra import decomposition

WORDS = ["[UNK]", "[PAD]", "a", "the", "good", "very", "bad", "film", "plot", "was"]
QUIET = {"progress": False}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder in which the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def layers(rng):
    """Layers of 80 samples: the second is the first in other coordinates, the last is noise."""
    first = rng.standard_normal((80, 6))
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    return {"first": first, "turned": 3 * first @ turn + 1, "noise": rng.standard_normal((80, 6))}


def network(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


# ----------------------------------------------------------------------------------- 1 many layers


def test_1_many_layers(layers):
    result = rs.compare(layers, measures=["cka", "rsa"], **QUIET)
    assert "cka" in result
    assert list(result) == ["cka", "rsa"]
    assert result["cka"][0, 1] == pytest.approx(1)
    assert result["cka"][0, 2] < 0.5
    dissimilarity = result.dissimilarity("cka")
    assert dissimilarity[0, 1] == pytest.approx(0, abs=1e-6)
    assert dissimilarity[0, 1] < dissimilarity[0, 2]


# ------------------------------------------------------------------------ 2 p-values and intervals


def test_2_pvalues_and_intervals(layers):
    documents = np.repeat(np.arange(20), 4)
    result = rs.evidence(
        layers["first"],
        against={"turned": layers["turned"], "noise": layers["noise"]},
        measures="cka",
        whole_blocks=documents,
        n_permutations=199,
        confidence_level=0.9,
        null="permutations",
        **QUIET,
    )
    assert result.pvalue("cka")[0, 0] == result.min_pvalue == 1 / 200
    assert result.pvalue("cka")[0, 1] > 0.05
    for adjust in ("familywise", "fdr"):
        assert (result.pvalue("cka", adjust=adjust) >= result.pvalue("cka")).all()
    assert result.chance("cka")[0, 1] < result["cka"][0, 0]
    assert (result.chance_std("cka") > 0).all()
    assert "199" in result.null_method("cka")
    assert result.low("cka")[0, 1] <= result["cka"][0, 1] <= result.high("cka")[0, 1]


# --------------------------------------------------------------------- 3 keep, reopen, table, page


def test_3_keep_reopen_table_and_page(layers):
    result = rs.evidence(layers, measures="cka", **QUIET)
    result.save("run.evidence")
    again = rs.load("run.evidence")
    assert isinstance(again, rs.Evidence)
    np.testing.assert_array_equal(again.pvalue("cka"), result.pvalue("cka"))
    again.to_table("table.tex")
    again.to_html("page.html")
    assert r"\toprule" in Path("table.tex").read_text()
    page = Path("page.html").read_text()
    assert all(name in page for name in layers)


# ---------------------------------------------------------------------------------- 4 three models


@pytest.fixture
def language_models(folder):
    """Two folders with small models of ``transformers``, and a file of texts."""
    backend = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]"
    )
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        base = transformers.BertModel(config)
        base.save_pretrained("base")
        for parameter in base.encoder.layer[1].parameters():  # the fine-tuned block
            parameter.data += 0.05 * torch.randn_like(parameter)
        base.save_pretrained("tuned")
    for name in ("base", "tuned"):
        tokenizer.save_pretrained(name)
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS[2:], size=random.integers(2, 7))) for _ in range(60)]
    Path("texts.txt").write_text("\n".join(texts) + "\n")
    return base, tokenizer


def test_4_three_models(language_models, call):
    models_by_name = {"base": "base", "tuned": "tuned", "third": language_models}
    result = rs.compare_models(
        models_by_name,
        "texts.txt",
        max_samples=40,
        reinitialized=True,
        measures="cka",
        n_permutations=19,
        batch_size=20,
        **QUIET,
    )
    scores = result.to_pandas().set_index(["x", "y"])["value"]
    tuned = scores["base/encoder.layer.1", "tuned/encoder.layer.1"]
    fresh = scores["base/encoder.layer.1", "reinitialized/encoder.layer.1"]
    assert scores["base/encoder.layer.0", "tuned/encoder.layer.0"] == pytest.approx(1)
    assert scores["tuned/encoder.layer.1", "third/encoder.layer.1"] == pytest.approx(1)
    assert fresh < tuned < 1
    words = "compare-models base=base tuned=tuned --data texts.txt --max-samples 40 --plan -q"
    code, out, _ = call(words)
    assert code == 0
    assert "of features" in out
    assert rs.plan_models(models_by_name, "texts.txt", max_samples=40).records()


# --------------------------------------------------------------------------- 5 features of a model


def test_5_features_of_a_model(rng):
    inputs = torch.tensor(rng.standard_normal((20, 6)), dtype=torch.float32)
    net, loader = network(0), DataLoader(TensorDataset(inputs), batch_size=8)
    features = rs.extract_features(net, loader, **QUIET)
    rs.save_features(features, "saved/net")
    (again,) = rs.read_models("saved/net")
    stored = rs.extract_features(net, inputs.numpy(), "stored/net", layers=["0", "2"], **QUIET)
    opened = rs.open_features("stored/net")
    assert list(features.layers) == list(again.layers)
    with torch.no_grad():
        expected = net[0](inputs).numpy()
    for model in (features, again, stored, opened):
        np.testing.assert_allclose(model.layers["0"].array, expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------------------- 6 drift in CI


def test_6_drift_in_ci(rng, call):
    old = rng.standard_normal((300, 8))
    scaled = old * np.array([1, 1, 1, 1, 1, 1, 1, 20])
    np.save("old.npy", old)
    np.save("new.npy", scaled)
    options = "--purpose head --max-samples 200 --n-resamples 20 -q"
    assert call(f"drift old.npy old.npy {options}")[0] == 0
    code, _, _ = call(f"drift old.npy new.npy {options} -o drift.json")
    assert code == 1
    assert json.loads(Path("drift.json").read_text())["drifted"] is True
    report = rs.drift(old, scaled, purpose="head", max_samples=200, n_resamples=20, **QUIET)
    assert report.drifted
    assert report.changes
    report.save("report.json")
    again = rs.load("report.json")
    assert again.summary() == report.summary()
    assert again.changes == report.changes


# ------------------------------------------------------------------------- 7 a new embedding model


def test_7_a_new_embedding_model(rng):
    old, old_queries = rng.standard_normal((400, 8)), rng.standard_normal((60, 8))
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    result = rs.upgrade_index(
        old,
        old @ turn,
        old_queries,
        old_queries @ turn,
        target="new_model",
        min_recall=0.9,
        cost_per_document=1e-4,
        cost_per_miss=1e-5,
        **QUIET,
    )
    assert result.decision == "map queries"
    index_map = result.map()
    index_map.save("map.npz")
    with np.load("map.npz") as arrays:
        assert arrays["side"] == index_map.side == "queries"
        mapped = arrays["after"] + arrays["factor"] * (
            (old_queries @ turn - arrays["before"]) @ arrays["matrix"]
        )
    np.testing.assert_allclose(mapped, old_queries, atol=1e-6)
    np.testing.assert_allclose(index_map(old_queries @ turn), mapped)


# ---------------------------------------------------------------------- 8 models against subjects


def test_8_models_against_subjects(rng):
    images = rng.standard_normal((60, 10))
    area = {
        f"s{i}": images @ rng.standard_normal((10, 40)) + rng.standard_normal((60, 40))
        for i in range(6)
    }
    models_by_name = {"seeing": images, "blind": rng.standard_normal((60, 10))}
    pairs_of_images = np.repeat(np.arange(30), 2)
    result = rs.score_models(
        models_by_name, area, whole_blocks=pairs_of_images, confidence_level=0.9, **QUIET
    )
    assert result.models[result.order[0]] == "seeing"
    assert result.pairs(adjust="familywise")[0, 1] < 0.05
    difference = result.difference("seeing", "blind")
    assert difference.value > 0
    assert difference.pvalue < 0.05
    assert (result.standard_error > 0).all()
    assert (result.low <= result.mean).all()


# ----------------------------------------------------------------------- 9 a measure of your own


@rs.cached("k")
def top_variances(x, rank):
    """The largest variances, as shares of the whole."""
    variances = decomposition(x).singular ** 2
    return variances[:rank] / variances.sum()


@rs.measure(
    label="Mine",
    family="descriptive",
    citation="me2026",
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    differentiable=False,
    needs_pairing=False,
    invariant_to={"permutation", "orthogonal", "isotropic_scaling", "translation"},
)
def mine(x, y, *, k: int = 2):
    """Mine: the overlap of the largest shares of variance."""
    if min(x.shape[1], y.shape[1]) < k:
        raise rs.UndefinedError(f"needs {k} features")
    return 1 - float(abs(top_variances(x, k) - top_variances(y, k)).sum()) / 2


def test_9_a_measure_of_your_own(layers, rng):
    result = rs.compare(
        {**layers, "narrow": rng.standard_normal((80, 2))},
        measures=[mine, mine.with_parameters(k=4)],
        **QUIET,
    )
    assert list(result) == ["mine", "mine[k=4]"]
    assert result["mine"][0, 1] == pytest.approx(1)
    assert {f.reason for f in result.failures} == {"needs 4 features"}
    outcomes = {o.check: o.holds for o in rs.check_measure(mine)}
    assert False not in outcomes.values()


# ------------------------------------------------------- 10 benchmarks, leaderboard, own measures


def test_10_benchmarks_and_leaderboard(tiny_board, monkeypatch, call):
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tiny_board / "cache"))
    Path("mine.py").write_text(OWN)
    scores = tiny_board / "scores.jsonl"
    for name in ("resi", "manifolds"):
        words = f"--pack {name}-tiny@1 -m cka,procrustes --add-measure mine.py:top_share -q"
        assert call(f"bench run {name} {name} {words}")[0] == 0
    assert "manifolds" in call("bench status manifolds")[1]
    assert call("bench combine resi manifolds -o ranks.csv -q")[0] == 0
    combined = rs.bench.combine("resi", "manifolds")
    assert set(combined.labels) == {"cka", "procrustes", "top_share"}
    study = rs.bench.run("manifolds", "again", pack="manifolds-tiny@1", measures=["cka"])
    assert rs.load("again").scores() == study.scores()
    cka_scores = rs.load("manifolds").scores()
    for cell, values in study.scores().items():
        assert cka_scores[cell]["cka"] == values["cka"]
    code, out, _ = call("rank", "mine.py:top_share", "--packs", "tiny", "--against", scores, "-q")
    assert code == 0
    assert "which models were trained alike" in out
    ranks = rs.bench.rank("procrustes", packs="tiny", against=scores, benchmark="resi")
    assert {record["spec"] for record in ranks.records()} == {"procrustes"}
    code, out, _ = call("leaderboard --benchmark resi")
    assert code == 0
    shortfalls = [r["largest_shortfall"] for r in rs.leaderboard().records()]
    assert shortfalls[0] == min(s for s in shortfalls if s is not None)
