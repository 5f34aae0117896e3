"""What the MKA paper says of its synthetic experiments, and what a run of the manifold suite says
of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

from ...results.claims import Claim, Found, NoData, judged
from ...results.headlines import without_verdicts
from .grades import CLUSTERS, Grade, ManifoldResult, Point
from .words import (
    CKA,
    IMD,
    KCKA,
    KCKA_CODE,
    MKA,
    MKA_15,
    RBF,
    RBF_20,
    RBF_45,
    RTD,
    SHORT,
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

Size = TypeVar("Size", bound=Any)


def claims(result: ManifoldResult) -> tuple[Claim, ...]:
    """Return the claims of Islam et al. 2025, Sections 5.1 to 5.3, beside the numbers of a run.

    ``theirs`` are numbers of the authors' code on the same shapes; the paper shows figures only. A
    claim is reproduced when all parts of it hold, and in part when some do.
    """
    found = judged(_CLAIMS, result)
    return without_verdicts(found) if result.is_trial else found


# --------------------------------------------------------------------------- order: rings, clusters


def _taus_over_k(
    result: ManifoldResult, measure: str, experiment: str, at: Iterable[float] | None
) -> dict[int, float]:
    specs = {s.k: s.spec for s in result.sweeps if s.measure == measure}
    specs = {
        k: spec
        for k, spec in specs.items()
        if any(p.measure == spec for p in _points(result, experiment))
    }
    if not specs:
        raise NoData(f"the run lacks {SHORT[measure]} over numbers of neighbours")
    return {k: result.tau(spec, experiment, at) for k, spec in sorted(specs.items())}


def _points(result: ManifoldResult, experiment: str) -> list[Point]:
    return [p for p in result.points if p.experiment == experiment and p.over_k]


def _always(experiment: str, at: Iterable[float] | None) -> Callable[[ManifoldResult], Found]:
    """MKA finds the order at every number of neighbours."""

    def judge(result: ManifoldResult) -> Found:
        taus = _taus_over_k(result, MKA, experiment, at)
        every = (
            ""
            if at is None
            else f"; of all from 2 to 12: {runs(_taus_over_k(result, MKA, experiment, None))}"
        )
        return Found(f"τ = {runs(taus)}{every}", (all(t == 1 for t in taus.values()),))

    return judge


def _small_k_only(
    experiment: str, at: Iterable[float] | None, limit: int
) -> Callable[[ManifoldResult], Found]:
    """KCKA finds the order at small numbers of neighbours and not at large ones."""

    def judge(result: ManifoldResult) -> Found:
        taus = _taus_over_k(result, KCKA_CODE, experiment, at)
        paper = _taus_over_k(result, KCKA, experiment, at)
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
        return Found(ours, (min(small) == 1, max(large) < 1), note if missing else "")

    return judge


def _m3(result: ManifoldResult) -> Found:
    taus = _taus(result, "rings", (RBF, CKA, SVCCA))
    return Found(listed(taus), tuple(abs(t) < 0.5 for t in taus.values()))


def _m4(result: ManifoldResult) -> Found:
    taus = _taus(result, "rings", (RBF_20, RBF_45, IMD))
    note = (
        "IMD: rings are full of equal distances, and samples that are equally near share an edge "
        "of its graph; moving the points by 10⁻⁹ tells them apart, and changes the value of two "
        "rings from 33 to about 20"
    )
    holds = tuple(abs(t) > 0.75 for t in taus.values())
    return Found(listed(taus), holds, "" if all(holds) else note)


def _m5(result: ManifoldResult) -> Found:
    values = ", ".join(f"{v:.3f}" for v in _curve(result, RTD, "rings").values())
    (tau,) = _taus(result, "rings", (RTD,)).values()
    return Found(f"τ {two(tau)}; {values}", (tau > 0.75,))


def _m8(result: ManifoldResult) -> Found:
    taus = _taus(result, "clusters", (RTD, CKA, SVCCA, RBF_20, IMD), CLUSTERS)
    note = (
        "CKA-RBF orders the clusters the wrong way round, which |τ| does not tell. With two "
        "clusters of equal size the median distance lies between two modes, and counting the "
        "zeros of the diagonal, as the authors do, decides"
    )
    holds = (taus[RTD] == 1, *(abs(taus[m]) < 0.7 for m in (CKA, SVCCA, RBF_20, IMD)))
    return Found(listed(taus), holds, note if taus[RBF_20] < -0.5 else "")


# --------------------------------------------------------------------------------------- Swiss roll


def _m9(result: ManifoldResult) -> Found:
    peaks = {m: _grade(result, m).peak for m in (MKA_15, KCKA_CODE, RBF_20)}
    curves = {m: _curve(result, m, "swiss_roll") for m in (*peaks, RBF)}
    least = min(curves[RBF], key=lambda r: curves[RBF][r])
    said = [
        f"{SHORT[m]} {curves[m][0.0]:.3f} at r 0, {max(curves[m].values()):.3f} at {peaks[m]:g}"
        for m in peaks
    ]
    low = f"{SHORT[RBF]} least at {least:g} ({curves[RBF][least]:.3f})"
    return Found(
        "; ".join([*said, low]),
        (*(abs(p - 0.5) <= 0.1 for p in peaks.values()), abs(least - 0.5) <= 0.1),
    )


def _m10(result: ManifoldResult) -> Found:
    mka, kcka = (_curve_over_k(result, m, "swiss_roll") for m in (MKA, KCKA_CODE))
    said = (
        f"MKA {span(mka.values())}; kCKA (code) {span(kcka.values())} (k {min(kcka)} to "
        f"{max(kcka)})"
    )
    return Found(said, (width(mka) < 0.01, width(kcka) > 0.1))


def _m11(result: ManifoldResult) -> Found:
    curve = list(_curve(result, SVCCA, "swiss_roll").values())
    steps = [b - a for a, b in pairwise(curve)]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    note = (
        "their values, down to 0.04, are an artefact: their SVCCA centres over features in place "
        "of samples, and in two dimensions that leaves the correlation of x₁ − x₂ with y₁ − y₂"
    )
    return Found(f"{span(curve)}, {turns} turning points", (turns > 2, min(curve) < 0.2), note)


# -------------------------------------------------------------------------------------------- spots


def _m12_n(result: ManifoldResult) -> Found:
    d = _largest(p.d for p in result.points if p.experiment == "perturbed")
    curves = {m: _curve(result, m, "perturbed", "n", d=d) for m in (MKA, KCKA_CODE, CKA)}
    mka = list(curves[MKA].values())
    return Found(f"d {d}: {ends(curves, 'n')}", (mka[0] >= mka[-1], mka[-1] > 0.8 * mka[0]))


def _m12_d(result: ManifoldResult) -> Found:
    n = _largest(p.n for p in result.points if p.experiment == "perturbed")
    curves = {m: _curve(result, m, "perturbed", "d", n=n) for m in (MKA, CKA, RBF_20)}
    return Found(
        f"n {n}: {ends(curves, 'd')}",
        tuple(last(curves[m]) > first(curves[m]) for m in (CKA, RBF_20)),
    )


def _m12_k(result: ManifoldResult) -> Found:
    d = _largest(p.d for p in _points(result, "perturbed"))
    curves = {m: _curve_over_k(result, m, "perturbed", d=d) for m in (MKA, KCKA_CODE)}
    said = "; ".join(f"{SHORT[m]} {span(c.values())}" for m, c in curves.items())
    return Found(
        f"d {d}: {said}", (width(curves[MKA]) < 0.07, width(curves[KCKA_CODE]) > width(curves[MKA]))
    )


def _m12_lost_k(result: ManifoldResult) -> Found:
    d = _largest(p.d for p in _points(result, "lost"))
    curves = {m: _curve_over_k(result, m, "lost", d=d) for m in (MKA, KCKA_CODE)}
    kcka = curves[KCKA_CODE]
    low = [k for k, value in kcka.items() if value < 0.1]
    said = "; ".join(f"{SHORT[m]} {first(c):.3f} to {last(c):.3f}" for m, c in curves.items())
    note = f"kCKA is below 0.1 from k = {min(low):g}" if low else ""
    return Found(
        f"d {d}: {said}", (bool(low) and first(kcka) > 0.1, width(curves[MKA]) < width(kcka)), note
    )


def _m12_lost(result: ManifoldResult) -> Found:
    facts = {m: _grade(result, m).lost for m in (MKA, KCKA_CODE, CKA)}
    said = "; ".join(f"{SHORT[m]} {v:.3f}" for m, v in facts.items())
    note = (
        "the unit diagonal that all kernels share keeps MKA from 0: subtract the baseline "
        "(baseline=permutation)"
    )
    return Found(f"mean over n and d: {said}", (facts[MKA] < 0.1, facts[KCKA_CODE] < 0.1), note)


def _m13(result: ManifoldResult) -> Found:
    n, d = _largest((p.n, p.d) for p in result.points if p.experiment == "moved" and p.over_k)
    curves = {m: _curve(result, m, "moved", n=n, d=d) for m in (MKA, KCKA_CODE, CKA)}
    tails = {m: list(c.values())[-2:] for m, c in curves.items()}
    settled = tuple(abs(tails[m][0] - tails[m][1]) < 0.01 for m in (MKA, KCKA_CODE))
    fell = first(curves[CKA]) - last(curves[CKA]) > 0.3
    said = "; ".join(
        f"{SHORT[m]} {first(c):.3f} to {tails[m][0]:.3f}, {tails[m][1]:.3f}"
        for m, c in curves.items()
    )
    return Found(f"d {d}, first to last two t: {said}", (*settled, fell))


def _m13_d(result: ManifoldResult) -> Found:
    n = _largest(p.n for p in result.points if p.experiment == "moved")
    t = _largest(p.at for p in result.points if p.experiment == "moved")
    curves = {m: _curve(result, m, "moved", "d", n=n, at=t) for m in (MKA, KCKA_CODE)}
    holds = tuple(last(c) > first(c) for c in curves.values())
    note = (
        "" if any(holds) else "by its authors' code both settle lower as d grows, as they do here"
    )
    return Found(f"t {t:g}: {ends(curves, 'd')}", holds, note, holds_for_them=False)


# -------------------------------------------------------------------------------------------- words


def _taus(
    result: ManifoldResult,
    experiment: str,
    measures: Iterable[str],
    at: Iterable[float] | None = None,
) -> dict[str, float]:
    found = {m: result.tau(m, experiment, at) for m in measures if _took_part(result, m)}
    if any(math.isnan(t) for t in found.values()):
        raise NoData(f"a measure has no value for some {experiment}")
    return found


def _took_part(result: ManifoldResult, measure: str) -> bool:
    if measure not in {m.spec for m in result.measures}:
        raise NoData(f"the run lacks {SHORT.get(measure, measure)}")
    return True


def _grade(result: ManifoldResult, measure: str) -> Grade:
    _took_part(result, measure)
    return result.grade(measure)


def _largest(values: Iterable[Size]) -> Size:
    """The largest, of an experiment that the run may lack."""
    found = list(values)
    if not found:
        raise NoData("the run lacks the experiment")
    return max(found)


def _curve(
    result: ManifoldResult, measure: str, experiment: str, along: str = "at", **where: float
) -> Values:
    return _there(result.curve(measure, experiment, along, **where))


def _curve_over_k(result: ManifoldResult, measure: str, experiment: str, **where: float) -> Values:
    return _there(result.curve_over_k(measure, experiment, **where))


def _there(curve: Values) -> Values:
    if len(curve) < 2:
        raise NoData("the run lacks a measure, or a curve of two points and more")
    return curve


_CLAIMS: tuple[tuple[str, str, str, Callable[[ManifoldResult], Found]], ...] = (
    (
        "M1",
        "Rings: MKA finds the order for all k",
        "|τ| = 1.0 for k = 5 to 450",
        _always("rings", None),
    ),
    (
        "M2",
        "Rings: kCKA finds it for small k only and fails from about 200",
        "|τ| = 1.0 for k ≤ 100, 0.8 (150–250), 0.6 (300–400), 0.2 (450)",
        _small_k_only("rings", None, 200),
    ),
    ("M3", "Rings: CKA and SVCCA fail", "|τ|: CKA-RBF 0.2, CKA 0.2, SVCCA 0.2", _m3),
    (
        "M4",
        "Rings: CKA-RBF with δ = 0.2 and IMD are good",
        "|τ|: δ 0.2 1.0, δ 0.45 0.8, IMD 0.8",
        _m4,
    ),
    ("M5", "Rings: RTD is close", "|τ| = 0.8; 0, 5.390, 5.108, 7.345, 8.808", _m5),
    (
        "M6",
        "Clusters: MKA finds the order for all k",
        "|τ| = 1.0 for k = 5 to 250; of all from 2 to 12, 1.0 for k ≥ 50 and 0.96 for k ≤ 25",
        _always("clusters", CLUSTERS),
    ),
    (
        "M7",
        "Clusters: kCKA finds it for small k only and fails from about 100",
        "|τ| = 1.0 for k ≤ 50, 0.71 (100), 0.62 (150), 0.14 (200), 0.62 (250)",
        _small_k_only("clusters", CLUSTERS, 100),
    ),
    (
        "M8",
        "Clusters: RTD finds the order; CKA, SVCCA, CKA-RBF and IMD do not",
        "|τ|: RTD 1.0, CKA 0.24, SVCCA 0.14, CKA-RBF (δ 0.2) 0.24, IMD 0.24 to 0.43",
        _m8,
    ),
    (
        "M9",
        "Swiss roll: MKA, kCKA and CKA-RBF with δ = 0.2 are largest at r = 0.5, where CKA-RBF is "
        "least",
        "MKA (k 15) 0.770 at r 0, 1.000 from 0.4 to 0.6; kCKA 0.711 → 0.978; δ 0.2 0.749 → 0.956; "
        "δ 1 0.960 → 0.471",
        _m9,
    ),
    (
        "M10",
        "Swiss roll at r = 0.5: MKA does not depend on k, kCKA does",
        "MKA ≥ 0.9999 for k = 5 to 800; kCKA 0.978 (k 15–100), 0.965 (200), 0.592 (800)",
        _m10,
    ),
    (
        "M11",
        "Swiss roll: SVCCA oscillates, unrelated to r",
        "0.043 (r 0), 0.761 (0.1), 0.352 (0.3), 0.525 (0.5)",
        _m11,
    ),
    (
        "M12 n",
        "Perturbed spots: MKA falls slowly with n",
        "d 1000: MKA 0.707 (n 250) → 0.649 (1000); kCKA 0.781 → 0.731; CKA 0.974 → 0.926",
        _m12_n,
    ),
    (
        "M12 d",
        "Perturbed spots: CKA rises with d",
        "n 1000: MKA 0.325 (d 2) → 0.646 (500); CKA 0.745 → 0.891; δ 0.2 0.280 → 1.000",
        _m12_d,
    ),
    (
        "M12 k",
        "Perturbed spots: MKA is flatter in k than kCKA",
        "d 100: MKA 0.588–0.633; kCKA 0.689–0.830",
        _m12_k,
    ),
    (
        "M12 lost k",
        "Spots without correspondence: kCKA needs a large k to see it, MKA is flat in k",
        "d 100: MKA 0.390 to 0.299; kCKA 0.658 (k 5) to 0.013 (k 400)",
        _m12_lost_k,
    ),
    (
        "M12 lost",
        "Spots without correspondence: MKA and kCKA are small",
        "n 1000, d 1000: MKA 0.314, kCKA 0.063, CKA 0.628",
        _m12_lost,
    ),
    (
        "M13 t",
        "One of two spots moves away: CKA falls, MKA and kCKA settle",
        "d 100: MKA 0.923 (t 1) → 0.912 (5, 10); kCKA 0.863 → 0.831; CKA 0.859 → 0.354",
        _m13,
    ),
    (
        "M13 d",
        "One of two spots moves away: MKA and kCKA settle higher as d grows",
        "t 10: MKA 1.000 (d 2) → 0.828 (1000); kCKA 0.992 → 0.703",
        _m13_d,
    ),
)
