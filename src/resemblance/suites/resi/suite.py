"""The ReSi benchmark as a study in a folder: train what is missing, compare and grade."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...documents import check_types
from ...extras import check
from ...measure import Measure
from ...sources.folders import TRAITS, folders_left_out, read_subjects
from ...sources.trained import DOMAINS
from ...store import open_to_read, reading, write_atomically
from ...subject import Recipe
from ..study import FORMAT, Progress, alone, check_folder, clean, is_running, read_study
from ..training import is_trained, log, place, subjects_of, train
from .evaluation import ResiResult, evaluate, load_resi, pooled_name
from .tests import recipes


def run(
    folder: str | Path,
    *,
    suite: str = "mini",
    domains: Sequence[str] = DOMAINS,
    models: str | Path | None = None,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> ResiResult:
    """Run the ReSi benchmark in a directory, or continue there: train, extract, compare, grade,
    write the result.

    What is already there is not done again: models whose recipe is unchanged and whose files are
    undamaged, and comparisons of the same data by the same version of a measure. A process that is
    killed loses the models being trained and the last half second of comparisons, with an executor
    the blocks of pairs that its processes were at. The result is of the measures of this call, and
    of all domains of which the study has all models.

    Parameters
    ----------
    folder : the study. It remembers its suite; another suite needs another folder.
    suite : ``"mini"``, ``"standard"`` or ``"slice"``: how many and how large models are trained.
    domains : some of "graphs", "language", "vision".
    models : a folder of models of your own (see :func:`resemblance.read_subjects`) instead of a
        suite.
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    progress : called with (stage, done, total); the stages are "training", "comparing" and
        "grading".

    The others are those of :func:`resemblance.suites.resi.evaluation`.

    Raises ``ValueError`` when another process is working on the study, or it is one of another
    suite.
    """
    for package in ("pandas", "pyarrow"):
        check(package)
    folder, show = Path(folder), progress or (lambda stage, done, total: None)
    check_folder(folder)
    wanted = (
        Purpose(suite, (), None)
        if models is None
        else Purpose(None, (), str(Path(models).resolve()))
    )
    plan = () if models is not None else recipes(suite, domains)
    subjects = () if models is None else read_subjects(models, verify=True)
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        known = _remember(folder, wanted, domains)
        clean(folder)
        if models is None:
            train(folder, plan, executor, show)
            subjects = subjects_of(folder, _complete(folder, plan, known))
        log(folder, f"comparing {len(subjects)} subjects")
        result = evaluate(
            subjects,
            measures=measures,
            protocol=protocol,
            permute=permute,
            failures=failures,
            save=folder / "comparisons.db",
            executor=executor,
            memory=memory,
            progress=show,
        )
        result = replace(
            result,
            suite=known.suite or "",
            left_out={} if models is None else folders_left_out(models),
        )
        publish(folder, result)
    return result


def _complete(folder: Path, plan: Sequence[Recipe], known: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains of the study that are there in
    full."""
    done, every = {recipe.domain for recipe in plan}, list(plan)
    for domain in known.domains:
        more = recipes(known.suite, [domain]) if known.suite and domain not in done else ()
        every += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return every


class Status(NamedTuple):
    """How far a study is.

    ``comparisons`` of which ``alone`` are of a representation with itself; a report counts the
    others only.
    """

    suite: str | None
    models: str | None
    trained: int
    planned: int
    comparisons: int
    scores: int
    running: bool
    last: str
    alone: int = 0


def status(folder: str | Path) -> Status:
    """Return how far a study is. Raises ``ValueError`` for a folder that is none."""
    folder = Path(folder)
    known = purpose(folder)
    plan = recipes(known.suite, known.domains) if known.suite else ()
    log_file, result = folder / "log.txt", folder / "result.json"
    lines = (
        log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        if log_file.exists()
        else []
    )
    comparisons, alone = _count_cells(folder / "comparisons.db")
    return Status(
        known.suite,
        known.models,
        sum((place(folder, recipe) / TRAITS).exists() for recipe in plan),
        len(plan),
        comparisons,
        len(load_resi(result).scores) if result.exists() else 0,
        is_running(folder),
        lines[-1] if lines else "",
        alone,
    )


class Purpose(NamedTuple):
    """What a study is for: a suite in some domains, or the models in a folder."""

    suite: str | None
    domains: tuple[str, ...]
    models: str | None


def purpose(folder: str | Path) -> Purpose:
    """Return what a study is for; ``ValueError`` for a folder that is none."""

    def made(found: dict[str, Any]) -> Purpose:
        wanted = Purpose(found["suite"], tuple(found["domains"]), found["models"])
        check_types(wanted, Purpose)
        return wanted

    if not (Path(folder) / "study.json").exists():
        raise ValueError(f"{folder} is not a study: it has no study.json")
    return read_study(Path(folder), made)


def _remember(folder: Path, wanted: Purpose, domains: Sequence[str]) -> Purpose:
    """Note, and return, what a study is for; domains may be added, but neither the suite nor the
    models changed."""
    known = purpose(folder) if (folder / "study.json").exists() else wanted
    if known._replace(domains=()) != wanted:
        had, asked = (p.suite or p.models for p in (known, wanted))
        raise ValueError(f"{folder} is a study of {had}; use another folder for {asked}")
    if wanted.suite:
        wanted = wanted._replace(
            domains=tuple(d for d in DOMAINS if d in {*known.domains, *domains})
        )
    write_atomically(
        folder / "study.json", json.dumps({"format": FORMAT, **wanted._asdict()}) + "\n"
    )
    return wanted


def publish(folder: Path, result: ResiResult) -> None:
    """Write the result and the table of comparisons, each at once."""
    import pandas

    result.save(folder / "result.json")
    partial = folder / f".comparisons-{os.getpid()}.parquet"
    pandas.DataFrame(comparison_rows(result)).to_parquet(partial, index=False)
    os.replace(partial, folder / "comparisons.parquet")
    log(folder, f"wrote {len(result.scores)} scores")


def comparison_rows(result: ResiResult) -> list[dict[str, Any]]:
    """Return one row per compared pair and measure, with the version and the fingerprints that it
    belongs to."""
    versions, data = (
        {m.spec: m.version for m in result.measures},
        result.provenance.get("representations", {}),
    )
    return [
        {
            "test": m.test,
            "domain": m.domain,
            "dataset": m.dataset,
            "architecture": m.architecture,
            "pooling": m.pooling,
            "measure": spec,
            "version": versions[spec],
            "x": x,
            "y": y,
            "value": matrix[i][j],
            "x_fingerprint": data[pooled_name(x, m.pooling)]["fingerprint"],
            "y_fingerprint": data[pooled_name(y, m.pooling)]["fingerprint"],
        }
        for m in result.maps
        for spec, matrix in m.values.items()
        for i, x in enumerate(m.names)
        for j, y in enumerate(m.names)
    ]


def _count_cells(path: Path) -> tuple[int, int]:
    """Return how many comparisons a file has, and how many of them are of a representation with
    itself."""
    if not path.exists():
        return 0, 0
    with reading(path), closing(open_to_read(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'cells'").fetchone():
            return 0, 0  # another process is just making the file
        total, alone = database.execute(
            "SELECT count(*), coalesce(sum(x = y), 0) FROM cells"
        ).fetchone()
        return int(total), int(alone)
