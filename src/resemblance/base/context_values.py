"""Values that hold inside a ``with`` statement, in the present thread or task alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def context_value(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value inside the ``with`` statement, and the earlier value
    afterwards."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
