"""Share cached intermediates between workers: in files, in a cluster's memory, or between threads.

A call carries a shared representation in place of the plain representation. In a worker,
:func:`load_shared` returns a representation that reads intermediates from the shared cache instead
of computing them: bit-identical to computed values.
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

from ..base.formatting import list_names
from ..base.json_files import atomic_write
from ..base.locks import file_lock, is_process_alive
from ..contracts._measure import Measure
from ..data.representation import Representation, pair_cache
from .intermediate_sizes import representation_cache_bytes
from .memory import available_memory
from .plan import PairBlock
from .reasons import is_out_of_memory
from .workers import WorkerCall, count_workers, is_local_cluster, is_process_pool, single_threaded

MeasureTuple = tuple[Measure, ...]
# A representation, and the measures that use its intermediates
SharedKey = tuple[Representation, MeasureTuple]
# The argument sent in place of a representation, the calls to run first, and the release function
ShareResult = tuple[Any, list[WorkerCall], Callable[[], Any]]
# The location of an array: SOURCE_BUFFER or CACHE_BUFFER, first byte, number of bytes
BufferRange = tuple[int, int, int]

SHARED_MEMORY_FOLDER = Path("/dev/shm")
SHARED_FOLDER_PREFIX = "resemblance-intermediates"
# The shared cache uses at most 1 / MAX_MEMORY_FRACTION of the free memory or disk space.
MAX_MEMORY_FRACTION = 2
BUFFER_ALIGNMENT = 64  # bytes: one cache line of the processor
# An array lies in the memory of the source or in the serialised cache.
SOURCE_BUFFER, CACHE_BUFFER = (0, 1)


# ------------------------------------------------------------------------- serialised caches


def serialize_cache(x: Representation) -> list[Any]:
    """Return the cached intermediates of a representation as a list of buffers, to be concatenated.

    The buffers are the arrays, without duplicates, then a pickled index of the intermediates, then
    the position of the index (8 bytes). Arrays inside the source are stored as ranges of the
    source. Intermediates that cannot be pickled, and intermediates of local functions or lambdas,
    are omitted.
    """
    names = Counter(map(_portable_cache_key, x.cache))
    home = _byte_view(x.source)
    # address, size, buffer and position in the buffer
    blocks = [(home.ctypes.data, len(home), SOURCE_BUFFER, 0)]
    pieces, contents = list[Any](), dict[Any, tuple[bytes, list[BufferRange]]]()

    def span_of(buffer: pickle.PickleBuffer) -> BufferRange:
        memory = np.frombuffer(buffer.raw(), np.uint8)
        address, size = memory.ctypes.data, len(memory)
        for begin, length, buffer_id, place in blocks:
            if begin <= address and address + size <= begin + length:
                return buffer_id, place + address - begin, size
        end = sum(map(len, pieces))
        place = end + -end % BUFFER_ALIGNMENT
        # ``pieces`` keeps the array alive, so that no other array gets its address.
        pieces.extend((bytes(place - end), memory))
        blocks.append((address, size, CACHE_BUFFER, place))
        return CACHE_BUFFER, place, size

    for key, value in x.cache.items():
        name = _portable_cache_key(key)
        if name is not None and names[name] == 1:
            # The worker computes an intermediate that cannot be pickled.
            with suppress(Exception):
                pickle.dumps(name)
                buffers = list[pickle.PickleBuffer]()
                pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
                contents[name] = pickled, list(map(span_of, buffers))
    end = sum(map(len, pieces))
    return [*pieces, pickle.dumps(contents, protocol=5), end.to_bytes(8, "little")]


def attach_cache(x: Representation, packed: np.ndarray) -> Representation:
    """Let x, a representation of the same source, read intermediates from a serialised cache;
    return x.

    ``packed`` is the concatenation of the buffers of :func:`serialize_cache`, as bytes.
    """
    end = int.from_bytes(packed[-8:].tobytes(), "little")
    contents = pickle.loads(packed[end:-8].data)
    memory = _byte_view(x.source), packed

    def known(key: Any) -> Any:
        if (content := contents.get(_portable_cache_key(key))) is None:
            return None
        pickled, spans = content
        buffers = [memory[buffer_id][place : place + size] for buffer_id, place, size in spans]
        return pickle.loads(pickled, buffers=buffers)

    x._known = known
    return x


def _portable_cache_key(key: Any) -> tuple[Any, ...] | None:
    """Return a cache key in a form valid in all processes: module, function name, parameters.

    Return None for a local function or a lambda.
    """
    function, parameters = key
    name = getattr(function, "__qualname__", "<none>")
    return None if "<" in name else (function.__module__, name, parameters)


def _byte_view(array: np.ndarray) -> np.ndarray:
    """Return the memory of an array as bytes; an array with gaps is copied first."""
    return np.asarray(array).ravel("K").view(np.uint8)


# ------------------------------------------------------------------------------------ in a worker


class SharedRepresentation(NamedTuple):
    """A representation and the location of the cached intermediates for some measures.

    ``intermediates`` is a file, written by the first worker, or packed bytes in memory. For threads
    ``intermediates`` is None, because the representation itself holds the cache.
    """

    representation: Representation
    measures: MeasureTuple
    intermediates: Path | np.ndarray | None


def load_shared(shared: SharedRepresentation | Representation) -> Representation:
    """Return the representation for the computation in a worker, which reads intermediates from
    the shared cache.

    The result is a copy, and its intermediates are dropped with the copy. Threads are the
    exception: threads use the shared representation itself. An unshared representation is copied as
    well. The first worker computes the intermediates and writes the file; meanwhile, the function
    waits in other workers.
    """
    if isinstance(shared, Representation):
        return copy(shared)
    x, measures, intermediates = shared
    if intermediates is None:
        return x
    x = copy(x)
    if isinstance(intermediates, np.ndarray):
        return attach_cache(x, intermediates)
    if not intermediates.exists():
        with file_lock(intermediates.with_suffix(".lock")):
            if not intermediates.exists():
                fill_cache(x, measures)
                # If the disk is full, the next task computes what it needs itself.
                with (
                    suppress(OSError),
                    atomic_write(intermediates) as part,
                    part.open("wb") as file,
                ):
                    file.writelines(serialize_cache(x))
                return x
    # Copy-on-write: modifying an array changes neither the file nor the data of other workers.
    return attach_cache(x, np.memmap(intermediates, np.uint8, mode="c").view(np.ndarray))


def fill_cache(x: Representation, measures: Sequence[Measure]) -> None:
    """Compare ``x`` with itself, so that ``x`` caches the intermediates for ``measures``.

    Exceptions are ignored here: a measure raises the same exception for every pair, and the pair
    records the reason. Lack of memory clears the cache.
    """
    with pair_cache(x, x):
        for measure in (m for m in measures if not m.is_in_blocks(x)):
            try:
                measure.evaluate(x, x)
                measure.diagnostics(x, x)
                if measure.chance:
                    measure.chance(x, x)
            except Exception as error:
                if is_out_of_memory(error):
                    x.clear_cache()


def write_cache_file(shared: SharedRepresentation) -> None:
    """Compute the intermediates of a shared representation and write the file, unless another
    worker has done so."""
    with single_threaded():
        load_shared(shared)


def with_filled_cache(
    x: Representation, measures: MeasureTuple
) -> SharedRepresentation | Representation:
    """Return x with the intermediates for ``measures`` computed here and packed as bytes; for lack
    of memory x itself."""
    duplicate = copy(x)
    try:
        with single_threaded():
            fill_cache(duplicate, measures)
            return SharedRepresentation(
                x, measures, np.frombuffer(bytearray().join(serialize_cache(duplicate)), np.uint8)
            )
    except MemoryError:
        return x


# ---------------------------------------------------------------------------------- in the driver


class SharedCache:
    """Shared representations, kept while scheduled tasks need the intermediates.

    ``share`` is the function ``share_with_threads``, ``share_with_cluster`` or ``share_by_files``.
    ``room`` maps storage places (folders, or a memory) to the bytes available in each place, the
    preferred place first.
    """

    def __init__(self, share: Callable[..., ShareResult], room: Mapping[Any, float]):
        self._share, self._room = share, dict(room)
        self._shared: dict[SharedKey, tuple[Any, Any, float, Callable[[], Any]]] = {}
        self._users = Counter[SharedKey]()
        self._current = set[SharedKey]()  # keys of the tasks being scheduled

    def has_room(self, representations: Iterable[Representation], measures: MeasureTuple) -> bool:
        """Return whether there is room for the intermediates of all representations together, in
        all places together."""
        sizes = (self._size(x, measures) for x in representations)
        return sum(sizes) <= sum(self._room.values())

    def calls(
        self, tasks: Iterable[PairBlock], make_call: Callable[..., WorkerCall]
    ) -> Iterator[WorkerCall]:
        """Yield the calls of the tasks of a comparison, and before a task the calls that fill the
        caches that the task needs.

        ``make_call``: returns the call of a task, given the task and, if shared, the shared
        representations. A single task shares nothing, because no other task would reuse the
        intermediates. At the end of a comparison, or of a group of measures, a shared
        representation is released with the last call that needs it.
        """
        for _, group in groupby(tasks, key=lambda task: task.measures):
            head = list(islice(group, 2))
            for task in chain(head, group):
                if len(head) > 1:
                    yield from self._calls_of_block(task, make_call)
                else:
                    yield make_call(task)
            previous, self._current = self._current, set()
            self._end_unused(previous)

    def done(self, call: WorkerCall) -> None:
        """Record that ``call`` is finished, and release shared representations without further
        calls.

        If a worker is lost, the call may finish late.
        """
        self._users.subtract(call.uses)
        self._end_unused(call.uses)

    def release(self) -> None:
        """Release all shared representations, also after an exception."""
        for _, _, _, end in self._shared.values():
            end()

    def _calls_of_block(
        self, task: PairBlock, make_call: Callable[..., WorkerCall]
    ) -> Iterator[WorkerCall]:
        keys = tuple((x, task.measures) for x in task.representations)
        shared = []
        for key in keys:
            self._current.add(key)
            if key not in self._shared:
                for call in self._begin(key):
                    self._users[key] += 1
                    yield call._replace(uses=(key,))
            shared.append(self._shared[key][0])
        self._users.update(keys)
        yield make_call(task, shared)._replace(uses=keys)

    def _begin(self, key: SharedKey) -> list[WorkerCall]:
        """Record what tasks get for a representation: the shared representation, or the plain one
        for lack of room; return the calls that must run before the tasks, [] for none."""
        size = self._size(*key)
        place = next((p for p, room in self._room.items() if size <= room), None)
        try:
            shared, calls, end = self._share(*key, place)
        except OSError:  # the disk is full
            self._room[place] = 0
            shared, calls, end = key[0], [], lambda: None
        if place is not None:
            self._room[place] -= size
        self._shared[key] = shared, place, size, end
        return calls

    def _end_unused(self, keys: Iterable[SharedKey]) -> None:
        """Release the shared representations among ``keys`` that no scheduled call needs.

        Representations without room for their intermediates are released as soon as no running call
        needs them.
        """
        for key in keys:
            if key not in self._shared or self._users[key]:
                continue
            _, place, size, end = self._shared[key]
            if place is None or key not in self._current:
                del self._shared[key], self._users[key]
                end()
                if place is not None:
                    self._room[place] += size

    def _size(self, x: Representation, measures: MeasureTuple) -> float:
        """Return the approximate bytes of a shared representation and the intermediates for
        ``measures``; infinite for an array that files cannot share."""
        if self._share is share_with_threads:
            return representation_cache_bytes(measures, *x.shape)
        if not isinstance(x.source, np.ndarray):
            return math.inf
        return representation_cache_bytes(measures, *x.shape) + (
            0 if x.path else 8 * math.prod(x.shape)
        )


def share_with_threads(x: Representation, measures: MeasureTuple, place: Any) -> ShareResult:
    """Share the representation itself, including the cache, between threads of the process.
    ``place`` is not used.

    Return the shared representation, the calls to run before the tasks ([] here), and the function
    without arguments that ends the sharing.
    """
    return SharedRepresentation(x, measures, None), [], x.clear_cache


def share_with_cluster(
    executor: Any, x: Representation, measures: MeasureTuple, place: Any
) -> ShareResult:
    """Share a representation as a future of the Dask cluster of ``executor``; the workers pass
    intermediates on. With ``place`` None, share the plain representation.

    Return what the tasks get, the calls to run before the tasks ([] here), and the function without
    arguments that ends the sharing.
    """
    if place is None:
        return x, [], lambda: None
    options = {"pure": False, **executor._kwargs}
    return executor._client.submit(with_filled_cache, x, measures, **options), [], lambda: None


def share_by_files(x: Representation, measures: MeasureTuple, folder: Path | None) -> ShareResult:
    """Share a representation as two files in ``folder``: the array and the intermediates, which the
    first call computes. With ``folder`` None, share the plain representation.

    Return what the tasks get, the calls to run before the tasks, and the function without arguments
    that ends the sharing: it deletes the files. Raises ``OSError`` if the array cannot be written.
    """
    if folder is None:
        return x, [], lambda: None
    file = folder / f"{uuid4().hex}.cache"
    array = x.path or file.with_suffix(".array")

    def end() -> None:
        for path in {file, array} - {x.path}:
            path.unlink(missing_ok=True)

    try:
        shared = SharedRepresentation(x if x.path else write_array(x, array), measures, file)
    except OSError:
        end()
        raise
    return (
        shared,
        [
            WorkerCall(
                f"intermediates of {x.name} by {list_names((m.name for m in measures), 3)}",
                write_cache_file,
                (shared,),
            )
        ],
        end,
    )


@contextmanager
def shared_cache(
    executor: Executor | None, spill: str | Path | bool | None, memory: int
) -> Iterator[SharedCache | None]:
    """Yield the shared cache of an executor, or None if every worker computes its own
    intermediates.

    ``spill`` is a folder visible to all workers, or False for no sharing. By default, a process
    pool or a Dask cluster on this machine uses the in-memory folder or the temporary folder of the
    machine. ``memory`` is the budget of a worker for intermediates. If threads have room for all
    intermediates, the intermediates stay; otherwise intermediates stay while running calls need
    them.
    """
    if isinstance(executor, ThreadPoolExecutor):
        cache = SharedCache(share_with_threads, {"memory": memory * count_workers(executor)})
        try:
            yield cache
        finally:
            cache.release()
    elif executor is None or spill is False:
        yield None
    elif isinstance(spill, str | Path) or is_process_pool(executor) or is_local_cluster(executor):
        with ExitStack() as stack:
            places = shared_folders(spill)
            folders = [stack.enter_context(_private_temporary_folder(place)) for place in places]
            yield SharedCache(share_by_files, dict(zip(folders, map(_free_bytes, places))))
    elif hasattr(executor, "_client"):
        # Dask workers write data that exceed their memory to disk.
        yield SharedCache(partial(share_with_cluster, executor), {"memory": sys.maxsize})
    else:
        yield None


def shared_folders(spill: str | Path | bool | None) -> list[Path]:
    """Return the folders for shared files, the preferred folder first.

    If ``spill`` is a path, return this folder. Otherwise return the writable folders of this
    machine: shared memory, then temporary files. Raises ``ValueError`` for a path that is not a
    folder.
    """
    if not isinstance(spill, str | Path):
        return [
            f for f in (SHARED_MEMORY_FOLDER, Path(tempfile.gettempdir())) if os.access(f, os.W_OK)
        ]
    if not Path(spill).is_dir():
        raise ValueError(f"compare: spill={str(spill)!r} is not a folder; make it first")
    return [Path(spill)]


def _free_bytes(folder: Path) -> float:
    """Return half of the bytes that are free for files in a folder; in the in-memory folder at
    most half of the available memory."""
    free = shutil.disk_usage(folder).free
    available = available_memory() if folder == SHARED_MEMORY_FOLDER else None
    return min(free, free if available is None else available) / MAX_MEMORY_FRACTION


def write_array(x: Representation, path: Path) -> Representation:
    """Write the array of ``x`` to a file; return a copy of ``x`` that is pickled as a path to the
    file."""
    x.source.tofile(path)
    y = copy(x)
    y.path, y.source = path, np.memmap(path, x.source.dtype, "r", shape=x.shape)
    y._version = None  # the version of the array in memory
    return y


@contextmanager
def _private_temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder with access for this user only; remove the folder in the end."""
    _remove_stale_folders(parent)
    prefix = f"{SHARED_FOLDER_PREFIX}-{socket.gethostname()}-{os.getpid()}-"
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).absolute()
    except OSError as error:
        raise ValueError(
            f"compare: intermediates cannot be written to {parent} ({error.strerror}); choose "
            "another folder with spill=, or turn sharing off with spill=False"
        ) from error
    try:
        with file_lock(folder / "held"):
            yield folder
    finally:
        # Rename the folder first, so that a stopped task that is about to write no longer finds it.
        with suppress(OSError):
            folder = folder.rename(folder.with_name(f"{folder.name}.ended"))
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale_folders(parent: Path) -> None:
    """Remove the folders of killed runs on this machine from the folder ``parent``."""
    for folder in parent.glob(f"{SHARED_FOLDER_PREFIX}-{socket.gethostname()}-*-*"):
        process = folder.name.rsplit("-", 2)[1]
        if process.isdecimal() and not is_process_alive(int(process)):
            with suppress(OSError), file_lock(folder / "held", wait=False) as is_free:
                if is_free:  # the workers of that run have ended, too
                    shutil.rmtree(folder, ignore_errors=True)
