"""Functions compiled at their first call by numba; only modules of compiled code import this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_on_first_call(function: Function) -> Function:
    """Return a function that is compiled at its first call, once per machine, for any thread.

    If neither the folder of this package nor that of the user can be written, as in many
    containers, nothing is cached and each process compiles anew.
    """
    try:
        return cast(Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no locator available: there is no place for a cache
        return cast(Function, njit(nogil=True)(function))
