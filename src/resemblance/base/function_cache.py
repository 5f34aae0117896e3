"""Values cached for a function for as long as the function exists."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
MISSING_VALUE: Any = object()


def cached_by_function(compute: Callable[[Callable[..., Any]], T]) -> Callable[..., T]:
    """Cache the value of ``compute(function)`` until nothing else uses the function.

    ``functools.lru_cache`` would keep a user's function in memory, and all data that the function
    refers to. The value must not refer to the function. The value for a function without a hash or
    without weak references is computed anew.
    """
    values: WeakKeyDictionary[Callable[..., Any], T] = WeakKeyDictionary()

    @wraps(compute)
    def cached_value(function: Callable[..., Any]) -> T:
        value: T = MISSING_VALUE
        with suppress(TypeError):
            value = values.get(function, MISSING_VALUE)
        if value is MISSING_VALUE:
            value = compute(function)
            with suppress(TypeError):
                values[function] = value
        return value

    return cached_value
