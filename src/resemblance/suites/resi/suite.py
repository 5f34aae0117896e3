"""The ReSi benchmark as a study in a folder: train what is missing, compare and grade."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
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
from .evaluation import assess, options_of, pooled_name
from .facts import FACTS, RESULT, Evaluation
from .models import SIZES, recipes
from .sections import Judges, result_of

__all__ = ["SIZES", "run", "status"]


def run(
    folder: str | Path | None = None,
    *,
    size: str | None = None,
    domains: Sequence[str] | None = None,
    models: str | Path | None = None,
    measures: Iterable[str | Measure] | None = None,
    protocol: str = "paper",
    permute: str | None = None,
    failures: str | None = None,
    executor: Executor | None = None,
    trainer: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
    claims: Judges | None = None,
    suite: str | None = None,
) -> Result:
    """Run the ReSi benchmark in a directory, or continue an earlier run there.

    It trains, extracts, compares, grades and writes the result.

    What is already there is not done again: models whose recipe is unchanged and whose files are
    undamaged, and comparisons of the same data by the same version of a measure. A process that is
    killed loses the models being trained and the last half second of comparisons; with an executor,
    also the blocks that its workers were computing. The result is of the measures of this call, and
    of all domains of which the study has all models.

    Parameters
    ----------
    folder : the study; it keeps its size, and another size needs another folder. Without it nothing
        is kept.
    size : ``"mini"`` (default), ``"standard"`` or ``"slice"``: how many and how large models are
        trained. ``suite`` is its former name.
    domains : some of "graphs", "language", "vision"; default: all.
    models : a folder of models of your own (see :func:`resemblance.read_subjects`) instead of
        trained ones.
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    trainer : one for training alone, such as one whose workers have accelerators.
    progress : called with (stage, done, total); the stages are "training", "comparing" and
        "grading".

    The others are those of :func:`resemblance.suites.resi.evaluate`. What was computed stays in the
    study: :func:`resemblance.suites.resi.load_facts` reads it.

    Raises ``ValueError`` when another process is working on the study, or it is one of another
    size.
    """
    for package in ("pandas", "pyarrow"):
        check(package)
    show = progress or (lambda stage, done, total: None)
    if folder is not None:
        check_folder(Path(folder))
    options_of(protocol, permute, failures)
    wanted = _purpose(_former(suite) if suite is not None else size, domains, models)
    plan = () if wanted.models else recipes(wanted.size, wanted.domains)
    subjects = read_subjects(wanted.models, verify=True) if wanted.models else ()
    mark = partial(assess, measures=measures, protocol=protocol, permute=permute, failures=failures)
    with study_folder(folder, **wanted._asdict(), keeps_size=True) as (place, purpose):
        if not wanted.models:
            train(place, plan, trainer or executor, show)
            subjects = subjects_of(place, _complete(place, plan, purpose))
        log(place, f"comparing {len(subjects)} subjects")
        facts = mark(
            subjects, save=place / "comparisons.db", executor=executor, memory=memory, progress=show
        )
        left = folders_left_out(wanted.models) if wanted.models else {}
        facts = facts._replace(size=purpose.size, left_out=left)
        result = result_of(facts, claims)
        publish(place, facts, result)
    return result


def _purpose(size: str | None, domains: Sequence[str] | None, models: str | Path | None) -> Purpose:
    if models is None:
        return Purpose("resi", size or "mini", tuple(dict.fromkeys(domains or DOMAINS)))
    if size or domains:
        raise ValueError(
            "run: models brings models along; size and domains are for models to be trained"
        )
    return Purpose("resi", models=str(Path(models).resolve()))


def _former(suite: str) -> str:
    warnings.warn("run(suite=...) is now run(size=...)", DeprecationWarning, stacklevel=3)
    return suite


def _complete(folder: Path, plan: Sequence[Recipe], purpose: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains that the study has in full."""
    done, subjects = {recipe.domain for recipe in plan}, list(plan)
    for domain in purpose.domains:
        more = recipes(purpose.size, [domain]) if purpose.size and domain not in done else ()
        subjects += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return subjects


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
    """Yield one row per compared pair and measure, with its version and fingerprints."""
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
