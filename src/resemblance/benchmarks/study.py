"""A study: a directory of trained models, their representations, comparisons and scores that can always be continued.

::

    study/
      study.json                     which suite, domains and options it is for
      subjects/<domain>/.../seed0/   one trained model: traits.json, weights.npz, outputs.npy, labels.npy, layers
      comparisons.db                 every comparison (SQLite), keyed by measure, version and data
      comparisons.parquet            the same as one table
      result.json                    scores and all that the report shows
      log.txt                        what was done when
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..extras import check
from ..measure import Measure
from ..sources.folders import read_subject, read_subjects, write_subject
from ..store import write_atomically
from ..subject import Recipe, Subject
from .evaluate import Progress, Result, evaluate
from .resi import DOMAINS, recipes, source

FORMAT = 1
NEEDS = {
    "graphs": "torch_geometric.nn",
    "language": "transformers",
    "vision": "torch",
}  # to train the models of a domain


def run(
    folder: str | Path,
    *,
    suite: str = "mini",
    domains: Sequence[str] = DOMAINS,
    models: str | Path | None = None,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str = "last",
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> Result:
    """Run the ReSi benchmark in a directory, or continue there: train, extract, compare, grade, write the result.

    What is already there is not done again: models whose recipe is unchanged and whose files are undamaged, and
    comparisons of the same data by the same version of a measure. A process that is killed loses the model or the
    half second of comparisons it was busy with.

    Parameters
    ----------
    folder : the study. It remembers its suite; another suite needs another folder.
    suite : ``"mini"``, ``"standard"`` or ``"slice"``: how many and how large models are trained.
    domains : some of "graphs", "language", "vision".
    models : a folder of models of your own (see :func:`resemblance.read_subjects`) instead of a suite.
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    progress : called with (stage, done, total); the stages are "training", "comparing" and "grading".

    The others are those of :func:`resemblance.benchmarks.evaluate`.

    Raises ``ValueError`` when another process is working on the study, or it is one of another suite.
    """
    for package in ("pandas", "pyarrow"):
        check(package)
    folder, show = Path(folder), progress or (lambda stage, done, total: None)
    plan = () if models is not None else recipes(suite, domains)
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        _remember(folder, Purpose(suite, (), None) if models is None else Purpose(None, (), str(models)), domains)
        if models is None:
            train(folder, plan, executor, show)
        subjects = read_subjects(models, verify=True) if models is not None else subjects_of(folder, plan)
        log(folder, f"comparing {len(subjects)} subjects")
        result = evaluate(
            subjects, measures=measures, protocol=protocol, permute=permute, failures=failures,
            save=folder / "comparisons.db", executor=executor, memory=memory, progress=show,
        )  # fmt: skip
        publish(folder, result)
    return result


def train(folder: Path, plan: Sequence[Recipe], executor: Executor | None, progress: Progress) -> None:
    """Train every model of the plan that the study does not have."""
    missing = [recipe for recipe in plan if not is_trained(folder, recipe)]
    for domain in {recipe.domain for recipe in missing}:
        check(NEEDS[domain])
    progress("training", len(plan) - len(missing), len(plan))
    for position, line in enumerate(_trained(folder, missing, executor)):
        log(folder, line)
        progress("training", len(plan) - len(missing) + position + 1, len(plan))


def _trained(folder: Path, missing: Iterable[Recipe], executor: Executor | None) -> Iterator[str]:
    if executor is None:
        yield from (train_one(recipe, place(folder, recipe)) for recipe in missing)
        return
    pending = {executor.submit(train_one, recipe, place(folder, recipe)) for recipe in missing}
    try:
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        for future in pending:
            future.cancel()


def train_one(recipe: Recipe, folder: Path) -> str:
    """Train one model, run the inputs of its benchmark through it, write both, and return a line for the log."""
    start, trainer = time.perf_counter(), source(recipe.domain)
    state = trainer.fit(recipe)
    extraction = trainer.extract(recipe, state)
    traits = {name: getattr(recipe, name) for name in Recipe._fields}
    write_subject(folder, extraction, {**traits, "recipe": recipe.fingerprint}, state)
    accuracy = extraction.accuracies["test"]
    return f"trained {recipe.name}: accuracy {accuracy:.3f}, {time.perf_counter() - start:.1f} s"


def place(folder: Path, recipe: Recipe) -> Path:
    """Return the folder of a model inside a study."""
    return folder / "subjects" / recipe.name


def is_trained(folder: Path, recipe: Recipe) -> bool:
    """Whether a study has the model of a recipe, complete and undamaged."""
    own = place(folder, recipe)
    try:
        same: bool = json.loads((own / "traits.json").read_text(encoding="utf-8")).get("recipe") == recipe.fingerprint
        complete = all((own / name).exists() for name in ("outputs.npy", "labels.npy", "weights.npz"))
        return same and complete and bool(read_subject(own, verify=True))
    except (ValueError, OSError, AttributeError):
        return False


def subjects_of(folder: Path, plan: Iterable[Recipe]) -> tuple[Subject, ...]:
    """Return the subjects of the trained models of a plan."""
    return tuple(s for recipe in plan for s in read_subject(place(folder, recipe)))


# ------------------------------------------------------------------------------------------------------- the directory


class Status(NamedTuple):
    """How far a study is."""

    suite: str | None
    models: str | None
    trained: int
    planned: int
    comparisons: int
    scores: int
    running: bool
    last: str


def status(folder: str | Path) -> Status:
    """Return how far a study is. Raises ``ValueError`` for a folder that is none."""
    folder = Path(folder)
    known = purpose(folder)
    plan = recipes(known.suite, known.domains) if known.suite else ()
    traits = len(list((folder / "subjects").rglob("traits.json")))
    scores = len(json.loads((folder / "result.json").read_text())["scores"]) if (folder / "result.json").exists() else 0
    log_file = folder / "log.txt"
    lines = log_file.read_text(encoding="utf-8").splitlines() if log_file.exists() else []
    return Status(
        known.suite, known.models, traits, len(plan), _count_cells(folder / "comparisons.db"), scores,
        _is_running(folder), lines[-1] if lines else "",
    )  # fmt: skip


class Purpose(NamedTuple):
    """What a study is for: a suite in some domains, or the models in a folder."""

    suite: str | None
    domains: tuple[str, ...]
    models: str | None


def purpose(folder: str | Path) -> Purpose:
    """Return what a study is for; ``ValueError`` for a folder that is none."""
    try:
        found = json.loads((Path(folder) / "study.json").read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError("another format")
        return Purpose(found["suite"], tuple(found["domains"]), found["models"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder} is not a study: {error}") from error


def _remember(folder: Path, wanted: Purpose, domains: Sequence[str]) -> None:
    """Note what a study is for; domains may be added, but neither the suite nor the models changed."""
    known = purpose(folder) if (folder / "study.json").exists() else wanted
    if known._replace(domains=()) != wanted:
        had, asked = (p.suite or p.models for p in (known, wanted))
        raise ValueError(f"{folder} is a study of {had}; use another folder for {asked}")
    if wanted.suite:
        wanted = wanted._replace(domains=tuple(d for d in DOMAINS if d in {*known.domains, *domains}))
    write_atomically(folder / "study.json", json.dumps({"format": FORMAT, **wanted._asdict()}) + "\n")


def publish(folder: Path, result: Result) -> None:
    """Write the result and the table of comparisons, each at once."""
    import pandas

    result.save(folder / "result.json")
    partial = folder / f".comparisons-{os.getpid()}.parquet"
    pandas.DataFrame(comparison_rows(result)).to_parquet(partial, index=False)
    os.replace(partial, folder / "comparisons.parquet")
    log(folder, f"wrote {len(result.scores)} scores")


def comparison_rows(result: Result) -> list[dict[str, Any]]:
    """Return one row per compared pair and measure."""
    return [
        {"test": m.test, "domain": m.domain, "dataset": m.dataset, "architecture": m.architecture, "pooling": m.pooling,
         "measure": spec, "x": x, "y": y, "value": matrix[i][j]}
        for m in result.maps for spec, matrix in m.values.items()
        for i, x in enumerate(m.names) for j, y in enumerate(m.names)
    ]  # fmt: skip


def log(folder: Path, line: str) -> None:
    """Add a line to the log of a study."""
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}\n")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the lock of a study, which ends with the process, however it ends; ``ValueError`` if another holds it."""
    database = sqlite3.connect(folder / ".lock", timeout=0, isolation_level=None)
    try:
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        database.close()
        raise ValueError(f"another process is working on {folder}; wait until it is done, or stop it") from error
    try:
        yield
    finally:
        database.close()


def _is_running(folder: Path) -> bool:
    try:
        with alone(folder):
            return False
    except ValueError:
        return True


def _count_cells(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'cells'").fetchone():
            return 0  # another process is just making the file
        return int(database.execute("SELECT count(*) FROM cells").fetchone()[0])
