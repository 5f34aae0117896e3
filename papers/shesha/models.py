"""The trained models of the experiments: layers as embeddings, labels of further tasks on the same
inputs, statistics of embeddings, and linear probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np

from papers.judging import Claims, Judge, claim
from resemblance.bench.stability.models import missing_package, stability_recipes
from resemblance.bench.study_models import model_folder
from resemblance.bench.training import recipes
from resemblance.bench.training.graphs import packaged as graphs
from resemblance.bench.training.language.packaged import docstring_task
from resemblance.bench.training.standard_library import load_snapshot
from resemblance.bench.training.vision.digits import split_digits
from resemblance.catalogue import get_statistic
from resemblance.data.representation import Representation
from resemblance.engine.workers import WorkerCall, single_threaded
from resemblance.engine.workers import run_calls as run_calls
from resemblance.models.model_folder import read_model
from resemblance.models.recipe import Recipe
from resemblance.sections.sections import Table

UNSUPERVISED = (
    "feature_split[k=10]", "basis_split[k=10]", "anisotropy", "participation_ratio",
    "effective_rank",
)  # fmt: skip
SUPERVISED = (
    "supervised_alignment", "label_conditioned_split", "variance_ratio", "class_separation[k=10]",
    "fisher_discriminant", "silhouette", "logme", "h_score", "gbc[covariance=spherical]",
)  # fmt: skip
ALIGNMENT, SPLIT = SUPERVISED[0], UNSUPERVISED[0]
Value = TypeVar("Value")


def deep_models(size: str) -> list[Recipe]:
    """Return the recipes of the models with several layers that can be trained here.

    For graphs, only the deeper networks (the setting with more layers) are included.
    """
    plan = stability_recipes(size)
    settings = [(kind, 0.0, plan.seeds) for kind in ("normal", "layers")]
    return [
        recipe
        for domain in plan.domains
        if not missing_package(domain)
        for recipe in recipes(domain, plan.suite, settings)
        if domain != "graphs" or recipe.setting == "layers"
    ]


class Run(NamedTuple):
    """The setting of an experiment: a study folder with trained models, the size, the executor, and
    the CPU seconds of the workers so far."""

    folder: Path
    size: str
    executor: Executor | None
    seconds: list[float]

    def each(self, function: Callable[[Path, Any], Value], arguments: Iterable[Any]) -> list[Value]:
        """Return the values of a function of the folder and an argument, in the order of the
        arguments."""
        calls = [WorkerCall(str(a), _timed, (self.folder, function, a)) for a in arguments]
        done = {call.name: future.result() for call, future in run_calls(calls, self.executor)}
        self.seconds.extend(seconds for _, seconds in done.values())
        return [done[call.name][0] for call in calls]


def _timed(folder: Path, function: Callable[[Path, Any], Value], what: Any) -> tuple[Value, float]:
    start = process_time()
    with single_threaded():
        value = function(folder, what)
    return value, process_time() - start


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, and the claims about its results.

    ``facts``: called with the run. ``models``: the recipes of the models to train, by size.
    ``tables``: called with the facts. ``claims``: judged by the facts.
    """

    name: str
    title: str
    about: str
    facts: Callable[[Run], Any]
    models: Callable[[str], Sequence[Recipe]] | None = None
    tables: Callable[[Any], tuple[Table, ...]] = lambda facts: ()
    claims: Claims = field(default_factory=list)

    def claim(self, number: str, text: str, paper: str) -> Callable[[Judge], Judge]:
        """Add a claim: see :func:`papers.judging.claim`."""
        return claim(self.claims, number, text, paper)


def layers_of(folder: Path, recipe: Recipe) -> list[tuple[str, Representation, np.ndarray]]:
    """Return every layer of a trained model under every pooling: name, representation, and the
    outputs of the model."""
    return [
        (f"{features.traits['pooling']}/{layer}", representation, np.asarray(features.outputs))
        for features in read_model(model_folder(folder, recipe))
        for layer, representation in features.layers.items()
    ]


# -------------------------------------------------------------------------------------------- tasks

CLASSES = "classes"  # the training task of a model
TASKS: Mapping[str, tuple[str, ...]] = {  # by domain; the second task groups the classes
    "vision": (CLASSES, "parity", "loops", "ink"),
    "language": (CLASSES, "groups", "brackets", "length"),
    "graphs": (CLASSES, "groups", "private", "degree"),
}
LOOPED = (0, 6, 8, 9)  # digits drawn with a closed loop


def tasks_of(folder: Path, recipe: Recipe) -> dict[str, np.ndarray]:
    """Return the labels of a trained model's inputs in every task of its domain."""
    path = model_folder(folder, recipe) / "labels.npy"
    return labellings(recipe, np.load(path, allow_pickle=False))


def labellings(recipe: Recipe, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the labels of a model's inputs in every task of its domain, (n,) per task.

    Vision: the digit; whether the digit is odd; whether the digit has a closed loop; the lower,
    middle or upper third of the amount of ink. Language: the package; whether its number is odd;
    whether the sentence contains a bracket or a quotation mark; the third of its length. Graphs:
    the package; whether its number is odd; whether the name of the function starts with an
    underscore; the third of its number of neighbours. ``classes``: the labels of the training task.
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
    data = docstring_task(
        options["packages"], options["train"], options["test"], options["vocabulary"]
    )
    marks = [bool({"(", "[", '"', "'", "`"} & set(words)) for words in data.test]
    return np.array(marks, int), _thirds(np.array([len(words) for words in data.test]))


def _of_functions(recipe: Recipe, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    graph, nodes = load_snapshot().graph, graphs.test_nodes(recipe)
    degrees = np.bincount(graph.edges.ravel(), minlength=len(graph.names))
    private = [graph.names[i].rpartition(".")[2].startswith("_") for i in nodes]
    return np.array(private, int), _thirds(degrees[nodes])


def _thirds(values: np.ndarray) -> np.ndarray:
    """Return 0, 1 or 2 for values in the lower, middle or upper third; equal values are in the same
    third."""
    thirds: np.ndarray = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
    return thirds


# --------------------------------------------------------------------------- statistics and probes


def statistics_of(
    specs: Iterable[str], points: np.ndarray, labels: np.ndarray, reasons: dict[str, str]
) -> dict[str, float | None]:
    """Return the value of every statistic, or None where the statistic is undefined; the reason is
    added to ``reasons``, by specification."""
    x, values = Representation(points), dict[str, float | None]()
    for statistic in map(get_statistic, specs):
        try:
            values[statistic.spec] = statistic(x, *([labels] if statistic.needs else []))
        except ValueError as error:
            values[statistic.spec] = None
            reasons.setdefault(statistic.spec, str(error))
    return values


class Probe(NamedTuple):
    """A linear classifier: weights (classes or 1, d), offsets, and the labels of the classes in
    increasing order."""

    weights: np.ndarray
    offsets: np.ndarray
    answers: np.ndarray

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the predicted labels for points (..., d)."""
        scores = points @ self.weights.T + self.offsets
        chosen: np.ndarray = (
            scores.argmax(axis=-1) if len(self.weights) > 1 else (scores[..., 0] > 0).astype(int)
        )
        answers: np.ndarray = self.answers[chosen]
        return answers


def logistic_probe(points: np.ndarray, labels: np.ndarray, *, penalty: float = 1.0) -> Probe:
    """Return the logistic regression of labels on points, by scikit-learn.

    Raises ``ValueError`` for a single class.
    """
    from sklearn.linear_model import LogisticRegression

    fitted: Any = LogisticRegression(C=penalty, max_iter=5000).fit(points, labels)
    return Probe(fitted.coef_, fitted.intercept_, fitted.classes_)
