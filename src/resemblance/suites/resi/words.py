"""The words of the ReSi suite: names and meanings of tests, qualities, protocols and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..families import ModelFamily
from .cases import TESTS

TITLE = "The ReSi benchmark of similarity measures"
ABOUT = (
    "A similarity measure compares the representations that two neural networks, or two of their "
    "layers, have of the same inputs. Each measure is tested on networks about which we already "
    "know something: "
    "their accuracy, their outputs, how they were trained, or the order of their layers. The "
    "closer a measure's differences match what we know, the better its rank; 1 is best. A quality "
    "is how that match is scored, such as a correlation, or conformity: the share of pairs of "
    "differences in the expected order. A cell is one test of one family of models by one quality; "
    "measures are ranked in each."
)
PAPER = (
    "Klabunde et al., “ReSi: A Comprehensive Benchmark for Representational Similarity Measures”, "
    "ICLR 2025, arXiv 2408.00531"
)
PROTOCOL_WORDS: Mapping[str, str] = {
    "paper": "the definitions of the paper",
    "resi-code": "what the authors' code computes",
}
FAILURE_WORDS: Mapping[str, str] = {
    "last": "a measure with failed comparisons in a cell is ranked behind all others of that cell",
    "unranked": "a measure with failed comparisons in a cell is ranked by what is left, or not at "
    "all",
}
# of every test, the quality that is shown first and the others, in words
QUALITIES: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"spearman_accuracy": "Spearman"},
    "output": {"spearman_jsd": "JSD", "spearman_disagreement": "disagreement"},
    "labels": {"auprc": "AUPRC", "conformity": "conformity"},
    "shortcut": {"auprc": "AUPRC", "conformity": "conformity"},
    "augmentation": {"auprc": "AUPRC", "conformity": "conformity"},
    "layers": {"spearman": "Spearman", "conformity": "conformity"},
}
READING: Mapping[str, str] = {
    "accuracy": "Models differ in their random seed only; the more the accuracies of two of them "
    "differ, the more a measure should find their representations to differ (Spearman "
    "correlation, −1 to 1).",
    "output": "The same models; the more their outputs differ, by the Jensen-Shannon divergence "
    "of the probabilities (JSD) or by how often the predicted class differs (disagreement), the "
    "more the representations should (Spearman correlation, −1 to 1).",
    "labels": "Groups of models were trained with different shares of random labels; models of "
    "one group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "shortcut": "Groups of models were trained with shortcuts in their inputs that give away the "
    "label more or less often; models of one group should be more alike than models of different "
    "groups (AUPRC or conformity, 0 to 1).",
    "augmentation": "Groups of models were trained with more or less augmentation; models of one "
    "group should be more alike than models of different groups (AUPRC or conformity, 0 to 1).",
    "layers": "Inside one model, the farther apart two layers are, the more they should differ: "
    "distances in the right order (Spearman correlation, −1 to 1), or layers in between not "
    "farther than what encloses them (conformity, 0 to 1); the mean over models.",
}


def quality_word(test: str, quality: str) -> str:
    """Return what a quality is called in a test."""
    return QUALITIES.get(test, {}).get(quality, quality)


def cell_text(cell: Sequence[str]) -> str:
    """Return the name of a cell: its test and quality, then its models."""
    test, quality, *family = cell
    word = quality.removeprefix("spearman").strip("_")
    addition = "" if word in test else f" ({word})"
    return f"{TESTS.get(test, test)}{addition}, {ModelFamily(*family)}"


def letter(position: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    before = letter(position // 26 - 1) if position >= 26 else ""
    return before + "abcdefghijklmnopqrstuvwxyz"[position % 26]


def common_start(names: Sequence[str]) -> list[str]:
    """Return the parts, between slashes, with which all names begin; never all parts of a name."""
    split = [name.split("/") for name in names]
    shared = min(len(parts) for parts in split) - 1
    while len({tuple(parts[:shared]) for parts in split}) > 1:
        shared -= 1
    return split[0][:shared]
