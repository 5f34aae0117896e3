"""The ReSi benchmark as a study in a folder: train what is missing, compare and grade."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ...documents import check_types
from ...extras import check
from ...measure import Measure
from ...results.result import Result
from ...sources.folders import TRAITS, folders_left_out, read_subjects
from ...store import open_to_read, reading, write_atomically
from ...subject import Recipe
from ..study import FORMAT, Progress, alone, check_folder, clean, is_running, read_study
from ..training import is_trained, log, place, subjects_of, train
from .evaluation import assess, pooled_name
from .facts import FACTS, RESULT, Evaluation, load_facts
from .models import DOMAINS, SIZES, recipes
from .sections import Judges, result_of

__all__ = ["SIZES", "Status", "run", "status"]


class Purpose(NamedTuple):
    """What a study is for: a size of the suite in some domains, or the models in a folder."""

    size: str | None
    domains: tuple[str, ...]
    models: str | None


class Status(NamedTuple):
    """How far a study is.

    ``comparisons`` of which ``alone`` are of a representation with itself; a report counts the
    others only.
    """

    size: str | None
    models: str | None
    trained: int
    planned: int
    comparisons: int
    scores: int
    running: bool
    last: str
    alone: int = 0


def run(
    folder: str | Path,
    *,
    size: str = "mini",
    domains: Sequence[str] = DOMAINS,
    models: str | Path | None = None,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
    claims: Judges | None = None,
    suite: str | None = None,
) -> Result:
    """Run the ReSi benchmark in a directory, or continue there: train, extract, compare, grade,
    write the result.

    What is already there is not done again: models whose recipe is unchanged and whose files are
    undamaged, and comparisons of the same data by the same version of a measure. A process that is
    killed loses the models being trained and the last half second of comparisons; with an executor,
    also the blocks that its workers were computing. The result is of the measures of this call, and
    of all domains of which the study has all models.

    Parameters
    ----------
    folder : the study. It remembers its size; another size needs another folder.
    size : ``"mini"``, ``"standard"`` or ``"slice"``: how many and how large models are trained.
        ``suite`` is its former name.
    domains : some of "graphs", "language", "vision".
    models : a folder of models of your own (see :func:`resemblance.read_subjects`) instead of
        trained ones.
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    progress : called with (stage, done, total); the stages are "training", "comparing" and
        "grading".

    The others are those of :func:`resemblance.suites.resi.evaluate`. What was computed stays in the
    study: :func:`resemblance.suites.resi.load_facts` reads it.

    Raises ``ValueError`` when another process is working on the study, or it is one of another
    size.
    """
    for package in ("pandas", "pyarrow"):
        check(package)
    folder, show = Path(folder), progress or (lambda stage, done, total: None)
    check_folder(folder)
    size = _former(suite) if suite is not None else size
    is_own = models is not None
    purpose = Purpose(None, (), str(Path(models).resolve())) if models else Purpose(size, (), None)
    plan = () if is_own else recipes(size, domains)
    subjects = read_subjects(models, verify=True) if models else ()
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        purpose = _remember(folder, purpose, domains)
        clean(folder)
        if not is_own:
            train(folder, plan, executor, show)
            subjects = subjects_of(folder, _complete(folder, plan, purpose))
        log(folder, f"comparing {len(subjects)} subjects")
        facts = assess(
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
        left = folders_left_out(models) if models else {}
        facts = facts._replace(size=purpose.size or "", left_out=left)
        result = result_of(facts, claims)
        publish(folder, facts, result)
    return result


def _former(suite: str) -> str:
    warnings.warn("run(suite=...) is now run(size=...)", DeprecationWarning, stacklevel=3)
    return suite


def _complete(folder: Path, plan: Sequence[Recipe], purpose: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains of the study that are there in
    full."""
    done, every = {recipe.domain for recipe in plan}, list(plan)
    for domain in purpose.domains:
        more = recipes(purpose.size, [domain]) if purpose.size and domain not in done else ()
        every += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return every


def status(folder: str | Path) -> Status:
    """Return how far a study is, also while another process is working on it."""
    folder = Path(folder)
    purpose = purpose_of(folder)
    plan = recipes(purpose.size, purpose.domains) if purpose.size else ()
    trained = sum((place(folder, recipe) / TRAITS).exists() for recipe in plan)
    comparisons, itself = _count_cells(folder / "comparisons.db")
    journal = folder / "log.txt"
    lines = journal.read_text(encoding="utf-8", errors="replace").splitlines() if journal.exists() else []
    is_finished = (folder / FACTS).exists() or (folder / RESULT).exists()
    return Status(
        purpose.size,
        purpose.models,
        trained,
        len(plan),
        comparisons,
        len(load_facts(folder).scores) if is_finished else 0,
        is_running(folder),
        lines[-1] if lines else "",
        itself,
    )


def purpose_of(folder: str | Path) -> Purpose:
    """Return what a study is for; ``ValueError`` for a folder that is none."""

    def purpose(document: dict[str, Any]) -> Purpose:
        size = document["size"] if document["suite"] == "resi" else document["suite"]
        written = Purpose(size, tuple(document["domains"]), document["models"])
        check_types(written, Purpose)
        return written

    if not (Path(folder) / "study.json").exists():
        raise ValueError(f"{folder} is not a study: it has no study.json")
    return read_study(Path(folder), purpose)


def _remember(folder: Path, purpose: Purpose, domains: Sequence[str]) -> Purpose:
    """Note, and return, what a study is for; domains may be added, but neither the size nor the
    models changed."""
    before = purpose_of(folder) if (folder / "study.json").exists() else purpose
    if before._replace(domains=()) != purpose:
        had, wanted = (p.size or p.models for p in (before, purpose))
        raise ValueError(f"{folder} is a study of {had}; use another folder for {wanted}")
    if purpose.size:
        every = {*before.domains, *domains}
        purpose = purpose._replace(domains=tuple(d for d in DOMAINS if d in every))
    document = {"format": FORMAT, "suite": "resi", **purpose._asdict()}
    write_atomically(folder / "study.json", json.dumps(document) + "\n")
    return purpose


def publish(folder: Path, facts: Evaluation, result: Result) -> None:
    """Write the facts, the result and the table of comparisons, each at once."""
    import pandas

    facts.save(folder / FACTS)
    result.save(folder / RESULT)
    partial = folder / f".comparisons-{os.getpid()}.parquet"
    pandas.DataFrame(list(comparison_rows(facts))).to_parquet(partial, index=False)
    os.replace(partial, folder / "comparisons.parquet")
    log(folder, f"wrote {len(facts.scores)} scores")


def comparison_rows(facts: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per compared pair and measure, with the version and the fingerprints that it
    belongs to."""
    versions = {m.spec: m.version for m in facts.measures}
    data = facts.provenance.get("representations", {})
    for m in facts.maps:
        where = {
            "test": m.test,
            "domain": m.domain,
            "dataset": m.dataset,
            "architecture": m.architecture,
            "pooling": m.pooling,
        }
        prints = [data[pooled_name(name, m.pooling)]["fingerprint"] for name in m.names]
        for spec, matrix in m.values.items():
            for i, x in enumerate(m.names):
                for j, y in enumerate(m.names):
                    yield {
                        **where,
                        "measure": spec,
                        "version": versions[spec],
                        "x": x,
                        "y": y,
                        "value": matrix[i][j],
                        "x_fingerprint": prints[i],
                        "y_fingerprint": prints[j],
                    }


def _count_cells(path: Path) -> tuple[int, int]:
    """Return how many comparisons a file has, and how many of them are of a representation with
    itself."""
    if not path.exists():
        return 0, 0
    with reading(path), closing(open_to_read(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'cells'").fetchone():
            return 0, 0  # another process is just making the file
        total, itself = database.execute(
            "SELECT count(*), coalesce(sum(x = y), 0) FROM cells"
        ).fetchone()
        return int(total), int(itself)
