"""Claims of the MKA paper on its synthetic experiments (Islam et al. 2025, Sections 5.1 to 5.3), by
section of the manifold suite.

The paper shows figures without numbers: the numbers called "theirs" were computed by the authors'
code on the same shapes. |τ| is Kendall's τ without its sign. A claim is reproduced when all its
parts hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import groupby, pairwise

from papers.judging import Claims, Evidence, NoData, claim, judged, number
from resemblance.bench.manifolds import values
from resemblance.bench.manifolds.page import MKA_PAPER_LABELS
from resemblance.bench.manifolds.values import ORIGINAL_CLUSTER_COUNTS, Measured
from resemblance.sections.claims import Claim

Curve = Mapping[float, float]
MKA, MKA_15, KCKA, KCKA_CODE, CKA = "mka", "mka[k=15]", "kcka", "kcka[variant=code]", "cka"
RBF, RBF_45 = "cka[kernel=rbf]", "cka[bandwidth=0.45,kernel=rbf]"
RBF_20 = "cka[bandwidth=0.2,kernel=rbf]"
SVCCA, RTD, IMD = "svcca", "rtd", "imd"
SECTIONS = ("swiss roll", "rings", "clusters", "perturbed", "lost", "moved")
CLAIMS_OF: Mapping[str, Claims] = {section: [] for section in SECTIONS}
ROLL, RINGS, SPLIT, PERTURBED, LOST, MOVED = (
    partial(claim, of_section) for of_section in CLAIMS_OF.values()
)

# --------------------------------------------------------------------- numbers of a run, or NoData


def _taking_part(run: Measured, measures: Iterable[str]) -> list[str]:
    chosen = list(measures)
    for measure in chosen:
        if measure not in run.measures:
            raise NoData(f"the run lacks {MKA_PAPER_LABELS.get(measure, measure)}")
    return chosen


def _taus(
    run: Measured, experiment: str, measures: Iterable[str], at: Collection[float] | None = None
) -> dict[str, float]:
    taus = {m: values.tau(run, m, experiment, at) for m in _taking_part(run, measures)}
    if any(math.isnan(t) for t in taus.values()):
        raise NoData(f"a measure has no value for some {experiment}")
    return taus


def _taus_over_k(
    run: Measured, measure: str, experiment: str, at: Collection[float] | None
) -> dict[int, float]:
    taus = values.taus_over_k(run, measure, experiment, at)
    if not taus:
        raise NoData(f"the run lacks {MKA_PAPER_LABELS[measure]} over numbers of neighbours")
    return taus


def _grades(run: Measured, name: str, measures: Iterable[str]) -> dict[str, float]:
    return {m: values.grade(run, m)[name] for m in _taking_part(run, measures)}


def _curves(
    run: Measured, experiment: str, along: str, measures: Iterable[str], **where: float
) -> dict[str, Curve]:
    """Return the curves of measures along "at", "n", "d" or "k", the number of neighbours."""
    curves: dict[str, Curve] = {
        m: values.curve_over_k(run, m, experiment, **where)
        if along == "k"
        else values.curve(run, m, experiment, along, **where)
        for m in measures
    }
    if any(len(curve) < 2 for curve in curves.values()):
        raise NoData("the run lacks a measure, or a curve of two points and more")
    return curves


# ------------------------------------------------------------------------------- numbers in words


def _first(curve: Curve) -> float:
    return curve[min(curve)]


def _last(curve: Curve) -> float:
    return curve[max(curve)]


def _width(curve: Curve) -> float:
    return max(curve.values()) - min(curve.values())


def _span(numbers: Collection[float]) -> str:
    return f"{min(numbers):.3f}–{max(numbers):.3f}"


def _two(value: float) -> str:
    return "no value" if math.isnan(value) else number(value, 2)


def _listed(taus: Mapping[str, float]) -> str:
    return ", ".join(f"{MKA_PAPER_LABELS[m]} {_two(t)}" for m, t in taus.items())


def _runs(taus: Mapping[int, float]) -> str:
    """Return values by number of neighbours as text; consecutive numbers of neighbours with equal
    values are merged: 1.00 (k 5–100), 0.80 (k 150)."""
    words = []
    for text, group in groupby(taus, lambda k: _two(taus[k])):
        ks = list(group)
        words.append(f"{text} (k\u00a0{ks[0]}{f'–{ks[-1]}' if len(ks) > 1 else ''})")
    return ", ".join(words)


def _ends(curves: Mapping[str, Curve], name: str) -> str:
    """Return the first and the last value of every curve as text."""
    return "; ".join(
        f"{MKA_PAPER_LABELS[m]} {_first(c):.3f} ({name} {min(c):g}) → {_last(c):.3f} ({name} "
        f"{max(c):g})"
        for m, c in curves.items()
    )


# --------------------------------------------------------------------------- order: rings, clusters


def _always(experiment: str, at: Collection[float] | None, run: Measured) -> Evidence:
    """Judge that MKA finds the order at every number of neighbours."""
    taus = _taus_over_k(run, MKA, experiment, at)
    whole = ""
    if at is not None:
        whole = f"; of all from 2 to 12: {_runs(_taus_over_k(run, MKA, experiment, None))}"
    return Evidence(f"τ = {_runs(taus)}{whole}", (all(t == 1 for t in taus.values()),))


def _small_k_only(
    experiment: str, at: Collection[float] | None, limit: int, run: Measured
) -> Evidence:
    """Judge that kCKA finds the order at small numbers of neighbours and fails at large numbers."""
    taus, paper = (_taus_over_k(run, m, experiment, at) for m in (KCKA_CODE, KCKA))
    known = {k: t for k, t in taus.items() if not math.isnan(t)}
    small = [t for k, t in known.items() if k <= 50]
    large = [t for k, t in known.items() if k >= limit]
    if not large or not small:
        raise NoData(f"the run lacks numbers of neighbours from {limit}")
    ours = f"their code: τ = {_runs(taus)}; Eqs. 18-19: {_runs(paper)}"
    note = "k 5: on rings that are exact duplicates the median distance is 0, and kCKA has no width"
    return Evidence(ours, (min(small) == 1, max(large) < 1), note if len(known) < len(taus) else "")


RINGS("M1", "Rings: MKA finds the order for all k", "|τ| = 1.0 for k = 5 to 450")(
    partial(_always, "rings", None)
)
RINGS(
    "M2",
    "Rings: kCKA finds it for small k only and fails from about 200",
    "|τ| = 1.0 for k ≤ 100, 0.8 (150–250), 0.6 (300–400), 0.2 (450)",
)(partial(_small_k_only, "rings", None, 200))


@RINGS("M3", "Rings: CKA and SVCCA fail", "|τ|: CKA-RBF 0.2, CKA 0.2, SVCCA 0.2")
def rings_of_cka(run: Measured) -> Evidence:
    taus = _taus(run, "rings", (RBF, CKA, SVCCA))
    return Evidence(_listed(taus), tuple(abs(t) < 0.5 for t in taus.values()))


@RINGS("M4", "Rings: CKA-RBF with δ = 0.2 and IMD are good", "|τ|: δ 0.2 1.0, δ 0.45 0.8, IMD 0.8")
def rings_of_rbf_and_imd(run: Measured) -> Evidence:
    taus = _taus(run, "rings", (RBF_20, RBF_45, IMD))
    note = (
        "IMD: rings are full of equal distances, and samples that are equally near share an edge "
        "of its graph; moving the points by 10⁻⁹ tells them apart, and changes the value of two "
        "rings from 33 to about 20"
    )
    holds = tuple(abs(t) > 0.75 for t in taus.values())
    return Evidence(_listed(taus), holds, "" if all(holds) else note)


@RINGS("M5", "Rings: RTD is close", "|τ| = 0.8; 0, 5.390, 5.108, 7.345, 8.808")
def rings_of_rtd(run: Measured) -> Evidence:
    values = ", ".join(f"{v:.3f}" for v in _curves(run, "rings", "at", [RTD])[RTD].values())
    (tau,) = _taus(run, "rings", (RTD,)).values()
    return Evidence(f"τ {_two(tau)}; {values}", (tau > 0.75,))


SPLIT(
    "M6",
    "Clusters: MKA finds the order for all k",
    "|τ| = 1.0 for k = 5 to 250; of all from 2 to 12, 1.0 for k ≥ 50 and 0.96 for k ≤ 25",
)(partial(_always, "clusters", ORIGINAL_CLUSTER_COUNTS))
SPLIT(
    "M7",
    "Clusters: kCKA finds it for small k only and fails from about 100",
    "|τ| = 1.0 for k ≤ 50, 0.71 (100), 0.62 (150), 0.14 (200), 0.62 (250)",
)(partial(_small_k_only, "clusters", ORIGINAL_CLUSTER_COUNTS, 100))


@SPLIT(
    "M8",
    "Clusters: RTD finds the order; CKA, SVCCA, CKA-RBF and IMD do not",
    "|τ|: RTD 1.0, CKA 0.24, SVCCA 0.14, CKA-RBF (δ 0.2) 0.24, IMD 0.24 to 0.43",
)
def clusters_of_others(run: Measured) -> Evidence:
    taus = _taus(run, "clusters", (RTD, CKA, SVCCA, RBF_20, IMD), ORIGINAL_CLUSTER_COUNTS)
    note = (
        "CKA-RBF orders the clusters the wrong way round, which |τ| does not tell. With two "
        "clusters of equal size the median distance lies between two modes, and counting the "
        "zeros of the diagonal, as the authors do, decides"
    )
    holds = (taus[RTD] == 1, *(abs(taus[m]) < 0.7 for m in (CKA, SVCCA, RBF_20, IMD)))
    return Evidence(_listed(taus), holds, note if taus[RBF_20] < -0.5 else "")


# --------------------------------------------------------------------------------------- Swiss roll


@ROLL(
    "M9",
    "Swiss roll: MKA, kCKA and CKA-RBF with δ = 0.2 are largest at r = 0.5, where CKA-RBF is least",
    "MKA (k 15) 0.770 at r 0, 1.000 from 0.4 to 0.6; kCKA 0.711 → 0.978; δ 0.2 0.749 → "
    "0.956; δ 1 0.960 → 0.471",
)
def roll_peaks(run: Measured) -> Evidence:
    peaks = _grades(run, "peak", (MKA_15, KCKA_CODE, RBF_20))
    curves = _curves(run, "swiss_roll", "at", (*peaks, RBF))
    least = min(curves[RBF], key=lambda r: curves[RBF][r])
    words = [
        f"{MKA_PAPER_LABELS[m]} {curves[m][0.0]:.3f} at r 0, {max(curves[m].values()):.3f} at "
        f"{peaks[m]:g}"
        for m in peaks
    ]
    low = f"{MKA_PAPER_LABELS[RBF]} least at {least:g} ({curves[RBF][least]:.3f})"
    return Evidence(
        "; ".join([*words, low]),
        (*(abs(p - 0.5) <= 0.1 for p in peaks.values()), abs(least - 0.5) <= 0.1),
    )


@ROLL(
    "M10",
    "Swiss roll at r = 0.5: MKA does not depend on k, kCKA does",
    "MKA ≥ 0.9999 for k = 5 to 800; kCKA 0.978 (k 15–100), 0.965 (200), 0.592 (800)",
)
def roll_over_k(run: Measured) -> Evidence:
    mka, kcka = _curves(run, "swiss_roll", "k", (MKA, KCKA_CODE)).values()
    words = (
        f"MKA {_span(mka.values())}; kCKA (code) {_span(kcka.values())} (k {min(kcka)} to "
        f"{max(kcka)})"
    )
    return Evidence(words, (_width(mka) < 0.01, _width(kcka) > 0.1))


@ROLL(
    "M11",
    "Swiss roll: SVCCA oscillates, unrelated to r",
    "0.043 (r 0), 0.761 (0.1), 0.352 (0.3), 0.525 (0.5)",
)
def roll_of_svcca(run: Measured) -> Evidence:
    curve = list(_curves(run, "swiss_roll", "at", [SVCCA])[SVCCA].values())
    steps = [b - a for a, b in pairwise(curve)]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    note = (
        "their values, down to 0.04, are an artefact: their SVCCA centres over features in place "
        "of samples, and in two dimensions that leaves the correlation of x₁ − x₂ with y₁ − y₂"
    )
    return Evidence(f"{_span(curve)}, {turns} turning points", (turns > 2, min(curve) < 0.2), note)


# -------------------------------------------------------------------------------------------- spots


@PERTURBED(
    "M12 n",
    "Perturbed spots: MKA falls slowly with n",
    "d 1000: MKA 0.707 (n 250) → 0.649 (1000); kCKA 0.781 → 0.731; CKA 0.974 → 0.926",
)
def perturbed_over_n(run: Measured) -> Evidence:
    d = max((p.d for p in run.of("perturbed")), default=0)
    curves = _curves(run, "perturbed", "n", (MKA, KCKA_CODE, CKA), d=d)
    mka = list(curves[MKA].values())
    return Evidence(f"d {d}: {_ends(curves, 'n')}", (mka[0] >= mka[-1], mka[-1] > 0.8 * mka[0]))


@PERTURBED(
    "M12 d",
    "Perturbed spots: CKA rises with d",
    "n 1000: MKA 0.325 (d 2) → 0.646 (500); CKA 0.745 → 0.891; δ 0.2 0.280 → 1.000",
)
def perturbed_over_d(run: Measured) -> Evidence:
    n = max((p.n for p in run.of("perturbed")), default=0)
    curves = _curves(run, "perturbed", "d", (MKA, CKA, RBF_20), n=n)
    return Evidence(
        f"n {n}: {_ends(curves, 'd')}",
        tuple(_last(curves[m]) > _first(curves[m]) for m in (CKA, RBF_20)),
    )


@PERTURBED(
    "M12 k",
    "Perturbed spots: MKA is flatter in k than kCKA",
    "d 100: MKA 0.588–0.633; kCKA 0.689–0.830",
)
def perturbed_over_k(run: Measured) -> Evidence:
    d = max((p.d for p in run.of("perturbed") if p.over_k), default=0)
    curves = _curves(run, "perturbed", "k", (MKA, KCKA_CODE), d=d)
    words = "; ".join(f"{MKA_PAPER_LABELS[m]} {_span(c.values())}" for m, c in curves.items())
    return Evidence(
        f"d {d}: {words}",
        (_width(curves[MKA]) < 0.07, _width(curves[KCKA_CODE]) > _width(curves[MKA])),
    )


@LOST(
    "M12 lost k",
    "Spots without correspondence: kCKA needs a large k to see it, MKA is flat in k",
    "d 100: MKA 0.390 to 0.299; kCKA 0.658 (k 5) to 0.013 (k 400)",
)
def lost_over_k(run: Measured) -> Evidence:
    d = max((p.d for p in run.of("lost") if p.over_k), default=0)
    curves = _curves(run, "lost", "k", (MKA, KCKA_CODE), d=d)
    kcka = curves[KCKA_CODE]
    low = [k for k, value in kcka.items() if value < 0.1]
    words = "; ".join(
        f"{MKA_PAPER_LABELS[m]} {_first(c):.3f} to {_last(c):.3f}" for m, c in curves.items()
    )
    note = f"kCKA is below 0.1 from k = {min(low):g}" if low else ""
    return Evidence(
        f"d {d}: {words}",
        (bool(low) and _first(kcka) > 0.1, _width(curves[MKA]) < _width(kcka)),
        note,
    )


@LOST(
    "M12 lost",
    "Spots without correspondence: MKA and kCKA are small",
    "n 1000, d 1000: MKA 0.314, kCKA 0.063, CKA 0.628",
)
def lost(run: Measured) -> Evidence:
    lost = _grades(run, "lost", (MKA, KCKA_CODE, CKA))
    values = "; ".join(f"{MKA_PAPER_LABELS[m]} {v:.3f}" for m, v in lost.items())
    note = (
        "the unit diagonal that all kernels share keeps MKA from 0: subtract the baseline "
        "(corrected=True)"
    )
    return Evidence(f"mean over n and d: {values}", (lost[MKA] < 0.1, lost[KCKA_CODE] < 0.1), note)


@MOVED(
    "M13 t",
    "One of two spots moves away: CKA falls, MKA and kCKA settle",
    "d 100: MKA 0.923 (t 1) → 0.912 (5, 10); kCKA 0.863 → 0.831; CKA 0.859 → 0.354",
)
def moved(run: Measured) -> Evidence:
    n, d = max(((p.n, p.d) for p in run.of("moved") if p.over_k), default=(0, 0))
    curves = _curves(run, "moved", "at", (MKA, KCKA_CODE, CKA), n=n, d=d)
    tails = {m: list(c.values())[-2:] for m, c in curves.items()}
    settled = tuple(abs(tails[m][0] - tails[m][1]) < 0.01 for m in (MKA, KCKA_CODE))
    fell = _first(curves[CKA]) - _last(curves[CKA]) > 0.3
    words = "; ".join(
        f"{MKA_PAPER_LABELS[m]} {_first(c):.3f} to {tails[m][0]:.3f}, {tails[m][1]:.3f}"
        for m, c in curves.items()
    )
    return Evidence(f"d {d}, first to last two t: {words}", (*settled, fell))


@MOVED(
    "M13 d",
    "One of two spots moves away: MKA and kCKA settle higher as d grows",
    "t 10: MKA 1.000 (d 2) → 0.828 (1000); kCKA 0.992 → 0.703",
)
def moved_over_d(run: Measured) -> Evidence:
    n = max((p.n for p in run.of("moved")), default=0)
    t = max((p.at for p in run.of("moved")), default=0)
    curves = _curves(run, "moved", "d", (MKA, KCKA_CODE), n=n, at=t)
    holds = tuple(_last(c) > _first(c) for c in curves.values())
    note = (
        "" if any(holds) else "by its authors' code both settle lower as d grows, as they do here"
    )
    return Evidence(f"t {t:g}: {_ends(curves, 'd')}", holds, note, holds_for_them=False)


CLAIMS: Mapping[str, Callable[[Measured], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in CLAIMS_OF.items()
}
