"""Packs: the pinned inputs of a suite as one archive, so that scores from different machines can be
compared."""

from __future__ import annotations

from .archive import unpack, verify, write_pack
from .known import KnownPack, known_packs
from .manifest import Manifest, Pack, PackedFile
from .opening import get_pack, open_pack

__all__ = [
    "KnownPack",
    "Manifest",
    "Pack",
    "PackedFile",
    "get_pack",
    "known_packs",
    "open_pack",
    "unpack",
    "verify",
    "write_pack",
]
