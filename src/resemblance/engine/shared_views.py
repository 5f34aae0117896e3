"""Views computed once for all workers: in files, in the memory of a cluster, or in that of threads.

What travels in place of a representation is a loan. In a worker :func:`opened` turns it into a
representation whose views are read, not computed: the same, to the last bit.
"""

from __future__ import annotations

import math
import os
import pickle
import shutil
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ..base.json_files import replacing
from ..base.locks import is_alive, locked
from ..contracts._measure import Measure
from ..data.representation import Representation, comparing, fingerprint
from .memory import available_memory
from .reasons import is_out_of_memory
from .view_sizes import bytes_of_views
from .work import TileTask
from .workers import Call, has_processes, is_local_cluster, single_threaded, workers_of

Measures = tuple[Measure, ...]
Use = tuple[Representation, Measures]  # a representation, and the measures that take views of it
# What travels in place of a representation, the calls to make before, and what ends the loan
Lent = tuple[Any, list[Call], Callable[[], Any]]
Span = tuple[int, int, int]  # where an array is: SOURCE or PACKED, from which byte on, how many

IN_MEMORY = Path("/dev/shm")
PREFIX = "resemblance-views"
SHARE = 2  # one part in so many of what is left in memory is used, and of what is left on a disk
ALIGNMENT = 64  # bytes, of a line of the processor's cache
SOURCE, PACKED = 0, 1  # the memory in which an array is: that of the source, or what is packed


# ------------------------------------------------------------------------- views as bytes, and back


def pack(x: Representation) -> list[Any]:
    """Return the views that a representation remembers as pieces of memory, to be joined: their
    arrays, none twice, then the rest, and where that begins.

    Parts of the source are not among them. Left out are views that cannot be pickled, or whose
    functions have no name of their own.
    """
    names = Counter(map(_name_of, x.views))
    home = _bytes_of(x.source)
    blocks = [(home.ctypes.data, len(home), SOURCE, 0)]  # address, size, memory and place in it
    pieces, contents = list[Any](), dict[Any, tuple[bytes, list[Span]]]()

    def span_of(buffer: pickle.PickleBuffer) -> Span:
        memory = np.frombuffer(buffer.raw(), np.uint8)
        address, size = memory.ctypes.data, len(memory)
        for begin, length, where, place in blocks:
            if begin <= address and address + size <= begin + length:
                return where, place + address - begin, size
        end = sum(map(len, pieces))
        place = end + -end % ALIGNMENT
        pieces.extend((bytes(place - end), memory))  # whose address is not given to another now
        blocks.append((address, size, PACKED, place))
        return PACKED, place, size

    for key, value in x.views.items():
        name = _name_of(key)
        if name is not None and names[name] == 1:
            with suppress(Exception):  # whatever its classes raise; it is computed again
                pickle.dumps(name)
                buffers = list[pickle.PickleBuffer]()
                pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
                contents[name] = pickled, list(map(span_of, buffers))
    end = sum(map(len, pieces))
    return [*pieces, pickle.dumps(contents, protocol=5), end.to_bytes(8, "little")]


def with_views(x: Representation, packed: np.ndarray) -> Representation:
    """Let a representation, of the same source, find its views in what was packed, as bytes."""
    end = int.from_bytes(packed[-8:].tobytes(), "little")
    contents = pickle.loads(packed[end:-8].data)
    memory, of_stream = (_bytes_of(x.source), packed), x._carry

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        if (content := contents.get(_name_of(key))) is None:
            return of_stream and of_stream(key, compute)
        pickled, spans = content
        buffers = [memory[where][place : place + size] for where, place, size in spans]
        return pickle.loads(pickled, buffers=buffers)

    x._carry = carry
    return x


def _name_of(key: Any) -> tuple[Any, ...] | None:
    """Return what a view is called in all processes: its function and its parameters; None for one
    whose function is local or has no name."""
    function, parameters = key
    name = getattr(function, "__qualname__", "<none>")
    return None if "<" in name else (function.__module__, name, parameters)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """Return the memory of an array; that of a copy if it has gaps."""
    return np.asarray(array).ravel("K").view(np.uint8)


# ------------------------------------------------------------------------------------ in a worker


class Loan(NamedTuple):
    """A representation that travels with its views for some measures.

    These are in a file, which the first worker that opens it writes, packed in memory, or, for
    threads, with the representation itself (None).
    """

    representation: Representation
    measures: Measures
    views: Path | np.ndarray | None


def opened(loan: Loan | Representation) -> Representation:
    """Return the representation that a worker computes with.

    Its views end with it, but for threads: it is a copy, also of one that was not lent. Where
    another worker is computing views, it waits for them.
    """
    if isinstance(loan, Representation):
        return copy(loan)
    x, measures, views = loan
    if views is None:
        return x
    x = copy(x)
    if isinstance(views, np.ndarray):
        return with_views(x, views)
    if not views.exists():
        with locked(views.with_suffix(".lock")):
            if not views.exists():
                take_views(x, measures)
                # If the disk is full, the next task computes what it needs itself.
                with suppress(OSError), replacing(views) as part, part.open("wb") as file:
                    file.writelines(pack(x))
                return x
    # Who changes an array changes neither the file nor what others read.
    return with_views(x, np.memmap(views, np.uint8, mode="c").view(np.ndarray))


def take_views(x: Representation, measures: Sequence[Measure]) -> None:
    """Let a representation remember the views that measures take of it, by comparing it with
    itself.

    What a measure raises here it raises for each pair, which says so.
    """
    fingerprint(x)
    with comparing(x, x):
        for measure in (m for m in measures if not m.is_in_blocks(x)):
            try:
                measure.evaluate(x, x)
                measure.diagnostics(x, x)
                if measure.chance:
                    measure.chance(x, x)
            except Exception as error:
                if is_out_of_memory(error):
                    x.forget()


def write_views(loan: Loan) -> None:
    """Compute the views of a loan, if nobody has."""
    with single_threaded():
        opened(loan)


def lent_views(x: Representation, measures: Measures) -> Loan | Representation:
    """Return a representation with its views, or without if there is no memory for them."""
    fresh = copy(x)
    try:
        with single_threaded():
            take_views(fresh, measures)
            return Loan(x, measures, np.frombuffer(bytearray().join(pack(fresh)), np.uint8))
    except MemoryError:
        return x


# ---------------------------------------------------------------------------------- in the driver


class SharedViews:
    """The representations that tasks have on loan, each for as long as tasks need it.

    ``lend`` is one of the functions below. ``room`` are the bytes that may be taken in some places,
    the best first: folders, or a memory.
    """

    def __init__(self, lend: Callable[..., Lent], room: Mapping[Any, float]):
        self._lend, self._room = lend, dict(room)
        self._loans: dict[Use, tuple[Any, Any, float, Callable[[], Any]]] = {}
        self._users = Counter[Use]()
        self._current = set[Use]()  # of the tasks that are handed out now

    def has_room(self, representations: Iterable[Representation], measures: Measures) -> bool:
        """Say whether the views of all can be lent."""
        sizes = (self._size(x, measures) for x in representations)
        return sum(sizes) <= sum(self._room.values())

    def calls(self, tasks: Iterable[TileTask], call_of: Callable[..., Call]) -> Iterator[Call]:
        """Yield the calls of tasks on one list of representations, and those to make before.

        Nothing is lent for a single task: no other has the same views. Between two lists, or groups
        of measures, what was lent ends with the last call that needs it.
        """
        for _, group in groupby(tasks, key=lambda task: task.measures):
            head = list(islice(group, 2))
            for task in chain(head, group):
                if len(head) > 1:
                    yield from self._on_loan(task, call_of)
                else:
                    yield call_of(task)
            past, self._current = self._current, set()
            self._end_unused(past)

    def done(self, call: Call) -> None:
        """Take note that a call was carried out, which may be late if its worker is lost."""
        self._users.subtract(call.uses)
        self._end_unused(call.uses)

    def _on_loan(self, task: TileTask, call_of: Callable[..., Call]) -> Iterator[Call]:
        uses = tuple((x, task.measures) for x in task.representations)
        loans = []
        for use in uses:
            self._current.add(use)
            if use not in self._loans:
                for call in self._begin(use):
                    self._users[use] += 1
                    yield call._replace(uses=(use,))
            loans.append(self._loans[use][0])
        self._users.update(uses)
        yield call_of(task, loans)._replace(uses=uses)

    def _begin(self, use: Use) -> list[Call]:
        """Lend a representation, where there is room for its views; return the calls to make
        before."""
        size = self._size(*use)
        place = next((p for p, room in self._room.items() if size <= room), None)
        try:
            loan, before, end = self._lend(*use, place)
        except OSError:  # the disk is full by now
            self._room[place] = 0
            loan, before, end = use[0], [], lambda: None
        if place is not None:
            self._room[place] -= size
        self._loans[use] = loan, place, size, end
        return before

    def _end_unused(self, uses: Iterable[Use]) -> None:
        """End loans that no call needs any more; without room for their views, also those that no
        call in progress needs."""
        for use in uses:
            if use not in self._loans or self._users[use]:
                continue
            _, place, size, end = self._loans[use]
            if place is None or use not in self._current:
                del self._loans[use], self._users[use]
                end()
                if place is not None:
                    self._room[place] += size

    def _size(self, x: Representation, measures: Measures) -> float:
        """Return about how many bytes a representation and its views take where they are lent."""
        if self._lend is by_thread:
            return bytes_of_views(measures, *x.shape)
        if not isinstance(x.source, np.ndarray):
            return math.inf
        return bytes_of_views(measures, *x.shape) + (0 if x.path else 8 * math.prod(x.shape))


def by_thread(x: Representation, measures: Measures, place: Any) -> Lent:
    """Lend a representation to threads of this process: itself, with its views."""
    return Loan(x, measures, None), [], x.forget


def by_future(executor: Any, x: Representation, measures: Measures, place: Any) -> Lent:
    """Lend a representation as a future of a Dask cluster, whose workers hand views on."""
    if place is None:
        return x, [], lambda: None
    options = {"pure": False, **executor._kwargs}
    return executor._client.submit(lent_views, x, measures, **options), [], lambda: None


def by_file(x: Representation, measures: Measures, folder: Path | None) -> Lent:
    """Lend a representation as two files in a folder, one of the array and one of the views."""
    if folder is None:
        return x, [], lambda: None
    file = folder / f"{uuid4().hex}.views"
    array = x.path or file.with_suffix(".array")

    def end() -> None:
        for path in {file, array} - {x.path}:
            path.unlink(missing_ok=True)

    try:
        loan = Loan(x if x.path else stored(x, array), measures, file)
    except OSError:
        end()
        raise
    return loan, [Call(f"views of {x.name} by {names_of(measures)}", write_views, (loan,))], end


@contextmanager
def lending(
    executor: Executor | None, spill: str | Path | bool | None, memory: int
) -> Iterator[SharedViews | None]:
    """Yield what lends views to the workers of an executor; None if they compute their own.

    ``spill`` is a folder that all workers see, False for none, and by default that of the memory of
    this machine, or that of temporary files, for the processes of a pool or of a Dask cluster on
    this machine. ``memory`` is the budget of each worker for views: where threads have room for all
    views, these stay, and else as long as calls in progress need them.
    """
    if isinstance(executor, ThreadPoolExecutor):
        yield SharedViews(by_thread, {"memory": memory * workers_of(executor)})
    elif executor is None or spill is False:
        yield None
    elif isinstance(spill, str | Path) or has_processes(executor) or is_local_cluster(executor):
        with ExitStack() as stack:
            places = folders_for(spill)
            folders = [stack.enter_context(_private_folder(place)) for place in places]
            yield SharedViews(by_file, dict(zip(folders, map(_room, places))))
    elif hasattr(executor, "_client"):  # its workers write to disk what does not fit their memory
        yield SharedViews(partial(by_future, executor), {"memory": sys.maxsize})
    else:
        yield None


def folders_for(spill: str | Path | bool | None) -> list[Path]:
    """Return where files may be, the best first: in the folder that is asked for, or in those of
    this machine."""
    if not isinstance(spill, str | Path):
        return [f for f in (IN_MEMORY, Path(tempfile.gettempdir())) if os.access(f, os.W_OK)]
    if not Path(spill).is_dir():
        raise ValueError(f"compare: spill={str(spill)!r} is not a folder; make it first")
    return [Path(spill)]


def names_of(measures: Measures) -> str:
    """Return what measures are called in messages."""
    more = f" and {len(measures) - 3} more" if len(measures) > 3 else ""
    return ", ".join(m.name for m in measures[:3]) + more


def _room(folder: Path) -> float:
    """Return how many bytes may be written into a folder."""
    rest = shutil.disk_usage(folder).free
    available = available_memory() if folder == IN_MEMORY else None
    return min(rest, rest if available is None else available) / SHARE


def stored(x: Representation, path: Path) -> Representation:
    """Write an array to a file, and return a representation of it that travels as the path."""
    x.source.tofile(path)
    y = copy(x)
    y.path, y.source = path, np.memmap(path, x.source.dtype, "r", shape=x.shape)
    return y


@contextmanager
def _private_folder(where: Path) -> Iterator[Path]:
    """Yield a new folder that only this user can open, and remove it in the end."""
    _remove_leftovers(where)
    prefix = f"{PREFIX}-{socket.gethostname()}-{os.getpid()}-"
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where)).absolute()
    except OSError as error:
        raise ValueError(
            f"compare: views cannot be written to {where} ({error.strerror}); name another folder "
            "by spill=, or let each task compute its own by spill=False"
        ) from error
    try:
        with locked(folder / "held"):
            yield folder
    finally:  # a task that is stopped may be about to write there: it does not find it any more
        with suppress(OSError):
            folder = folder.rename(folder.with_name(f"{folder.name}.ended"))
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(where: Path) -> None:
    """Remove the folders of runs on this machine that were killed."""
    for folder in where.glob(f"{PREFIX}-{socket.gethostname()}-*-*"):
        process = folder.name.rsplit("-", 2)[1]
        if process.isdecimal() and not is_alive(int(process)):
            with suppress(OSError), locked(folder / "held", wait=False) as is_free:
                if is_free:  # nor do the workers of that run live
                    shutil.rmtree(folder, ignore_errors=True)
