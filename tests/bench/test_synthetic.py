"""Subjects of which is known what measures should say, and that the measures say it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import resemblance as rs
from resemblance.bench.grounding import (
    Rule,
    apply,
    auprc,
    by_anchor,
    by_distance,
    by_group,
    by_nesting,
    by_prediction,
    conformity,
    pooled,
    spearman,
)
from resemblance.bench.synthetic import graded_outputs, independent_noise, noise_walk, tight_groups
from resemblance.models.recipe import TRAINING_SETTINGS

MAKERS = [tight_groups, independent_noise, noise_walk, graded_outputs]
# Measures of every family that relates samples to samples
RELATIONS = [
    "svcca",
    "aligned_cosine",
    "procrustes",
    "linear_regression",
    "cka",
    "rsa",
    "distance_correlation",
]
RELATIONS += ["jaccard"]
STATISTICS = ["magnitude_difference", "concentricity_difference", "uniformity_difference"]
TRAITS = {"domain", "dataset", "architecture", "pooling", "setting", "strength", "seed", "accuracy"}


def traits_of(model_features):
    return [s.traits for s in model_features]


@cache
def differences(make, measure, seed=0):
    """Matrix of measured differences of the last layers, or of all layers if there is one
    model."""
    model_features = make(seed=seed)
    layers = (
        [s.last for s in model_features]
        if len(model_features) > 1
        else list(model_features[0].layers.values())
    )
    return rs.compare(layers, measures=[rs.get_measure(measure)]).dissimilarity(measure)


def score(make, measure, quality, blocks, seed=0):
    return apply(Rule(by_group, quality, pooled), differences(make, measure, seed), blocks)


def groups(make):
    return [t["strength"] for t in traits_of(make())]


def values(features):
    return [np.asarray(r.source) for r in features.layers.values()]


# ------------------------------------------------------------------------------------ known answers


def test_every_measure_separates_tight_groups(subtests):
    for measure in RELATIONS + STATISTICS:
        for seed in [0, 1]:
            with subtests.test(f"{measure}, {seed}"):
                labels = groups(tight_groups)
                assert score(tight_groups, measure, conformity, by_anchor(labels), seed) == 1
                assert score(tight_groups, measure, auprc, by_group(labels), seed) == pytest.approx(
                    1, abs=1e-12
                )


@pytest.mark.parametrize("measure", RELATIONS)
def test_measures_are_monotone_in_a_walk(measure):
    assert score(noise_walk, measure, conformity, by_nesting(6)) == 1
    # Equal distances are expected to tie: no measure without ties could have more
    most = np.sqrt(1 - sum(t**3 - t for t in (1, 2, 3, 4, 5)) / (15**3 - 15))
    assert most - 0.02 < score(noise_walk, measure, spearman, by_distance(6)) <= most + 1e-9


@pytest.mark.parametrize("measure", RELATIONS)
def test_measures_are_at_chance_on_noise(measure):
    labels = groups(independent_noise)
    assert score(independent_noise, measure, conformity, by_anchor(labels)) == pytest.approx(
        0.5, abs=0.1
    )
    share = 10 / 60  # pairs inside a group of 5, and with the 10 outside
    assert share - 0.1 < score(independent_noise, measure, auprc, by_group(labels)) < share + 0.2


@pytest.mark.parametrize("measure", RELATIONS)
def test_outputs_differ_as_representations_do(measure):
    model_features = graded_outputs()
    logits = [s.outputs for s in model_features]
    for behavior, least in ((rs.jensen_shannon, 0.98), (rs.disagreement, 0.95)):
        expected = np.array([[float(behavior(a, b)) for b in logits] for a in logits])
        assert score(graded_outputs, measure, spearman, by_prediction(expected)) > least
    accuracies = np.array([t["accuracy"] for t in traits_of(model_features)])
    expected = np.abs(accuracies[:, None] - accuracies[None, :])
    assert score(graded_outputs, measure, spearman, by_prediction(expected)) > 0.9


def test_a_layer_keeps_its_variance_and_its_share_of_the_one_before():
    walk = values(noise_walk(layers=5, samples=4000, features=3, keep=0.6)[0])
    for l, rows in enumerate(walk):
        assert rows.std() == pytest.approx(1, abs=0.03)
        for m in range(l):
            correlation = np.corrcoef(rows.ravel(), walk[m].ravel())[0, 1]
            assert correlation == pytest.approx(0.6 ** (l - m), abs=0.03)


def test_members_lie_around_their_prototype():
    model_features = [
        values(s)[0] for s in tight_groups(groups=2, members=3, samples=200, noise=0.1)
    ]
    spreads = [np.std(model_features[i] - model_features[i + 1]) for i in (0, 3)]
    assert spreads == pytest.approx([0.2 * 0.1 * np.sqrt(2), 0.3 * 0.1 * np.sqrt(2)], rel=0.1)
    same = tight_groups(noise=0, members=2)
    np.testing.assert_array_equal(values(same[0]), values(same[1]))


def test_accuracy_and_hidden_number():
    model_features = graded_outputs(models=6)
    hidden = [t["hidden"] for t in traits_of(model_features)]
    assert (hidden[0], hidden[-1]) == (0, 1)
    assert len(set(np.diff(hidden).round(6))) == 5
    truth = model_features[0].outputs.argmax(1)
    assert [t["accuracy"] for t in traits_of(model_features)] == [
        (s.outputs.argmax(1) == truth).mean() for s in model_features
    ]
    assert model_features[0].traits["accuracy"] == 1


# -------------------------------------------------------------------------------- what models are


@pytest.mark.parametrize("make", MAKERS)
def test_traits_are_complete_and_names_unique(make):
    model_features = make()
    assert isinstance(model_features, tuple)
    assert len({s.name for s in model_features}) == len(model_features)
    for s in model_features:
        assert set(s.traits) >= TRAITS
        assert (s.traits["domain"], s.traits["dataset"]) == ("synthetic", make.__name__)
        assert s.traits["setting"] in TRAINING_SETTINGS
        assert all(r.name == f"{s.name}/{layer}" for layer, r in s.layers.items())
        assert (s.outputs is not None) == (make is graded_outputs)


@pytest.mark.parametrize("make", [tight_groups, independent_noise])
def test_groups_go_by_setting_and_strength(make):
    assert [(t["setting"], t["strength"]) for t in traits_of(make(members=2))] == [
        *[("normal", 0.0)] * 2,
        *[("labels", 0.5)] * 2,
        *[("labels", 1.0)] * 2,
    ]
    assert {t["setting"] for t in traits_of(make(setting="shortcut"))} == {"shortcut"}
    augmented = traits_of(make(setting="augmentation", members=2, groups=2))
    assert [t["setting"] for t in augmented] == ["normal", "normal", "augmentation", "augmentation"]
    accuracies = np.array([t["accuracy"] for t in traits_of(make())]).reshape(3, 5)
    assert (accuracies[:-1].min(1) > accuracies[1:].max(1)).all()


def test_sizes():
    assert [len(make()) for make in MAKERS] == [15, 15, 1, 10]
    assert len(tight_groups(groups=2, members=4)) == 8
    walk = noise_walk(models=2, layers=4, samples=9, features=3)
    assert [[r.shape for r in s.layers.values()] for s in walk] == [[(9, 3)] * 4] * 2
    assert list(walk[0].layers) == ["layer0", "layer1", "layer2", "layer3"]
    assert graded_outputs(models=3, classes=5, samples=20)[2].outputs.shape == (20, 5)


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides_everything(make):
    first, again, other = make(seed=3), make(seed=3), make(seed=4)
    for a, b, c in zip(first, again, other):
        np.testing.assert_array_equal(values(a), values(b))
        assert not np.array_equal(values(a), values(c))


def test_a_model_does_not_depend_on_how_many_others_there_are():
    np.testing.assert_array_equal(
        values(tight_groups(groups=4, members=6)[6]), values(tight_groups(members=2)[2])
    )
    np.testing.assert_array_equal(
        values(independent_noise(members=6)[6]), values(independent_noise(members=2)[2])
    )
    np.testing.assert_array_equal(
        values(noise_walk(models=2, layers=7)[0])[:4], values(noise_walk(layers=4)[0])
    )
    assert not np.array_equal(*(values(s) for s in noise_walk(models=2)))


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (tight_groups, {"groups": 1}, "groups must be a whole number, at least 2; got 1"),
        (tight_groups, {"members": 1}, "members must be"),
        (tight_groups, {"noise": -0.1}, "noise must be a number from 0"),
        (tight_groups, {"noise": float("nan")}, "noise must be a number from 0"),
        (
            tight_groups,
            {"setting": "colours"},
            "setting must be one of labels, shortcut, augmentation",
        ),
        (tight_groups, {"setting": "layers"}, "setting must be one of"),
        (tight_groups, {"seed": -1}, "seed must be a non-negative integer"),
        (independent_noise, {"features": 0}, "features must be a whole number, at least 1"),
        (independent_noise, {"samples": 2.5}, "samples must be a whole number"),
        (noise_walk, {"layers": 2}, "layers must be a whole number, at least 3"),
        (noise_walk, {"models": 0}, "models must be"),
        (noise_walk, {"keep": 1.0}, "keep must lie between 0 and 1"),
        (graded_outputs, {"models": 2}, "models must be a whole number, at least 3"),
        (graded_outputs, {"classes": 1}, "classes must be a whole number, at least 2"),
    ],
)
def test_bad_input_names_the_remedy(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
