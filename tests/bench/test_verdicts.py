"""Verdicts on five measures whose answers are known beforehand, on the packs that ship."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import resemblance as rs
from resemblance.bench.answers import Interval
from resemblance.bench.ranking.verdicts import (
    MeasureVerdicts,
    QuestionVerdict,
    RankedMeasures,
    verdict_sentences,
)


def centered(x: rs.Representation) -> np.ndarray:
    a = np.asarray(x.array, float)
    return a - a.mean(axis=0)


def own(label: str, larger: bool = False):
    """Declare a measure of a user."""
    return rs.measure(
        label=label, family="similarity_matrix", larger_is_more_similar=larger,
        range=(-np.inf, np.inf), symmetric=True, citation="mine2026", differentiable=False,
    )  # fmt: skip


@own("Copy", larger=True)
def copy_of_cka(x, y):
    """CKA by its formula, the cosine of two centred Gram matrices."""
    a, b = centered(x), centered(y)
    cross = np.linalg.norm(a.T @ b) ** 2
    return min(cross / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b), 1.0)


@own("Rotation")
def rotation(x, y):
    """Procrustes under another name."""
    a, b = (c / np.linalg.norm(c) for c in map(centered, (x, y)))
    return np.sqrt(max(2 - 2 * np.linalg.svd(a.T @ b, compute_uv=False).sum(), 0.0))


@own("Norms")
def norms(x, y):
    """Size alone."""
    return abs(np.linalg.norm(centered(x)) - np.linalg.norm(centered(y)))


@own("Noise")
def noise(x, y):
    """Random numbers that depend on the two arrays, which may be centred or of unit norm."""
    bits = sorted(int(np.abs(np.asarray(r.array)).sum() * 2**40) for r in (x, y))
    return float(np.random.default_rng(bits).random())


@own("Gaps")
def gaps(x, y):
    """A measure of one's own: the mean difference of the distances between samples."""
    return float(np.abs(pdist(centered(x)) - pdist(centered(y))).mean())


def test_a_sentence_has_both_intervals_and_a_measure_with_nearly_the_same_scores(tmp_path):
    ends = Interval(0.045, 0.01, 0.08), Interval(0.045, -0.035, 0.125)
    verdict = QuestionVerdict("q", "who is alike", "AUPRC", 0.74, 0.69, *ends, equals=("RSA",))
    verdicts = (verdict,) * 9 + (verdict._replace(equals=()),)
    measure = MeasureVerdicts("mine", "Mine", "CKA", verdicts, 1.0, None)
    words = verdict_sentences(measure)
    assert "+0.04 (0.01 to 0.08) as a single comparison, not shown together with all" in words
    few = measure._replace(verdicts=(verdict._replace(n_together=2),))
    assert "not shown together with 2 measures (" in verdict_sentences(few)
    assert "Same scores as RSA in 9 of 10 questions" in words
    ranked = RankedMeasures((measure, measure), (), "No network differs.")
    assert {record["holds_together"] for record in ranked.records()} == {False}
    text = ranked.to_table(tmp_path / "ranked.txt").read_text()
    assert text.count("better alone") == 20
    assert text.count("No network differs.") == 1
    sure = verdict._replace(together=ends[0])
    assert (sure.holds_together, sure._replace(difference=None).holds_together) == (True, None)


@pytest.fixture(scope="module")
def ranked() -> RankedMeasures:
    return rs.bench.rank(copy_of_cka, rotation, norms, noise, gaps)


def verdicts(ranked, spec):
    (found,) = [m for m in ranked.measures if m.spec == spec]
    return {v.question: v for v in found.verdicts}


@pytest.mark.long
def test_a_copy_of_cka_is_equal_to_cka(ranked):
    found = verdicts(ranked, "copy_of_cka")
    with_intervals = {v.verdict for v in found.values()} - {"no interval"}
    assert with_intervals <= {"equal", "no difference"}
    assert all(abs(v.score - v.baseline) < 1e-3 for v in found.values())


@pytest.mark.long
def test_procrustes_under_another_name_is_recognised(ranked):
    assert "is it the same measure?" in ranked.summary()
    found = verdicts(ranked, "rotation")
    names = set.intersection(*(set(v.equals) for v in found.values() if v.score is not None))
    assert {"OrthProc", "AngShape", "NBS"} <= names


@pytest.mark.long
def test_size_alone_is_named_as_trivial(ranked):
    found = verdicts(ranked, "norms")
    assert found["training"].score == pytest.approx(found["training"].size_alone)
    assert found["probes"].verdict == "no score"
    assert (
        "The score of size alone is at least as high at telling which models were trained alike"
        in ranked.summary()
    )


@pytest.mark.long
def test_noise_is_worse_and_never_better(ranked):
    found = {q: v.verdict for q, v in verdicts(ranked, "noise").items()}
    assert (found["training"], found["layers"], found["probes"]) == ("worse",) * 3
    assert "better" not in found.values()
    assert not any(v.may_be_best for v in verdicts(ranked, "noise").values())


@pytest.mark.long
def test_a_good_measure_is_better_than_cka_at_telling_models_trained_alike(ranked):
    found = verdicts(ranked, "gaps")["training"]
    assert (found.verdict, found.may_be_best) == ("better", True)
    assert found.difference.value > 0.05
    assert "Gaps (gaps): better than CKA at telling which models were trained alike: +" in (
        ranked.summary()
    )
