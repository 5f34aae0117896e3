"""What Raju 2026, Section 10, says of the canary, and what a run says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..claims import Claim, Found, judged
from .canary_facts import (
    CKA,
    DRIFTS,
    PROCRUSTES,
    RDM,
    SQUARED,
    Watched,
    first_alarm,
    first_harm,
    fixed_threshold,
    rates,
    tracking,
)

OTHERS = (
    "small networks trained here and noise that keeps their own classifier; the paper retrains a probe on embeddings"
)


def claims(models: Sequence[Watched]) -> tuple[Claim, ...]:
    """Return the claims beside the numbers of a run."""
    return judged(_CLAIMS, models)


def _spearman(models: Sequence[Watched], *specs: str) -> tuple[float, ...]:
    found = tuple(tracking(models, spec, "noise") for spec in specs)
    if any(np.isnan(found)):
        raise ValueError("no accuracy was lost")
    return found


def _follows(models: Sequence[Watched]) -> Found:
    rdm, cka = _spearman(models, RDM, CKA)
    return Found(f"RDM drift {rdm:.3f}, CKA {cka:.3f} (mean over {len(models)} models)", (rdm > 0.8, cka > 0.8), OTHERS)


def _highest(models: Sequence[Watched]) -> Found:
    drifts = [spec for spec in DRIFTS if spec in models[0].points[0].differences]
    found = dict(zip(drifts, _spearman(models, *drifts)))
    rdm, cka = found.pop(RDM), found[CKA]
    best = max(found, key=lambda spec: found[spec])
    note = "the paper's own numbers say the opposite of its text: 0.927 is smaller than 0.937"
    text = f"RDM drift {rdm:.3f}, CKA {cka:.3f}; highest of the other drifts: {best} {found[best]:.3f}"
    return Found(text, (rdm >= found[best],), note)


def _first(models: Sequence[Watched], spec: str) -> float:
    return float(np.quantile([first_alarm(m, spec, fixed_threshold) for m in models], 0.5, method="higher"))


def _at(level: float) -> str:
    return "never" if np.isinf(level) else f"α {level:.3g}"


def _procrustes_first(models: Sequence[Watched]) -> Found:
    root, rdm, cka = (_first(models, spec) for spec in (PROCRUSTES, RDM, CKA))
    said = f"Procrustes {_at(root)}, RDM drift {_at(rdm)}, CKA {_at(cka)} (medians)"
    return Found(said, (root < rdm, root < cka), "true of the root that the paper takes: see the next claims")


def _false_alarms(models: Sequence[Watched]) -> Found:
    root, rdm = (rates(models, spec, fixed_threshold).false_alarms for spec in (PROCRUSTES, RDM))
    if np.isnan(root):
        raise ValueError("no change is harmless")
    return Found(
        f"Procrustes {root:.0%}, RDM drift {rdm:.0%} of harmless changes", (root > 0.2, root > 2 * rdm), OTHERS
    )


def _rigid(models: Sequence[Watched]) -> Found:
    squared, rdm = (rates(models, spec, fixed_threshold).false_alarms for spec in (SQUARED, RDM))
    if np.isnan(squared):
        raise ValueError("no change is harmless")
    first, other = _first(models, SQUARED), _first(models, RDM)
    said = f"squared: {squared:.0%} false alarms, RDM drift {rdm:.0%}; first at {_at(first)}, RDM drift {_at(other)}"
    note = (
        "its drift is the square root of 1 minus the Procrustes similarity while the others are not roots: a change of "
        "size ε gives ε there and ε² elsewhere. Squared, its own numbers cross 5 % at σ = 0.145, after the others"
    )
    return Found(said, (first < other, squared > 2 * rdm), note)


def _earlier(models: Sequence[Watched]) -> Found:
    pairs = [tuple(first_alarm(m, spec, fixed_threshold) for spec in (RDM, CKA)) for m in models]
    share = float(np.mean([rdm < cka for rdm, cka in pairs]))
    tied = sum(rdm == cka for rdm, cka in pairs)
    note = "theirs are base models against instruction-tuned ones, ours one model and its disturbed copies"
    said = f"earlier in {share:.0%} of {len(models)} models, at the same α in {tied}"
    return Found(said, (share > 0.5,), note)


def _warns(models: Sequence[Watched]) -> Found:
    early = [first_alarm(m, RDM, fixed_threshold) < first_harm(m) for m in models]
    if all(np.isinf(first_harm(m)) for m in models):
        raise ValueError("no accuracy was lost")
    rdm, harm = _first(models, RDM), float(np.quantile([first_harm(m) for m in models], 0.5, method="higher"))
    said = f"{sum(early)} of {len(early)} models: RDM drift at {_at(rdm)}, accuracy at {_at(harm)} (medians)"
    return Found(said, (sum(early) > len(early) / 2,), "accuracy counts as lost when McNemar's test says so at 5 %")


_CLAIMS: tuple[tuple[str, str, str, Callable[[Sequence[Watched]], Found]], ...] = (
    ("10 follows", "Noise: drift follows the loss of accuracy", "Spearman: RDM drift 0.927, CKA 0.937", _follows),
    ("10 highest", "Noise: RDM drift follows it best", "“highest correlation”: RDM drift 0.927, CKA 0.937", _highest),
    ("10 warns", "RDM drift passes 5 % before accuracy falls", "a functional canary", _warns),
    ("10 first", "Procrustes is the first to pass 5 %", "σ: Procrustes 0.04, RDM drift 0.10, CKA 0.11",
     _procrustes_first),
    ("10 alarms", "Procrustes raises several times as many false alarms as RDM drift", "44 %, about 6 times as many",
     _false_alarms),
    ("10 rigid", "These are false alarms of a rigid distance: the squared form raises them, too",
     "“false alarms in rigid distance metrics”; its drift is the root form", _rigid),
    ("10 earlier", "RDM drift passes 5 % before CKA does", "in 73 % of models, drift nearly twice as large",
     _earlier),
)  # fmt: skip
