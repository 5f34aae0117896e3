"""``python -m papers.shesha run FOLDER``: the experiments of the paper, and its claims judged."""

from __future__ import annotations

from resemblance.cli.findings import suite_commands
from resemblance.suites.stability.suite import MEASURES, SIZES

from .suite import EXPERIMENTS, run

commands = suite_commands(
    "stability",
    "shesha",
    "What the paper of Shesha says of stability, similarity and drift, run and judged.",
    SIZES,
    run,
    EXPERIMENTS,
    MEASURES,
    title="Shesha: stability, similarity and drift",
    introduction=(
        "Raju 2026 (arXiv 2601.09173) asks of one representation how reliable its geometry is, "
        "beside how similar it is to others. The experiments that need no download are repeated, "
        "with the author's random numbers where data are made, and the paper's numbers are shown "
        "next to ours."
    ),
)

if __name__ == "__main__":
    commands()
