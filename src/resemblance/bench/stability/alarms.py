"""Alarms: how far perturbed models drift according to every measure, and whether the drift predicts
a loss of accuracy. Thresholds, curves, and the significance of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from resemblance.significance import ranks_of_rows

from ..grounding import BlockScore, spearman
from .models import domain_and_architecture

RDM_SPEARMAN, RDM_PEARSON = "rsa[rdm=cosine]", "rsa[compare=pearson,rdm=cosine]"
DEBIASED_CKA = "cka[estimator=debiased]"
ROOT_PROCRUSTES = "procrustes"
SQUARED_PROCRUSTES = "procrustes[squared=True]"
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
# the paper's threshold for its drifts; here also as a share of the scale of a measure
ALARM_SHARE = 0.05
CALIBRATION_QUANTILE = 0.95  # quantile of harmless differences, which calibrates the threshold
HARM_LEVEL = 0.05
DETECTED_LOSSES = (0.01, 0.02, 0.05)  # losses of accuracy that should be detected
# Smallest number of copies with a larger loss, and of copies with a smaller loss, for an area under
# the ROC curve.
MIN_COPIES_PER_CLASS = 5
# Digits of a difference to keep, relative to the largest difference, because recomputation on the
# same data changes the last digits.
TRIMMED_DIGITS = 10


def round_to_ten_digits(differences: np.ndarray) -> np.ndarray:
    """Return differences rounded to 10 digits of the largest finite magnitude, so that rounding
    error decides nothing, whatever the unit."""
    max_difference = np.abs(differences[np.isfinite(differences)]).max(initial=0.0)
    if not max_difference:
        return differences
    result: np.ndarray = (
        np.round(differences / max_difference, TRIMMED_DIGITS) * max_difference + 0.0
    )
    return result


def loss_detection_auc(measured: np.ndarray, losses: np.ndarray) -> BlockScore:
    """Return the area under the ROC curve for detecting a loss of more than two points (0.02) by
    large differences. ``measured``, ``losses``: (copies,)."""
    return BlockScore(auc(measured, losses > DETECTED_LOSSES[1]))


class PerturbedCopy(NamedTuple):
    """A perturbed copy of a model: the perturbation, the lost accuracy, and the distance from the
    model.

    ``kind``: "noise", "rounding", "adapters" or "shuffled". ``draw``: the number of the random
    draw. ``name``, ``level``: the strength in words and as a number, 0 for no change. ``pvalue``:
    of the loss, by McNemar's test. ``differences``: by measure. ``drifts``: by drift measure of the
    paper, on rows of length 1.
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
        """Whether the loss of accuracy is significant."""
        return self.pvalue < HARM_LEVEL


class PerturbedModel(NamedTuple):
    """A model and all its perturbed copies. ``unchanged``: the differences of the model from
    itself."""

    name: str
    accuracy: float
    points: tuple[PerturbedCopy, ...]
    unchanged: Mapping[str, float | None]

    def of(self, kind: str, draw: int | None = None) -> list[PerturbedCopy]:
        """Return the copies of a kind, of one draw or, by default, of all draws, in order."""
        return [p for p in self.points if p.kind == kind and draw in (None, p.draw)]

    def disturbed(self, kind: str, draw: int | None = None) -> list[PerturbedCopy]:
        """Return the copies of a kind, of one draw or of all draws, without unperturbed copies."""
        return [p for p in self.of(kind, draw) if p.level > 0]


class AlarmRates(NamedTuple):
    """Shares of the perturbed copies that raise the alarm: among copies without a significant loss
    of accuracy, and among copies with a loss."""

    false_alarms: float
    caught: float


def copy_differences(points: Iterable[PerturbedCopy], spec: str) -> np.ndarray:
    """Return the differences of the copies ``points`` from their unperturbed models, for a measure,
    (copies,); NaN for a missing value. Raises ``KeyError`` for a measure outside the run."""
    return _as_floats([p.differences[spec] for p in points])


def copy_drifts(points: Iterable[PerturbedCopy], spec: str) -> np.ndarray:
    """Return the paper's drifts of the copies for a measure, (copies,); NaN for a missing value, or
    if the paper defines no drift with the measure."""
    return _as_floats([p.drifts.get(spec) for p in points])


def _as_floats(values: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], float)


def shuffled_scale(model: PerturbedModel, spec: str) -> float:
    """Return the scale of a measure: the mean difference of copies with shuffled weights minus the
    difference of unchanged weights.

    NaN if shuffled weights are not farther away, or if a value is missing.
    """
    shuffled = float(np.mean(copy_differences(model.of("shuffled"), spec)))
    scale = shuffled - _unchanged_difference(model, spec)
    return scale if scale > 0 else float("nan")


def _unchanged_difference(model: PerturbedModel, spec: str) -> float:
    return float(_as_floats([model.unchanged[spec]])[0])


def shares_of_scale(
    model: PerturbedModel, points: Iterable[PerturbedCopy], spec: str
) -> np.ndarray:
    """Return the differences of the copies ``points`` minus the difference of unchanged weights, as
    shares of the scale of the measure ``spec``, (copies,): 0 for unchanged weights, 1 for shuffled
    weights; NaN without a scale."""
    differences = copy_differences(points, spec) - _unchanged_difference(model, spec)
    return differences / shuffled_scale(model, spec)


def threshold_test_copies(model: PerturbedModel) -> list[PerturbedCopy]:
    """Return the perturbed copies that test thresholds: of noise only draw 1, because draw 0
    calibrates thresholds; of other kinds all copies."""
    draw_by_kind = {"noise": 1}
    return [p for kind in PERTURBATION_KINDS for p in model.disturbed(kind, draw_by_kind.get(kind))]


# Excess over a threshold; a positive excess raises the alarm.
Threshold = Callable[[PerturbedModel, Sequence[PerturbedCopy], str], np.ndarray | None]


def excess_over_paper_threshold(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray:
    """Return the drift of every copy minus 0.05, the alarm threshold of the paper, (copies,).

    The paper defines the drift on rows of unit length. A negative number raises no alarm.
    """
    return copy_drifts(points, spec) - ALARM_SHARE


def excess_over_scale_share(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray:
    """Return the difference of every copy as a share of the scale of the measure, minus 0.05,
    (copies,)."""
    return shares_of_scale(model, points, spec) - ALARM_SHARE


def excess_over_calibration(
    model: PerturbedModel, points: Sequence[PerturbedCopy], spec: str
) -> np.ndarray | None:
    """Return the difference of every copy minus the 95th percentile of the differences after
    another draw of harmless noise, (copies,).

    The percentile is an observed difference, so a monotone function of the measure raises the same
    alarms. None if no noise is harmless.
    """
    copies = calibration_copies(model)
    if not copies:
        return None
    return copy_differences(points, spec) - np.quantile(
        copy_differences(copies, spec), CALIBRATION_QUANTILE, method="higher"
    )


def calibration_copies(model: PerturbedModel) -> list[PerturbedCopy]:
    """Return the copies with noise of draw 0 and no significant loss of accuracy, which calibrate
    thresholds."""
    return [p for p in model.disturbed("noise", 0) if not p.harmed]


def first_alarm(model: PerturbedModel, spec: str, threshold: Threshold) -> float:
    """Return the smallest noise level α that raises the alarm; infinity without an alarm, NaN if a
    comparison failed or no noise is harmless. ``threshold``: maps (model, copies, specification) to
    the excess of every copy; a positive excess raises the alarm."""
    points = model.disturbed("noise", 1)
    excess = threshold(model, points, spec)
    if excess is None or np.isnan(excess).any():
        return float("nan")
    return _first_level(points, excess > 0)


def first_harm(model: PerturbedModel) -> float:
    """Return the smallest noise level α with a significant loss of accuracy after Holm's
    correction; infinity without a significant loss."""
    points = model.disturbed("noise", 1)
    rejections = holm_rejections([p.pvalue for p in points], HARM_LEVEL)
    return _first_level(points, rejections)


def _first_level(points: Iterable[PerturbedCopy], flags: Iterable[bool]) -> float:
    """Return the smallest level of the copies ``points`` with a true flag; infinity without such a
    level. ``flags``: a value per copy."""
    return min((p.level for p, flag in zip(points, flags) if flag), default=float("inf"))


def alarm_rates(models: Iterable[PerturbedModel], spec: str, threshold: Threshold) -> AlarmRates:
    """Return how often a threshold raises the alarm, from 0 to 1, over the test copies of all
    models: of harmless copies, then of harmed copies. NaN if a comparison failed, or without copies
    of the kind.

    ``threshold``: maps (model, copies, specification) to the excess of every copy; a positive
    excess raises the alarm.
    """
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
    """Group models by domain and architecture, "vision/resnet"."""
    groups: dict[str, list[PerturbedModel]] = {}
    for model in models:
        groups.setdefault(domain_and_architecture(model.name), []).append(model)
    return groups


def loss_tracking(
    models: Iterable[PerturbedModel], spec: str, kind: str, *, linear: bool = False
) -> float:
    """Return Spearman's correlation of difference and loss of accuracy (Pearson's if ``linear``)
    over the copies of a kind of perturbation, averaged over models, in [-1, 1].

    Models with the same loss after all perturbations are left out; NaN if none remains. NaN also if
    a comparison failed, and if a measure reports the same difference after all perturbations: a
    measure may not drop hard models.
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
    """Return the numbers of copies, perturbed by ``kind``, with a loss above ``loss`` (a share,
    0.02) and of other copies; only models with copies of both sorts count."""
    counts = np.zeros(2, int)
    for model in models:
        losses = [p.loss > loss for p in model.disturbed(kind)]
        if any(losses) and not all(losses):
            counts += sum(losses), len(losses) - sum(losses)
    return int(counts[0]), int(counts[1])


def loss_detection(models: Iterable[PerturbedModel], spec: str, kind: str, loss: float) -> float:
    """Return the area under the ROC curve for detecting a loss of accuracy above ``loss`` (a share,
    0.02) by a large difference, after perturbations of a kind, from 0 to 1.

    Only copies of the same model are compared, so no scale is needed; a model has the weight of its
    number of pairs. NaN if a comparison failed, and with fewer than five copies above ``loss`` or
    below.
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
    """Return shares of the scale and losses of accuracy of all perturbed copies of all models, two
    arrays (copies,); empty if a comparison failed."""
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

    ``values``: (cases,). ``positive``: whether each case is positive. The area is the probability
    that a positive case has a larger value than a negative case; ties count half. NaN if all cases
    are positive, or no case is positive.
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
    """Return the points (false positive rate, true positive rate) of all thresholds, from (0, 0) to
    (1, 1).

    ``values``: (cases,). ``positive``: whether each case is positive. A case is classified as
    positive if its value exceeds the threshold; equal values share a point. Raises ``ValueError``
    if all cases are positive, or no case is positive.
    """
    positive = np.asarray(positive, bool)
    if positive.all() or not positive.any():
        raise ValueError("roc: there must be positive and negative cases")
    order = np.argsort(-np.asarray(values), kind="stable")
    sorted_values, hits = np.asarray(values)[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(sorted_values)), len(sorted_values) - 1)
    true_rates = np.cumsum(hits)[ends] / hits.sum()
    false_rates = np.cumsum(~hits)[ends] / (~hits).sum()
    return [(0.0, 0.0), *((float(x), float(y)) for x, y in zip(false_rates, true_rates))]


def loss_pvalue(losses: int, gains: int) -> float:
    """Return the exact one-sided p-value of McNemar's test for lost correct answers.

    ``losses``: number of samples with a correct answer before and a wrong answer after the change.
    ``gains``: number of opposite samples. Under the null hypothesis, ``losses`` is binomial with
    ``losses + gains`` trials and probability 1/2.
    """
    return float(binom.sf(losses - 1, losses + gains, 0.5))


def holm_rejections(pvalues: Sequence[float], level: float) -> list[bool]:
    """Return whether each hypothesis is rejected, in the order of ``pvalues``, at a familywise
    error rate of ``level`` (Holm 1979)."""
    order = sorted(range(len(pvalues)), key=lambda i: pvalues[i])
    rejections, is_rejected = [False] * len(pvalues), True
    for position, i in enumerate(order):
        is_rejected = is_rejected and pvalues[i] <= level / (len(pvalues) - position)
        rejections[i] = is_rejected
    return rejections
