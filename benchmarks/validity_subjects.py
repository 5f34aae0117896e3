"""Does ``rs.across`` call two equal models different? And what does a t-test over subjects?"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import ttest_rel
from validity_studies import Key, Numbers, Study, percentages

import resemblance as rs

SETS = 600
FEATURES, UNITS = 12, 40
LEVEL = 0.05


def equal_models(subjects: int, stimuli: int, rng: np.random.Generator) -> Numbers:
    """Return which tests call two models different that see half of the features of the stimuli
    each, of which all subjects see all."""
    seen = rng.standard_normal((stimuli, FEATURES))
    area = {
        f"subject {i}": seen @ rng.standard_normal((FEATURES, UNITS))
        + 2 * rng.standard_normal((stimuli, UNITS))
        for i in range(subjects)
    }
    half = FEATURES // 2
    scores = rs.across(area, {"first": seen[:, :half], "second": seen[:, half:]})
    p = {
        "across": scores.difference("first", "second").p,
        "t-test over subjects": float(ttest_rel(*scores.values.T).pvalue),
    }
    return {Key(way, "", "rejected"): float(value <= LEVEL) for way, value in p.items()}


STUDIES: tuple[Study, ...] = tuple(
    Study(
        "subjects",
        f"{subjects} subjects, {stimuli} stimuli",
        SETS,
        partial(equal_models, subjects, stimuli),
        percentages,
    )
    for subjects, stimuli in ((8, 24), (8, 60), (20, 24))
)
