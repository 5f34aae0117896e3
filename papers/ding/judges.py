"""Judges of the paper's claims: what a run of the sensitivity suite says for or against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from papers.judging import Evidence, NoData
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


@_in_families
def specificity(facts: FamilyFacts) -> Judgement:
    """PWCCA is moved more by a random start than by depth; CKA and Procrustes are not."""
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


@_in_families
def order_in_layers(facts: FamilyFacts) -> Judgement:
    """CKA is a little ahead of Procrustes, and both are ahead of PWCCA."""
    p, c, w, text = _three(facts)
    return text, (0 < c - p <= LITTLE, p > w)


@_in_families
def insensitivity(facts: FamilyFacts) -> Judgement:
    """CKA detects deletions last, PWCCA first; CKA misses nearly all of them."""
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


@_in_families
def order_in_deletion(facts: FamilyFacts) -> Judgement:
    """CKA is the worst of the three where components are deleted."""
    p, c, w, text = _three(facts)
    return text, (p > c, w > c)


@_in_families
def late_layers(facts: FamilyFacts) -> Judgement:
    """In late layers PWCCA is significantly ahead of Procrustes and Procrustes of CKA."""
    layers = list(facts.grades.by_layer.values())
    late = layers[-max(1, round(LATE * len(layers))) :]
    over = [_ends(contrasts, PROCRUSTES, CKA)[0] > 0 for contrasts in late]
    under = [_ends(contrasts, PROCRUSTES, PWCCA)[1] < 0 for contrasts in late]
    text = (
        f"of {len(late)} late layers Procrustes > CKA in {sum(over)}, PWCCA > Procrustes in "
        f"{sum(under)}"
    )
    return text, (all(over), all(under))


def _ends(contrasts: Iterable[Contrast], first: str, second: str) -> tuple[float, float]:
    """Return the interval of a difference, with one pair of the reference with itself."""
    for c in contrasts:
        if (c.first, c.second) == (first, second) and c.low is not None and c.high is not None:
            return c.low, c.high
    raise NoData(
        f"no interval for {NAMES[first]} - {NAMES[second]}: too few models, or failed comparisons"
    )


@_in_families
def positive(facts: FamilyFacts) -> Judgement:
    """All three measures follow accuracy out of distribution."""
    text = _three(facts)[3]
    low = [facts.estimate(spec, "spearman").low for spec in THREE]
    ends = [end for end in low if end is not None]
    if len(ends) < len(low):
        raise NoData("no intervals: too few models to resample")
    words = f"{text}; intervals from {', '.join(f'{v:.2f}' for v in ends)}"
    return words, tuple(v > 0 for v in ends)


@_in_families
def weak(facts: FamilyFacts) -> Judgement:
    """With pretraining seeds, no measure predicts accuracy under stress well."""
    *values, text = _three(facts)
    return text, tuple(abs(v) < WEAK for v in values)


# ----------------------------------------------------------------------------------- all benchmarks


def best_overall(facts: SuiteFacts) -> Evidence:
    """Procrustes has the best average of the three over the four benchmarks, in every domain."""
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


def no_dominance(facts: SuiteFacts) -> Evidence:
    """None of the three is best everywhere."""
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


def out_of_distribution_is_hard(facts: SuiteFacts) -> Evidence:
    """Benchmarks 1 and 2 are easier than 3, and 3 than 4."""
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
