"""How far the measures of a comparison agree: of two a sentence, of more a map."""

from __future__ import annotations

import math

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ...results.figures import HeatMap
from ...results.sections import Section
from ..data import MeasureAgreement
from .maps import map_entries, map_titles

TITLE = "Do the measures agree?"
ABOUT = (
    "Spearman correlation, over all pairs, between the differences that two measures find. Dark "
    "blue: they rank the pairs alike; brown: the other way round. Measures that agree are next to "
    "each other."
)
CONSTANT = "one of the two has the same value for all pairs"
UNRELATED = 1.0  # the distance of measures whose correlation is unknown


def agreement_section(together: MeasureAgreement) -> Section:
    """Return how far the measures agree."""
    labels, values = together
    if len(labels) == 2:
        value = float(values[0, 1])
        words = f"no correlation, for {CONSTANT}" if math.isnan(value) else f"{value:.2f}"
        sentence = (
            "Spearman correlation, over all pairs, between the differences that the two measures "
            f"find: {labels[0]} and {labels[1]}: {words.replace('-', '−')}."
        )
        return Section("agreement", TITLE, sentence)
    return Section("agreement", TITLE, ABOUT, figures=(_map(together),))


def _map(together: MeasureAgreement) -> HeatMap:
    order = measure_order(together.values)
    labels = tuple(together.labels[i] for i in order)
    values = together.values[np.ix_(order, order)]
    missing = {(labels[i], labels[j]): CONSTANT for i, j in np.argwhere(np.isnan(values))}
    return HeatMap(
        "agreement",
        "Agreement",
        labels,
        labels,
        map_entries(values),
        span=(-1.0, 1.0),
        is_diverging=True,
        titles=map_titles(labels, labels, missing),
    )


def measure_order(values: np.ndarray) -> list[int]:
    """Return the order in which measures that agree are next to each other: by average linkage of
    1 minus their correlation."""
    distances = np.where(np.isnan(values), UNRELATED, 1 - values)
    distances = np.maximum((distances + distances.T) / 2, 0.0)
    np.fill_diagonal(distances, 0.0)
    joined = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    return leaves_list(joined).tolist()
