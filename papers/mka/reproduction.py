"""The reproduction of the MKA paper: the manifold suite with the claims of the paper."""

from __future__ import annotations

from functools import partial

from papers.reproductions import Paper
from resemblance.bench import run

from .claims import CLAIMS

PAPER = Paper(
    name="mka",
    citation=(
        "Islam, Liu and Sarkar 2025, “Manifold Approximation leads to Robust Kernel Alignment”"
    ),
    url="https://arxiv.org/abs/2510.22953",
    run=partial(run, "manifolds", claims=CLAIMS),
    heading="MKA: manifold approximation and kernel alignment",
    about="""\
Reproduced are the experiments on shapes whose similarity is known (Sections 5.1 to 5.3). The paper
shows them as figures without numbers: what is called the paper's was computed by its authors' code
on the same shapes. The six tests of the ReSi benchmark, of which the paper prints tables, are run
on small models by the [ReSi reproduction](../resi/README.md). [Differences](differences.md) lists
where the paper, its code and the suite differ.""",
)
