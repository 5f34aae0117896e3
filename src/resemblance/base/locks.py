"""Locks of folders and files, with lock files as a substitute where the file system has no locks.

Some network file systems have no locks: NFS without the lock service, Lustre mounted without
``flock``. On such file systems the holder creates a lock file, which only a single process can
create, and renews the modification time of the file as a heartbeat.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from .json_files import read_document

HEARTBEAT_SECONDS = 20.0  # seconds between two heartbeats of a lock's holder
STALE_AFTER = 15 * HEARTBEAT_SECONDS  # a holder without a heartbeat for this long counts as dead


def has_locks(folder: Path) -> bool:
    """Return whether the file system of a folder supports locks, tested by locking a temporary
    file.

    True on Windows, and for a folder without write access.
    """
    try:
        import fcntl
    except ImportError:  # Windows, whose file systems have locks
        return True
    with suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # nobody else can hold a lock on a new file: locks are not supported
            return False
    return True


@contextmanager
def lock_folder(folder: Path, patience: float = 2.0) -> Iterator[None]:
    """Lock a folder for a single process inside the ``with`` block. The lock ends with the process,
    however the process ends.

    The lock is an SQLite lock on the empty file ``.lock``. Where the file system has no locks,
    :func:`soft_lock` replaces the SQLite lock and also excludes processes on other machines.

    Raises ``ValueError`` while another process holds the folder for longer than ``patience``
    seconds, and for a file ``.lock`` that is not a lock.
    """
    if not has_locks(folder):
        with soft_lock(folder / ".held", str(folder), patience):
            yield
        return
    database = sqlite3.connect(folder / ".lock", timeout=patience, isolation_level=None)
    try:
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        database.close()
        if "locked" not in str(error):
            raise
        raise ValueError(
            f"another process is working on {folder}; wait until it is done, or stop it"
        ) from error
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"{folder / '.lock'} is not a lock file of resemblance ({error}): remove it"
        ) from error
    try:
        yield
    finally:
        database.close()


@contextmanager
def file_lock(file: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a file inside the ``with`` block, creating the file if needed, and yield whether this
    process holds the lock.

    The lock ends with the process. ``wait``: wait until no other process holds the lock; otherwise
    the value is False while another process holds the lock. On Windows and where the file system
    has no locks, nothing is locked, and the value is True.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    with file.open("ab") as stream:
        is_ours = True
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            is_ours = False
        except OSError:
            pass  # the file system has no locks
        yield is_ours


@contextmanager
def soft_lock(file: Path, target: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file ``file``, which only a single process can create, inside the ``with``
    block, in place of a lock. ``target``: the name of the locked folder or file, for the error.

    Raises ``ValueError`` while another process, on this machine or another machine, holds the lock
    for longer than ``patience`` seconds. The function takes over the lock file of a dead holder: a
    holder without a heartbeat for ``STALE_AFTER`` seconds by the clock of the file system, or a
    holder on this machine with a process that has ended.
    """
    deadline, token = time.monotonic() + patience, uuid4().hex
    while not (_create_lock_file(file, token) or _take_over_stale_lock(file, token)):
        if time.monotonic() > deadline:
            raise ValueError(
                f"{_describe_lock_holder(file)} is working on {target}; wait until it is done, or "
                "stop it"
            )
        time.sleep(0.05)
    stop_event = threading.Event()
    heartbeat = threading.Thread(target=_heartbeat, args=(file, token, stop_event), daemon=True)
    heartbeat.start()
    try:
        yield
    finally:
        stop_event.set()
        heartbeat.join()
        if _lock_owner(file).get("token") == token:  # no other process took over the lock
            file.unlink(missing_ok=True)


def _create_lock_file(file: Path, token: str) -> bool:
    """Create a lock file with the host, the process id and ``token``, and return True; return False
    if the file exists. ``token``: a random text, different for every lock."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            json.dump({"host": socket.gethostname(), "pid": os.getpid(), "token": token}, stream)
    except FileExistsError:
        return False
    return True


def _heartbeat(file: Path, token: str, stop_event: threading.Event) -> None:
    while not stop_event.wait(HEARTBEAT_SECONDS):
        if _lock_owner(file).get("token", token) != token:
            return
        with suppress(OSError):  # a network disk may be unavailable for a moment
            os.utime(file)


def _take_over_stale_lock(file: Path, token: str) -> bool:
    """Take over the lock file of a dead holder, and return whether the takeover succeeded.
    ``token``: the random text of the new holder.

    False if the holder may be alive, or while another process takes over the file.
    """
    removal = file.with_name(f"{file.name}-removal")
    if not _is_stale(file):
        return False
    if not _create_lock_file(removal, token):
        if _is_stale(removal):  # a process was killed during its takeover
            removal.unlink(missing_ok=True)
        return False
    try:
        if _is_stale(file):  # another process may have taken over the lock meanwhile
            file.unlink(missing_ok=True)
        return _create_lock_file(file, token)
    finally:
        removal.unlink(missing_ok=True)


def _is_stale(file: Path) -> bool:
    try:
        age = _file_system_time(file.parent) - file.stat().st_mtime
    except FileNotFoundError:  # the holder has just released the lock
        return True
    owner = _lock_owner(file)
    is_here = owner.get("host") == socket.gethostname() and isinstance(owner.get("pid"), int)
    return age > STALE_AFTER or (is_here and not is_process_alive(owner["pid"]))


def _file_system_time(folder: Path) -> float:
    """Return the time by the clock of the file system, which all machines share, in seconds since
    1970."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return os.fstat(file.fileno()).st_mtime


def is_process_alive(process: int) -> bool:
    """Return whether a process with the id ``process`` exists on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process belongs to another user
        return True
    return True


def _lock_owner(file: Path) -> dict[str, Any]:
    try:
        owner = read_document(file, dict, "a lock")
    except ValueError:  # another process is writing the file
        return {}
    return owner


def _describe_lock_holder(file: Path) -> str:
    owner = _lock_owner(file)
    return f"process {owner.get('pid', '?')} on {owner.get('host', '?')} (named in {file})"
