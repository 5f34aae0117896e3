"""Keys of cached intermediates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any


def cache_key_function(function: Callable[..., Any], arrays: int) -> Callable[..., Hashable]:
    """Return a function from the remaining arguments of ``function`` to cache keys; explicit
    default values give the same key as omitted arguments.

    ``arrays``: the number of leading parameters that are representations. Neither the key nor the
    arguments of the returned function contain these parameters.
    """
    parameters = dict(list(inspect.signature(function).parameters.items())[arrays:])
    defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    default_key = function, tuple(sorted(defaults.items()))

    @lru_cache(maxsize=32)
    def key(*args: Any, **keywords: Any) -> Hashable:
        keywords = dict(zip(parameters, args)) | keywords
        return (function, tuple(sorted((defaults | keywords).items()))) if keywords else default_key

    return key
