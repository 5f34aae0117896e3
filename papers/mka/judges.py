"""Judges of the MKA paper's claims: what a run of the manifold suite says for or against them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

from papers.judging import Evidence, NoData
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
Judge = Callable[[ManifoldFacts], Evidence]

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


def always(experiment: str, at: Iterable[float] | None) -> Judge:
    """MKA finds the order at every number of neighbours."""

    def judge(facts: ManifoldFacts) -> Evidence:
        taus = _taus_over_k(facts, MKA, experiment, at)
        whole = ""
        if at is not None:
            whole = f"; of all from 2 to 12: {runs(_taus_over_k(facts, MKA, experiment, None))}"
        return Evidence(f"τ = {runs(taus)}{whole}", (all(t == 1 for t in taus.values()),))

    return judge


def small_k_only(experiment: str, at: Iterable[float] | None, limit: int) -> Judge:
    """KCKA finds the order at small numbers of neighbours and not at large ones."""

    def judge(facts: ManifoldFacts) -> Evidence:
        taus = _taus_over_k(facts, KCKA_CODE, experiment, at)
        paper = _taus_over_k(facts, KCKA, experiment, at)
        small = [t for k, t in taus.items() if k <= 50 and not math.isnan(t)]
        large = [t for k, t in taus.items() if k >= limit and not math.isnan(t)]
        if not large or not small:
            raise NoData(f"the run lacks numbers of neighbours from {limit}")
        ours = f"their code: τ = {runs(taus)}; Eqs. 18-19: {runs(paper)}"
        missing = any(math.isnan(t) for t in taus.values())
        note = (
            "k 5: on rings that are exact duplicates the median distance is 0, and kCKA has no "
            "width"
        )
        return Evidence(ours, (min(small) == 1, max(large) < 1), note if missing else "")

    return judge


def rings_of_cka(facts: ManifoldFacts) -> Evidence:
    """CKA and SVCCA do not order the rings."""
    taus = _taus(facts, "rings", (RBF, CKA, SVCCA))
    return Evidence(listed(taus), tuple(abs(t) < 0.5 for t in taus.values()))


def rings_of_rbf_and_imd(facts: ManifoldFacts) -> Evidence:
    """CKA-RBF with narrow kernels and IMD order the rings."""
    taus = _taus(facts, "rings", (RBF_20, RBF_45, IMD))
    note = (
        "IMD: rings are full of equal distances, and samples that are equally near share an edge "
        "of its graph; moving the points by 10⁻⁹ tells them apart, and changes the value of two "
        "rings from 33 to about 20"
    )
    holds = tuple(abs(t) > 0.75 for t in taus.values())
    return Evidence(listed(taus), holds, "" if all(holds) else note)


def rings_of_rtd(facts: ManifoldFacts) -> Evidence:
    """RTD nearly orders the rings."""
    values = ", ".join(f"{v:.3f}" for v in _curve(facts, RTD, "rings").values())
    (tau,) = _taus(facts, "rings", (RTD,)).values()
    return Evidence(f"τ {two(tau)}; {values}", (tau > 0.75,))


def clusters_of_others(facts: ManifoldFacts) -> Evidence:
    """RTD orders the clusters, the others do not."""
    taus = _taus(facts, "clusters", (RTD, CKA, SVCCA, RBF_20, IMD), CLUSTERS)
    note = (
        "CKA-RBF orders the clusters the wrong way round, which |τ| does not tell. With two "
        "clusters of equal size the median distance lies between two modes, and counting the "
        "zeros of the diagonal, as the authors do, decides"
    )
    holds = (taus[RTD] == 1, *(abs(taus[m]) < 0.7 for m in (CKA, SVCCA, RBF_20, IMD)))
    return Evidence(listed(taus), holds, note if taus[RBF_20] < -0.5 else "")


# --------------------------------------------------------------------------------------- Swiss roll


def roll_peaks(facts: ManifoldFacts) -> Evidence:
    """Who peaks at r = 0.5, and where CKA-RBF is least."""
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


def roll_over_k(facts: ManifoldFacts) -> Evidence:
    """MKA does not depend on k at r = 0.5, kCKA does."""
    mka, kcka = (_curve_over_k(facts, m, "swiss_roll") for m in (MKA, KCKA_CODE))
    words = (
        f"MKA {span(mka.values())}; kCKA (code) {span(kcka.values())} (k {min(kcka)} to "
        f"{max(kcka)})"
    )
    return Evidence(words, (width(mka) < 0.01, width(kcka) > 0.1))


def roll_of_svcca(facts: ManifoldFacts) -> Evidence:
    """SVCCA goes up and down."""
    curve = list(_curve(facts, SVCCA, "swiss_roll").values())
    steps = [b - a for a, b in pairwise(curve)]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    note = (
        "their values, down to 0.04, are an artefact: their SVCCA centres over features in place "
        "of samples, and in two dimensions that leaves the correlation of x₁ − x₂ with y₁ − y₂"
    )
    return Evidence(f"{span(curve)}, {turns} turning points", (turns > 2, min(curve) < 0.2), note)


# -------------------------------------------------------------------------------------------- spots


def perturbed_over_n(facts: ManifoldFacts) -> Evidence:
    """MKA falls slowly with n."""
    d = _largest(p.d for p in facts.of("perturbed"))
    curves = {m: _curve(facts, m, "perturbed", "n", d=d) for m in (MKA, KCKA_CODE, CKA)}
    mka = list(curves[MKA].values())
    return Evidence(f"d {d}: {ends(curves, 'n')}", (mka[0] >= mka[-1], mka[-1] > 0.8 * mka[0]))


def perturbed_over_d(facts: ManifoldFacts) -> Evidence:
    """CKA rises with d."""
    n = _largest(p.n for p in facts.of("perturbed"))
    curves = {m: _curve(facts, m, "perturbed", "d", n=n) for m in (MKA, CKA, RBF_20)}
    return Evidence(
        f"n {n}: {ends(curves, 'd')}",
        tuple(last(curves[m]) > first(curves[m]) for m in (CKA, RBF_20)),
    )


def perturbed_over_k(facts: ManifoldFacts) -> Evidence:
    """MKA is flatter in k than kCKA."""
    d = _largest(p.d for p in _swept(facts, "perturbed"))
    curves = {m: _curve_over_k(facts, m, "perturbed", d=d) for m in (MKA, KCKA_CODE)}
    words = "; ".join(f"{NAMES[m]} {span(c.values())}" for m, c in curves.items())
    return Evidence(
        f"d {d}: {words}",
        (width(curves[MKA]) < 0.07, width(curves[KCKA_CODE]) > width(curves[MKA])),
    )


def lost_over_k(facts: ManifoldFacts) -> Evidence:
    """KCKA needs a large k to be small, MKA is flat in k."""
    d = _largest(p.d for p in _swept(facts, "lost"))
    curves = {m: _curve_over_k(facts, m, "lost", d=d) for m in (MKA, KCKA_CODE)}
    kcka = curves[KCKA_CODE]
    low = [k for k, value in kcka.items() if value < 0.1]
    words = "; ".join(f"{NAMES[m]} {first(c):.3f} to {last(c):.3f}" for m, c in curves.items())
    note = f"kCKA is below 0.1 from k = {min(low):g}" if low else ""
    return Evidence(
        f"d {d}: {words}", (bool(low) and first(kcka) > 0.1, width(curves[MKA]) < width(kcka)), note
    )


def lost(facts: ManifoldFacts) -> Evidence:
    """MKA and kCKA are small."""
    lost = {m: _grade(facts, m).lost for m in (MKA, KCKA_CODE, CKA)}
    values = "; ".join(f"{NAMES[m]} {v:.3f}" for m, v in lost.items())
    note = (
        "the unit diagonal that all kernels share keeps MKA from 0: subtract the baseline "
        "(baseline=permutation)"
    )
    return Evidence(f"mean over n and d: {values}", (lost[MKA] < 0.1, lost[KCKA_CODE] < 0.1), note)


def moved(facts: ManifoldFacts) -> Evidence:
    """CKA falls as a spot moves away, MKA and kCKA settle."""
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


def moved_over_d(facts: ManifoldFacts) -> Evidence:
    """MKA and kCKA settle higher as d grows."""
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
