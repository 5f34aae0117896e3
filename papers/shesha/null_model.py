"""The null model of perturbations: a common shift and isotropic noise (Raju 2026, Section 12.13,
Table 67)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from papers.judging import Evidence, as_printed, number, with_interval
from resemblance.statistics.perturbation import perturbation_coherence

from .correlations import Interval, bootstrapped
from .models import Experiment, Run
from .synthetic import SEED

SIGMAS, MAGNITUDES, CELLS, DIMENSIONS, REPEATS = (0.5, 1.0, 2.0, 3.0), 20, 100, 50, 25
BOOTSTRAPS = {"small": 100, "default": 2000, "paper": 10_000}
TABLE_67: Mapping[str, Interval] = {
    "magnitude": (0.639, 0.612, 0.664),
    "snr": (0.999, 0.999, 0.999),
    "partial": (0.292, 0.253, 0.329),
}


def simulate(seed: int = SEED) -> dict[str, np.ndarray]:
    """Return shift over noise, magnitude and coherence of all simulations, from NumPy's legacy
    generator.

    All controls are at 0, as in the author's script, which draws no controls.
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
                rows.append((length / sigma, float(np.linalg.norm(cells.mean(axis=0))), coherence))
    return dict(zip(("snr", "magnitude", "coherence"), np.array(rows).T))


def null_model(run: Run) -> dict[str, Interval]:
    """Return the three correlations of Table 67 with their intervals."""
    simulation, facts = simulate(), dict[str, Interval]()
    plan = (("magnitude", "magnitude", ""), ("snr", "snr", ""), ("partial", "magnitude", "snr"))
    for i, (name, x, control) in enumerate(plan):
        facts[name] = bootstrapped(
            simulation[x],
            simulation["coherence"],
            simulation[control][:, None] if control else None,
            draws=BOOTSTRAPS[run.size],
            random=np.random.default_rng(SEED + i),
        )
    return facts


def correlation_of_simulations(name: str, note: str, facts: Mapping[str, Interval]) -> Evidence:
    """Return the evidence that a correlation equals the printed correlation, and that the ends of
    its interval are within 0.006 of the printed ends."""
    theirs = TABLE_67[name]
    ends = all(abs(a - b) < 0.006 for a, b in zip(facts[name][1:], theirs[1:]))
    text = f"ρ = {with_interval(facts[name])}"
    return Evidence(text, (as_printed(facts[name][0], theirs[0]), ends), note)


NULL_MODEL = Experiment(
    name="null_model",
    title="The null model of perturbations",
    about=(
        "Cells that are perturbed alike move the same way, and a perturbation that moves them "
        "far also seems to move them coherently. How much of that does chance do? 2000 simulated "
        "perturbations of 100 cells in 50 dimensions: a shift of known length, and Gaussian "
        "noise around it. Coherence then follows the ratio of the two, and with it the length."
    ),
    facts=null_model,
)


for _name, _title, _note in (
    (
        "magnitude",
        "coherence and magnitude",
        "larger shifts are more coherent; the text of 12.13 says that they are less",
    ),
    ("snr", "coherence and signal to noise", ""),
    ("partial", "coherence and magnitude, given signal to noise", ""),
):
    NULL_MODEL.claim(
        "S13",
        f"Null model: {_title}",
        paper=f"ρ = {with_interval(TABLE_67[_name])}; authors' code {number(TABLE_67[_name][0])}",
    )(partial(correlation_of_simulations, _name, _note))
