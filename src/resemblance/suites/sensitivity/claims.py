"""What Ding et al. 2021 conclude, and whether it holds for the models at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...results.claims import Found, NoData
from .sections import NAMES, Finding
from .settings import CKA, PROCRUSTES, PWCCA

Judge = Callable[[Sequence[Finding]], Found]
Entry = tuple[str, str, str, Judge]
LATE = 5 / 12  # layers 8 to 12 of 12
FAILS, PASSES = (
    0.05,
    0.5,
)  # shares of farther layers with which a measure fails and passes the specificity test
LITTLE = 0.05  # the largest difference of correlations that is "a little"
NEARLY_ALL = 0.9
WEAK = 0.3
THREE = (PROCRUSTES, CKA, PWCCA)


def _each(
    found: Sequence[Finding], judge: Callable[[dict[str, Any]], tuple[str, tuple[bool, ...]]]
) -> Found:
    """Judge every family: the claim holds for one when all its parts do."""
    parts = [(family.title, *_judged(family.title, numbers, judge)) for family, numbers in found]
    return in_domains([(title, text, all(holds)) for title, text, holds in parts])


def _judged(
    title: str,
    numbers: dict[str, Any],
    judge: Callable[[dict[str, Any]], tuple[str, tuple[bool, ...]]],
) -> tuple[str, tuple[bool, ...]]:
    try:
        return judge(numbers)
    except NoData as error:
        raise NoData(f"{title}: {error}") from error


def in_domains(parts: Sequence[tuple[str, str, bool]]) -> Found:
    """Say in how many domains a claim holds: name, words and verdict of each. Raises ``NoData`` for
    none."""
    if not parts:
        raise NoData("no models have taken part")
    words = "; ".join(f"{name}: {text}" for name, text, _ in parts)
    holds = tuple(held for *_, held in parts)
    return Found(f"holds in {sum(holds)} of {len(holds)} domains. {words}", holds)


def value_of_three(numbers: dict[str, Any], spec: str) -> float:
    """Return the mean of Spearman's correlation of a measure; ``NoData``, with the reason, without
    one."""
    if spec not in numbers["means"]["*"]:
        raise NoData(f"{NAMES[spec]} is not among the measures of this run")
    value = numbers["means"]["*"][spec]["spearman"][0]
    if value is None:
        raise NoData(
            f"{NAMES[spec]} has no mean: "
            f"{numbers['failed'].get(spec, 'it has no correlation somewhere')}"
        )
    return float(value)


def _three(numbers: dict[str, Any]) -> tuple[float, float, float, str]:
    p, c, w = (value_of_three(numbers, spec) for spec in THREE)
    return p, c, w, f"Procrustes {p:.3f}, CKA {c:.3f}, PWCCA {w:.3f}"


def specificity(found: Sequence[Finding]) -> Found:
    """PWCCA is moved more by a random start than by depth; CKA and Procrustes are not."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        shares = {spec: numbers["exceeding"].get(spec) for spec in THREE}
        for spec, share in shares.items():
            if share is None or share[numbers["middle"]] is None:
                raise NoData(f"no distances by {NAMES[spec]} in the middle layer")
        p, c, w = (share[numbers["middle"]] for share in shares.values() if share is not None)
        return f"PWCCA {w:.2f}, CKA {c:.2f}, Procrustes {p:.2f}", (
            w <= FAILS,
            c > PASSES,
            p > PASSES,
        )

    return _each(found, judge)


def order_in_layers(found: Sequence[Finding]) -> Found:
    """CKA is a little before Procrustes, and both before PWCCA."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        p, c, w, text = _three(numbers)
        return text, (0 < c - p <= LITTLE, p > w)

    return _each(found, judge)


def insensitivity(found: Sequence[Finding]) -> Found:
    """CKA sees deletions last, PWCCA first; CKA misses nearly all of them."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        for spec in THREE:
            if spec not in numbers["curves"]:
                why = numbers["unknown"].get(
                    spec, "it is not among the measures of this run, or sees nothing at all"
                )
                raise NoData(f"{NAMES[spec]} has no curve: {why}")
        seen = {spec: numbers["curves"][spec]["detected"] for spec in THREE}
        p, c, w = (2.0 if s is None else s for s in seen.values())
        probe = dict(zip(numbers["shares"], numbers["probe"]))
        words = [
            f"{name} "
            f"{'never' if s is None else f'{s:.0%} (probe {probe[0.0]:.3f} to {probe[s]:.3f})'}"
            for name, s in zip(("Procrustes", "CKA", "PWCCA"), seen.values())
        ]
        return ", ".join(words), (c >= NEARLY_ALL, c > p, p > w)

    return _each(found, judge)


def order_in_deletion(found: Sequence[Finding]) -> Found:
    """CKA is the worst of the three where components are deleted."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        p, c, w, text = _three(numbers)
        return text, (p > c, w > c)

    return _each(found, judge)


def late_layers(found: Sequence[Finding]) -> Found:
    """In late layers PWCCA is significantly before Procrustes and Procrustes before CKA."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        layers = list(numbers["by_layer"].values())
        late = layers[-max(1, round(LATE * len(layers))) :]
        over = [_significant(rows, (PROCRUSTES, CKA), 1) for rows in late]
        under = [_significant(rows, (PROCRUSTES, PWCCA), -1) for rows in late]
        text = (
            f"of {len(late)} late layers Procrustes > CKA in {sum(over)}, PWCCA > Procrustes in "
            f"{sum(under)}"
        )
        return text, (all(over), all(under))

    return _each(found, judge)


def _significant(rows: list[list[Any]], pair: tuple[str, str], sign: int) -> bool:
    """Whether a difference has this sign over its whole interval, with one pair of the reference
    with itself."""
    a, b = pair
    ends = {(r[0], r[1]): (r[3], r[4]) for r in rows}
    if (a, b) not in ends or None in ends[a, b]:
        raise NoData(
            f"no interval for {NAMES[a]} - {NAMES[b]}: too few models, or failed comparisons"
        )
    low, high = ends[a, b]
    return bool(low > 0 if sign > 0 else high < 0)


def positive(found: Sequence[Finding]) -> Found:
    """All three measures follow accuracy out of distribution."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        text = _three(numbers)[3]
        low = [numbers["means"]["*"][spec]["spearman"][1] for spec in THREE]
        if None in low:
            raise NoData("no intervals: too few models to resample")
        return f"{text}; intervals from {', '.join(f'{v:.2f}' for v in low)}", tuple(
            v > 0 for v in low
        )

    return _each(found, judge)


def weak(found: Sequence[Finding]) -> Found:
    """With pretraining seeds, no measure says much of accuracy under stress."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        *values, text = _three(numbers)
        return text, tuple(abs(v) < WEAK for v in values)

    return _each(found, judge)


LAYERS: tuple[Entry, ...] = (
    (
        "1a",
        "PWCCA fails the specificity test: of the other layers at most 5 % are farther than the "
        "same layer of another seed. CKA and Procrustes pass it: more than half are (share of "
        "farther layers, middle layer).",
        "PWCCA 0; CKA and Procrustes pass",
        specificity,
    ),
    (
        "1b",
        "With probes over layers and seeds CKA is before Procrustes by a little, at most 0.05, "
        "and both are before PWCCA (Spearman).",
        "QNLI 0.862, 0.876, 0.763; SST-2 0.890, 0.905, 0.829; vision CKA 0.507, 0.372 and "
        "Procrustes 0.485, 0.363",
        order_in_layers,
    ),
)
DELETION: tuple[Entry, ...] = (
    (
        "2a",
        "CKA does not see a deletion before 90 % of the components are gone; Procrustes sees it "
        "sooner and PWCCA first.",
        "97 % for CKA (probe 0.80 to 0.63), 85 % for Procrustes (0.70), 55 % for PWCCA (0.75)",
        insensitivity,
    ),
    (
        "2b",
        "CKA is the worst of the three where components are deleted (Spearman).",
        "Procrustes 0.860, CKA 0.751, PWCCA 0.870",
        order_in_deletion,
    ),
)
FINETUNING: tuple[Entry, ...] = (
    (
        "3a",
        "All three measures follow accuracy out of distribution over fine-tuning seeds (Spearman; "
        "intervals above 0).",
        "Procrustes 0.551, CKA 0.462, PWCCA 0.568",
        positive,
    ),
    (
        "3b",
        "In each of the late layers (the last 5 of 12, or that share), PWCCA is significantly "
        "before Procrustes and Procrustes before CKA (Kendall, bootstrap intervals without 0, one "
        "pair of the reference with itself).",
        "in each of the five layers",
        late_layers,
    ),
)
PRETRAINING: tuple[Entry, ...] = (
    (
        "4a",
        "Over pretraining and fine-tuning seeds none of the three says much of accuracy under "
        "stress (Spearman, absolute value below 0.3).",
        "antonymy 0.243, 0.227, 0.204; numerical 0.071, 0.122, 0.031; CIFAR-10-C 0.060, 0.057",
        weak,
    ),
)
