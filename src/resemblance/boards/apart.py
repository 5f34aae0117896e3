"""The measures of strangers, each run in a process of its own with limits: its answer is JSON, so
that reading it runs nothing, and a process that ends early has none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..catalogue import parse_parameters
from ..checks import check_measure
from ..engine.memory import budget_of
from ..engine.workers import single_threaded
from ..json_files import parse_document
from ..measure import Measure
from ..packs import open_pack
from ..user_modules import load_module, own_module
from .repository import MEASURES
from .score_files import ScoreFile, scores_in, scores_text
from .scoring import score
from .states import Fault
from .submission import source_of

START = "from resemblance.boards.apart import main; main()"
WRITTEN = 2**24  # bytes of a file that a measure may write, and of the answer
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")
PROCESSES = (
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile",
    "subprocess.Popen",
)  # fmt: skip


class Limits(NamedTuple):
    """What the file of a measure may take: seconds for its checks and its scores on all packs, and
    memory, "8GB" or a share of "half" of what is available."""

    seconds: float = 1800.0
    memory: int | str = "half"


LIMITS = Limits()


class Answer(NamedTuple):
    """What came of running the file of a measure: what is wrong with it, and its scores."""

    faults: tuple[Fault, ...]
    scores: tuple[ScoreFile, ...] = ()


class Request(NamedTuple):
    """The file of a measure to run: the specifications to check and to score, the checks that may
    fail, and the folders of packs."""

    file: str
    specs: tuple[str, ...]
    failing: tuple[str, ...]
    packs: tuple[str, ...]

    @property
    def place(self) -> str:
        """The path of the file in its repository."""
        return f"{MEASURES}/{Path(self.file).name}"


def answers(
    requests: Sequence[Request], limits: Limits = LIMITS, jobs: int = 1
) -> Iterator[Answer]:
    """Run files of measures, ``jobs`` at a time, and yield the answers in their order.

    Those that run at a time share half of the memory.
    """
    running = set[subprocess.Popen[bytes]]()
    with ThreadPoolExecutor(max(1, min(jobs, len(requests)))) as pool:
        limits = limits._replace(memory=budget_of(limits.memory, pool))
        try:
            yield from pool.map(lambda request: _answer(request, limits, running), requests)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                _end(process)


def _answer(request: Request, limits: Limits, running: set[subprocess.Popen[bytes]]) -> Answer:
    paths = [os.path.abspath(path) for path in sys.path if path]
    more = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    more |= {f"{name}_NUM_THREADS": "1" for name in THREADS}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            cwd=folder,
            env=os.environ | more,
            start_new_session=True,
        )
        running.add(process)
        try:
            words = json.dumps({"limits": limits, "request": request})
            process.communicate(words.encode(), timeout=limits.seconds)
            text = _content(output)
            is_complete = process.returncode == 0 and text
            problem = "" if is_complete else _ending(process, _content(errors))
        except subprocess.TimeoutExpired:
            problem = f"was ended after {limits.seconds:g} seconds"
        finally:
            _end(process)
            running.discard(process)
        if not problem:
            try:
                return parse_document(text, _answer_of, "what the process gave", "an answer")
            except ValueError as error:
                problem = f"cannot be used: {error}"
    return Answer((Fault(request.place, problem),))


def _ending(process: subprocess.Popen[bytes], errors: str) -> str:
    """Return how a process ended that has no answer."""
    last = errors.splitlines()[-1:]
    why = f": {last[0]:.200}" if last else ""
    return f"ends the process, with {process.returncode}{why}"


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(WRITTEN).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it started."""
    if hasattr(os, "killpg"):
        with suppress(OSError):  # there is none any more
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _answer_of(document: Mapping[str, Any]) -> Answer:
    faults = tuple(Fault(str(file), f"{what:.1000}") for file, what in document["faults"])
    return Answer(faults, tuple(map(scores_in, document["scores"])))


# ----------------------------------------------------------------------------------- in the process


def main() -> None:
    """Answer the request on standard input, on standard output, within its limits."""
    document = json.load(sys.stdin)
    answer = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # for what a measure prints
    restrict(Limits(*document["limits"]))
    faults, scores = examined(Request(*document["request"]))
    text = json.dumps({"faults": faults, "scores": [scores_text(file) for file in scores]})
    with open(answer, "w", encoding="utf-8") as file:
        file.write(text)


def restrict(limits: Limits) -> None:
    """Limit the memory, the processor time, the files and the processes of this process.

    Where there is no module ``resource``, as on Windows, only processes that Python starts are
    refused. So they are to the administrator, whom the system does not limit.
    """
    try:
        import resource
    except ImportError:
        pass
    else:
        seconds = int(limits.seconds) + 1
        most = {"AS": int(limits.memory), "CPU": seconds, "FSIZE": WRITTEN, "CORE": 0, "NPROC": 0}
        for name, limit in most.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (limit, limit))

    def refuse(event: str, arguments: object) -> None:
        if event in PROCESSES:
            raise PermissionError("a measure may not start a process")

    sys.addaudithook(refuse)


def examined(request: Request) -> Answer:
    """Run the file of a measure here: check what it defines, and score it on packs."""
    measures, faults = _own_measures(request)
    scores = list[ScoreFile]()
    for measure in measures:
        faults += _check_faults(measure, request)
        try:
            with single_threaded():
                scores += [score(open_pack(Path(pack)), measure) for pack in request.packs]
        except (Exception, SystemExit) as error:
            what = f"{measure.spec} cannot be scored: {_words(error)}"
            faults.append(Fault(request.place, what))
    return Answer(tuple(faults), tuple(scores))


def _own_measures(request: Request) -> tuple[list[Measure], list[Fault]]:
    """Run the file of a measure, and return its specifications, and what is wrong with it."""
    try:
        measure = _loaded(request.file)
        source_of(measure)
    except (Exception, SystemExit) as error:  # whatever somebody's file raises
        return [], [Fault(request.place, f"cannot be used: {_words(error)}")]
    measures, faults = list[Measure](), list[Fault]()
    for spec in request.specs:
        try:
            measures.append(_variant(measure, spec))
        except Exception as error:
            faults.append(Fault(_card_of(request), f"lists {spec!r:.80}: {error}"))
    return measures, faults


def _loaded(file: str) -> Measure:
    path, name = os.path.realpath(file), Path(file).stem
    value = getattr(load_module(path, own_module(path)), name, None)
    if not isinstance(value, Measure) or value.name != name:
        raise ValueError(f"it defines no measure {name!r}")
    return value


def _variant(measure: Measure, spec: str) -> Measure:
    """Return a measure with the parameters of a specification."""
    _, bracket, rest = spec.partition("[")
    variant = measure.where(**parse_parameters(rest.removesuffix("]"))) if bracket else measure
    if variant.spec != spec:
        raise ValueError(f"the file has {variant.spec} instead")
    return variant


def _check_faults(measure: Measure, request: Request) -> Iterator[Fault]:
    for outcome in check_measure(measure):
        if outcome.holds is False and outcome.check not in request.failing:
            problem = f"{measure.spec} fails the check {outcome.check!r}, which is not listed"
            yield Fault(_card_of(request), f"{problem} ({outcome.detail})")


def _card_of(request: Request) -> str:
    return str(Path(request.place).with_suffix(".toml").as_posix())


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
