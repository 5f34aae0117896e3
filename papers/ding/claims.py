"""What Ding et al. 2021 conclude, by section of the sensitivity suite, and the evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from papers.judging import Claims, Evidence, NoData, claim, judged
from resemblance.results.claims import Claim
from resemblance.suites.sensitivity.facts import (
    ALL,
    CKA,
    NAMES,
    PROCRUSTES,
    PWCCA,
    Contrast,
    DeletionCurves,
    FamilyFacts,
    SuiteFacts,
)
from resemblance.suites.sensitivity.sections import NUMBERS

Families: TypeAlias = Sequence[FamilyFacts]
Judgement: TypeAlias = tuple[str, tuple[bool, ...]]  # the numbers in words, which parts hold
THREE = (PROCRUSTES, CKA, PWCCA)
SHORT = {PROCRUSTES: "Procrustes", CKA: "CKA", PWCCA: "PWCCA"}
LATE = 5 / 12  # layers 8 to 12 of 12
# Shares of farther layers with which a measure fails and passes the specificity test.
FAILS, PASSES = 0.05, 0.5
LITTLE = 0.05  # the largest difference of correlations that is "a little"
NEARLY_ALL = 0.9
WEAK = 0.3
_BY_SECTION: Mapping[str, Claims] = {
    section: [] for section in ("summary", "layers", "deletion", "finetuning", "pretraining")
}


def _in_families(judge: Callable[[FamilyFacts], Judgement]) -> Callable[[Families], Evidence]:
    """Judge every family: the claim holds for one when all its parts do."""

    def judge_all(families: Families) -> Evidence:
        parts = []
        for facts in families:
            try:
                text, holds = judge(facts)
            except NoData as error:
                raise NoData(f"{facts.family.title}: {error}") from error
            parts.append((facts.family.title, text, all(holds)))
        return in_domains(parts)

    return judge_all


def in_domains(parts: Sequence[tuple[str, str, bool]]) -> Evidence:
    """Return in how many domains a claim holds: name, words and verdict of each.

    Raises ``NoData`` for none.
    """
    if not parts:
        raise NoData("no models have taken part")
    words = "; ".join(f"{name}: {text}" for name, text, _ in parts)
    holds = tuple(holds for *_, holds in parts)
    return Evidence(f"holds in {sum(holds)} of {len(holds)} domains. {words}", holds)


def mean_correlation(facts: FamilyFacts, spec: str) -> float:
    """Return the mean of Spearman's correlation of a measure; ``NoData``, with the reason, without
    one."""
    if spec not in facts.grades.means[ALL]:
        raise NoData(f"{NAMES[spec]} is not among the measures of this run")
    value = facts.estimate(spec, "spearman").value
    if value is None:
        reason = facts.grades.failed.get(spec, "it has no correlation somewhere")
        raise NoData(f"{NAMES[spec]} has no mean: {reason}")
    return value


def _three(facts: FamilyFacts) -> tuple[float, float, float, str]:
    p, c, w = (mean_correlation(facts, spec) for spec in THREE)
    return p, c, w, f"Procrustes {p:.3f}, CKA {c:.3f}, PWCCA {w:.3f}"


# ------------------------------------------------------------------------------------ one benchmark


@claim(
    _BY_SECTION["layers"],
    "1a",
    "PWCCA fails the specificity test: of the other layers at most 5 % are farther than "
    "the same layer of another seed. CKA and Procrustes pass it: more than half are "
    "(share of farther layers, middle layer).",
    "PWCCA 0; CKA and Procrustes pass",
)
@_in_families
def specificity(facts: FamilyFacts) -> Judgement:
    p, c, w = (_middle_share(facts, spec) for spec in THREE)
    text = f"PWCCA {w:.2f}, CKA {c:.2f}, Procrustes {p:.2f}"
    return text, (w <= FAILS, c > PASSES, p > PASSES)


def _middle_share(facts: FamilyFacts, spec: str) -> float:
    """Return the share of layers that are farther from the middle one than another seed is."""
    if facts.specificity and spec in facts.specificity.exceeding:
        share = facts.specificity.exceeding[spec][facts.specificity.middle]
        if share is not None:
            return share
    raise NoData(f"no distances by {NAMES[spec]} in the middle layer")


@claim(
    _BY_SECTION["layers"],
    "1b",
    "With probes over layers and seeds CKA is ahead of Procrustes by a little, at most "
    "0.05, and both are ahead of PWCCA (Spearman).",
    "QNLI 0.862, 0.876, 0.763; SST-2 0.890, 0.905, 0.829; vision CKA 0.507, 0.372 and "
    "Procrustes 0.485, 0.363",
)
@_in_families
def order_in_layers(facts: FamilyFacts) -> Judgement:
    p, c, w, text = _three(facts)
    return text, (0 < c - p <= LITTLE, p > w)


@claim(
    _BY_SECTION["deletion"],
    "2a",
    "CKA does not detect a deletion before 90 % of the components are gone; Procrustes "
    "detects it sooner and PWCCA first.",
    "97 % for CKA (probe 0.80 to 0.63), 85 % for Procrustes (0.70), 55 % for PWCCA (0.75)",
)
@_in_families
def insensitivity(facts: FamilyFacts) -> Judgement:
    if facts.deletion is None:
        raise NoData("no components were deleted")
    for spec in THREE:
        _need_curve(facts.deletion, spec)
    detected = {spec: facts.deletion.curves[spec].detected for spec in THREE}
    p, c, w = (2.0 if share is None else share for share in detected.values())
    probe = dict(zip(facts.deletion.shares, facts.deletion.probe))
    words = [f"{SHORT[spec]} {_detection(share, probe)}" for spec, share in detected.items()]
    return ", ".join(words), (c >= NEARLY_ALL, c > p, p > w)


def _need_curve(deletion: DeletionCurves, spec: str) -> None:
    if spec not in deletion.curves:
        absent = "it is not among the measures of this run, or sees nothing at all"
        raise NoData(f"{NAMES[spec]} has no curve: {deletion.unknown.get(spec, absent)}")


def _detection(share: float | None, probe: dict[float, float]) -> str:
    if share is None:
        return "never"
    return f"{share:.0%} (probe {probe[0.0]:.3f} to {probe[share]:.3f})"


@claim(
    _BY_SECTION["deletion"],
    "2b",
    "CKA is the worst of the three where components are deleted (Spearman).",
    "Procrustes 0.860, CKA 0.751, PWCCA 0.870",
)
@_in_families
def order_in_deletion(facts: FamilyFacts) -> Judgement:
    p, c, w, text = _three(facts)
    return text, (p > c, w > c)


@claim(
    _BY_SECTION["finetuning"],
    "3a",
    "All three measures follow accuracy out of distribution over fine-tuning seeds "
    "(Spearman; intervals above 0).",
    "Procrustes 0.551, CKA 0.462, PWCCA 0.568",
)
@_in_families
def positive(facts: FamilyFacts) -> Judgement:
    text = _three(facts)[3]
    low = [facts.estimate(spec, "spearman").low for spec in THREE]
    ends = [end for end in low if end is not None]
    if len(ends) < len(low):
        raise NoData("no intervals: too few models to resample")
    words = f"{text}; intervals from {', '.join(f'{v:.2f}' for v in ends)}"
    return words, tuple(v > 0 for v in ends)


def _ends(contrasts: Iterable[Contrast], first: str, second: str) -> tuple[float, float]:
    """Return the interval of a difference, with one pair of the reference with itself."""
    for c in contrasts:
        if (c.first, c.second) == (first, second) and c.low is not None and c.high is not None:
            return c.low, c.high
    raise NoData(
        f"no interval for {NAMES[first]} - {NAMES[second]}: too few models, or failed comparisons"
    )


@claim(
    _BY_SECTION["finetuning"],
    "3b",
    "In each of the late layers (the last 5 of 12, or that share), PWCCA is significantly "
    "ahead of Procrustes and Procrustes of CKA (Kendall, bootstrap intervals without 0, "
    "one pair of the reference with itself).",
    "in each of the five layers",
)
@_in_families
def late_layers(facts: FamilyFacts) -> Judgement:
    layers = list(facts.grades.by_layer.values())
    late = layers[-max(1, round(LATE * len(layers))) :]
    over = [_ends(contrasts, PROCRUSTES, CKA)[0] > 0 for contrasts in late]
    under = [_ends(contrasts, PROCRUSTES, PWCCA)[1] < 0 for contrasts in late]
    text = (
        f"of {len(late)} late layers Procrustes > CKA in {sum(over)}, PWCCA > Procrustes in "
        f"{sum(under)}"
    )
    return text, (all(over), all(under))


@claim(
    _BY_SECTION["pretraining"],
    "4a",
    "Over pretraining and fine-tuning seeds none of the three predicts accuracy under "
    "stress well (Spearman, absolute value below 0.3).",
    "antonymy 0.243, 0.227, 0.204; numerical 0.071, 0.122, 0.031; CIFAR-10-C 0.060, 0.057",
)
@_in_families
def weak(facts: FamilyFacts) -> Judgement:
    *values, text = _three(facts)
    return text, tuple(abs(v) < WEAK for v in values)


# ----------------------------------------------------------------------------------- all benchmarks


@claim(
    _BY_SECTION["summary"],
    "T1",
    "Procrustes is the best of the three on average over the four benchmarks (Spearman).",
    "language 0.580, 0.557, 0.544; vision 0.303, CKA 0.312 when corrected (printed 0.307)",
)
def best_overall(facts: SuiteFacts) -> Evidence:
    _need_all(facts)
    titles = dict.fromkeys(f.family.title for families in facts.values() for f in families)
    parts = []
    for title in titles:
        members = [f for name in NUMBERS for f in facts[name] if f.family.title == title]
        if len(members) < len(NUMBERS):
            raise NoData(
                f"{title} makes {len(members)} of the {len(NUMBERS)} benchmarks over which the "
                "claim averages"
            )
        p, c, w = (sum(mean_correlation(f, spec) for f in members) / len(members) for spec in THREE)
        parts.append((title, f"Procrustes {p:.3f}, CKA {c:.3f}, PWCCA {w:.3f}", p > max(c, w)))
    return in_domains(parts)


def _need_all(facts: SuiteFacts) -> None:
    missing = [name for name in NUMBERS if not facts.get(name)]
    if missing:
        raise NoData(
            f"all four benchmarks are needed; without models or not run: {', '.join(missing)}"
        )


@claim(
    _BY_SECTION["summary"],
    "T2",
    "None of the three is the best, or as good as the best, in every benchmark and domain "
    "(Spearman).",
    "CKA in benchmark 1, PWCCA in 2 and 3, Procrustes or CKA in 4",
)
def no_dominance(facts: SuiteFacts) -> Evidence:
    best = {}
    for name, families in facts.items():
        for family in families:
            values = {spec: mean_correlation(family, spec) for spec in THREE}
            first = [spec for spec, value in values.items() if value == max(values.values())]
            best[f"{NUMBERS[name]} {family.family.title}"] = first
    if len(best) < 2:
        raise NoData("two benchmarks, or models of two kinds, are needed")
    everywhere = set.intersection(*map(set, best.values()))
    leaders = {where: " and ".join(SHORT[s] for s in first) for where, first in best.items()}
    words = ", ".join(f"{where}: {names}" for where, names in leaders.items())
    return Evidence(words, (not everywhere,))


@claim(
    _BY_SECTION["summary"],
    "T3",
    "Probes (both benchmarks 1 and 2) are followed better than accuracy out of "
    "distribution (both 3 and 4), and fine-tuning seeds (3) better than pretraining seeds "
    "(4) (Spearman, mean of the three measures).",
    "0.85, 0.83, 0.53, 0.15 (language, mean of the three)",
)
def out_of_distribution_is_hard(facts: SuiteFacts) -> Evidence:
    _need_all(facts)
    parts = []
    for title in dict.fromkeys(f.family.title for f in facts["layers"]):
        members = [f for name in NUMBERS for f in facts[name] if f.family.title == title]
        if len(members) < len(NUMBERS):
            raise NoData(f"{title} does not make all four benchmarks")
        one, two, three, four = (
            sum(mean_correlation(f, spec) for spec in THREE) / 3 for f in members
        )
        words = f"mean of the three, 1: {one:.3f}, 2: {two:.3f}, 3: {three:.3f}, 4: {four:.3f}"
        parts.append((title, words, min(one, two) > max(three, four) and three > four))
    return in_domains(parts)


CLAIMS: Mapping[str, Callable[[Any], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in _BY_SECTION.items()
}
