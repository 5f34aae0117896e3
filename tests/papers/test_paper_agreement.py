"""The scores of a study next to the columns that the ReSi paper prints."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from factories.synthetic import graded_outputs, noise_walk, tight_groups
from scipy.stats import spearmanr

from papers.published import published
from papers.resi import agreement
from papers.resi.agreement import agreements, document_of, page, printed_columns
from resemblance.bench.resi import assess

MEASURES = [
    "cka", "procrustes", "jaccard", "gulp", "linear_regression", "svcca", "eigenspace_overlap",
    "rsa", "magnitude_difference", "uniformity_difference", "angular_shape", "aligned_cosine",
    "second_order_cosine", "distance_correlation", "procrustes_size_shape", "rank_similarity",
]  # fmt: skip


def as_cora(architecture, model_features):
    """Subjects that say they are models of the paper."""
    names = {"domain": "graphs", "dataset": "cora", "pooling": "node"}
    names["architecture"] = architecture
    return [replace(s, traits={**s.traits, **names}) for s in model_features]


@pytest.fixture(scope="module", params=["paper", "resi-code"])
def facts(request):
    models = as_cora("gcn", tight_groups(setting="labels"))
    models += as_cora("sage", graded_outputs(models=6)) + as_cora("gat", noise_walk(models=3))
    return assess(models, measures=MEASURES, protocol=request.param)


def test_a_sample_of_every_model_once_has_the_scores_of_the_study(facts):
    for (test, quality, family), scores in agreement._cells(facts).items():
        sampler = agreement._sampler(facts, test, quality, family, scores)
        values = sampler.score(np.concatenate(sampler.groups))
        assert values == pytest.approx({s.label: s.value for s in scores}, nan_ok=True)


def test_agreement_is_that_of_the_scores_and_the_printed_ones(facts):
    rows = {(row["test"], row["quality"]): row for row in agreements(facts, draws=5)}
    assert ("labels", "auprc") in rows
    assert ("layers", "spearman") in rows
    for (test, quality), row in rows.items():
        theirs = printed_columns()["Cora", row["architecture"], "node", test, quality]
        ours = {s.label: s.value for s in facts.scores if s.cell[:2] == (test, quality)}
        both = [label for label in ours if label in theirs and np.isfinite(ours[label])]
        pairs = np.array([(ours[label], theirs[label]) for label in both])
        assert row["measures"] == len(both) >= 12
        if np.ptp(pairs[:, 0]) > 0:
            assert row["correlation"] == pytest.approx(spearmanr(*pairs.T).statistic)
        assert row["difference"] == pytest.approx(abs(pairs[:, 0] - pairs[:, 1]).mean())
        label, mine, printed = row["most"][0]
        assert abs(mine - printed) == pytest.approx(abs(pairs[:, 0] - pairs[:, 1]).max())
        assert (mine, printed) == (ours[label], theirs[label])


def test_a_pair_of_a_model_with_itself_does_not_count(facts):
    cells = agreement._cells(facts)
    cell = next(cell for cell in cells if cell[:2] == ("accuracy", "spearman_accuracy"))
    sampler = agreement._sampler(facts, *cell, cells[cell])
    positions = sampler.groups[0]
    once = sampler.score(positions[:4])
    again = sampler.score(np.concatenate([positions[:4], positions[:4]]))
    for label, value in once.items():  # each pair counts four times, and no zero is added
        assert again[label] == pytest.approx(value, nan_ok=True)


def test_doubtful_values_are_left_out():
    columns = printed_columns()
    doubtful = [v for v in published() if v.doubtful and v.dataset == "Cora"]
    assert doubtful
    for v in doubtful:
        column = columns.get(("Cora", v.architecture, v.pooling, v.test, v.quality), {})
        assert v.label not in column


def test_what_is_stored_makes_the_page(facts, tmp_path, monkeypatch):
    monkeypatch.setattr(agreement, "load_evaluation", lambda study: facts)
    words = [f"A study={tmp_path}", "--draws", "2", "--page", str(tmp_path / "page.md")]
    assert agreement.main([*words, "--json", str(tmp_path / "made.json")]) == 0
    (document,) = json.loads((tmp_path / "made.json").read_text())
    text = (tmp_path / "page.md").read_text()
    assert page([document]) == text
    assert "| Cora GCN | Label randomization | AUPRC |" in text
    assert text.count("**A study.** ") == 1
    assert f"protocol `{facts.options.protocol}`" in text
    assert document == json.loads(json.dumps(document_of(facts, "A study", draws=2)))
