"""Compile functions with numba at the first call; only modules of compiled code import this
module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_on_first_call(function: Function) -> Function:
    """Return a function that numba compiles at the first call, once per machine and for all
    threads.

    If neither the package's folder nor the user's cache folder is writable, as in many containers,
    numba caches nothing and every process compiles the function again.
    """
    try:
        return cast(Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # "no locator available": no folder for a cache is writable
        return cast(Function, njit(nogil=True)(function))
