"""Two programs as users write them, from data to a conclusion: models, and benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from factories.packs import OWN
from tokenizers import Tokenizer, models, pre_tokenizers

import resemblance as rs

WORDS = ["[UNK]", "[PAD]", "a", "the", "good", "very", "bad", "film", "plot", "was"]
QUIET = {"progress": False}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder in which the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --------------------------------------------------------------------------------- three models


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


def test_three_models(language_models, call):
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


# ---------------------------------------------------------- benchmarks, leaderboard, own measures


def test_benchmarks_and_leaderboard(tiny_board, monkeypatch, call):
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
