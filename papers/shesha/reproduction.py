"""The reproduction of the paper of Shesha: its experiments, run as one study, the page of the
study, and tables for the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from papers.judging import judged
from papers.markdown import cell, fixed, percent, table
from papers.reproductions import Paper, Tables
from resemblance import bench
from resemblance.bench.stability.models import stability_recipes, untrainable_domains
from resemblance.bench.study import Purpose, StageProgress, study_folder
from resemblance.bench.study_models import train_plan
from resemblance.comparison.provenance import environment_versions
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Table, TableEntry

from . import synthetic
from .canary import CANARY
from .deletion import DELETION
from .encoders import ENCODERS
from .foretold import FEWSHOT, STEERING
from .models import Experiment, Run
from .null_model import NULL_MODEL

CLAIMS = {"canary": partial(judged, CANARY)}  # argument of resemblance.bench.run
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (*synthetic.EXPERIMENTS, NULL_MODEL, DELETION, ENCODERS, STEERING, FEWSHOT)
}
ORDER = (  # sections of the page; the canary is an experiment of the suite
    "recovery", "chance", "spectral", "quadrants", "null_model", "invariances", "encoders",
    "steering", "canary", "fewshot",
)  # fmt: skip


def run(
    folder: str | Path,
    *,
    size: str = "default",
    only: Iterable[str] | None = None,
    jobs: Executor | None = None,
    progress: StageProgress | None = None,
    **options: Any,
) -> Result:
    """Run the experiments of the paper in a folder, or resume there, and return the result.

    The folder is a study of the stability suite, so this function and the suite resume each other's
    work. ``size``: ``"small"`` (under a minute; claims that need a larger size have no data),
    ``"default"`` (minutes), or ``"paper"`` (the paper's 15 seeds and 10,000 bootstraps, and larger
    models). ``only``: names of experiments. All other parameters are options of
    :func:`resemblance.bench.run`.

    Raises ``ValueError`` for an unknown size, experiment or measure.

    Reference: Raju 2026, Sections 7 to 12.
    """
    show = progress or (lambda stage, done, total: None)
    wanted = set(ORDER if only is None else only)
    if unknown := wanted - set(ORDER):
        raise ValueError(f"no experiment {min(unknown)!r}; known: {', '.join(ORDER)}")
    names = [name for name in ORDER if name in wanted]
    sections, seconds, labels = dict[str, Section](), dict[str, float](), dict[str, str]()
    if "canary" in names:
        options |= {"size": size, "jobs": jobs, "progress": progress}
        canary = bench.run("stability", folder, only=["canary"], claims=CLAIMS, **options)
        sections |= {"canary": canary["canary"]}
        labels |= canary.labels
    with study_folder(folder, Purpose("stability", size)) as (place, _):
        experiments = [EXPERIMENTS[name] for name in names if name in EXPERIMENTS]
        recipes = {
            recipe.name: recipe for e in experiments if e.models for recipe in e.models(size)
        }
        train_plan(place, list(recipes.values()), jobs, show)
        for done, experiment in enumerate(experiments, 1):
            start, spent = process_time(), list[float]()
            section = _section(experiment, Run(place, size, jobs, spent))
            sections[experiment.name] = section
            seconds[experiment.name] = sum(spent) or process_time() - start
            show("experiments", done, len(experiments))
        result = Result(
            "stability",
            size,
            tuple(sections[name] for name in names),
            labels,
            {name: seconds[name] for name in names if name in seconds},
            environment_versions(),
        )
        result.save(place / "result.json")
    return result


def _section(experiment: Experiment, run: Run) -> Section:
    facts = experiment.facts(run)
    missing = untrainable_domains(stability_recipes(run.size).domains) if experiment.models else {}
    return Section(
        experiment.name,
        experiment.title,
        experiment.about,
        experiment.tables(facts),
        claims=judged(experiment.claims, facts),
        reasons={**missing, **getattr(facts, "reasons", {})},
    )


CANARY_MEASURES = ("RDM drift", "CKA, debiased", "Procrustes (root)", "Procrustes (squared)")


def tables(result: Result) -> Tables:
    """Return the tables of the documentation: alarms of the canary, and transfer with few
    labels."""
    (foretold,) = (t for t in result["fewshot"].tables if t.name == "fewshot_foretold")
    return {"canary": _canary(result["canary"]), "fewshot": _fewshot(foretold)}


def _canary(section: Section) -> str:
    """Return a table of four drifts: how well a drift follows accuracy, and its alarms by three
    thresholds."""
    entries = {
        (of.name.removeprefix("canary_"), row[0], column): entry
        for of in section.tables
        for row in of.rows
        for column, entry in zip(of.columns, row)
    }
    rows: list[tuple[str, str, str, Callable[[TableEntry], str]]] = [
        ("Spearman with the accuracy lost, noise", "measures", "Spearman, noise", fixed),
        ("AUC for more than 2 points lost", "measures", "AUC, 2 points", fixed),
        ("first α beyond 0.05, as in the paper (median)", "alarms", "first α, 0.05", fixed),
    ]
    for threshold in ("0.05", "5 % of the scale", "calibrated"):
        for what in ("false alarms", "caught"):
            rows.append((f"{what}, {threshold}", "alarms", f"{what}, {threshold}", percent))
    lines = [
        (title, *(write(entries[of, measure, column]) for measure in CANARY_MEASURES))
        for title, of, column, write in rows
    ]
    return table(("", *CANARY_MEASURES), lines)


def _fewshot(foretold: Table) -> str:
    labels = (c for c in foretold.columns if c.endswith(" labels"))
    columns = ("statistic", "Spearman, mean [95 %]", *labels)
    lines = [
        (cell(row[0]), *(fixed(row[foretold.columns.index(c)]) for c in columns[1:]))
        for row in foretold.rows
    ]
    return table(columns, lines)


PAPER = Paper(
    name="shesha",
    citation="Raju 2026, on the stability of representations (Shesha)",
    url="https://arxiv.org/abs/2601.09173",
    run=run,
    heading="Shesha: stability, similarity and drift",
    about="""\
Reproduced are the experiments that need no download: those on made data (recovery, chance,
deletion, quadrants, the null model, invariances) with the author's random numbers, to the printed
precision; transformations of encoders, steering, the canary and transfer with few labels on small
models that are trained here. The encoders and language models of the paper need downloads and are
left out. Deletions and disturbed weights grade measures, too, in the
[stability suite](../../docs/other-suites.md) of the library. [Differences](differences.md)
explains the results and lists where we differ from the paper.""",
    kept=("canary_measures", "canary_alarms", "fewshot_foretold"),
    tables=tables,
)
