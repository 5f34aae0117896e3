"""Texts of users, made safe to print on a terminal or to write in UTF-8."""

from __future__ import annotations

import os

CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
ESCAPED = {code: repr(chr(code))[1:-1] for code in CONTROLS}


def printable(text: str, *, keep: str = "") -> str:
    """Return a text with control characters, which could steer a terminal, as escapes."""
    return text.translate({code: esc for code, esc in ESCAPED.items() if chr(code) not in keep})


def encodable(name: str) -> str:
    """Return a name with U+FFFD for control characters and for bytes that are not UTF-8."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
