"""Do measures see quantisation? A suite of one's own: networks whose weights are rounded."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import resemblance as rs
from resemblance.bench.case import Case, Part
from resemblance.bench.grounding import Block, Rule, by_group, by_reference, concordance, spearman
from resemblance.bench.reliability import reliability
from resemblance.bench.stability.perturbed import quantize_weights
from resemblance.bench.suite import Suite

MEASURES = ("cka", "cka[estimator=debiased]", "procrustes", "mutual_knn", "jaccard", "rsa", "svcca")
SEEDS, BITS, WHOLE = {"small": 5, "default": 24}, (8, 4, 3, 2), 32


def train_network(seed):
    """Return the last hidden layer and the right answers of a network, by bits of its weights."""
    x, y = load_digits(return_X_y=True)
    model = MLPClassifier((64, 64), max_iter=500, random_state=seed, early_stopping=True)
    exact, layers, right = dict(zip("abc", model.fit(x[:900] / 16, y[:900]).coefs_)), {}, {}
    for bits in (WHOLE, *BITS):
        *weights, last = (exact if bits == WHOLE else quantize_weights(exact, bits)).values()
        hidden = x[900:] / 16
        for weight, bias in zip(weights, model.intercepts_):
            hidden = np.maximum(hidden @ weight + bias, 0)
        layers[bits] = rs.Representation(hidden[:300], f"network {seed}, {bits} bits")
        right[bits] = (hidden @ last + model.intercepts_[-1]).argmax(axis=1) == y[900:]
    return layers, right


def by_network(losses, *, both_orders=False):
    """Return a block of every network with its rounded self, and their expected differences."""
    return (Block(np.arange(len(losses)), np.arange(len(losses)), losses),)


def named(layers):
    return {layer.name: layer for layer in layers}


def tasks(networks):
    """Yield the tasks that the three questions of docs/own-suite.md ask of a measure."""
    expected = [-bits for bits in BITS]
    parts = (Part(named([a[WHOLE]]), expected, named(a[b] for b in BITS)) for a, _ in networks)
    yield Case("bits", ("order",), Rule(by_reference, spearman), tuple(parts))
    for bits in BITS:
        before, after = (named(layers[b] for layers, _ in networks) for b in (WHOLE, bits))
        part = Part(before | after, [*range(len(networks))] * 2)
        yield Case("identity", (f"{bits} bits",), Rule(by_group, concordance), (part,))
        lost = np.array([right[WHOLE].astype(float) - right[bits] for _, right in networks])
        part, rule = Part(before, lost.mean(axis=1), after), Rule(by_network, spearman)
        yield Case("accuracy", (f"{bits} bits",), rule, (part,), reliability=reliability(lost))


QUANTISATION = Suite(
    "quantisation", "Do measures see quantisation?",
    lambda run: [train_network(seed) for seed in range(SEEDS[run.size])], tasks,
    sizes=SEEDS, measures=MEASURES,
)  # fmt: skip
