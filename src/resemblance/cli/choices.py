"""Choices of options, without an import of the library, because the help of a command must not
import the library. A test compares the choices with the library."""

from __future__ import annotations

from collections.abc import Mapping

FORMATS = ("table", "json", "csv", "parquet", "markdown", "latex")
TEXT_FORMATS = ("table", "markdown", "latex")
LAYOUT_WORDS: Mapping[str, str] = {  # by layout of tables as text
    "pairs": "a row for each pair",
    "depth": "a row for each pair of layers of equal depth",
    "matrix": "a matrix",
}
LAYOUTS = tuple(LAYOUT_WORDS)
SCORE_LAYOUTS = ("pairs", "matrix")  # of scores of models
BASELINE = "cka"  # measure that others are compared with
SERIES = "compact"  # the default series of packs in rankings
RANDOM_UNITS = ("seeds", "networks")  # the random units of rankings, the default first
DRAWS = 999  # permutations
DOMAINS = ("graphs", "language", "vision")
HYPERPARAMETERS = ("resi-code", "paper")
PRECISIONS = ("float32", "bfloat16", "float16")
GROUPS = ("published", "separated")
FAILURES = ("last", "unranked")
PERMUTATIONS = ("models", "pairs")
PROTOCOLS = ("paper", "resi-code")

SIZES: Mapping[str, tuple[str, ...]] = {  # by suite
    "resi": ("slice", "demo", "mini", "architectures", "standard", "paper", "paper-slice"),
    "sensitivity": ("small", "default", "paper"),
    "manifolds": ("small", "default", "paper"),
    "stability": ("small", "default", "paper"),
}
EXPERIMENTS: Mapping[str, tuple[str, ...]] = {
    "resi": (),
    "sensitivity": ("layers", "deletion", "finetuning", "pretraining"),
    "manifolds": (),
    "stability": ("spectral", "canary"),
}
SUITES = tuple(SIZES)
