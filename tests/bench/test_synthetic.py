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
RELATIONS = ["svcca", "aligned_cosine", "procrustes", "linear_regression", "cka", "rsa"]
RELATIONS += ["distance_correlation", "jaccard"]
STATISTICS = ["magnitude_difference", "concentricity_difference", "uniformity_difference"]
TRAITS = {"domain", "dataset", "architecture", "pooling", "setting", "strength", "seed", "accuracy"}


@cache
def differences(make, measure):
    """Matrix of measured differences of the last layers, or of all layers of a single model."""
    models = make()
    layers = [s.last for s in models] if len(models) > 1 else list(models[0].layers.values())
    return rs.compare(layers, measures=[measure]).dissimilarity(measure)


def score(make, measure, quality, blocks):
    return apply(Rule(by_group, quality, pooled), differences(make, measure), blocks)


def traits(models, name):
    return [s.traits[name] for s in models]


def values(features):
    return [np.asarray(r.source) for r in features.layers.values()]


# ------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize("measure", RELATIONS + STATISTICS)
def test_every_measure_separates_tight_groups(measure):
    labels = traits(tight_groups(), "strength")
    assert score(tight_groups, measure, conformity, by_anchor(labels)) == 1
    assert score(tight_groups, measure, auprc, by_group(labels)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("measure", RELATIONS)
def test_measures_are_monotone_in_a_walk(measure):
    assert score(noise_walk, measure, conformity, by_nesting(6)) == 1
    # Equal distances are expected to tie: no measure without ties could have more
    most = np.sqrt(1 - sum(t**3 - t for t in (1, 2, 3, 4, 5)) / (15**3 - 15))
    assert most - 0.02 < score(noise_walk, measure, spearman, by_distance(6)) <= most + 1e-9


@pytest.mark.parametrize("measure", RELATIONS)
def test_measures_are_at_chance_on_noise(measure):
    labels = traits(independent_noise(), "strength")
    agreement = score(independent_noise, measure, conformity, by_anchor(labels))
    assert agreement == pytest.approx(0.5, abs=0.1)
    share = 10 / 60  # pairs inside a group of 5, and with the 10 outside
    assert share - 0.1 < score(independent_noise, measure, auprc, by_group(labels)) < share + 0.2


@pytest.mark.parametrize("measure", RELATIONS)
def test_outputs_differ_as_representations_do(measure):
    logits = [s.outputs for s in graded_outputs()]
    for behavior, least in ((rs.jensen_shannon, 0.98), (rs.disagreement, 0.95)):
        expected = np.array([[float(behavior(a, b)) for b in logits] for a in logits])
        assert score(graded_outputs, measure, spearman, by_prediction(expected)) > least
    accuracies = np.array([traits(graded_outputs(), "accuracy")])
    expected = np.abs(accuracies - accuracies.T)
    assert score(graded_outputs, measure, spearman, by_prediction(expected)) > 0.9


def test_a_layer_keeps_its_variance_and_its_share_of_the_one_before():
    walk = values(noise_walk(layers=5, samples=4000, features=3, keep=0.6)[0])
    for l, rows in enumerate(walk):
        assert rows.std() == pytest.approx(1, abs=0.03)
        for m in range(l):
            correlation = np.corrcoef(rows.ravel(), walk[m].ravel())[0, 1]
            assert correlation == pytest.approx(0.6 ** (l - m), abs=0.03)


def test_members_lie_around_their_prototype():
    made = [values(s)[0] for s in tight_groups(groups=2, members=3, samples=200, noise=0.1)]
    spreads = [np.std(made[i] - made[i + 1]) for i in (0, 3)]
    assert spreads == pytest.approx([0.2 * 0.1 * np.sqrt(2), 0.3 * 0.1 * np.sqrt(2)], rel=0.1)
    same = tight_groups(noise=0, members=2)
    np.testing.assert_array_equal(values(same[0]), values(same[1]))


def test_accuracy_and_hidden_number():
    models = graded_outputs(models=6)
    hidden = traits(models, "hidden")
    assert (hidden[0], hidden[-1]) == (0, 1)
    assert len(set(np.diff(hidden).round(6))) == 5  # at unequal distances
    truth = models[0].outputs.argmax(1)
    expected = [(s.outputs.argmax(1) == truth).mean() for s in models]
    assert traits(models, "accuracy") == expected
    assert expected[0] == 1


# -------------------------------------------------------------------------------- what models are


@pytest.mark.parametrize("make", MAKERS)
def test_traits_are_complete_and_names_unique_and_the_seed_decides_everything(make):
    models, again, other = make(seed=3), make(seed=3), make(seed=4)
    assert len({s.name for s in models}) == len(models)
    for s, same, different in zip(models, again, other):
        assert set(s.traits) >= TRAITS
        assert (s.traits["domain"], s.traits["dataset"]) == ("synthetic", make.__name__)
        assert s.traits["setting"] in TRAINING_SETTINGS
        assert all(r.name == f"{s.name}/{layer}" for layer, r in s.layers.items())
        assert (s.outputs is not None) == (make is graded_outputs)
        np.testing.assert_array_equal(values(s), values(same))
        assert not np.array_equal(values(s), values(different))


@pytest.mark.parametrize("make", [tight_groups, independent_noise])
def test_groups_go_by_setting_and_strength(make):
    assert traits(make(members=2), "setting") == ["normal"] * 2 + ["labels"] * 4
    assert traits(make(members=2), "strength") == [0.0] * 2 + [0.5] * 2 + [1.0] * 2
    assert set(traits(make(setting="shortcut"), "setting")) == {"shortcut"}
    augmented = traits(make(setting="augmentation", members=2, groups=2), "setting")
    assert augmented == ["normal"] * 2 + ["augmentation"] * 2
    accuracies = np.array(traits(make(), "accuracy")).reshape(3, 5)
    assert (accuracies[:-1].min(1) > accuracies[1:].max(1)).all()


def test_sizes_and_a_model_does_not_depend_on_how_many_others_there_are():
    assert [len(make()) for make in MAKERS] == [15, 15, 1, 10]
    walk = noise_walk(models=2, layers=4, samples=9, features=3)
    assert [[r.shape for r in s.layers.values()] for s in walk] == [[(9, 3)] * 4] * 2
    assert list(walk[0].layers) == ["layer0", "layer1", "layer2", "layer3"]
    assert graded_outputs(models=3, classes=5, samples=20)[2].outputs.shape == (20, 5)
    for many, few in (
        (tight_groups(groups=4, members=6)[6], tight_groups(members=2)[2]),
        (independent_noise(members=6)[6], independent_noise(members=2)[2]),
        (noise_walk(models=2, layers=7)[0], noise_walk(layers=4)[0]),
    ):
        np.testing.assert_array_equal(values(many)[:4], values(few))
    assert not np.array_equal(*map(values, walk))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (tight_groups, {"groups": 1}, "groups must be a whole number, at least 2; got 1"),
        (tight_groups, {"members": 1}, "members must be"),
        (tight_groups, {"noise": -0.1}, "noise must be a number from 0"),
        (tight_groups, {"noise": float("nan")}, "noise must be a number from 0"),
        (tight_groups, {"setting": "colours"}, "one of labels, shortcut, augmentation"),
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
