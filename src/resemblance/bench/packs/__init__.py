"""Feature packs: the frozen features of a suite in one archive, for comparable scores on different
machines."""

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
