"""The ReSi benchmark as a study in a folder: train what is missing, compare and grade."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from ...extras import check
from ...measure import Measure
from ...results.result import Result
from ...sources.folders import folders_left_out, read_subjects
from ...sources.trained import DOMAINS
from ...subject import Recipe
from ..status import StudyStatus
from ..status import status as study_status
from ..study import Progress, Purpose, check_folder, log, study_folder
from ..training import is_trained, subjects_of, train
from .evaluation import assess, pooled_name
from .facts import FACTS, RESULT, Evaluation
from .models import SIZES, recipes
from .sections import Judges, result_of

__all__ = ["SIZES", "run", "status"]


def run(
    folder: str | Path,
    *,
    size: str = "mini",
    domains: Sequence[str] = tuple(DOMAINS),
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
    source = None if models is None else str(Path(models).resolve())
    plan = () if source else recipes(size, domains)
    subjects = read_subjects(source, verify=True) if source else ()
    purpose = Purpose("resi") if source else Purpose("resi", size, tuple(domains))
    with study_folder(
        folder, *purpose[:2], domains=purpose.domains, models=source, keeps_size=True
    ) as (folder, purpose):
        if not source:
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
        left = folders_left_out(source) if source else {}
        facts = facts._replace(size=purpose.size, left_out=left)
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


def status(folder: str | Path) -> StudyStatus:
    """Return how far a study is, also while another process is working on it."""
    return study_status(folder, lambda purpose: recipes(purpose.size, purpose.domains))


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
