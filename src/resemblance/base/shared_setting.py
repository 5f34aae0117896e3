"""A setting of the process that several threads need at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any


class SharedSetting:
    """A context manager that changes a setting of the process until the last user leaves.

    ``change(stack)`` changes whatever is not yet changed, and registers the restoration with the
    exit stack. Every user calls ``change``; the last user closes the stack.
    """

    def __init__(self, change: Callable[[ExitStack], None]):
        self._change, self._stack = change, ExitStack()
        self._lock, self._users = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            self._change(self._stack)
            self._users += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._stack.close()
