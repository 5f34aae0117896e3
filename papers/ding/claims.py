"""Conclusions of Ding et al. 2021, by section of the sensitivity suite, and our evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from papers.judging import Claims, Evidence, NoData, claim, judged
from resemblance.bench.sensitivity.findings import (
    DING_LABELS,
    PAPER_CKA,
    PAPER_PROCRUSTES,
    PAPER_PWCCA,
    Findings,
    deleted_shares,
)
from resemblance.bench.sensitivity.page import BENCHMARK_NUMBERS
from resemblance.bench.sensitivity.tables import contrasts_by_layer
from resemblance.sections.claims import Claim

ByBenchmark: TypeAlias = Mapping[str, Sequence[Findings]]
Judgement: TypeAlias = tuple[str, tuple[bool, ...]]  # numbers as text, whether every part holds
SHORT = {PAPER_PROCRUSTES: "Procrustes", PAPER_CKA: "CKA", PAPER_PWCCA: "PWCCA"}
THREE = tuple(SHORT)
LATE = 5 / 12  # layers 8 to 12 of 12
# A measure fails the specificity test up to the first share of farther layers, and passes above
# the second share.
FAILS, PASSES = 0.05, 0.5
LITTLE = 0.05  # the largest difference of correlations that is "a little"
NEARLY_ALL = 0.9
WEAK = 0.3
SECTIONS = ("summary", "layers", "deletion", "finetuning", "pretraining")
CLAIMS_OF: Mapping[str, Claims] = {section: [] for section in SECTIONS}
SUMMARY, LAYERS, DELETION, FINETUNING, PRETRAINING = (
    partial(claim, of_section) for of_section in CLAIMS_OF.values()
)


def _in_families(
    judge: Callable[[Findings], Judgement],
) -> Callable[[Sequence[Findings]], Evidence]:
    """Judge every model family; the claim holds for a family when all parts hold."""

    def judge_all(families: Sequence[Findings]) -> Evidence:
        parts = []
        for findings in families:
            try:
                text, holds = judge(findings)
            except NoData as error:
                raise NoData(f"{findings.family.title}: {error}") from error
            parts.append((findings.family.title, text, all(holds)))
        return in_domains(parts)

    return judge_all


def in_domains(parts: Sequence[tuple[str, str, bool]]) -> Evidence:
    """Return the evidence over domains: the number of domains in which the claim holds, and the
    text and verdict of every domain.

    Raises ``NoData`` without any domain.
    """
    if not parts:
        raise NoData("no models have taken part")
    words = "; ".join(f"{name}: {text}" for name, text, _ in parts)
    holds = tuple(holds for *_, holds in parts)
    return Evidence(f"holds in {sum(holds)} of {len(holds)} domains. {words}", holds)


def mean_correlation(findings: Findings, spec: str) -> float:
    """Return the mean Spearman correlation of a measure. Raises ``NoData``, with the reason, if the
    mean is missing."""
    if spec not in findings.correlations.measures:
        raise NoData(f"{DING_LABELS[spec]} is not among the measures of this run")
    value = findings.correlations.mean(spec)
    if value is None:
        reason = findings.failed.get(spec, "it has no correlation somewhere")
        raise NoData(f"{DING_LABELS[spec]} has no mean: {reason}")
    return value


def _three(*several: Findings) -> tuple[float, float, float, str]:
    """Return the means of the three measures over findings, as numbers and as text."""
    p, c, w = (
        sum(mean_correlation(findings, spec) for findings in several) / len(several)
        for spec in THREE
    )
    return p, c, w, f"Procrustes {p:.3f}, CKA {c:.3f}, PWCCA {w:.3f}"


# ------------------------------------------------------------------------------------ one benchmark


@LAYERS(
    "1a",
    "PWCCA fails the specificity test: of the other layers at most 5 % are farther than "
    "the same layer of another seed. CKA and Procrustes pass it: more than half are "
    "(share of farther layers, middle layer).",
    "PWCCA 0; CKA and Procrustes pass",
)
@_in_families
def specificity(findings: Findings) -> Judgement:
    middle, depths = len(findings.layers()) // 2, findings.depths()
    shares = [depths[spec].exceeding[middle] if spec in depths else None for spec in THREE]
    for spec, share in zip(THREE, shares):
        if share is None or share != share:
            raise NoData(f"no distances by {DING_LABELS[spec]} in the middle layer")
    p, c, w = (float(share) for share in shares if share is not None)
    text = f"PWCCA {w:.2f}, CKA {c:.2f}, Procrustes {p:.2f}"
    return text, (w <= FAILS, c > PASSES, p > PASSES)


@LAYERS(
    "1b",
    "With probes over layers and seeds CKA is ahead of Procrustes by a little, at most "
    "0.05, and both are ahead of PWCCA (Spearman).",
    "QNLI 0.862, 0.876, 0.763; SST-2 0.890, 0.905, 0.829; vision CKA 0.507, 0.372 and "
    "Procrustes 0.485, 0.363",
)
@_in_families
def order_in_layers(findings: Findings) -> Judgement:
    p, c, w, text = _three(findings)
    return text, (0 < c - p <= LITTLE, p > w)


@DELETION(
    "2a",
    "CKA does not detect a deletion before 90 % of the components are gone; Procrustes "
    "detects it sooner and PWCCA first.",
    "97 % for CKA (probe 0.80 to 0.63), 85 % for Procrustes (0.70), 55 % for PWCCA (0.75)",
)
@_in_families
def insensitivity(findings: Findings) -> Judgement:
    curves, members = findings.deletions(), list(findings.sets.sets.values())[-1]
    for spec in THREE:
        if spec not in curves or curves[spec].unknown:
            absent = "it is not among the measures of this run, or sees nothing at all"
            why = curves[spec].unknown if spec in curves else absent
            raise NoData(f"{DING_LABELS[spec]} has no curve: {why}")
    shares = deleted_shares(members)
    accuracies = members.functionality["probe"].reshape(-1, len(shares)).mean(axis=0)
    probe, words, detected = dict(zip(shares, accuracies)), [], []
    for spec in THREE:
        share = curves[spec].detected
        seen = "never"
        if share is not None:
            seen = f"{share:.0%} (probe {probe[0]:.3f} to {probe[share]:.3f})"
        words.append(f"{SHORT[spec]} {seen}")
        detected.append(2.0 if share is None else share)
    p, c, w = detected
    return ", ".join(words), (c >= NEARLY_ALL, c > p, p > w)


@DELETION(
    "2b",
    "CKA is the worst of the three where components are deleted (Spearman).",
    "Procrustes 0.860, CKA 0.751, PWCCA 0.870",
)
@_in_families
def order_in_deletion(findings: Findings) -> Judgement:
    p, c, w, text = _three(findings)
    return text, (p > c, w > c)


@FINETUNING(
    "3a",
    "All three measures follow accuracy out of distribution over fine-tuning seeds "
    "(Spearman; intervals above 0).",
    "Procrustes 0.551, CKA 0.462, PWCCA 0.568",
)
@_in_families
def positive(findings: Findings) -> Judgement:
    text = _three(findings)[3]
    low = [findings.correlations.estimate(spec).low for spec in THREE]
    ends = [end for end in low if end is not None]
    if len(ends) < len(low):
        raise NoData("no intervals: too few models to resample")
    words = f"{text}; intervals from {', '.join(f'{v:.2f}' for v in ends)}"
    return words, tuple(v > 0 for v in ends)


@FINETUNING(
    "3b",
    "In each of the late layers (the last 5 of 12, or that share), PWCCA is significantly "
    "ahead of Procrustes and Procrustes of CKA (Kendall, bootstrap intervals without 0, "
    "one pair of the reference with itself).",
    "in each of the five layers",
)
@_in_families
def late_layers(findings: Findings) -> Judgement:
    layers = list(dict.fromkeys(layer for layer, _ in findings.correlations.names))
    late = layers[-max(1, round(LATE * len(layers))) :]
    ends = dict[str, list[tuple[float, float]]]()
    for other in (PAPER_CKA, PAPER_PWCCA):
        contrasts = contrasts_by_layer(findings.correlations, PAPER_PROCRUSTES, other)
        ends[other] = [
            (c.low, c.high)
            for layer in late
            if (c := contrasts.get(layer)) and c.low is not None and c.high is not None
        ]
        if len(ends[other]) < len(late):
            raise NoData(
                f"no interval for {DING_LABELS[PAPER_PROCRUSTES]} - {DING_LABELS[other]}: too few "
                "models, or failed comparisons"
            )
    over = [low > 0 for low, _ in ends[PAPER_CKA]]
    under = [high < 0 for _, high in ends[PAPER_PWCCA]]
    text = (
        f"of {len(late)} late layers Procrustes > CKA in {sum(over)}, PWCCA > Procrustes in "
        f"{sum(under)}"
    )
    return text, (all(over), all(under))


@PRETRAINING(
    "4a",
    "Over pretraining and fine-tuning seeds none of the three predicts accuracy under "
    "stress well (Spearman, absolute value below 0.3).",
    "antonymy 0.243, 0.227, 0.204; numerical 0.071, 0.122, 0.031; CIFAR-10-C 0.060, 0.057",
)
@_in_families
def weak(findings: Findings) -> Judgement:
    *values, text = _three(findings)
    return text, tuple(abs(v) < WEAK for v in values)


# ----------------------------------------------------------------------------------- all benchmarks


@SUMMARY(
    "T1",
    "Procrustes is the best of the three on average over the four benchmarks (Spearman).",
    "language 0.580, 0.557, 0.544; vision 0.303, CKA 0.312 when corrected (printed 0.307)",
)
def best_overall(by_benchmark: ByBenchmark) -> Evidence:
    parts = []
    for title, members in _in_all_benchmarks(by_benchmark):
        p, c, w, text = _three(*members)
        parts.append((title, text, p > max(c, w)))
    return in_domains(parts)


def _in_all_benchmarks(by_benchmark: ByBenchmark) -> list[tuple[str, list[Findings]]]:
    """Return the findings of every family in the four benchmarks. Raises ``NoData`` if a benchmark
    is missing."""
    if missing := [name for name in BENCHMARK_NUMBERS if not by_benchmark.get(name)]:
        raise NoData(
            f"all four benchmarks are needed; without models or not run: {', '.join(missing)}"
        )
    members: dict[str, list[Findings]] = {}
    for findings in (f for name in BENCHMARK_NUMBERS for f in by_benchmark[name]):
        members.setdefault(findings.family.title, []).append(findings)
    for title, some in members.items():
        if len(some) < len(BENCHMARK_NUMBERS):
            raise NoData(
                f"{title} makes {len(some)} of the {len(BENCHMARK_NUMBERS)} benchmarks over which "
                "the claim averages"
            )
    return list(members.items())


@SUMMARY(
    "T2",
    "None of the three is the best, or as good as the best, in every benchmark and domain "
    "(Spearman).",
    "CKA in benchmark 1, PWCCA in 2 and 3, Procrustes or CKA in 4",
)
def no_dominance(by_benchmark: ByBenchmark) -> Evidence:
    best = {}
    for name, families in by_benchmark.items():
        for findings in families:
            values = {spec: mean_correlation(findings, spec) for spec in THREE}
            first = [spec for spec, value in values.items() if value == max(values.values())]
            best[f"{BENCHMARK_NUMBERS[name]} {findings.family.title}"] = first
    if len(best) < 2:
        raise NoData("two benchmarks, or models of two kinds, are needed")
    everywhere = set.intersection(*map(set, best.values()))
    leaders = {where: " and ".join(SHORT[s] for s in first) for where, first in best.items()}
    words = ", ".join(f"{where}: {names}" for where, names in leaders.items())
    return Evidence(words, (not everywhere,))


@SUMMARY(
    "T3",
    "Probes (both benchmarks 1 and 2) are followed better than accuracy out of "
    "distribution (both 3 and 4), and fine-tuning seeds (3) better than pretraining seeds "
    "(4) (Spearman, mean of the three measures).",
    "0.85, 0.83, 0.53, 0.15 (language, mean of the three)",
)
def out_of_distribution_is_hard(by_benchmark: ByBenchmark) -> Evidence:
    parts = []
    for title, members in _in_all_benchmarks(by_benchmark):
        one, two, three, four = (sum(_three(findings)[:3]) / 3 for findings in members)
        words = f"mean of the three, 1: {one:.3f}, 2: {two:.3f}, 3: {three:.3f}, 4: {four:.3f}"
        parts.append((title, words, min(one, two) > max(three, four) and three > four))
    return in_domains(parts)


CLAIMS: Mapping[str, Callable[[Any], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in CLAIMS_OF.items()
}
