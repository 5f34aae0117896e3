"""Shifted test sets: what every corruption, stress test and rewiring does, against closed forms, at
five severities; and EDA, the augmentation of sentences."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.base.rng import generator
from resemblance.bench.training.corruption import SEVERITIES
from resemblance.bench.training.graphs import shifts as rewiring
from resemblance.bench.training.language import shifts as stress
from resemblance.bench.training.standard_library import load_snapshot
from resemblance.bench.training.vision.digits import split_digits
from resemblance.bench.training.vision.shifts import IMAGE_CORRUPTIONS, corrupt_images

RANDOM_FREE = ("blur", "contrast", "brightness", "pixelate", "compression")


def random(seed=0):
    return generator(seed, "test")


@pytest.fixture(scope="module")
def images():
    return split_digits(300).test[:, 0]


def change(name, images, amount):
    """A corruption before clipping, in double precision."""
    return IMAGE_CORRUPTIONS[name].change(images.astype(float), amount, random())


# ------------------------------------------------------------------------------------------- images


@pytest.mark.parametrize("name", IMAGE_CORRUPTIONS)
def test_a_corruption_keeps_shape_type_and_range_and_grows(name, images):
    before, off = images.copy(), []
    for severity in SEVERITIES:
        found = corrupt_images(images, name, severity, random())
        assert (found.shape, found.dtype) == (images.shape, images.dtype)
        assert 0 <= found.min() <= found.max() <= 1
        assert np.array_equal(found, corrupt_images(images, name, severity, random()))
        other = corrupt_images(images, name, severity, random(1))
        assert np.array_equal(found, other) == (name in RANDOM_FREE)
        off.append(np.abs(found - images).mean())
    assert off[0] > 0.01  # the least severe is seen too
    assert (np.diff([0, *off]) > 0).all()
    assert np.array_equal(images, before)
    assert np.array_equal(corrupt_images(images, name, 0, random()), images)


def test_noises_have_the_mean_and_the_variance_they_claim():
    gray = np.full((2000, 8, 8), 0.4)
    n = gray.size
    normal = change("gaussian_noise", gray, 0.3)
    assert normal.mean() == pytest.approx(0.4, abs=4 * 0.3 / np.sqrt(n))
    assert normal.std() == pytest.approx(0.3, rel=0.01)
    counted = change("shot_noise", gray, 5.0)
    assert counted.mean() == pytest.approx(0.4, abs=4 * np.sqrt(0.08 / n))
    assert counted.var() == pytest.approx(0.4 / 5, rel=0.02)
    hit = change("impulse_noise", gray, 0.2)
    assert (hit == 1).mean() == pytest.approx(0.1, abs=0.004)
    assert (hit == 0).mean() == pytest.approx(0.1, abs=0.004)
    assert set(np.unique(hit)) == {0, 0.4, 1}


def test_contrast_scales_deviations_from_means_that_blur_and_pixelate_keep_too(images):
    means, spreads = images.mean(axis=(1, 2)), images.std(axis=(1, 2))
    for name, amount in (
        ("contrast", 0.4),
        ("blur", 0.8),
        ("pixelate", 0.625),
        ("pixelate", 0.375),
    ):
        found = change(name, images, amount)
        np.testing.assert_allclose(found.mean(axis=(1, 2)), means, atol=1e-6)
        assert (found.std(axis=(1, 2)) < spreads).all()
        if name == "contrast":
            np.testing.assert_allclose(found.std(axis=(1, 2)), 0.4 * spreads, atol=1e-6)
    np.testing.assert_allclose(change("brightness", images, 0.3), images + 0.3, atol=1e-7)
    blocks = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).repeat(2, axis=1).repeat(2, axis=2)
    np.testing.assert_allclose(change("pixelate", images, 0.5), blocks, atol=1e-6)


def test_compression_rounds_the_cosine_transform(images):
    k, x = np.arange(8)[:, None], np.arange(8)
    basis = np.where(k == 0, np.sqrt(1 / 8), np.sqrt(2 / 8)) * np.cos(np.pi * k * (2 * x + 1) / 16)
    before, after = (
        basis @ i @ basis.T for i in (images.astype(float), change("compression", images, 0.75))
    )
    np.testing.assert_allclose(after / 0.75, np.round(after / 0.75), atol=1e-9)
    assert np.abs(after - before).max() <= 0.375 + 1e-9


def test_a_turn_by_a_right_angle_and_a_whole_step_are_exact(images):
    turned = change("rotation", images, 90.0)
    both = [np.rot90(images, k, axes=(1, 2)) for k in (1, -1)]
    off = np.array([np.abs(turned - other).max(axis=(1, 2)) for other in both])
    assert off.min(axis=0).max() < 1e-9
    assert {0, 1} == set(off.argmin(axis=0))
    one = np.zeros((500, 9, 9))
    one[:, 4, 4] = 1
    moved = change("translation", one, 2.5)
    rows, columns = (np.einsum(f"nhw,{axis}->n", moved, np.arange(9) - 4.0) for axis in "hw")
    np.testing.assert_allclose(np.hypot(rows, columns), 2.5, atol=1e-9)
    np.testing.assert_allclose(moved.sum(axis=(1, 2)), 1, atol=1e-9)
    assert rows.min() < -2
    assert rows.max() > 2


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), "must be floating point from 0 to 1"),
        (np.full((2, 8, 8), 255.0), "between 0 and 1"),
        (np.full((2, 8, 8), np.nan), "without NaN"),
        ([[[0.0]]], "must be floating point"),
        (np.zeros((2, 1, 8, 8)), r"must be .n, height, width.; got shape"),
    ],
)
def test_images_that_cannot_be_corrupted(images, message):
    with pytest.raises(ValueError, match=message):
        corrupt_images(images, "blur", 1, random())


# ---------------------------------------------------------------------------------------- sentences

LABELS = np.repeat(np.arange(3), 40)
SENTENCES = [
    [f"own{k}", "the", f"also{k}", "of", "parrot", f"word{i % 7}"] for i, k in enumerate(LABELS)
]
CUES = stress.cue_words(SENTENCES, LABELS, 3, 2)


def stressed(name, severity):
    return stress.stress_sentences(SENTENCES, LABELS, name, severity, CUES, random())


def test_cues_are_the_words_of_one_class():
    assert [[f"also{k}", f"own{k}"] for k in range(3)] == CUES
    rare = stress.cue_words([["a"], ["a"], ["b"]], np.array([0, 0, 1]), 2, 5)
    assert rare == [[], []]


@pytest.mark.parametrize("name", stress.TEXT_STRESSES)
def test_severity_zero_is_the_sentence_and_others_are_not(name):
    before = [list(words) for words in SENTENCES]
    assert stressed(name, 0) == before
    for severity in SEVERITIES:
        found = stressed(name, severity)
        assert found != before
        assert all(found)
        assert found == stressed(name, severity)
    assert before == SENTENCES


@pytest.mark.parametrize(("severity", "share"), [(1, 0.1), (5, 0.6)])
def test_words_are_lost_and_spoilt_as_often_as_said(severity, share):
    left = sum(map(len, stressed("deletion", severity))) / sum(map(len, SENTENCES))
    assert 1 - left == pytest.approx(share, abs=0.05)
    pairs = [
        pair
        for both in zip(SENTENCES, stressed("typos", severity), strict=True)
        for pair in zip(*both)
    ]
    assert np.mean([a != b for a, b in pairs]) == pytest.approx(share, abs=0.06)
    assert all(sorted(a) == sorted(b) for a, b in pairs)


def test_order_added_words_and_masked_cues():
    assert all(sorted(a) == sorted(b) for a, b in zip(SENTENCES, stressed("order", 5), strict=True))
    for severity in SEVERITIES:
        distracted, misled = stressed("tautology", severity), stressed("misleading", severity)
        for words, label, added, wrong in zip(SENTENCES, LABELS, distracted, misled, strict=True):
            assert added == ["and", "true", "is", "true"] * severity + words
            assert wrong[severity:] == words
            others = [k for k in range(3) if k != label]
            assert any(set(wrong[:severity]) <= set(CUES[k][:10]) for k in others)
    for words, label in zip(stressed("masking", 1), LABELS, strict=True):
        assert not set(words) & set(CUES[label])
    lone = stress.stress_sentences([["own0"]], np.array([0]), "masking", 5, CUES, random())
    assert lone == [["own0"]]


@pytest.mark.parametrize(
    ("sentences", "labels", "name", "cues", "message"),
    [
        ([["a"], []], [0, 1], "order", CUES, "sentence 1 has no words"),
        ([["a"]], [0], "misleading", [["x"]], "two or more classes"),
        ([["a"]], [0], "misleading", [["x"], []], r"numbers of cues are \[1, 0\]"),
        ([["a"]], [3], "masking", CUES, "labels must be from 0 to 2"),
        ([["a"], ["b"]], [0], "typos", CUES, "one label per sentence"),
    ],
)
def test_sentences_that_cannot_be_stressed(sentences, labels, name, cues, message):
    with pytest.raises(ValueError, match=message):
        stress.stress_sentences(sentences, np.array(labels), name, 1, cues, random())


# ---------------------------------------------------------------------------------------------- EDA

WORDS = ["the", "parser", "reads", "a", "line", "of", "the", "file", "and", "gives", "one", "tree"]
SYNONYMS = {"line": ("row",), "file": ("record", "document"), "gives": ("yields",)}
FRESH = {"row", "record", "document", "yields"}
DRAWS = range(200)


def test_no_share_no_words_and_shares_that_cannot_be():
    assert stress.eda(WORDS, 0.0, random()) == WORDS
    assert stress.eda([], 1.0, random()) == []
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="share must be between 0 and 1"):
            stress.eda(WORDS, share, random())


def test_all_four_operations_are_drawn_with_as_many_changes_as_the_share():
    """A tenth of 12 words is one change, a quarter three; without synonyms nothing is replaced."""
    for share, count in ((0.1, 1), (0.25, 3)):
        added = [stress.eda(WORDS, share, random(i), others=["new"]).count("new") for i in DRAWS]
        assert set(added) == {0, count}
    sentences = [stress.eda(WORDS, 0.25, random(i), synonyms=SYNONYMS) for i in DRAWS]
    longer, shorter = (
        sum(sign * len(s) > sign * len(WORDS) for s in sentences) for sign in (1, -1)
    )
    replaced = sum(len(s) == len(WORDS) and bool(FRESH & set(s)) for s in sentences)
    swapped = sum(sorted(s) == sorted(WORDS) and s != WORDS for s in sentences)
    assert all(30 <= count <= 70 for count in (longer, replaced, swapped, shorter))


def write_wordnet(folder):
    lines = {
        "noun": "00001 06 n 03 line 0 row 0 dress_circle 0 001 @ 00002 n 0000 | a queue\n",
        "verb": "00001 30 v 02 return 0 yield 1 000 01 + 08 00 | give back\n"
        "00002 30 v 01 wait 0 000 | stay\n",
        "adj": "00001 00 s 02 Abounding 0 galore(ip) 0 000 | plentiful\n",
        "adv": "00001 02 r 0b a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 line 0 "
        "000 | eleven, in hexadecimal\n",
    }
    license_text = "  1 This software and database is being provided to you\n"
    for part, text in lines.items():
        (folder / f"data.{part}").write_text(license_text + text)


def test_synonyms_are_read_from_the_files_of_wordnet(tmp_path):
    with pytest.raises(ValueError, match=r"data\.noun does not exist: give the folder of WordNet"):
        stress.load_synonyms(tmp_path)
    write_wordnet(tmp_path)
    synonyms = stress.load_synonyms(tmp_path)
    assert synonyms["return"] == ("yield",)
    assert synonyms["galore"] == ("abounding",)
    assert synonyms["row"] == ("line",)
    assert synonyms["line"] == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "row")
    assert not {"wait", "dress_circle", "This"} & set(synonyms)
    (tmp_path / "data.adv").write_text("something else\n")
    with pytest.raises(ValueError, match=r"data\.adv is not a data file of WordNet"):
        stress.load_synonyms(tmp_path)


# ------------------------------------------------------------------------------------------- graphs


@pytest.fixture(scope="module")
def edges():
    return load_snapshot().graph.edges


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_rewiring_keeps_degrees_and_changes_the_share(share, edges):
    before = edges.copy()
    found = rewiring.rewire(edges, share, random())
    assert np.array_equal(*(np.bincount(links.ravel(), minlength=2800) for links in (found, edges)))
    assert (found[:, 0] < found[:, 1]).all()
    assert len(np.unique(found, axis=0)) == len(edges)
    changed = 1 - len(set(map(tuple, found)) & set(map(tuple, edges))) / len(edges)
    assert 0.93 * share <= changed <= share
    assert np.array_equal(edges, before)


def test_graphs_that_cannot_be_rewired_stay():
    triangle, star = np.array([[0, 1], [0, 2], [1, 2]]), np.array([[0, i] for i in range(1, 6)])
    for few in (triangle, star, triangle[:1], triangle[:0]):
        assert np.array_equal(rewiring.rewire(few, 1.0, random()), few)
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        rewiring.rewire(star, 1.5, random())


def test_shifts_of_a_graph_do_what_they_say(edges):
    x = generator(0, "x").random((2800, 12)).astype(np.float32)
    seen = {
        name: shift.change(x, edges, 0.5, random()) for name, shift in rewiring.GRAPH_SHIFTS.items()
    }
    for name in ("rewired_links", "missing_links"):
        assert np.array_equal(seen[name][0], x)
    for name in ("swapped_features", "missing_features", "noisy_features"):
        assert np.array_equal(seen[name][1], edges)
        assert seen[name][0].dtype == x.dtype
    assert len(seen["missing_links"][1]) / len(edges) == pytest.approx(0.5, abs=0.03)
    swapped = seen["swapped_features"][0]
    assert (swapped != x).any(axis=1).sum() == 1400
    assert np.array_equal(np.sort(swapped, axis=0), np.sort(x, axis=0))
    missing = seen["missing_features"][0]
    assert (missing == 0).mean() == pytest.approx(0.5, abs=0.01)
    some = missing.any(axis=1)
    assert 2790 <= some.sum() <= 2800
    np.testing.assert_allclose(missing.sum(axis=1), np.where(some, x.sum(axis=1), 0), rtol=1e-5)
    assert (seen["noisy_features"][0] - x).std() == pytest.approx(0.5 * x.std(), rel=0.02)


@pytest.mark.parametrize("name", rewiring.GRAPH_SHIFTS)
def test_severity_zero_is_the_graph_and_nodes_without_words_keep_none(name, edges):
    x = np.ones((2800, 3), np.float32)
    found = rewiring.shift_graph(x, edges, name, 0, random())
    assert np.array_equal(found[0], x)
    assert np.array_equal(found[1], edges)
    for severity in SEVERITIES:
        for features in (x, 0 * x):
            shifted, _ = rewiring.shift_graph(features, edges, name, severity, random())
            assert np.isfinite(shifted).all()
            assert features.any() or not shifted.any()


def test_unknown_shifts_and_severities_are_refused(images, edges, subtests):
    known = {
        "corruption": (lambda *of: corrupt_images(images, *of, random()), "blur"),
        "stress test": (stressed, "order"),
        "shift": (
            lambda *of: rewiring.shift_graph(np.ones((2800, 1)), edges, *of, None),
            "rewired_links",
        ),
    }
    for what, (call, name) in known.items():
        with subtests.test(what):
            with pytest.raises(ValueError, match=f"no {what} 'irony'; known: "):
                call("irony", 1)
            for severity in (6, -1, True, 1.0):
                with pytest.raises(ValueError, match=f"severity must be 0 to 5; got {severity}"):
                    call(name, severity)
