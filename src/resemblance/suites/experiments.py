"""Experiments that can always be continued: work in parts, each kept in the study as soon as it is
done."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..display import did_you_mean
from ..engine.workers import Call, run, single_threaded
from ..json_files import read_document, write_atomically
from ..measure import Measure
from ..provenance import environment
from ..results.claims import Claim
from ..results.result import Result
from ..results.sections import Section
from ..results.values import distinct
from ..sources.recipe import Recipe
from ..statistic import Statistic
from .pinned import Pinned
from .study import Judge, Progress, Purpose, judged_by, log, study_folder
from .training import train

Part = Mapping[str, Any]  # what a piece of work depends on, as JSON can hold it


class RunConfig(NamedTuple):
    """What a run is: its folder, which holds trained models, the size, and the measures that are
    tested.

    ``memory``: for views of representations at a time; no number depends on it. ``claims``: by
    section, what judges the claims of a paper from the facts of that section; see
    :func:`claims_of`. Workers do not get them. ``pinned``: the content of a pack whose arrays take
    the place of trained models.
    """

    folder: Path
    size: str
    measures: tuple[Measure, ...]
    memory: int | str = "half"
    claims: Mapping[str, Judge] = {}
    pinned: Pinned | None = None


class Experiment(NamedTuple):
    """One experiment of a suite.

    ``parts``: the pieces of work, independent of each other; a part names everything that its value
    depends on, measures by specification and version. ``compute``: the value of a part, as JSON can
    hold it (None for a number that does not exist); a function of a module, so that it can travel
    to a worker. ``conclude``: the section that follows from all parts, in their order. ``models``:
    what must have been trained before. ``version``: raise it when ``compute`` changes.
    """

    name: str
    parts: Callable[[RunConfig], Sequence[Part]]
    compute: Callable[[RunConfig, Part], Any]
    conclude: Callable[[RunConfig, Sequence[tuple[Part, Any]]], Section]
    models: Callable[[RunConfig], Sequence[Recipe]] = lambda config: ()
    version: int = 1


class Finished(NamedTuple):
    """The value of a part, and the processor time that it took."""

    part: Part
    value: Any
    seconds: float


def run_experiments(
    suite: str,
    experiments: Sequence[Experiment],
    folder: str | Path | None,
    *,
    size: str,
    measures: Sequence[Measure] = (),
    title: str = "",
    about: str = "",
    provenance: Mapping[str, Any] | None = None,
    claims: Mapping[str, Judge] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    models: str | None = None,
    pinned: Pinned | None = None,
    finish: Callable[[Result], Result] = lambda result: result,
) -> Result:
    """Run experiments in a folder, or continue there, and return their result.

    Finished parts and trained models are not computed again. Without a folder nothing is kept. A
    process that is killed loses the parts and models that it was working on. The result does not
    depend on the executor, or on what was there before.

    ``title``, ``about``: the heading of the page, and the paragraph below it. ``claims``: by
    section, what judges the claims of a paper; see :func:`claims_of`. ``models``: the folder of a
    user's own models, which the study remembers; ``pinned``: the content of a pack that takes the
    place of trained models. ``finish``: returns the result with what follows from all experiments.

    Raises ``ValueError`` when another process is working in the folder, or it is a study of
    something else.
    """
    show = progress or (lambda stage, done, total: None)
    source = pinned.identity if pinned else models
    with study_folder(folder, Purpose(suite, size, models=source)) as (place, _):
        config = RunConfig(place, size, tuple(measures), memory, claims or {}, pinned)
        plan = _models(experiments, config)
        if plan:
            train(place, plan, executor, show)
        values = _computed(experiments, config, executor, show)
        sections = {e.name: _section(e, config, values[e.name]) for e in experiments}
        result = Result(
            suite,
            size,
            tuple(sections.values()),
            distinct({m.spec: m.label for m in measures}),
            {s.name: sum(f.seconds for f in values[name]) for name, s in sections.items()},
            environment() | dict(provenance or {}),
            _facts_of(plan),
            title=title,
            about=about,
        )
        result = pinned.named(finish(result)) if pinned else finish(result)
        result.save(place / "result.json")
        log(place, f"{suite}: {len(sections)} sections, {len(result.claims)} claims")
    return result


def claims_of(config: RunConfig, section: str, facts: Any) -> tuple[Claim, ...]:
    """Return the claims of a section, judged by its facts; none where nobody judges the section."""
    return judged_by(config.claims, section, facts)


def _section(experiment: Experiment, config: RunConfig, values: Sequence[Finished]) -> Section:
    try:
        return experiment.conclude(config, [(f.part, f.value) for f in values])
    except Exception as error:
        what = f"experiment {experiment.name}: no conclusion from its parts"
        raise ValueError(f"{what}: {type(error).__name__}: {error}") from error


def _models(experiments: Iterable[Experiment], config: RunConfig) -> list[Recipe]:
    """Return the models that experiments need, each once."""
    plan: dict[str, Recipe] = {}
    for recipe in (recipe for e in experiments for recipe in e.models(config)):
        if plan.setdefault(recipe.name, recipe).fingerprint != recipe.fingerprint:
            raise ValueError(f"two experiments have different recipes for {recipe.name}")
    return list(plan.values())


# ----------------------------------------------------------------------------- parts of experiments


class Task(NamedTuple):
    """What a worker needs to know: the experiment of a part, how the part is computed, and the file
    that keeps it."""

    experiment: str
    compute: Callable[[RunConfig, Part], Any]
    part: Part
    file: Path


def _computed(
    experiments: Iterable[Experiment], config: RunConfig, executor: Executor | None, show: Progress
) -> dict[str, list[Finished]]:
    """Return the values of all parts of every experiment, computing those that are missing."""
    plan = {e.name: [_task(config, e, part) for part in e.parts(config)] for e in experiments}
    tasks = {task.file: task for name in plan for task in plan[name]}
    missing = interleaved([task for task in tasks.values() if _read(task) is None])
    ready = len(tasks) - len(missing)
    show("experiments", ready, len(tasks))
    for position, _ in enumerate(_work(missing, config, executor)):
        show("experiments", ready + position + 1, len(tasks))
    return {name: [_value(task) for task in plan[name]] for name in plan}


def interleaved(tasks: Sequence[Task]) -> list[Task]:
    """Return the parts of all experiments evenly mixed, so that the time left can be told from the
    time taken."""
    by_experiment: dict[str, list[Task]] = {}
    for task in tasks:
        by_experiment.setdefault(task.experiment, []).append(task)
    positions = [
        ((i + 0.5) / len(group), task)
        for group in by_experiment.values()
        for i, task in enumerate(group)
    ]
    return [task for _, task in sorted(positions, key=lambda pair: pair[0])]


def _work(missing: Iterable[Task], config: RunConfig, executor: Executor | None) -> Iterator[str]:
    config = config._replace(claims={})
    calls = [Call(_place(task), compute_part, (task, config)) for task in missing]
    for _, future in run(calls, executor, partial(log, config.folder)):
        yield future.result()


def _place(task: Task) -> str:
    """Return what a part is called in messages."""
    return f"experiment {task.experiment}, part {json.dumps(task.part, ensure_ascii=False)}"


def compute_part(task: Task, config: RunConfig) -> str:
    """Compute a part, keep its value, and return the name of its file.

    Raises ``ValueError``, with the experiment and the part, for whatever goes wrong in it (as in a
    measure of the user), and for a value with NaN, infinity or anything else that JSON cannot hold.
    """
    start = time.process_time()
    where = _place(task)
    try:
        with single_threaded():
            value = task.compute(config, task.part)
    except ImportError:
        raise  # it says what to install
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{where}: {kind}{error}") from error
    finished = Finished(dict(task.part), value, time.process_time() - start)
    try:
        text = json.dumps(finished._asdict(), allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: its value cannot be kept: {error}") from error
    task.file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(task.file, text)
    return task.file.name


def _task(config: RunConfig, experiment: Experiment, part: Part) -> Task:
    file = part_file(config.folder, experiment.name, experiment.version, part)
    return Task(experiment.name, experiment.compute, part, file)


def part_file(folder: Path, experiment: str, version: int, part: Part) -> Path:
    """Return the file that keeps a part of a version of an experiment."""
    key = json.dumps([experiment, version, part], sort_keys=True, allow_nan=False)
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    return folder / "parts" / experiment / name


def _read(task: Task) -> Finished | None:
    """Return a finished part; None when its file is missing, damaged, or of another part."""

    def same(document: dict[str, Any]) -> Finished | None:
        finished = Finished(task.part, document["value"], float(document["seconds"]))
        is_same = document["part"] == json.loads(json.dumps(task.part))
        return finished if is_same and finished.seconds >= 0 else None

    try:
        return read_document(task.file, same, "a finished part")
    except ValueError:
        return None


def _value(task: Task) -> Finished:
    finished = _read(task)
    if finished is None:
        raise ValueError(f"{task.file} was written and cannot be read")
    return finished


def measured(measures: Iterable[Measure | Statistic]) -> list[list[Any]]:
    """Return measures, or statistics, as a part names them: specification and version."""
    return [[m.spec, m.version] for m in measures]


def chosen(experiments: Sequence[Experiment], only: Iterable[str] | None) -> list[Experiment]:
    """Return the experiments with these names, in their order; all for None.

    Raises ``ValueError`` for a name that no experiment has.
    """
    if only is None:
        return list(experiments)
    wanted, names = set(only), [e.name for e in experiments]
    for name in sorted(wanted - set(names)):
        raise ValueError(f"no experiment {name!r}{did_you_mean(name, names)}")
    return [e for e in experiments if e.name in wanted]


def _facts_of(recipes: Sequence[Recipe]) -> dict[str, str]:
    """Return the data sets, models and seeds of models that are trained."""
    if not recipes:
        return {"models": "none are trained"}
    architectures = ", ".join(dict.fromkeys(r.architecture for r in recipes))
    return {
        "data sets": ", ".join(dict.fromkeys(r.dataset for r in recipes)),
        "models": f"{len(recipes)}: {architectures}",
        "seeds": str(len({r.seed for r in recipes})),
    }
