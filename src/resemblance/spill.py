"""Views computed once for all workers: in files that they map, or in the memory of a cluster.

What travels in place of a representation is a loan. In a worker :func:`opened` turns it into a
representation whose views are found, not computed: the same, to the last bit.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .json_files import replacing
from .locks import is_alive, locked
from .machine import available_memory
from .measure import Measure
from .packed_views import Views, pack, read_views
from .reasons import is_out_of_memory
from .representation import Representation, comparing
from .tiles import group_measures
from .workers import Call, single_threaded

IN_MEMORY = Path("/dev/shm")
PREFIX = "resemblance-views"
Measures = tuple[Measure, ...]
SHARE = 2  # one part in so many of what is left in memory is used, and of what is left on a disk


# ------------------------------------------------------------------------------------ in a worker


class FileLoan(NamedTuple):
    """A representation of a file, and the file with the views that measures take of it.

    The first worker that opens it computes the views and writes them.
    """

    representation: Representation
    measures: Measures
    file: Path

    def opened(self) -> Representation:
        """Return the representation with its views, after waiting for who is computing them."""
        if not self.file.exists():
            with locked(self.file.with_suffix(".lock")):
                if not self.file.exists():
                    return self._computed()
        return read_views(self.file).lent_to(copy(self.representation))

    def _computed(self) -> Representation:
        x = copy(self.representation)
        take_views(x, self.measures)
        # If the disk is full, the next task computes what it needs itself.
        with suppress(OSError), replacing(self.file) as unfinished:
            pack(x).write(unfinished)
        return x


class Lent(NamedTuple):
    """A representation with its views in the memory of a worker."""

    representation: Representation
    views: Views

    def opened(self) -> Representation:
        """Return the representation with its views."""
        return self.views.lent_to(copy(self.representation))


class Shared(NamedTuple):
    """A representation that the threads of one process share; it remembers its own views."""

    representation: Representation

    def opened(self) -> Representation:
        """Return the representation itself."""
        return self.representation


Loan = FileLoan | Lent | Shared


def opened(loan: Loan | Representation) -> Representation:
    """Return the representation that a worker computes with: a copy without views of one that was
    not lent, so that they end with it."""
    return copy(loan) if isinstance(loan, Representation) else loan.opened()


def take_views(x: Representation, measures: Sequence[Measure]) -> None:
    """Let a representation remember the views that measures take of it, by comparing it with
    itself.

    What a measure raises here it raises for each pair, which says so.
    """
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


def write_views(loan: FileLoan) -> None:
    """Compute the views of a loan, if nobody has."""
    if not loan.file.exists():
        with single_threaded():
            loan.opened()


def lent_views(x: Representation, measures: Measures) -> Lent | Representation:
    """Return a representation with its views, or without if there is no memory for them."""
    fresh = copy(x)
    try:
        with single_threaded():
            take_views(fresh, measures)
            return Lent(x, pack(fresh).views())
    except MemoryError:
        return x


# ---------------------------------------------------------------------------------- in the driver


class FileOfViews(NamedTuple):
    """What was lent, the folder it is in, and how many bytes it takes there."""

    loan: FileLoan
    folder: Path
    size: int


class Files:
    """Lends representations as files in the first of some folders with room for them.

    ``room``: the bytes that may be written to each folder.
    """

    def __init__(self, room: Mapping[Path, float]):
        self._room = dict(room)
        self._lent: dict[tuple[int, Measures], FileOfViews] = {}
        self._files: dict[int, tuple[Representation, Representation]] = {}
        self._uses = Counter[int]()
        self._numbers = count()

    def has_room(self, representations: Iterable[Representation], measures: Measures) -> bool:
        """Say whether the views of all fit into the folders."""
        inputs = list(representations)
        fits = sum(_bytes_of(x, measures) for x in inputs) <= sum(self._room.values())
        return fits and all(isinstance(x.source, np.ndarray) for x in inputs)

    def lend(self, x: Representation, measures: Measures) -> tuple[Any, list[Call]]:
        """Return the file of a representation and of its views; itself where there is no room."""
        key = id(x), measures
        if key in self._lent:
            return self._lent[key].loan, []
        size = _bytes_of(x, measures)
        folder = next((f for f, room in self._room.items() if size <= room), None)
        if folder is None or not isinstance(x.source, np.ndarray):
            return x, []
        file = folder / f"{next(self._numbers)}.views"
        try:
            loan = FileLoan(self._on_file(x, file), measures, file)
        except OSError:  # the disk is full by now: it travels itself
            self._room[folder] = 0
            return x, []
        self._lent[key] = FileOfViews(loan, folder, size)
        self._room[folder] -= size
        self._uses[id(x)] += 1
        return loan, [Call(f"views of {x.name} by {brief(measures)}", write_views, (loan,))]

    def end(self, x: Representation, measures: Measures) -> None:
        """Remove the file of the views, and that of the representation with the last of these."""
        lent = self._lent.pop((id(x), measures), None)
        if lent is None:
            return
        self._room[lent.folder] += lent.size
        lent.loan.file.unlink(missing_ok=True)
        self._uses[id(x)] -= 1
        if not self._uses[id(x)]:
            _, on_file = self._files.pop(id(x))
            if on_file is not x and on_file.path:
                on_file.path.unlink(missing_ok=True)

    def _on_file(self, x: Representation, beside: Path) -> Representation:
        """Return a representation that travels as a path."""
        if id(x) not in self._files:
            on_file = x
            if x.path is None:
                on_file = copy(x)
                on_file.path = beside.with_suffix(".npy")
                try:
                    np.save(on_file.path, x.source)
                except OSError:
                    on_file.path.unlink(missing_ok=True)
                    raise
            self._files[id(x)] = x, on_file  # x, so that no other gets its id
        return self._files[id(x)][1]


def brief(measures: Measures) -> str:
    """Return what measures are called in messages."""
    more = f" and {len(measures) - 3} more" if len(measures) > 3 else ""
    return ", ".join(m.name for m in measures[:3]) + more


def folders_for(spill: str | Path | bool | None) -> list[Path]:
    """Return where files may be, the best first: in the folder that is asked for, or in those of
    this machine."""
    if not isinstance(spill, str | Path):
        return [f for f in (IN_MEMORY, Path(tempfile.gettempdir())) if os.access(f, os.W_OK)]
    if not Path(spill).is_dir():
        raise ValueError(f"compare: spill={str(spill)!r} is not a folder; make it first")
    return [Path(spill)]


@contextmanager
def private_folders(places: Iterable[Path]) -> Iterator[dict[Path, float]]:
    """Yield a new folder in each place, with the bytes that may be written into it."""
    with ExitStack() as stack:
        yield {stack.enter_context(_private_folder(p)): _room(p) for p in places}


def _bytes_of(x: Representation, measures: Measures) -> int:
    """Return about how many bytes a representation and its views take."""
    n, d = x.shape
    return (0 if x.path else 8 * n * d) + bytes_of_views(n, d, measures)


@lru_cache(maxsize=64)
def bytes_of_views(n: int, d: int, measures: Measures) -> int:
    """Return about how many bytes the views of an (n, d) array take."""
    return group_measures(measures, n, d, 1, 2**62)[0].size


def _room(folder: Path) -> float:
    """Return how many bytes may be written into a folder."""
    rest = shutil.disk_usage(folder).free
    available = available_memory() if folder == IN_MEMORY else None
    return min(rest, rest if available is None else available) / SHARE


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
