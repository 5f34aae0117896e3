"""Experiments that can always be continued: work in parts, each kept in a folder as soon as it is
done.

::

    study/
      study.json         which suite and size it is for
      subjects/          the models that experiments train
      parts/<experiment>/<hash>.json   one finished part each: what it depends on, and what was
      found comparisons.db     comparisons that experiments leave to the engine
      result.json        what was found: see Result
      log.txt            what was done when
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..compare import as_finished, single_threaded
from ..comparison import environment
from ..documents import read_document
from ..measure import Measure
from ..results.headlines import facts_of
from ..results.result import Result
from ..results.sections import Section
from ..results.values import distinct
from ..statistic import Statistic
from ..store import write_atomically
from ..subject import Recipe
from ..suggestions import did_you_mean
from .study import Progress, alone, check_folder, clean, remember_suite
from .training import log, train

FORMAT = 1
Part = Mapping[str, Any]  # what a piece of work depends on, as JSON can hold it


class Setting(NamedTuple):
    """What a run is: its folder, which holds trained models, the size, and the measures that are
    put to the test.

    ``memory``: for views of representations at a time; no number depends on it.
    """

    folder: Path
    size: str
    measures: tuple[Measure, ...]
    memory: int | str = "2GB"


def _no_models(setting: Setting) -> Sequence[Recipe]:
    return ()


class Experiment(NamedTuple):
    """One experiment of a suite.

    ``parts``: the pieces of work, independent of each other; everything that the finding of a part
    depends on is in it, measures by specification and version. ``compute``: what a part finds, as
    JSON can hold it (None for a number that does not exist); a function of a module, so that it can
    travel to a worker. ``conclude``: the section that follows from all parts, in their order.
    ``models``: what must have been trained before. ``version``: raise it when ``compute`` changes.
    """

    name: str
    parts: Callable[[Setting], Sequence[Part]]
    compute: Callable[[Setting, Part], Any]
    conclude: Callable[[Setting, Sequence[tuple[Part, Any]]], Section]
    models: Callable[[Setting], Sequence[Recipe]] = _no_models
    version: int = 1


def run_experiments(
    suite: str,
    experiments: Sequence[Experiment],
    folder: str | Path | None,
    *,
    size: str,
    measures: Sequence[Measure] = (),
    provenance: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> Result:
    """Run experiments in a folder, or continue there, and return what they found.

    What is already there is not done again. Without a folder nothing is kept. A process that is
    killed loses the parts and models it was at. The findings do not depend on the executor, or on
    what was there before.

    Raises ``ValueError`` when another process is working in the folder, or it is a study of
    something else.
    """
    show = progress or (lambda stage, done, total: None)
    with _place(folder) as place, alone(place):
        remember_suite(place, suite, size)
        clean(place)
        setting = Setting(place, size, tuple(measures), memory)
        plan = _models(experiments, setting)
        if plan:
            train(place, plan, executor, show)
        found = _computed(experiments, setting, executor, show)
        sections, seconds = [], {}
        for experiment in experiments:
            done = found[experiment.name]
            sections.append(
                _section(experiment, setting, [(part, kept["value"]) for part, kept in done])
            )
            seconds[sections[-1].name] = sum(kept["seconds"] for _, kept in done)
        labels = distinct({m.spec: m.label for m in measures})
        made = environment() | dict(provenance or {})
        result = Result(suite, size, tuple(sections), labels, seconds, made, facts_of(plan))
        result.save(place / "result.json")
        log(place, f"{suite}: {len(sections)} sections, {len(result.claims)} claims")
    return result


def _section(experiment: Experiment, setting: Setting, done: Sequence[tuple[Part, Any]]) -> Section:
    try:
        return experiment.conclude(setting, done)
    except Exception as error:
        what = f"experiment {experiment.name}: no conclusion from its parts"
        raise ValueError(f"{what}: {type(error).__name__}: {error}") from error


def _models(experiments: Iterable[Experiment], setting: Setting) -> list[Recipe]:
    """Return the models that experiments need, each once."""
    plan: dict[str, Recipe] = {}
    for recipe in (recipe for e in experiments for recipe in e.models(setting)):
        if plan.setdefault(recipe.name, recipe).fingerprint != recipe.fingerprint:
            raise ValueError(f"two experiments have different recipes for {recipe.name}")
    return list(plan.values())


def _computed(
    experiments: Iterable[Experiment], setting: Setting, executor: Executor | None, show: Progress
) -> dict[str, list[tuple[Part, dict[str, Any]]]]:
    """Return what every part of every experiment found, computing what is not there."""
    plan = [(e, part, _file(setting, e, part)) for e in experiments for part in e.parts(setting)]
    every = {file: Task(e.name, e.compute, part, file) for e, part, file in plan}
    missing = interleaved([task for file, task in every.items() if _kept(file, task.part) is None])
    ready = len(every) - len(missing)
    show("experiments", ready, len(every))
    for position, _ in enumerate(_work(missing, setting, executor)):
        show("experiments", ready + position + 1, len(every))
    found: dict[str, list[tuple[Part, dict[str, Any]]]] = {e.name: [] for e in experiments}
    for e, part, file in plan:
        kept = _kept(file, part)
        if kept is None:
            raise ValueError(f"{file} was written and cannot be read")
        found[e.name].append((part, kept))
    return found


class Task(NamedTuple):
    """What a worker needs to know: of which experiment a part is, how it is computed, and where it
    is kept."""

    experiment: str
    compute: Callable[[Setting, Part], Any]
    part: Part
    file: Path


def interleaved(tasks: Sequence[Task]) -> list[Task]:
    """Return the parts of all experiments evenly mixed, so that the time left can be told from the
    time taken."""
    own: dict[str, list[Task]] = {}
    for task in tasks:
        own.setdefault(task.experiment, []).append(task)
    at = [((i + 0.5) / len(of), task) for of in own.values() for i, task in enumerate(of)]
    return [task for _, task in sorted(at, key=lambda pair: pair[0])]


def _work(missing: Iterable[Task], setting: Setting, executor: Executor | None) -> Iterator[str]:
    if executor is None:
        yield from (compute_part(task, setting) for task in missing)
        return
    yield from as_finished({executor.submit(compute_part, task, setting) for task in missing})


def compute_part(task: Task, setting: Setting) -> str:
    """Compute a part, keep what it found, and return the name of its file.

    Raises ``ValueError``, with the experiment and the part, for whatever goes wrong in it (as in a
    measure of the user), and when it finds NaN, infinity or anything else that JSON cannot hold.
    """
    start = time.process_time()
    where = f"experiment {task.experiment}, part {json.dumps(task.part, ensure_ascii=False)}"
    try:
        with single_threaded():
            value = task.compute(setting, task.part)
    except ImportError:
        raise  # it says what to install
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{where}: {kind}{error}") from error
    found = {"part": dict(task.part), "value": value, "seconds": time.process_time() - start}
    try:
        text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: what it found cannot be kept: {error}") from error
    task.file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(task.file, text)
    return task.file.name


def measured(measures: Iterable[Measure | Statistic]) -> list[list[Any]]:
    """Return measures, or statistics, as a part names them: specification and version."""
    return [[m.spec, m.version] for m in measures]


def _file(setting: Setting, experiment: Experiment, part: Part) -> Path:
    key = json.dumps([experiment.name, experiment.version, part], sort_keys=True, allow_nan=False)
    return (
        setting.folder
        / "parts"
        / experiment.name
        / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    )


def _kept(file: Path, part: Part) -> dict[str, Any] | None:
    """Return what a file says a part found; None when it is not there, damaged, or of another
    part."""

    def same(found: dict[str, Any]) -> dict[str, Any] | None:
        is_same = found["part"] == json.loads(json.dumps(part))
        return found if is_same and "value" in found and float(found["seconds"]) >= 0 else None

    try:
        return read_document(file, same, "a finished part")
    except ValueError:
        return None


@contextmanager
def _place(folder: str | Path | None) -> Iterator[Path]:
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    check_folder(Path(folder))
    Path(folder).mkdir(parents=True, exist_ok=True)
    yield Path(folder)


def chosen(experiments: Sequence[Experiment], only: Iterable[str] | None) -> list[Experiment]:
    """Return the experiments with these names, in their order; all for None. ``ValueError`` for one
    there is not."""
    if only is None:
        return list(experiments)
    wanted, names = set(only), [e.name for e in experiments]
    for name in sorted(wanted - set(names)):
        raise ValueError(f"no experiment {name!r}{did_you_mean(name, names)}")
    return [e for e in experiments if e.name in wanted]
