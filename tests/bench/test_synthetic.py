"""Subjects of which is known what measures should say, and that the measures say it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from factories.synthetic import graded_outputs, independent_noise, noise_walk, tight_groups

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

# Measures of every family that relates samples to samples
RELATIONS = ["svcca", "aligned_cosine", "procrustes", "linear_regression", "cka", "rsa"]
RELATIONS += ["distance_correlation", "jaccard"]
STATISTICS = ["magnitude_difference", "concentricity_difference", "uniformity_difference"]


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
