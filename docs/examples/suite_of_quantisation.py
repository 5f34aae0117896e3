"""Do measures see quantisation? A suite of one's own, on small networks that are trained here.

Networks learn handwritten digits, and their weights are rounded to 8, 4, 3 and 2 bits. Measures
compare the last hidden layers and are asked three things::

    python suite_of_quantisation.py

"bits": is a network farther from its unrounded self the fewer bits it has? "identity": is it
nearer to its unrounded self than to the other networks? "accuracy": of the networks with as many
bits, have those that moved farther lost more accuracy?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import resemblance as rs
from resemblance.bench.case import Case, Part, Score
from resemblance.bench.grounding import Block, Rule, by_group, by_reference, concordance, spearman
from resemblance.bench.reliability import reliability
from resemblance.bench.scoring import score
from resemblance.bench.stability.perturbed import quantize_weights
from resemblance.catalogue import get_measures

MEASURES = ("cka", "cka[estimator=debiased]", "procrustes", "mutual_knn", "jaccard", "rsa", "svcca")
BITS = (8, 4, 3, 2)
SAMPLES = 300  # on which representations are compared


def by_network(losses: Sequence[float], *, both_orders: bool = False) -> tuple[Block, ...]:
    """One block: every network with its rounded self, which are expected to differ by the loss."""
    networks = np.arange(len(losses))
    return (Block(networks, networks, np.asarray(losses)),)


GROWS = Rule(by_reference, spearman, is_complete=True)
NEAREST = Rule(by_group, concordance, is_complete=True)
HARMED = Rule(by_network, spearman, is_complete=True)


class Network(NamedTuple):
    """A trained network: by bits of its weights, what it represents, and which answers are right;
    32 bits are the network before rounding."""

    name: str
    layers: Mapping[int, rs.Representation]
    right: Mapping[int, np.ndarray]


def networks(seeds: Iterable[int]) -> list[Network]:
    """Train a network for each seed, and round its weights."""
    digits = load_digits()
    x, y = digits.data / 16, digits.target
    trained = []
    for seed in seeds:
        model = MLPClassifier((64, 64), max_iter=500, random_state=seed, early_stopping=True)
        model.fit(x[:900], y[:900])
        layers, right = dict[int, rs.Representation](), dict[int, np.ndarray]()
        for bits in (32, *BITS):
            weights = model.coefs_ if bits == 32 else _rounded(model.coefs_, bits)
            hidden, answers = _run(x[900:], weights, model.intercepts_)
            layers[bits] = rs.Representation(hidden[:SAMPLES], f"network {seed}, {bits} bits")
            right[bits] = answers == y[900:]
        trained.append(Network(f"network {seed}", layers, right))
    return trained


def _rounded(weights: Iterable[np.ndarray], bits: int) -> list[np.ndarray]:
    return list(quantize_weights({str(i): w for i, w in enumerate(weights)}, bits).values())


def _run(
    x: np.ndarray, weights: Iterable[np.ndarray], biases: Iterable[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the last hidden layer and the answers."""
    *hidden, last = zip(weights, biases)
    for weight, bias in hidden:
        x = np.maximum(x @ weight + bias, 0)
    return x, (x @ last[0] + last[1]).argmax(axis=1)


def cases(trained: Sequence[Network]) -> list[Case]:
    """Return what measures are scored by: a part for each network, or one of all."""
    parts = []
    for network in trained:
        whole, *others = network.layers.values()
        columns = {layer.name: layer for layer in others}
        parts.append(Part({whole.name: whole}, [-bits for bits in BITS], columns, network.name))
    quantised = [Case("bits", ("order",), GROWS, tuple(parts))]
    for bits in BITS:
        before, after = ([n.layers[b] for n in trained] for b in (32, bits))
        rows, columns = ({layer.name: layer for layer in layers} for layers in (before, after))
        pairs = Part(rows | columns, [n.name for n in trained] * 2)
        quantised.append(Case("identity", (f"{bits} bits",), NEAREST, (pairs,)))
        losses = np.array([n.right[32].astype(float) - n.right[bits] for n in trained])
        part = Part(rows, losses.mean(axis=1), columns)
        repeats = reliability(losses)
        quantised.append(Case("accuracy", (f"{bits} bits",), HARMED, (part,), reliability=repeats))
    return quantised


def run(seeds: Iterable[int] = range(24), measures: Iterable[str] = MEASURES) -> tuple[Score, ...]:
    """Run the suite and return a score for each measure and cell."""
    return score(cases(networks(seeds)), get_measures(measures))


if __name__ == "__main__":
    for row in run():
        repeats = "" if row.reliability is None else f"reliability {row.reliability:.2f}"
        print(f"{row.test:8} {row.cell[0]:6} {row.measure:23} {row.value:5.2f} {repeats}".rstrip())
