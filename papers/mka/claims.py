"""The claims of the MKA paper on its synthetic experiments (Islam et al. 2025, Sections 5.1 to
5.3), by section of the manifold suite.

The paper shows figures without numbers: what is "theirs" was computed by its authors' code on the
same shapes; |τ| is Kendall's τ without its sign. A claim is reproduced when all parts of it hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from papers.judging import Claims, Evidence, NoData, claim, judged
from resemblance.results.claims import Claim
from resemblance.suites.manifolds import Grade, ManifoldFacts, Measurement
from resemblance.suites.manifolds.grades import CLUSTERS

from .numbers import (
    CKA,
    IMD,
    KCKA,
    KCKA_CODE,
    MKA,
    MKA_15,
    NAMES,
    RBF,
    RBF_20,
    RBF_45,
    RTD,
    SVCCA,
    Values,
    ends,
    first,
    last,
    listed,
    runs,
    span,
    two,
    width,
)

Number = TypeVar("Number", bound=Any)
_BY_SECTION: Mapping[str, Claims] = {
    section: [] for section in ("swiss roll", "rings", "clusters", "perturbed", "lost", "moved")
}

# --------------------------------------------------------------------------- order: rings, clusters


def _taus_over_k(
    facts: ManifoldFacts, measure: str, experiment: str, at: Iterable[float] | None
) -> dict[int, float]:
    taus = facts.taus_over_k(measure, experiment, at)
    if not taus:
        raise NoData(f"the run lacks {NAMES[measure]} over numbers of neighbours")
    return taus


def _swept(facts: ManifoldFacts, experiment: str) -> list[Measurement]:
    return [p for p in facts.of(experiment) if p.over_k]


def _always(facts: ManifoldFacts, experiment: str, at: Iterable[float] | None) -> Evidence:
    """MKA finds the order at every number of neighbours."""
    taus = _taus_over_k(facts, MKA, experiment, at)
    whole = ""
    if at is not None:
        whole = f"; of all from 2 to 12: {runs(_taus_over_k(facts, MKA, experiment, None))}"
    return Evidence(f"τ = {runs(taus)}{whole}", (all(t == 1 for t in taus.values()),))


def _small_k_only(
    facts: ManifoldFacts, experiment: str, at: Iterable[float] | None, limit: int
) -> Evidence:
    """KCKA finds the order at small numbers of neighbours and not at large ones."""
    taus = _taus_over_k(facts, KCKA_CODE, experiment, at)
    paper = _taus_over_k(facts, KCKA, experiment, at)
    small = [t for k, t in taus.items() if k <= 50 and not math.isnan(t)]
    large = [t for k, t in taus.items() if k >= limit and not math.isnan(t)]
    if not large or not small:
        raise NoData(f"the run lacks numbers of neighbours from {limit}")
    ours = f"their code: τ = {runs(taus)}; Eqs. 18-19: {runs(paper)}"
    missing = any(math.isnan(t) for t in taus.values())
    note = "k 5: on rings that are exact duplicates the median distance is 0, and kCKA has no width"
    return Evidence(ours, (min(small) == 1, max(large) < 1), note if missing else "")


@claim(
    _BY_SECTION["rings"], "M1", "Rings: MKA finds the order for all k", "|τ| = 1.0 for k = 5 to 450"
)
def rings_of_mka(facts: ManifoldFacts) -> Evidence:
    return _always(facts, "rings", None)


@claim(
    _BY_SECTION["rings"],
    "M2",
    "Rings: kCKA finds it for small k only and fails from about 200",
    "|τ| = 1.0 for k ≤ 100, 0.8 (150–250), 0.6 (300–400), 0.2 (450)",
)
def rings_of_kcka(facts: ManifoldFacts) -> Evidence:
    return _small_k_only(facts, "rings", None, 200)


@claim(
    _BY_SECTION["rings"], "M3", "Rings: CKA and SVCCA fail", "|τ|: CKA-RBF 0.2, CKA 0.2, SVCCA 0.2"
)
def rings_of_cka(facts: ManifoldFacts) -> Evidence:
    taus = _taus(facts, "rings", (RBF, CKA, SVCCA))
    return Evidence(listed(taus), tuple(abs(t) < 0.5 for t in taus.values()))


@claim(
    _BY_SECTION["rings"],
    "M4",
    "Rings: CKA-RBF with δ = 0.2 and IMD are good",
    "|τ|: δ 0.2 1.0, δ 0.45 0.8, IMD 0.8",
)
def rings_of_rbf_and_imd(facts: ManifoldFacts) -> Evidence:
    taus = _taus(facts, "rings", (RBF_20, RBF_45, IMD))
    note = (
        "IMD: rings are full of equal distances, and samples that are equally near share an edge "
        "of its graph; moving the points by 10⁻⁹ tells them apart, and changes the value of two "
        "rings from 33 to about 20"
    )
    holds = tuple(abs(t) > 0.75 for t in taus.values())
    return Evidence(listed(taus), holds, "" if all(holds) else note)


@claim(
    _BY_SECTION["rings"], "M5", "Rings: RTD is close", "|τ| = 0.8; 0, 5.390, 5.108, 7.345, 8.808"
)
def rings_of_rtd(facts: ManifoldFacts) -> Evidence:
    values = ", ".join(f"{v:.3f}" for v in _curve(facts, RTD, "rings").values())
    (tau,) = _taus(facts, "rings", (RTD,)).values()
    return Evidence(f"τ {two(tau)}; {values}", (tau > 0.75,))


@claim(
    _BY_SECTION["clusters"],
    "M6",
    "Clusters: MKA finds the order for all k",
    "|τ| = 1.0 for k = 5 to 250; of all from 2 to 12, 1.0 for k ≥ 50 and 0.96 for k ≤ 25",
)
def clusters_of_mka(facts: ManifoldFacts) -> Evidence:
    return _always(facts, "clusters", CLUSTERS)


@claim(
    _BY_SECTION["clusters"],
    "M7",
    "Clusters: kCKA finds it for small k only and fails from about 100",
    "|τ| = 1.0 for k ≤ 50, 0.71 (100), 0.62 (150), 0.14 (200), 0.62 (250)",
)
def clusters_of_kcka(facts: ManifoldFacts) -> Evidence:
    return _small_k_only(facts, "clusters", CLUSTERS, 100)


@claim(
    _BY_SECTION["clusters"],
    "M8",
    "Clusters: RTD finds the order; CKA, SVCCA, CKA-RBF and IMD do not",
    "|τ|: RTD 1.0, CKA 0.24, SVCCA 0.14, CKA-RBF (δ 0.2) 0.24, IMD 0.24 to 0.43",
)
def clusters_of_others(facts: ManifoldFacts) -> Evidence:
    taus = _taus(facts, "clusters", (RTD, CKA, SVCCA, RBF_20, IMD), CLUSTERS)
    note = (
        "CKA-RBF orders the clusters the wrong way round, which |τ| does not tell. With two "
        "clusters of equal size the median distance lies between two modes, and counting the "
        "zeros of the diagonal, as the authors do, decides"
    )
    holds = (taus[RTD] == 1, *(abs(taus[m]) < 0.7 for m in (CKA, SVCCA, RBF_20, IMD)))
    return Evidence(listed(taus), holds, note if taus[RBF_20] < -0.5 else "")


# --------------------------------------------------------------------------------------- Swiss roll


@claim(
    _BY_SECTION["swiss roll"],
    "M9",
    "Swiss roll: MKA, kCKA and CKA-RBF with δ = 0.2 are largest at r = 0.5, where CKA-RBF is least",
    "MKA (k 15) 0.770 at r 0, 1.000 from 0.4 to 0.6; kCKA 0.711 → 0.978; δ 0.2 0.749 → "
    "0.956; δ 1 0.960 → 0.471",
)
def roll_peaks(facts: ManifoldFacts) -> Evidence:
    peaks = {m: _grade(facts, m).peak for m in (MKA_15, KCKA_CODE, RBF_20)}
    curves = {m: _curve(facts, m, "swiss_roll") for m in (*peaks, RBF)}
    least = min(curves[RBF], key=lambda r: curves[RBF][r])
    words = [
        f"{NAMES[m]} {curves[m][0.0]:.3f} at r 0, {max(curves[m].values()):.3f} at {peaks[m]:g}"
        for m in peaks
    ]
    low = f"{NAMES[RBF]} least at {least:g} ({curves[RBF][least]:.3f})"
    return Evidence(
        "; ".join([*words, low]),
        (*(abs(p - 0.5) <= 0.1 for p in peaks.values()), abs(least - 0.5) <= 0.1),
    )


@claim(
    _BY_SECTION["swiss roll"],
    "M10",
    "Swiss roll at r = 0.5: MKA does not depend on k, kCKA does",
    "MKA ≥ 0.9999 for k = 5 to 800; kCKA 0.978 (k 15–100), 0.965 (200), 0.592 (800)",
)
def roll_over_k(facts: ManifoldFacts) -> Evidence:
    mka, kcka = (_curve_over_k(facts, m, "swiss_roll") for m in (MKA, KCKA_CODE))
    words = (
        f"MKA {span(mka.values())}; kCKA (code) {span(kcka.values())} (k {min(kcka)} to "
        f"{max(kcka)})"
    )
    return Evidence(words, (width(mka) < 0.01, width(kcka) > 0.1))


@claim(
    _BY_SECTION["swiss roll"],
    "M11",
    "Swiss roll: SVCCA oscillates, unrelated to r",
    "0.043 (r 0), 0.761 (0.1), 0.352 (0.3), 0.525 (0.5)",
)
def roll_of_svcca(facts: ManifoldFacts) -> Evidence:
    curve = list(_curve(facts, SVCCA, "swiss_roll").values())
    steps = [b - a for a, b in pairwise(curve)]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    note = (
        "their values, down to 0.04, are an artefact: their SVCCA centres over features in place "
        "of samples, and in two dimensions that leaves the correlation of x₁ − x₂ with y₁ − y₂"
    )
    return Evidence(f"{span(curve)}, {turns} turning points", (turns > 2, min(curve) < 0.2), note)


# -------------------------------------------------------------------------------------------- spots


@claim(
    _BY_SECTION["perturbed"],
    "M12 n",
    "Perturbed spots: MKA falls slowly with n",
    "d 1000: MKA 0.707 (n 250) → 0.649 (1000); kCKA 0.781 → 0.731; CKA 0.974 → 0.926",
)
def perturbed_over_n(facts: ManifoldFacts) -> Evidence:
    d = _largest(p.d for p in facts.of("perturbed"))
    curves = {m: _curve(facts, m, "perturbed", "n", d=d) for m in (MKA, KCKA_CODE, CKA)}
    mka = list(curves[MKA].values())
    return Evidence(f"d {d}: {ends(curves, 'n')}", (mka[0] >= mka[-1], mka[-1] > 0.8 * mka[0]))


@claim(
    _BY_SECTION["perturbed"],
    "M12 d",
    "Perturbed spots: CKA rises with d",
    "n 1000: MKA 0.325 (d 2) → 0.646 (500); CKA 0.745 → 0.891; δ 0.2 0.280 → 1.000",
)
def perturbed_over_d(facts: ManifoldFacts) -> Evidence:
    n = _largest(p.n for p in facts.of("perturbed"))
    curves = {m: _curve(facts, m, "perturbed", "d", n=n) for m in (MKA, CKA, RBF_20)}
    return Evidence(
        f"n {n}: {ends(curves, 'd')}",
        tuple(last(curves[m]) > first(curves[m]) for m in (CKA, RBF_20)),
    )


@claim(
    _BY_SECTION["perturbed"],
    "M12 k",
    "Perturbed spots: MKA is flatter in k than kCKA",
    "d 100: MKA 0.588–0.633; kCKA 0.689–0.830",
)
def perturbed_over_k(facts: ManifoldFacts) -> Evidence:
    d = _largest(p.d for p in _swept(facts, "perturbed"))
    curves = {m: _curve_over_k(facts, m, "perturbed", d=d) for m in (MKA, KCKA_CODE)}
    words = "; ".join(f"{NAMES[m]} {span(c.values())}" for m, c in curves.items())
    return Evidence(
        f"d {d}: {words}",
        (width(curves[MKA]) < 0.07, width(curves[KCKA_CODE]) > width(curves[MKA])),
    )


@claim(
    _BY_SECTION["lost"],
    "M12 lost k",
    "Spots without correspondence: kCKA needs a large k to see it, MKA is flat in k",
    "d 100: MKA 0.390 to 0.299; kCKA 0.658 (k 5) to 0.013 (k 400)",
)
def lost_over_k(facts: ManifoldFacts) -> Evidence:
    d = _largest(p.d for p in _swept(facts, "lost"))
    curves = {m: _curve_over_k(facts, m, "lost", d=d) for m in (MKA, KCKA_CODE)}
    kcka = curves[KCKA_CODE]
    low = [k for k, value in kcka.items() if value < 0.1]
    words = "; ".join(f"{NAMES[m]} {first(c):.3f} to {last(c):.3f}" for m, c in curves.items())
    note = f"kCKA is below 0.1 from k = {min(low):g}" if low else ""
    return Evidence(
        f"d {d}: {words}", (bool(low) and first(kcka) > 0.1, width(curves[MKA]) < width(kcka)), note
    )


@claim(
    _BY_SECTION["lost"],
    "M12 lost",
    "Spots without correspondence: MKA and kCKA are small",
    "n 1000, d 1000: MKA 0.314, kCKA 0.063, CKA 0.628",
)
def lost(facts: ManifoldFacts) -> Evidence:
    lost = {m: _grade(facts, m).lost for m in (MKA, KCKA_CODE, CKA)}
    values = "; ".join(f"{NAMES[m]} {v:.3f}" for m, v in lost.items())
    note = (
        "the unit diagonal that all kernels share keeps MKA from 0: subtract the baseline "
        "(baseline=permutation)"
    )
    return Evidence(f"mean over n and d: {values}", (lost[MKA] < 0.1, lost[KCKA_CODE] < 0.1), note)


@claim(
    _BY_SECTION["moved"],
    "M13 t",
    "One of two spots moves away: CKA falls, MKA and kCKA settle",
    "d 100: MKA 0.923 (t 1) → 0.912 (5, 10); kCKA 0.863 → 0.831; CKA 0.859 → 0.354",
)
def moved(facts: ManifoldFacts) -> Evidence:
    n, d = _largest((p.n, p.d) for p in _swept(facts, "moved"))
    curves = {m: _curve(facts, m, "moved", n=n, d=d) for m in (MKA, KCKA_CODE, CKA)}
    tails = {m: list(c.values())[-2:] for m, c in curves.items()}
    settled = tuple(abs(tails[m][0] - tails[m][1]) < 0.01 for m in (MKA, KCKA_CODE))
    fell = first(curves[CKA]) - last(curves[CKA]) > 0.3
    words = "; ".join(
        f"{NAMES[m]} {first(c):.3f} to {tails[m][0]:.3f}, {tails[m][1]:.3f}"
        for m, c in curves.items()
    )
    return Evidence(f"d {d}, first to last two t: {words}", (*settled, fell))


@claim(
    _BY_SECTION["moved"],
    "M13 d",
    "One of two spots moves away: MKA and kCKA settle higher as d grows",
    "t 10: MKA 1.000 (d 2) → 0.828 (1000); kCKA 0.992 → 0.703",
)
def moved_over_d(facts: ManifoldFacts) -> Evidence:
    n = _largest(p.n for p in facts.of("moved"))
    t = _largest(p.at for p in facts.of("moved"))
    curves = {m: _curve(facts, m, "moved", "d", n=n, at=t) for m in (MKA, KCKA_CODE)}
    holds = tuple(last(c) > first(c) for c in curves.values())
    note = (
        "" if any(holds) else "by its authors' code both settle lower as d grows, as they do here"
    )
    return Evidence(f"t {t:g}: {ends(curves, 'd')}", holds, note, holds_for_them=False)


# -------------------------------------------------------------------------------------------- facts


def _taus(
    facts: ManifoldFacts,
    experiment: str,
    measures: Iterable[str],
    at: Iterable[float] | None = None,
) -> dict[str, float]:
    taus = {m: facts.tau(m, experiment, at) for m in measures if _takes_part(facts, m)}
    if any(math.isnan(t) for t in taus.values()):
        raise NoData(f"a measure has no value for some {experiment}")
    return taus


def _takes_part(facts: ManifoldFacts, measure: str) -> bool:
    if measure not in facts.measures:
        raise NoData(f"the run lacks {NAMES.get(measure, measure)}")
    return True


def _grade(facts: ManifoldFacts, measure: str) -> Grade:
    _takes_part(facts, measure)
    return facts.grade(measure)


def _largest(values: Iterable[Number]) -> Number:
    """The largest, of an experiment that the run may lack."""
    numbers = list(values)
    if not numbers:
        raise NoData("the run lacks the experiment")
    return max(numbers)


def _curve(
    facts: ManifoldFacts, measure: str, experiment: str, along: str = "at", **where: float
) -> Values:
    return _drawn(facts.curve(measure, experiment, along, **where))


def _curve_over_k(facts: ManifoldFacts, measure: str, experiment: str, **where: float) -> Values:
    return _drawn(facts.curve_over_k(measure, experiment, **where))


def _drawn(curve: Values) -> Values:
    if len(curve) < 2:
        raise NoData("the run lacks a measure, or a curve of two points and more")
    return curve


CLAIMS: Mapping[str, Callable[[ManifoldFacts], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in _BY_SECTION.items()
}
