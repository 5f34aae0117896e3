"""The ReSi benchmark as a study in a folder: train what is missing, compare and grade."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...extras import check
from ...measure import Measure
from ...results.result import Result
from ...sources.training import Portion
from ..status import StudyStatus
from ..status import status as study_status
from ..study import Progress, Purpose, check_folder, check_purpose, log, study_folder
from . import models as packaged
from .evaluation import assess, options_of, pooled_name
from .facts import FACTS, RESULT, Evaluation, family_of
from .material import Order, check_order, material_of, models_of, order_of, with_material
from .models import TrainingPlan
from .paper import PORTIONS
from .samples import check_samples
from .sections import Judges, result_of

__all__ = ["SIZES", "run", "status"]

SIZES: Mapping[str, TrainingPlan | Portion] = {**packaged.SIZES, **PORTIONS}


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
    groups: str | None = None,
    samples: int | None = None,
    executor: Executor | None = None,
    trainer: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    claims: Judges | None = None,
    **paper: Any,
) -> Result:
    """Run the ReSi benchmark in a directory, or continue an earlier run there.

    It trains, extracts, compares, grades and writes the result.

    What is already there is not done again: models whose recipe is unchanged and whose files are
    undamaged, and comparisons of the same data by the same version of a measure. A process that is
    killed loses the models being trained and the last half second of comparisons; with an executor,
    also the blocks that its workers were computing. The result is of the measures of this call, and
    of all domains, or parts of the paper's benchmark, of which the study has all models. A model
    that cannot be trained is left out, and the result names it: its tests are made with the models
    that are left, at the sizes of the paper not at all.

    Parameters
    ----------
    folder : the study; it keeps its size, and another size needs another folder. Without it nothing
        is kept.
    size : ``"mini"`` (default), ``"standard"`` or ``"slice"``: how many and how large models are
        trained on data of the package; ``"paper"``: the paper's models, trained on its data, and
        ``"paper-slice"`` to try that out.
    domains : some of "graphs", "language", "vision"; default: all.
    models : a folder of models of your own (see :func:`resemblance.read_subjects`) instead of
        trained ones.
    groups : ``"separated"`` compares the groups of models whose accuracies do not overlap,
        ``"published"`` all of them (default at the sizes of the paper, whose groups are chosen).
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    trainer : one for training alone, such as one whose workers have accelerators.
    progress : called with (stage, done, total); the stages are "training", "not trained",
        "comparing" and "grading".
    paper : for the sizes of the paper, the keywords of
        ``resemblance.suites.resi.paper.paper_run``: ``data``, ``datasets``, ``architectures``,
        ``seeds``, ``tests``, ``hyperparameters``, ``models_from``, ``device``, ``precision``,
        ``download``.

    The others are those of :func:`resemblance.suites.resi.evaluate`. What was computed stays in the
    study: :func:`resemblance.suites.resi.load_facts` reads it.

    Raises ``ValueError`` when another process is working on the study, or it is one of another
    size.
    """
    order = order_of(size, domains, models, groups, paper)
    show = progress or (lambda stage, done, total: None)
    options_of(protocol, permute, failures)
    check_samples(samples)
    with _study(folder, order) as (place, purpose):
        material = material_of(order, place, purpose, trainer or executor, show)
        log(place, f"comparing {len(material.subjects)} subjects")
        facts = assess(
            material.subjects,
            measures=measures,
            protocol=protocol,
            permute=permute,
            failures=failures,
            groups=order.groups,
            planned=material.planned,
            samples=samples,
            save=place / "comparisons.db",
            executor=executor,
            memory=memory,
            progress=show,
        )
        facts = with_material(facts, order, material)
        result = result_of(facts, claims)
        publish(place, facts, result)
    return result


@contextmanager
def _study(folder: str | Path | None, order: Order) -> Iterator[tuple[Path, Purpose]]:
    """Hold the study of a run, after what can be checked before."""
    for package in ("pandas", "pyarrow"):
        check(package)
    place = None if folder is None else Path(folder)
    if place is not None:
        check_folder(place)
        check_purpose(place, order.purpose, keeps_size=True)
    check_order(order, place)
    with study_folder(folder, order.purpose, keeps_size=True) as study:
        yield study


def status(folder: str | Path) -> StudyStatus:
    """Return how far a study is, also while another process is working on it."""
    return study_status(folder, models_of)


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
        where = {"test": m.test, **family_of(m)._asdict()}
        prints = [data[pooled_name(name, m.pooling)]["fingerprint"] for name in m.names]
        for spec, matrix in m.values.items():
            about = {**where, "measure": spec, "version": versions[spec]}
            for i, x in enumerate(m.names):
                for j, y in enumerate(m.names):
                    yield {
                        **about,
                        "x": x,
                        "y": y,
                        "value": matrix[i][j],
                        "x_fingerprint": prints[i],
                        "y_fingerprint": prints[j],
                    }
