"""Other questions about the inputs of the benchmark models than those they were trained on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resemblance.sources.recipe import Recipe
from resemblance.sources.training.graphs import packaged as graphs
from resemblance.sources.training.language.packaged import docstrings
from resemblance.sources.training.snapshot import load_snapshot
from resemblance.sources.training.vision.digits import split_digits

CLASSES = "classes"  # what a model was trained to tell
TASKS: Mapping[str, tuple[str, ...]] = {  # of a domain; the second is a grouping of the classes
    "vision": (CLASSES, "parity", "loops", "ink"),
    "language": (CLASSES, "groups", "brackets", "length"),
    "graphs": (CLASSES, "groups", "private", "degree"),
}
LOOPED = (0, 6, 8, 9)  # digits drawn with a closed loop


def labellings(recipe: Recipe, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the labels of the inputs of a model in every task of its domain, (n,) each.

    Vision: the digit; is it odd; has it a closed loop; is the amount of ink in the lower, middle or
    upper third. Language: the package; is its number odd; does the sentence hold a bracket or a
    quotation mark; the third of its length. Graphs: the package; is its number odd; does the name
    of the function start with an underscore; the third of its number of neighbours. ``classes``:
    those that the model was trained to tell.
    """
    others = {"vision": _of_digits, "language": _of_sentences, "graphs": _of_functions}[
        recipe.domain
    ](recipe, classes)
    return dict(zip(TASKS[recipe.domain], (classes, classes % 2, *others)))


def _of_digits(recipe: Recipe, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ink = split_digits(recipe.options["test"]).test.mean(axis=(1, 2, 3))
    return np.isin(classes, LOOPED).astype(int), _thirds(ink)


def _of_sentences(recipe: Recipe, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    options = recipe.options
    data = docstrings(options["packages"], options["train"], options["test"], options["vocabulary"])
    marks = [bool({"(", "[", '"', "'", "`"} & set(words)) for words in data.test]
    return np.array(marks, int), _thirds(np.array([len(words) for words in data.test]))


def _of_functions(recipe: Recipe, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    graph, nodes = load_snapshot().graph, graphs.test_nodes(recipe)
    degrees = np.bincount(graph.edges.ravel(), minlength=len(graph.names))
    private = [graph.names[i].rpartition(".")[2].startswith("_") for i in nodes]
    return np.array(private, int), _thirds(degrees[nodes])


def _thirds(values: np.ndarray) -> np.ndarray:
    """Whether a value is in the lower, middle or upper third, as 0, 1 or 2.

    Equal values are in the same third.
    """
    thirds: np.ndarray = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
    return thirds
