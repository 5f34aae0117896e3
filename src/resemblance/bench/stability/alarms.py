"""How far disturbed models moved by every measure, and whether that warns of a loss of accuracy:
thresholds, curves, and the significance of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from resemblance.significance import ranks_of_rows

from ..grounding import BlockScore, spearman
from .models import domain_and_architecture

RDM_SPEARMAN, RDM_PEARSON = "rsa[rdm=cosine]", "rsa[compare=pearson,rdm=cosine]"
DEBIASED_CKA, ROOT_PROCRUSTES, SQUARED_PROCRUSTES = (
    "cka[estimator=debiased]",
    "procrustes",
    "procrustes[squared=True]",
)
DRIFT_MEASURES = (
    RDM_SPEARMAN,
    RDM_PEARSON,
    DEBIASED_CKA,
    ROOT_PROCRUSTES,
    SQUARED_PROCRUSTES,
    "pwcka",
    "sliced_wasserstein",
    "mmd",
    "subspace_overlap",
    "eigenspectrum_similarity",
)
PERTURBATION_KINDS = ("noise", "rounding", "adapters")
# the threshold of the paper for its drifts; here also as a share of the scale of a measure
ALARM_SHARE = 0.05
CALIBRATION_QUANTILE = 0.95  # of harmless differences: the calibrated threshold
HARM_LEVEL = 0.05
DETECTED_LOSSES = (0.01, 0.02, 0.05)  # losses of accuracy that should be detected
# copies that lost more than that, and that did not, for an area under the ROC
MIN_COPIES_PER_CLASS = 5
# of a difference that are kept, relative to the largest: the same data differ by rounding errors
TRIMMED_DIGITS = 10


def round_to_ten_digits(differences: np.ndarray) -> np.ndarray:
    """Return differences to 10 digits of the largest, so that rounding decides nothing, whatever
    the unit."""
    max_difference = np.abs(differences[np.isfinite(differences)]).max(initial=0.0)
    if not max_difference:
        return differences
    result: np.ndarray = (
        np.round(differences / max_difference, TRIMMED_DIGITS) * max_difference + 0.0
    )
    return result


def loss_detection_auc(measured: np.ndarray, losses: np.ndarray) -> BlockScore:
    """The area under the ROC curve for detecting a loss of more than two points."""
    return BlockScore(auc(measured, losses > DETECTED_LOSSES[1]))


class PerturbedCopy(NamedTuple):
    """One disturbed model: what was done to it, the accuracy it lost, and how far it moved.

    ``pvalue``: of the loss, by McNemar's test. ``differences``: by every measure. ``drifts``: by
    those of the paper, on rows of length 1.
    """

    kind: str
    draw: int
    name: str
    level: float
    loss: float
    pvalue: float
    differences: Mapping[str, float | None]
    drifts: Mapping[str, float | None] = {}

    @property
    def harmed(self) -> bool:
        """Whether accuracy was lost significantly."""
        return self.pvalue < HARM_LEVEL


class PerturbedModel(NamedTuple):
    """One model and everything that was done to it. ``unchanged``: its differences to itself."""

    name: str
    accuracy: float
    points: tuple[PerturbedCopy, ...]
    unchanged: Mapping[str, float | None]

    def of(self, kind: str, draw: int | None = None) -> list[PerturbedCopy]:
        """Return the points of a kind, in order."""
        return [p for p in self.points if p.kind == kind and draw in (None, p.draw)]

    def disturbed(self, kind: str, draw: int | None = None) -> list[PerturbedCopy]:
        """Return the points of a kind but those to which nothing was done."""
        return [p for p in self.of(kind, draw) if p.level > 0]


class AlarmRates(NamedTuple):
    """Shares of the disturbed models that raise the alarm: of those that lost no accuracy, and of
    those that did."""

    false_alarms: float
    caught: float


def copy_differences(points: Iterable[PerturbedCopy], spec: str) -> np.ndarray:
    """Return the differences by one measure, NaN where there is none; ``KeyError`` for a measure
    that was not run."""
    return _as_floats([p.differences[spec] for p in points])


def copy_drifts(points: Iterable[PerturbedCopy], spec: str) -> np.ndarray:
    """Return the drifts of the paper by one measure; NaN where there is none, or the paper defines
    no such drift."""
    return _as_floats([p.drifts.get(spec) for p in points])


def _as_floats(values: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], float)


def shuffled_scale(model: PerturbedModel, spec: str) -> float:
    """Return how much farther shuffled weights are than unchanged ones: the unit of a measure,
    whatever its bounds.

    NaN where they are not farther, or either has no value.
    """
    scale = float(np.mean(copy_differences(model.of("shuffled"), spec))) - _unchanged_difference(
        model, spec
    )
    return scale if scale > 0 else float("nan")


def _unchanged_difference(model: PerturbedModel, spec: str) -> float:
    return float(_as_floats([model.unchanged[spec]])[0])


def shares_of_scale(
    model: PerturbedModel, points: Iterable[PerturbedCopy], spec: str
) -> np.ndarray:
    """Return differences as shares of the scale: 0 for unchanged weights, 1 for shuffled ones."""
    return (copy_differences(points, spec) - _unchanged_difference(model, spec)) / shuffled_scale(
        model, spec
    )


def threshold_test_copies(model: PerturbedModel) -> list[PerturbedCopy]:
    """Return the points on which thresholds are tried: not those that calibrate them, nor
    undisturbed ones."""
    draw_by_kind = {"noise": 1}
    return [p for kind in PERTURBATION_KINDS for p in model.disturbed(kind, draw_by_kind.get(kind))]


# how far above a threshold: alarm when positive
Threshold = Callable[[PerturbedModel, Sequence[PerturbedCopy], str], np.ndarray | None]


def excess_over_paper_threshold(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray:
    """How far drifts on rows of length 1 are above 0.05: the rule of the paper."""
    return copy_drifts(points, spec) - ALARM_SHARE


def excess_over_scale_share(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray:
    """How far differences are above 5 % of the scale of the measure."""
    return shares_of_scale(model, points, spec) - ALARM_SHARE


def excess_over_calibration(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray | None:
    """Return how far differences exceed the 95th percentile of those after another draw of
    harmless noise.

    That is one of them, so that a monotone function of the measure raises the same alarms. None
    when no noise is harmless.
    """
    copies = calibration_copies(model)
    if not copies:
        return None
    return copy_differences(points, spec) - np.quantile(
        copy_differences(copies, spec), CALIBRATION_QUANTILE, method="higher"
    )


def calibration_copies(model: PerturbedModel) -> list[PerturbedCopy]:
    """Return the harmless noise that thresholds are calibrated with."""
    return [p for p in model.disturbed("noise", 0) if not p.harmed]


def first_alarm(model: PerturbedModel, spec: str, threshold: Threshold) -> float:
    """Return the smallest α of noise that raises the alarm; infinity when none does, NaN when a
    comparison failed."""
    points = model.disturbed("noise", 1)
    excess = threshold(model, points, spec)
    if excess is None or np.isnan(excess).any():
        return float("nan")
    return first_level_above([p.level for p in points], list(excess), 0.0)


def first_harm(model: PerturbedModel) -> float:
    """Return the smallest α of noise that loses accuracy significantly, after Holm; infinity when
    none does."""
    points = model.disturbed("noise", 1)
    rejections = holm_rejections([p.pvalue for p in points], HARM_LEVEL)
    return min(
        (p.level for p, is_rejected in zip(points, rejections) if is_rejected), default=float("inf")
    )


def alarm_rates(models: Iterable[PerturbedModel], spec: str, threshold: Threshold) -> AlarmRates:
    """Return how often a threshold raises the alarm; NaN where a comparison failed, or there is
    nothing to raise it for."""
    calls: dict[bool, list[float]] = {False: [], True: []}
    for model in models:
        points = threshold_test_copies(model)
        excess = threshold(model, points, spec)
        for p, value in zip(points, () if excess is None else excess):
            calls[p.harmed].append(np.nan if np.isnan(value) else float(value > 0))
    return AlarmRates(
        *(float(np.mean(alarms)) if alarms else float("nan") for alarms in calls.values())
    )


def models_by_architecture(models: Iterable[PerturbedModel]) -> dict[str, list[PerturbedModel]]:
    """Return models by domain and architecture."""
    groups: dict[str, list[PerturbedModel]] = {}
    for model in models:
        groups.setdefault(domain_and_architecture(model.name), []).append(model)
    return groups


def loss_tracking(
    models: Iterable[PerturbedModel], spec: str, kind: str, *, linear: bool = False
) -> float:
    """Return Spearman's correlation of difference and loss of accuracy, or Pearson's if
    ``linear``, averaged over models.

    Models that lost the same accuracy whatever was done are left out. NaN with a failed comparison,
    and where a measure says the same whatever was done: what is hard may not be left out.
    """
    correlations = []
    for model in models:
        points = model.disturbed(kind)
        a, b = copy_differences(points, spec), np.array([p.loss for p in points])
        if len(b) > 1 and np.ptp(b) > 0:
            correlations.append(_loss_correlation(a, b, linear))
    return float(np.mean(correlations)) if correlations else float("nan")


def _loss_correlation(a: np.ndarray, b: np.ndarray, linear: bool) -> float:
    if np.isnan(a).any() or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1]) if linear else spearman(a, b).value


def count_harmed_copies(
    models: Iterable[PerturbedModel], kind: str, loss: float
) -> tuple[int, int]:
    """Return how many copies lost more accuracy than ``loss``, and how many did not; only models
    that have both count."""
    counts = np.zeros(2, int)
    for model in models:
        losses = [p.loss > loss for p in model.disturbed(kind)]
        if any(losses) and not all(losses):
            counts += sum(losses), len(losses) - sum(losses)
    return int(counts[0]), int(counts[1])


def loss_detection(models: Iterable[PerturbedModel], spec: str, kind: str, loss: float) -> float:
    """Return the area under the ROC curve for detecting a loss of accuracy above ``loss``.

    Only copies of the same model are compared, so that no scale is needed: every model counts as
    often as it has such pairs. NaN with a failed comparison, and with fewer than five copies of
    either kind.
    """
    if min(count_harmed_copies(models, kind, loss)) < MIN_COPIES_PER_CLASS:
        return float("nan")
    areas, pairs = [], []
    for model in models:
        points = model.disturbed(kind)
        values, positive = copy_differences(points, spec), np.array([p.loss > loss for p in points])
        if positive.any() and not positive.all():
            if np.isnan(values).any():
                return float("nan")
            areas.append(auc(values, positive))
            pairs.append(positive.sum() * (~positive).sum())
    return float(np.average(areas, weights=pairs))


def pooled_shares_and_losses(
    models: Iterable[PerturbedModel], spec: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of the scale and losses of accuracy of all disturbed models; nothing where a
    comparison failed."""
    values, losses = [np.zeros(0)], [np.zeros(0)]
    for model in models:
        points = [p for kind in PERTURBATION_KINDS for p in model.disturbed(kind)]
        values.append(shares_of_scale(model, points, spec))
        losses.append(np.array([p.loss for p in points]))
    a, b = np.concatenate(values), np.concatenate(losses)
    return (a, b) if not np.isnan(a).any() else (a[:0], b[:0])


# ------------------------------------------------------------------------------------- statistics


def auc(values: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve, in [0, 1]: do positive cases have larger values?

    The probability that a positive case has a larger value than a negative one, ties counting half.
    NaN when all cases are positive or none is.
    """
    positive = np.asarray(positive, bool)
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return float("nan")
    ranks = ranks_of_rows(values)
    return float(
        (ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
    )


def roc(values: np.ndarray, positive: np.ndarray) -> list[tuple[float, float]]:
    """Return the points (false positive rate, true positive rate) of all thresholds.

    From (0, 0) to (1, 1).

    A case is called positive when its value is larger than the threshold; equal values share a
    point. Raises ``ValueError`` when all cases are positive or none is.
    """
    positive = np.asarray(positive, bool)
    if positive.all() or not positive.any():
        raise ValueError("roc: there must be positive and negative cases")
    order = np.argsort(-np.asarray(values), kind="stable")
    sorted_values, hits = np.asarray(values)[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(sorted_values)), len(sorted_values) - 1)
    true_rates, false_rates = (
        np.cumsum(hits)[ends] / hits.sum(),
        np.cumsum(~hits)[ends] / (~hits).sum(),
    )
    return [(0.0, 0.0), *((float(x), float(y)) for x, y in zip(false_rates, true_rates))]


def loss_pvalue(losses: int, gains: int) -> float:
    """Return the exact one-sided p-value of McNemar's test for lost correct answers.

    ``losses``: samples that were right and are wrong now; ``gains``: the opposite. If neither were
    more likely, ``losses`` would be binomial with probability 1/2 out of both.
    """
    return float(binom.sf(losses - 1, losses + gains, 0.5))


def holm_rejections(pvalues: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses are rejected at a familywise error rate (Holm 1979)."""
    order = sorted(range(len(pvalues)), key=lambda i: pvalues[i])
    rejections, is_rejected = [False] * len(pvalues), True
    for position, i in enumerate(order):
        is_rejected = is_rejected and pvalues[i] <= level / (len(pvalues) - position)
        rejections[i] = is_rejected
    return rejections


def first_level_above(levels: Sequence[float], values: Sequence[float], threshold: float) -> float:
    """Return the smallest level whose value exceeds the threshold; infinity when there is none."""
    return min(
        (level for level, value in zip(levels, values) if value > threshold), default=float("inf")
    )
