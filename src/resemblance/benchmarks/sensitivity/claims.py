"""What Ding et al. 2021 conclude, and whether it holds for the models at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..claims import Found, NoData
from .sections import Finding
from .settings import CKA, PROCRUSTES, PWCCA

Judge = Callable[[Sequence[Finding]], Found]
Entry = tuple[str, str, str, Judge]
LATE = 5 / 12  # layers 8 to 12 of 12


def _each(found: Sequence[Finding], judge: Callable[[dict[str, Any]], tuple[str, tuple[bool, ...]]]) -> Found:
    """Judge every family, and say for each what was found."""
    parts = [(family.title, *judge(numbers)) for family, numbers in found]
    words = "; ".join(f"{title}: {text}" for title, text, _ in parts)
    return Found(words, tuple(h for *_, holds in parts for h in holds))


def _value(numbers: dict[str, Any], spec: str, quality: str = "spearman") -> float:
    value = _of(numbers["means"]["*"], spec)[quality][0]
    if value is None:
        raise NoData(f"{spec} has no value")
    return float(value)


def _of(numbers: dict[str, Any], spec: str) -> Any:
    if spec not in numbers:
        raise NoData(f"the run lacks {spec}")
    return numbers[spec]


def _three(numbers: dict[str, Any]) -> tuple[float, float, float, str]:
    p, c, w = (_value(numbers, spec) for spec in (PROCRUSTES, CKA, PWCCA))
    return p, c, w, f"Procrustes {p:.3f}, CKA {c:.3f}, PWCCA {w:.3f}"


def specificity(found: Sequence[Finding]) -> Found:
    """PWCCA is moved more by a random start than by depth; CKA and Procrustes are not."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        p, c, w = (_of(numbers["exceeding"], spec)[numbers["middle"]] for spec in (PROCRUSTES, CKA, PWCCA))
        if None in (p, c, w):
            raise NoData("a measure has no value in the middle layer")
        return f"PWCCA {w:.2f}, CKA {c:.2f}, Procrustes {p:.2f}", (w <= 0.05, c > 0.5, p > 0.5)

    return _each(found, judge)


def order_in_layers(found: Sequence[Finding]) -> Found:
    """CKA is a little before Procrustes, and both before PWCCA."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        p, c, w, text = _three(numbers)
        return text, (c >= p, p > w)

    return _each(found, judge)


def insensitivity(found: Sequence[Finding]) -> Found:
    """CKA sees deletions last, PWCCA first; CKA misses nearly all of them."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        seen = {spec: _of(numbers["curves"], spec)["detected"] for spec in (PROCRUSTES, CKA, PWCCA)}
        p, c, w = (2.0 if s is None else s for s in seen.values())
        probe = dict(zip(numbers["shares"], numbers["probe"]))
        words = [
            f"{name} {'never' if s is None else f'{s:.0%} (probe {probe[0.0]:.3f} to {probe[s]:.3f})'}"
            for name, s in zip(("Procrustes", "CKA", "PWCCA"), seen.values())
        ]
        return ", ".join(words), (c >= 0.9, c > p, p > w)

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
        text = f"of {len(late)} late layers Procrustes > CKA in {sum(over)}, PWCCA > Procrustes in {sum(under)}"
        return text, (all(over), all(under))

    return _each(found, judge)


def _significant(rows: list[list[Any]], pair: tuple[str, str], sign: int) -> bool:
    """Whether a difference has this sign over its whole interval, with all copies of the reference as in the paper."""
    a, b = pair
    ends = {(r[0], r[1]): (r[5], r[6]) for r in rows}
    if (a, b) not in ends or None in ends[a, b]:
        raise NoData("the difference of two measures has no interval")
    low, high = ends[a, b]
    return bool(low > 0 if sign > 0 else high < 0)


def positive(found: Sequence[Finding]) -> Found:
    """All three measures follow accuracy out of distribution."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        text = _three(numbers)[3]
        low = [numbers["means"]["*"][spec]["spearman"][1] for spec in (PROCRUSTES, CKA, PWCCA)]
        return f"{text}; intervals from {', '.join(f'{v:.2f}' for v in low)}", tuple(v > 0 for v in low)

    return _each(found, judge)


def weak(found: Sequence[Finding]) -> Found:
    """With pretraining seeds, no measure says much of accuracy under stress."""

    def judge(numbers: dict[str, Any]) -> tuple[str, tuple[bool, ...]]:
        *values, text = _three(numbers)
        return text, tuple(abs(v) < 0.3 for v in values)

    return _each(found, judge)


LAYERS: tuple[Entry, ...] = (
    ("1a", "PWCCA fails the specificity test: no other layer is farther than the same layer of another seed. CKA and "
     "Procrustes pass it (share of farther layers, middle layer).", "PWCCA 0; CKA and Procrustes pass", specificity),
    ("1b", "With probes over layers and seeds CKA is a little before Procrustes and both before PWCCA (Spearman).",
     "QNLI 0.862, 0.876, 0.763; SST-2 0.890, 0.905, 0.829; vision CKA 0.507, 0.372 and Procrustes 0.485, 0.363",
     order_in_layers),
)  # fmt: skip
DELETION: tuple[Entry, ...] = (
    ("2a", "CKA does not see the deletion of any but the largest components; PWCCA sees it first.",
     "97 % for CKA (probe 0.80 to 0.63), 85 % for Procrustes (0.70), 55 % for PWCCA (0.75)", insensitivity),
    ("2b", "CKA is the worst of the three where components are deleted (Spearman).",
     "Procrustes 0.860, CKA 0.751, PWCCA 0.870", order_in_deletion),
)  # fmt: skip
FINETUNING: tuple[Entry, ...] = (
    ("3a", "All three measures follow accuracy out of distribution over fine-tuning seeds (Spearman; intervals above "
     "0).", "Procrustes 0.551, CKA 0.462, PWCCA 0.568", positive),
    ("3b", "In layers 8 to 12, PWCCA is significantly before Procrustes and Procrustes before CKA (bootstrap).",
     "in each of the five layers", late_layers),
)  # fmt: skip
PRETRAINING: tuple[Entry, ...] = (
    ("4a", "Over pretraining and fine-tuning seeds no measure says much of accuracy under stress (below 0.3).",
     "antonymy 0.243, 0.227, 0.204; numerical 0.071, 0.122, 0.031; CIFAR-10-C 0.060, 0.057", weak),
)  # fmt: skip
