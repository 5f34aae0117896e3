"""The null model of perturbations: a common shift and isotropic noise (Raju 2026, Section 12.13,
Table 67)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.judging import Evidence, NoData, as_printed, judged, number, with_interval
from resemblance.results.figures import Chart, Line
from resemblance.results.sections import Rows, Section, Table
from resemblance.statistics.perturbation import perturbation_coherence
from resemblance.suites.experiments import Experiment, Part, RunConfig, measured

from .partial_correlation import bootstrapped
from .protocol import SEED, SIZES

SIGMAS, MAGNITUDES, CELLS, DIMENSIONS, REPEATS = (0.5, 1.0, 2.0, 3.0), 20, 100, 50, 25
BOOTSTRAPS = 1000  # fewer do not tell the third digit of an interval
PRINTED: Mapping[str, tuple[float, float, float]] = {
    "magnitude": (0.639, 0.612, 0.664),
    "snr": (0.999, 0.999, 0.999),
    "partial": (0.292, 0.253, 0.329),
}
TITLES = {"magnitude": "coherence and magnitude", "snr": "coherence and signal to noise",
          "partial": "coherence and magnitude, given signal to noise"}  # fmt: skip
ABOUT = (
    "Cells that are perturbed alike move the same way, and a perturbation that moves them far "
    "also seems to move them coherently. How much of that does chance do? 2000 simulated "
    "perturbations of 100 cells in 50 dimensions: a shift of known length, and Gaussian noise "
    "around it. Coherence then follows the ratio of the two, and with it the length."
)


def simulate(seed: int = SEED) -> dict[str, np.ndarray]:
    """Return shift over noise, magnitude, coherence and σ of all simulations.

    From NumPy's legacy generator.

    The controls are all at 0, as in the author's script, where no controls are drawn.
    """
    random = np.random.RandomState(seed)
    rows = []
    for sigma in SIGMAS:
        for length in np.linspace(0.5, 10, MAGNITUDES):
            for _ in range(REPEATS):
                direction = random.randn(DIMENSIONS)
                shift = direction / np.linalg.norm(direction) * length
                cells = shift + random.randn(CELLS, DIMENSIONS) * sigma
                coherence = perturbation_coherence(cells, np.zeros((1, DIMENSIONS)))
                rows.append(
                    (length / sigma, float(np.linalg.norm(cells.mean(axis=0))), coherence, sigma)
                )
    return dict(zip(("snr", "magnitude", "coherence", "sigma"), np.array(rows).T))


def _parts(config: RunConfig) -> list[Part]:
    more = {
        "bootstraps": SIZES[config.size].bootstraps,
        "uses": measured((perturbation_coherence,)),
    }
    return [
        {"what": name, "seed": SEED, **more, "from": SEED + i} for i, name in enumerate(PRINTED)
    ]


def _compute(config: RunConfig, part: Part) -> dict[str, Any]:
    simulation = simulate(part["seed"])
    x = simulation["snr"] if part["what"] == "snr" else simulation["magnitude"]
    controls = simulation["snr"] if part["what"] == "partial" else None
    y, random = simulation["coherence"], np.random.default_rng(part["from"])
    estimate = bootstrapped(x, y, controls, draws=part["bootstraps"], random=random)
    curve = [
        [s, *np.quantile(y[simulation["snr"] == s], [0.5, 0.025, 0.975]).tolist()]
        for s in np.unique(simulation["snr"])
    ]
    return {"found": list(estimate), "curve": curve}


def _judge(name: str) -> Any:
    printed = PRINTED[name]

    def judge(facts: Mapping[str, Sequence[float]]) -> Evidence:
        estimate, (bootstraps,) = facts[name], facts["bootstraps"]
        if bootstraps < BOOTSTRAPS:
            raise NoData(
                f"the ends of an interval need {BOOTSTRAPS} bootstraps; this run has {bootstraps:g}"
            )
        ends = all(abs(a - b) < 0.006 for a, b in zip(estimate[1:], printed[1:]))
        note = (
            "larger shifts are more coherent; the text of 12.13 says that they are less"
            if name == "magnitude"
            else ""
        )
        return Evidence(
            f"ρ = {with_interval(estimate)}", (as_printed(estimate[0], printed[0]), ends), note
        )

    return judge


_CLAIMS = tuple(
    (
        "S13",
        f"Null model: {TITLES[name]}",
        f"ρ = {with_interval(value)}; authors' code {number(value[0])}",
        _judge(name),
    )
    for name, value in PRINTED.items()
)


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    facts = {part["what"]: value["found"] for part, value in done}
    facts["bootstraps"] = [SIZES[config.size].bootstraps]
    rows: Rows = tuple((TITLES[name], *map(float, facts[name]), *PRINTED[name]) for name in PRINTED)
    columns = ("correlation of", "ρ", "low", "high", "paper", "low (paper)", "high (paper)")
    note = f"Intervals of {SIZES[config.size].bootstraps} bootstraps; the paper has 10,000."
    curve = done[0][1]["curve"]
    line = Line(
        "median and 95 % of simulations",
        tuple((s, m) for s, m, *_ in curve),
        tuple((a, b) for *_, a, b in curve),
    )
    chart = Chart(
        "null_model",
        "Coherence without any biology",
        "shift / noise",
        "coherence",
        (line,),
        log_x=True,
    )
    table = Table("correlations", "Rank correlations over 2000 simulations", columns, rows, note)
    return Section(
        "null_model",
        "The null model of perturbations",
        ABOUT,
        (table,),
        (chart,),
        judged(_CLAIMS, facts),
    )


NULL_MODEL = Experiment("null_model", _parts, _compute, _conclude)
