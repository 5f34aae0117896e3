"""Locks of folders and files, and what takes their place on file systems that have none.

Some network file systems have no locks: NFS without its lock service, Lustre mounted without
``flock``. There a file that only one process can create says who is at work; its time of change,
renewed again and again, says that it still is.
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

HEARTBEAT_SECONDS = 20.0  # seconds between two signs of life of a holder
STALE_AFTER = 15 * HEARTBEAT_SECONDS  # without a sign for so long, a holder counts as dead


def has_locks(folder: Path) -> bool:
    """Return whether the file system of a folder has locks, by trying one on a file of our own.

    It is taken to have them where nothing can be written.
    """
    try:
        import fcntl
    except ImportError:  # Windows, whose file systems have locks
        return True
    with suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # the file is new and nobody else's, so it is the lock that does not exist
            return False
    return True


@contextmanager
def lock_folder(folder: Path, patience: float = 2.0) -> Iterator[None]:
    """Hold a folder for one process. The lock ends with the process, however the process ends.

    The lock is that of SQLite on an empty file. Where the file system has no locks, a file takes
    its place, which other machines heed, too.

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
    """Hold the lock of a file, which is created, and yield whether it is ours.

    It ends with the process that has it. It is another's only without ``wait``; where the file
    system has no locks, or another kind, it is everybody's.
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
            pass  # there are no locks
        yield is_ours


@contextmanager
def soft_lock(file: Path, target: str, patience: float = 0.0) -> Iterator[None]:
    """Hold a file that only one process can create, in place of a lock on ``target``.

    Raises ``ValueError`` while another process holds it, on this machine or another, for longer
    than ``patience`` seconds. The file of a holder that is dead is taken over: one that gave no
    sign of life for ``DEAD`` seconds by the clock of the file system, or one on this machine whose
    process has ended.
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
        if _lock_owner(file).get("token") == token:  # not taken over while this process slept
            file.unlink(missing_ok=True)


def _create_lock_file(file: Path, token: str) -> bool:
    """Create a file that names this process and this lock; False if it is there already."""
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
        with suppress(OSError):  # of a disk that is away for a moment
            os.utime(file)


def _take_over_stale_lock(file: Path, token: str) -> bool:
    """Take over the file of a dead holder, one process at a time; False if it may be alive."""
    removal = file.with_name(f"{file.name}-removal")
    if not _is_stale(file):
        return False
    if not _create_lock_file(removal, token):
        if _is_stale(removal):  # killed at this very place
            removal.unlink(missing_ok=True)
        return False
    try:
        if _is_stale(file):  # still, not another's since
            file.unlink(missing_ok=True)
        return _create_lock_file(file, token)
    finally:
        removal.unlink(missing_ok=True)


def _is_stale(file: Path) -> bool:
    try:
        age = _file_system_time(file.parent) - file.stat().st_mtime
    except FileNotFoundError:  # its holder has just ended
        return True
    owner = _lock_owner(file)
    is_here = owner.get("host") == socket.gethostname() and isinstance(owner.get("pid"), int)
    return age > STALE_AFTER or (is_here and not is_process_alive(owner["pid"]))


def _file_system_time(folder: Path) -> float:
    """Return the time by the clock of the file system, which all machines share."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return os.fstat(file.fileno()).st_mtime


def is_process_alive(process: int) -> bool:
    """Say whether there is a process of this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True


def _lock_owner(file: Path) -> dict[str, Any]:
    try:
        owner = read_document(file, dict, "a lock")
    except ValueError:  # just being written
        return {}
    return owner


def _describe_lock_holder(file: Path) -> str:
    owner = _lock_owner(file)
    return f"process {owner.get('pid', '?')} on {owner.get('host', '?')} (named in {file})"
