"""Names of files and addresses for measures, which are safe on every system."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

PLAIN = re.compile(r"[a-z0-9_]+(\.[0-9]+)?")  # a word of a specification that needs no change
LONGEST = 60


def slug(spec: str) -> str:
    """Return a specification as a part of an address: "cka-estimator-debiased" of
    "cka[estimator=debiased]".

    One with other characters, or a long one, ends with digits of its checksum, so that different
    measures never share an address.
    """
    words = [word for word in re.split(r"[\[\]=,]", spec) if word]
    text = "-".join(words)
    if words and len(text) <= LONGEST and all(map(PLAIN.fullmatch, words)):
        return text
    return _with_checksum(spec)


def slugs(specs: Iterable[str]) -> dict[str, str]:
    """Return the addresses of several measures, all different."""
    plain = {spec: slug(spec) for spec in specs}
    counts = Counter(plain.values())
    return {s: name if counts[name] == 1 else _with_checksum(s) for s, name in plain.items()}


def _with_checksum(spec: str) -> str:
    text = re.sub(r"[^a-z0-9_]+", "-", spec.lower())[:LONGEST].strip("-") or "measure"
    return f"{text}-{hashlib.sha256(spec.encode('utf-8', 'replace')).hexdigest()[:8]}"
