"""Functions that are compiled when they are first called. Needs numba; imported only by modules of
compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile when first called, once per machine; threads may run it at the same time.

    Where neither the folder of this package nor that of the user can be written, as in many
    containers, nothing is kept and every process compiles anew.
    """
    try:
        return cast(Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no locator available: there is no place for a cache
        return cast(Function, njit(nogil=True)(function))
