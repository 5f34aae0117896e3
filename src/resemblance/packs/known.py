"""The packs that this version of the library knows: those that ship with it, and the checksums of
others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..json_files import check_types, checksum, read_document, write_atomically
from .archive import verify
from .manifest import DIGEST, SUFFIX, check_identity

SHIPPED = Path(__file__).with_name("shipped")
FORMAT = 1


class KnownPack(NamedTuple):
    """A pack that the library knows.

    ``sha256``, ``size``: of its archive. ``manifest``: the SHA-256 of its manifest. ``addresses``:
    where it can be downloaded.
    """

    name: str
    version: int
    suite: str
    about: str
    sha256: str
    size: int
    manifest: str
    is_shipped: bool
    addresses: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """The name with its version: "resi-compact@1"."""
        return f"{self.name}@{self.version}"

    @property
    def archive(self) -> Path:
        """Where the archive is, if the pack ships with the library."""
        return SHIPPED / f"{self.identity}{SUFFIX}"


def known_packs() -> tuple[KnownPack, ...]:
    """Return the packs that ship with the library and those whose checksums it has, by name and
    version."""
    return read_document(
        SHIPPED / "index.json", _packs, "the list of known packs", "install resemblance again"
    )


def add_known(
    archive: Path, *, is_shipped: bool = False, addresses: Iterable[str] = ()
) -> KnownPack:
    """Verify an archive, list it among the known packs, and return its entry.

    It is for maintainers, in a checkout of the library; an archive that ships must lie in the
    folder ``shipped``.

    Raises ``ValueError`` for an archive that cannot be trusted, and for a pack that is listed with
    another content: a changed pack is a new version.
    """
    manifest = verify(archive)
    pack = KnownPack(
        manifest.name,
        manifest.version,
        manifest.suite,
        manifest.about,
        checksum(archive),
        archive.stat().st_size,
        manifest.sha256,
        is_shipped,
        tuple(addresses),
    )
    if is_shipped and archive.resolve() != pack.archive.resolve():
        raise ValueError(f"{archive} must be {pack.archive} to ship with the library")
    packs = {known.identity: known for known in known_packs()}
    if packs.setdefault(pack.identity, pack).sha256 != pack.sha256:
        raise ValueError(f"{pack.identity} is known with another content; give it a new version")
    packs[pack.identity] = pack
    entries = [known._asdict() for known in sorted(packs.values())]
    text = json.dumps({"format": FORMAT, "packs": entries}, indent=1)
    write_atomically(SHIPPED / "index.json", text + "\n")
    return pack


def _packs(document: dict[str, Any]) -> tuple[KnownPack, ...]:
    if document["format"] != FORMAT:
        raise ValueError("it has another format")
    return tuple(sorted(map(_known_pack, document["packs"])))


def _known_pack(entry: dict[str, Any]) -> KnownPack:
    pack = KnownPack(**entry | {"addresses": tuple(entry["addresses"])})
    check_types(pack, KnownPack)
    check_identity(pack.name, pack.version)
    if not DIGEST.fullmatch(pack.sha256) or not DIGEST.fullmatch(pack.manifest):
        raise ValueError(f"{pack.identity} has no checksum")
    return pack
