"""Shifted test sets: what every corruption, stress test and rewiring does, against closed forms, at
five severities."""

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


@pytest.fixture(scope="module")
def images():
    return split_digits(300).test[:, 0]


def change(name, images, amount, seed=0):
    """A corruption before clipping, in double precision."""
    return IMAGE_CORRUPTIONS[name].change(images.astype(float), amount, generator(seed, "test"))


# ------------------------------------------------------------------------------------------- images


@pytest.mark.parametrize("name", IMAGE_CORRUPTIONS)
def test_a_corruption_keeps_shape_type_and_range_and_grows(name, images):
    before = images.copy()
    off = []
    for severity in SEVERITIES:
        found = corrupt_images(images, name, severity, generator(0, "test"))
        assert found.shape == images.shape
        assert found.dtype == images.dtype
        assert 0 <= found.min() <= found.max() <= 1
        assert np.array_equal(found, corrupt_images(images, name, severity, generator(0, "test")))
        off.append(np.abs(found - images).mean())
    assert off[0] > 0.01  # the least severe is seen too
    assert (np.diff([0, *off]) > 0).all()
    assert np.array_equal(images, before)
    assert np.array_equal(corrupt_images(images, name, 0, generator(0, "test")), images)


@pytest.mark.parametrize("name", RANDOM_FREE)
def test_some_corruptions_draw_nothing(name, images):
    assert np.array_equal(
        corrupt_images(images, name, 3, generator(0, "a")),
        corrupt_images(images, name, 3, generator(1, "b")),
    )


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


def test_contrast_keeps_means_and_scales_deviations(images):
    found = change("contrast", images, 0.4)
    np.testing.assert_allclose(found.mean(axis=(1, 2)), images.mean(axis=(1, 2)), atol=1e-6)
    np.testing.assert_allclose(found.std(axis=(1, 2)), 0.4 * images.std(axis=(1, 2)), atol=1e-6)
    np.testing.assert_allclose(change("brightness", images, 0.3), images + 0.3, atol=1e-7)


@pytest.mark.parametrize(
    ("images", "severity", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), 1, "must be floating point from 0 to 1"),
        (np.full((2, 8, 8), 255.0), 1, "between 0 and 1"),
        (np.full((2, 8, 8), np.nan), 1, "without NaN"),
        ([[[0.0]]], 1, "must be floating point"),
        (np.zeros((2, 1, 8, 8)), 1, r"must be .n, height, width.; got shape"),
    ],
)
def test_images_that_cannot_be_corrupted(images, severity, message):
    with pytest.raises(ValueError, match=message):
        corrupt_images(images, "blur", severity, generator(0, "test"))


@pytest.mark.parametrize(
    ("name", "amount"), [("blur", 0.8), ("pixelate", 0.625), ("pixelate", 0.375)]
)
def test_blur_and_pixelate_keep_the_mean_and_smooth(name, amount, images):
    found = change(name, images, amount)
    np.testing.assert_allclose(found.mean(axis=(1, 2)), images.mean(axis=(1, 2)), atol=1e-6)
    assert (found.std(axis=(1, 2)) < images.std(axis=(1, 2))).all()


def test_pixelate_to_half_is_the_mean_of_blocks(images):
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
    rows, columns = (
        np.einsum("nhw,h->n" if axis == 1 else "nhw,w->n", moved, np.arange(9) - 4.0)
        for axis in (1, 2)
    )
    np.testing.assert_allclose(np.hypot(rows, columns), 2.5, atol=1e-9)
    np.testing.assert_allclose(moved.sum(axis=(1, 2)), 1, atol=1e-9)
    assert rows.min() < -2
    assert rows.max() > 2


# ---------------------------------------------------------------------------------------- sentences

LABELS = np.repeat(np.arange(3), 40)
SENTENCES = [
    [f"own{k}", "the", f"also{k}", "of", "parrot", f"word{i % 7}"] for i, k in enumerate(LABELS)
]
CUES = stress.cue_words(SENTENCES, LABELS, 3, 2)


def stressed(name, severity, seed=0):
    return stress.stress_sentences(SENTENCES, LABELS, name, severity, CUES, generator(seed, "test"))


def test_cues_are_the_words_of_one_class():
    assert [[f"also{k}", f"own{k}"] for k in range(3)] == CUES
    assert stress.cue_words([["a"], ["a"], ["b"]], np.array([0, 0, 1]), 2, 5) == [
        [],
        [],
    ]  # too rare to tell


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
    words = sum(map(len, SENTENCES))
    assert 1 - sum(map(len, stressed("deletion", severity))) / words == pytest.approx(
        share, abs=0.05
    )
    pairs = [
        (a, b)
        for old, new in zip(SENTENCES, stressed("typos", severity), strict=True)
        for a, b in zip(old, new)
    ]
    assert np.mean([a != b for a, b in pairs]) == pytest.approx(share, abs=0.06)
    assert all(sorted(a) == sorted(b) for a, b in pairs)


def test_order_and_added_words():
    assert all(sorted(a) == sorted(b) for a, b in zip(SENTENCES, stressed("order", 5), strict=True))
    for severity in SEVERITIES:
        distracted, misled = stressed("tautology", severity), stressed("misleading", severity)
        for words, label, added, wrong in zip(SENTENCES, LABELS, distracted, misled, strict=True):
            assert added == ["and", "true", "is", "true"] * severity + words
            assert wrong[severity:] == words
            others = [k for k in range(3) if k != label]
            assert any(set(wrong[:severity]) <= set(CUES[k][:10]) for k in others)


def test_masking_takes_the_cues_of_the_class():
    for words, label in zip(stressed("masking", 1), LABELS, strict=True):
        assert not set(words) & set(CUES[label][:10])
    lone = stress.stress_sentences(
        [["own0"]], np.array([0]), "masking", 5, CUES, generator(0, "test")
    )
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
        stress.stress_sentences(sentences, np.array(labels), name, 1, cues, generator(0, "test"))


# ------------------------------------------------------------------------------------------- graphs


@pytest.fixture(scope="module")
def edges():
    return load_snapshot().graph.edges


def degrees(edges, nodes=2800):
    return np.bincount(edges.ravel(), minlength=nodes)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_rewiring_keeps_degrees_and_changes_the_share(share, edges):
    before = edges.copy()
    found = rewiring.rewire(edges, share, generator(0, "test"))
    assert np.array_equal(degrees(found), degrees(edges))
    assert (found[:, 0] < found[:, 1]).all()
    assert len(np.unique(found, axis=0)) == len(edges)
    changed = 1 - len(set(map(tuple, found)) & set(map(tuple, edges))) / len(edges)
    assert 0.93 * share <= changed <= share
    assert np.array_equal(edges, before)


def test_graphs_that_cannot_be_rewired_stay():
    triangle, star = np.array([[0, 1], [0, 2], [1, 2]]), np.array([[0, i] for i in range(1, 6)])
    for few in (triangle, star, triangle[:1], triangle[:0]):
        assert np.array_equal(rewiring.rewire(few, 1.0, generator(0, "test")), few)
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        rewiring.rewire(star, 1.5, generator(0, "test"))


def test_shifts_of_a_graph_do_what_they_say(edges):
    x = generator(0, "x").random((2800, 12)).astype(np.float32)
    seen = {
        name: rewiring.GRAPH_SHIFTS[name].change(x, edges, 0.5, generator(0, "test"))
        for name in rewiring.GRAPH_SHIFTS
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
def test_severity_zero_is_the_graph(name, edges):
    x = np.ones((2800, 3), np.float32)
    found = rewiring.shift_graph(x, edges, name, 0, generator(0, "test"))
    assert np.array_equal(found[0], x)
    assert np.array_equal(found[1], edges)
    for severity in SEVERITIES:
        assert np.isfinite(
            rewiring.shift_graph(x, edges, name, severity, generator(0, "test"))[0]
        ).all()


def test_nodes_without_words_keep_none(edges):
    x = np.zeros((2800, 3), np.float32)
    assert not rewiring.shift_graph(x, edges, "missing_features", 5, generator(0, "test"))[0].any()


def test_unknown_shifts_and_severities_are_refused(images, edges, subtests):
    known = {
        "corruption": (lambda *of: corrupt_images(images, *of, generator(0, "test")), "blur"),
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
