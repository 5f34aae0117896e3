"""Writes the board, and the pages of results that the gallery shows, on data that takes seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import resemblance as rs
from resemblance.boards.site import build_site
from resemblance.report import write_page
from resemblance.suites import manifolds

MEASURES = ["cka[estimator=debiased]", "procrustes", "mutual_knn"]
RANKED = ["cka", "mka", "rsa", "procrustes", "jaccard"]


def main(folder: Path) -> None:
    """Write a page of a comparison, of a drift report, and of a trial run of a suite; the board."""
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = digits()
    first, second = (layers(seed, images, labels) for seed in (0, 1))
    models = {"seed 0": first, "seed 1": second}
    write_page(rs.evidence(models, measures=MEASURES, progress=False), folder / "compare.html")
    report = rs.drift(first["layer 1"], second["layer 1"], draws=10, progress=False)
    write_page(report, folder / "drift.html")
    trial = manifolds.run(measures=RANKED, size="small", progress=lambda *_: None)
    write_page(trial, folder / "manifolds.html")
    build_site(output=folder / "board")


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return images of handwritten digits, one a row, and their labels."""
    images, labels = load_digits(return_X_y=True)
    return images / 16, labels


def layers(seed: int, images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hidden layers, for the last 400 images, of a network that learned the others."""
    network = MLPClassifier((48, 32, 24), random_state=seed, learning_rate_init=0.003)
    for _ in range(20):
        network.partial_fit(images[:-400], labels[:-400], classes=np.arange(10))
    values, result = images[-400:], {}
    for depth in range(3):
        values = np.maximum(values @ network.coefs_[depth] + network.intercepts_[depth], 0)
        result[f"layer {depth + 1}"] = values
    return result
