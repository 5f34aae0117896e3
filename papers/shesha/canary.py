"""Claims of Raju 2026, Section 10, about perturbed weights, judged by a run of the stability
suite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from papers.judging import Claims, Evidence, NoData, claim, number
from resemblance.base.rng import generator
from resemblance.bench.stability import alarms
from resemblance.bench.stability.alarms import (
    DEBIASED_CKA,
    RDM_SPEARMAN,
    ROOT_PROCRUSTES,
    SQUARED_PROCRUSTES,
    PerturbedModel,
)
from resemblance.significance import percentile_interval

CANARY: Claims = []
of_canary = partial(claim, CANARY)
OTHERS = (
    "small networks trained here and noise that keeps their own classifier; the paper retrains a "
    "probe on embeddings"
)
MODELS, LEVELS = 3, 8  # minimum numbers to decide a claim
DRAWS = 200


def _enough(models: Sequence[PerturbedModel]) -> Sequence[PerturbedModel]:
    levels = min((len({p.level for p in m.disturbed("noise")}) for m in models), default=0)
    if len(models) < MODELS or levels < LEVELS:
        raise NoData(
            f"{len(models)} models and {levels} levels of noise do not decide it: {MODELS} and "
            f"{LEVELS} would"
        )
    return models


def _measured(models: Sequence[PerturbedModel], *specs: str) -> None:
    """Raise ``NoData`` for a measure that the run lacks."""
    absent = [spec for spec in specs if spec not in _enough(models)[0].unchanged]
    if absent:
        raise NoData(f"the run lacks {', '.join(absent)}")


def _spearman(models: Sequence[PerturbedModel], *specs: str) -> tuple[float, ...]:
    _measured(models, *specs)
    if all(np.ptp([p.loss for p in m.disturbed("noise")]) == 0 for m in models):
        raise NoData("no accuracy was lost")
    correlations = tuple(alarms.loss_tracking(models, spec, "noise") for spec in specs)
    if any(np.isnan(correlations)):
        raise NoData("a comparison failed")
    return correlations


@of_canary(
    "10 follows",
    "Noise: drift follows the loss of accuracy",
    "Spearman: RDM drift 0.927, CKA 0.937",
)
def follows(models: Sequence[PerturbedModel]) -> Evidence:
    rdm, cka = _spearman(models, RDM_SPEARMAN, DEBIASED_CKA)
    text = f"RDM drift {number(rdm)}, CKA {number(cka)} (mean over {len(models)} models)"
    return Evidence(text, (rdm > 0.8, cka > 0.8), OTHERS)


@of_canary(
    "10 highest",
    "Noise: RDM drift follows it best",
    "“highest correlation”: RDM drift 0.927, CKA 0.937",
)
def highest(models: Sequence[PerturbedModel]) -> Evidence:
    specs = [spec for spec in alarms.DRIFT_MEASURES if spec in _enough(models)[0].unchanged]
    correlations = dict(zip(specs, _spearman(models, *specs)))
    if RDM_SPEARMAN not in correlations or len(correlations) < 2:
        raise NoData("the run lacks drifts to compare")
    rdm = correlations.pop(RDM_SPEARMAN)
    best, other = max(correlations.items(), key=itemgetter(1))
    low, high = lead(models, RDM_SPEARMAN, best, DRAWS)
    note = "the paper's own numbers say the opposite of its text: 0.927 is smaller than 0.937"
    text = (
        f"RDM drift {number(rdm)}; highest of the other drifts: {best} {number(other)}; "
        f"difference {number(rdm - other)} [{number(low)}, {number(high)}] over models and levels"
    )
    return Evidence(text, (high > 0, low > 0), note)


@of_canary("10 warns", "RDM drift passes 5 % before accuracy falls", "a functional canary")
def warns(models: Sequence[PerturbedModel]) -> Evidence:
    _measured(models, RDM_SPEARMAN)
    drifted = [
        alarms.first_alarm(m, RDM_SPEARMAN, alarms.excess_over_paper_threshold) for m in models
    ]
    harms = [alarms.first_harm(m) for m in models]
    if all(np.isinf(harms)):
        raise NoData("no accuracy was lost")
    early = sum(a < h for a, h in zip(drifted, harms))
    tied = sum(a == h < np.inf for a, h in zip(drifted, harms))
    text = (
        f"{early} of {len(models)} models, {tied} at the same α: RDM drift at "
        f"{_at(_first(models, RDM_SPEARMAN))}, accuracy at {_at(_median(harms))} (medians)"
    )
    note = "accuracy counts as lost when McNemar's test says so at 5 %, after Holm over all α"
    return Evidence(text, (early > len(models) / 2,), note)


def _first(models: Sequence[PerturbedModel], spec: str) -> float:
    levels = [alarms.first_alarm(m, spec, alarms.excess_over_paper_threshold) for m in models]
    if any(np.isnan(levels)):
        raise NoData(f"{spec} has no value for some noise")
    return _median(levels)


def _median(levels: Sequence[float]) -> float:
    return float(np.quantile(levels, 0.5, method="higher"))


def _at(level: float) -> str:
    return "never" if np.isinf(level) else f"α {level:.3g}"


@of_canary(
    "10 first",
    "Procrustes is the first to pass 5 %",
    "σ: Procrustes 0.04, RDM drift 0.10, CKA 0.11",
)
def procrustes_first(models: Sequence[PerturbedModel]) -> Evidence:
    _measured(models, ROOT_PROCRUSTES, RDM_SPEARMAN, DEBIASED_CKA)
    root, rdm, cka = (
        _first(models, spec) for spec in (ROOT_PROCRUSTES, RDM_SPEARMAN, DEBIASED_CKA)
    )
    text = f"Procrustes {_at(root)}, RDM drift {_at(rdm)}, CKA {_at(cka)} (medians)"
    return Evidence(
        text, (root < rdm, root < cka), "true of the root that the paper takes: see the next claims"
    )


def _false(
    models: Sequence[PerturbedModel],
    spec: str,
    threshold: alarms.Threshold = alarms.excess_over_paper_threshold,
) -> float:
    _measured(models, spec)
    if all(p.harmed for m in models for p in alarms.threshold_test_copies(m)):
        raise NoData("no change is harmless")
    share = alarms.alarm_rates(models, spec, threshold).false_alarms
    if np.isnan(share):
        raise NoData(f"{spec} has no value for some change")
    return share


@of_canary(
    "10 alarms",
    "Procrustes raises several times as many false alarms as RDM drift",
    "44 %, about 6 times as many",
)
def false_alarms(models: Sequence[PerturbedModel]) -> Evidence:
    root, rdm = (_false(models, spec) for spec in (ROOT_PROCRUSTES, RDM_SPEARMAN))
    shares = [
        f"{_false(models, spec, alarms.excess_over_scale_share):.0%}"
        for spec in (ROOT_PROCRUSTES, RDM_SPEARMAN)
    ]
    text = (
        f"Procrustes {root:.0%}, RDM drift {rdm:.0%} of harmless changes; at 5 % of the scale "
        f"{' and '.join(shares)}"
    )
    return Evidence(text, (root > 0.2, root > 2 * rdm), OTHERS)


@of_canary(
    "10 rigid",
    "These are false alarms of a rigid distance: the squared form raises them, too",
    "“false alarms in rigid distance metrics”; its drift is the root form",
)
def rigid(models: Sequence[PerturbedModel]) -> Evidence:
    squared, rdm = (_false(models, spec) for spec in (SQUARED_PROCRUSTES, RDM_SPEARMAN))
    first, other = _first(models, SQUARED_PROCRUSTES), _first(models, RDM_SPEARMAN)
    text = (
        f"squared: {squared:.0%} false alarms, RDM drift {rdm:.0%}; first at {_at(first)}, RDM "
        f"drift {_at(other)}"
    )
    note = (
        "its drift is the square root of 1 minus the Procrustes similarity while the others are "
        "not roots: a change of size ε gives ε there and ε² elsewhere. Squared, its own numbers "
        "cross 5 % at σ = 0.145, after the others"
    )
    return Evidence(text, (first < other, squared > 2 * rdm), note)


@of_canary(
    "10 larger", "RDM drift is larger than CKA drift", "in 73 % of models, nearly twice as large"
)
def larger(models: Sequence[PerturbedModel]) -> Evidence:
    _measured(models, RDM_SPEARMAN, DEBIASED_CKA)
    pairs = np.array(
        [
            (r, c)
            for m in models
            for r, c in zip(
                *(
                    alarms.copy_drifts(alarms.threshold_test_copies(m), spec)
                    for spec in (RDM_SPEARMAN, DEBIASED_CKA)
                )
            )
        ]
    )
    if np.isnan(pairs).any():
        raise NoData("a comparison failed")
    share, ratio = float(np.mean(pairs[:, 0] > pairs[:, 1])), float(np.divide(*pairs.mean(axis=0)))
    note = (
        "theirs are base models against instruction-tuned ones, ours one model and its disturbed "
        "copies"
    )
    text = f"in {share:.0%} of {len(pairs)} changes, on average {ratio:.2f} times as large"
    return Evidence(text, (share > 0.5,), note)


def lead(models: Sequence[PerturbedModel], one: str, other: str, draws: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two measures in how well they follow accuracy
    under noise.

    The bootstrap draws models, and levels of noise within a model, with replacement, the same for
    the two measures.
    """
    leads = []
    for draw in range(draws):
        random = generator(0, "canary", "lead", draw)
        sample = [
            _redrawn(models[i], random) for i in random.integers(len(models), size=len(models))
        ]
        leads.append(
            alarms.loss_tracking(sample, one, "noise")
            - alarms.loss_tracking(sample, other, "noise")
        )
    return percentile_interval(leads)


def _redrawn(model: PerturbedModel, random: np.random.Generator) -> PerturbedModel:
    levels = sorted({p.level for p in model.disturbed("noise")})
    chosen = random.choice(levels, size=len(levels))
    return model._replace(
        points=tuple(p for level in chosen for p in model.of("noise") if p.level == level)
    )
