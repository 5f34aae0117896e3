"""Packs: the pinned inputs of a suite as one archive, so that scores from different machines can be
compared."""

from __future__ import annotations

from .archive import Manifest, Pack, PackedFile, unpack, verify, write_pack
from .opening import KnownPack, get_pack, list_packs, open_pack

__all__ = [
    "KnownPack",
    "Manifest",
    "Pack",
    "PackedFile",
    "get_pack",
    "list_packs",
    "open_pack",
    "unpack",
    "verify",
    "write_pack",
]
