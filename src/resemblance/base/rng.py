"""The only source of randomness: a generator depends on a seed and on the purpose of the draw."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *labels: str | int) -> np.random.Generator:
    """Return the random generator for ``seed`` and ``labels``, which name the purpose of the draw.

    Two calls with the same arguments give the same stream on every machine; a different label gives
    an independent stream. So no result depends on the order in which pairs or workers draw.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a non-negative integer; got {seed!r}")
    text = "\x1f".join(str(part) for part in (int(seed), *labels))
    key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.Philox(key=key))
