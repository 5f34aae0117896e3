"""What a part of the ReSi paper's benchmark would take: models to train, hours, and space on disk.
Nothing is trained for it, and no data are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ...catalogue import get_measures, preset
from ...measure import Measure
from ...sources.recipe import SETTINGS, Recipe
from ...sources.training import DATASETS, Portion, tests_of
from ...sources.training import paper_recipes as recipes
from ..training import is_written
from .budget import ModelSize, hours_of, size_of
from .costs import Workload, all_pairs, brief_estimate, comparing_hours, of_layers
from .paper import portion_of
from .rules import Options

HOURS, SPACE = ("GPU h", "CPU h", "comparing, CPU h"), ("weights, GB", "representations, GB")
FLOAT = 4  # bytes
GIGA = 1e9
NOTE = (
    "Hours are estimates: of training on one H100, or one core where that was measured; of "
    "comparing on one core. Training is of the models that are missing, all else of all. "
    "The size paper-slice takes seconds a model instead."
)


class PlannedModels(NamedTuple):
    """The models of an architecture on a data set: how many by setting, how many are there, what
    training the others takes in hours of an accelerator or of one core, how long comparing all
    takes on one core, and the gigabytes of weights and representations."""

    dataset: str
    architecture: str
    models: Mapping[str, int]
    trained: int
    gpu_hours: float
    cpu_hours: float
    comparing_hours: float
    weights_gb: float
    representations_gb: float


def plan(
    folder: str | Path | None = None,
    size: str = "paper",
    *,
    measures: Iterable[str | Measure] | None = None,
    samples: int | None = None,
    **portion: Any,
) -> tuple[PlannedModels, ...]:
    """Return what a part of the paper's benchmark takes, by data set and architecture.

    ``folder``: a study, in which some models may be already. ``samples``: how many inputs are
    compared. ``portion``: the keywords of :func:`resemblance.suites.resi.paper.portion_of`.

    Raises ``ValueError`` as that does, and for what is no number of samples.
    """
    wanted = portion_of(size, **portion)
    Options(samples=samples)
    compared = get_measures(measures if measures is not None else preset("default"))
    by_models = groupby(recipes(wanted), key=lambda r: (r.dataset, r.architecture))
    rows = list[PlannedModels]()
    for (dataset, architecture), some in by_models:
        size_of_model = size_of(dataset, architecture)
        if samples is not None:
            size_of_model = size_of_model._replace(rows=min(samples, size_of_model.rows))
        works = _works(wanted, dataset, architecture, size_of_model)
        hours = sum(comparing_hours(works, compared).values())
        rows.append(_row(list(some), hours, folder))
    return tuple(rows)


def _row(
    some: Sequence[Recipe], comparing_hours: float, folder: str | Path | None
) -> PlannedModels:
    models = some[0].dataset, some[0].architecture
    size, (gpu_hours, cpu_hours) = size_of(*models), hours_of(*models)
    trained = 0 if folder is None else sum(is_written(Path(folder), r) for r in some)
    about = DATASETS[models[0]]
    return PlannedModels(
        about.title,
        about.architectures[models[1]].title,
        dict(Counter(r.setting for r in some)),
        trained,
        gpu_hours * (len(some) - trained),
        cpu_hours * (len(some) - trained),
        comparing_hours,
        len(some) * size.millions * 1e6 * FLOAT / GIGA,
        sum(_written(recipe, size) for recipe in some) * FLOAT / GIGA,
    )


def _written(recipe: Recipe, size: ModelSize) -> int:
    """Return how many numbers are written of a model: of images, all layers of normal models
    only."""
    is_whole = recipe.domain != "vision" or recipe.setting == "normal"
    return size.rows * (size.features if is_whole else size.width)


def _works(
    portion: Portion, dataset: str, architecture: str, size: ModelSize
) -> Iterator[Workload]:
    """Yield the comparisons of all tests on an architecture."""
    strengths = DATASETS[dataset].architectures[architecture].strengths
    for test, members in tests_of(portion, dataset, architecture).items():
        for _ in range(size.poolings):
            if test == "layers":
                for _ in range(members.each):
                    yield from of_layers(size.rows, size.widths, size.shapes)
            else:
                groups = sum(len(strengths.get(setting, (0.0,))) for setting in members.settings)
                yield all_pairs(size.rows, size.width, members.each * groups)


def table_of(rows: Sequence[PlannedModels]) -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """Return the columns, the lines and the note of a table of a plan, with totals."""
    trained_ones = {setting for row in rows for setting in row.models}
    settings = [setting for setting in SETTINGS if setting in trained_ones]
    header = ("data set", "models", *settings, "there", *HOURS, *SPACE)
    lines = [
        (
            row.dataset,
            row.architecture,
            *(str(row.models.get(setting, 0)) for setting in settings),
            str(row.trained),
            *map(brief_estimate, numbers(row)),
        )
        for row in rows
    ]
    counts = [sum(row.models.get(setting, 0) for row in rows) for setting in settings]
    sums = [sum(column) for column in zip(*(numbers(row) for row in rows))]
    trained = sum(row.trained for row in rows)
    lines.append(
        ("all", str(sum(counts)), *map(str, counts), str(trained), *map(brief_estimate, sums))
    )
    return header, lines, NOTE


def numbers(row: PlannedModels) -> tuple[float, ...]:
    """Return hours and gigabytes, in the order of the columns."""
    hours = (row.gpu_hours, row.cpu_hours, row.comparing_hours)
    return (*hours, row.weights_gb, row.representations_gb)
