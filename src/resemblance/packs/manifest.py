"""The manifest of a pack: the checksum and size of every file, and where they are from.

A manifest has one form, its canonical JSON, whose SHA-256 names the pack in the scores that were
computed with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..display import printable
from ..json_files import check_finite, check_types, parse_document

FORMAT = 1
SHOWN = ("suite", "about", "machine")  # texts that lists of packs show
MANIFEST = "MANIFEST.json"
SUFFIX = ".tar.xz"
GIB = 2**30
# The limits of a pack: what is larger is refused before it is written.
FILES, FILE_BYTES, PACK_BYTES, MANIFEST_BYTES = 100_000, GIB, 4 * GIB, GIB // 32
LONGEST_PATH, LONGEST_NAME = 155, 100  # which headers of tar files can hold without extensions
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
IDENTITY = re.compile(rf"({NAME.pattern})(?:@([1-9][0-9]{{0,5}}))?")
DIGEST = re.compile(r"[0-9a-f]{64}")
# Parts of paths that mean the same on every system
PORTABLE = re.compile(r"[A-Za-z0-9_!#$%&'()+,;=@\[\]^`{}~ .-]*[A-Za-z0-9_!#$%&'()+,;=@\[\]^`{}~-]")
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # of Windows


class PackedFile(NamedTuple):
    """A file of a pack: its SHA-256 and its size in bytes; of a ``.npy`` file, whose ``dtype`` is
    not empty, also the shape of the array."""

    sha256: str
    size: int
    shape: tuple[int, ...] | None = None
    dtype: str = ""


class Manifest(NamedTuple):
    """What a pack holds and where it is from.

    ``files``: by path relative to the root of the pack, with slashes. ``facts``: what the suite
    remembers, as JSON has it. ``versions``, ``machine``: where the pack was built.
    """

    name: str
    version: int
    suite: str
    about: str
    files: Mapping[str, PackedFile]
    facts: Mapping[str, Any]
    versions: Mapping[str, str]
    machine: str

    @property
    def identity(self) -> str:
        """The name with its version: "resi-compact@1"."""
        return f"{self.name}@{self.version}"

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def sha256(self) -> str:
        """The digest of the canonical JSON, which is also that of the file MANIFEST.json."""
        return hashlib.sha256(manifest_text(self).encode()).hexdigest()


class Pack(NamedTuple):
    """A pack whose files lie in a folder, where all of them were found to be what its manifest
    lists."""

    folder: Path
    manifest: Manifest


def manifest_text(manifest: Manifest) -> str:
    """Return the canonical JSON of a manifest: sorted, ASCII, one line an entry."""
    files = {name: _entry(file) for name, file in manifest.files.items()}
    document = {"format": FORMAT, **manifest._asdict(), "files": files}
    return json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _entry(file: PackedFile) -> dict[str, Any]:
    return {key: value for key, value in file._asdict().items() if value not in (None, "")}


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Return the manifest in the bytes of a MANIFEST.json; ``where``: its origin, for the error.

    Raises ``ValueError`` for what is no manifest, is not in its canonical form, or goes beyond the
    limits of a pack.
    """
    text = content.decode("ascii", "replace")
    manifest = parse_document(text, _manifest, where, "the manifest of a pack")
    if manifest_text(manifest) != text:
        raise ValueError(f"{where} is not in the form in which manifests are written")
    return manifest


def _manifest(document: dict[str, Any]) -> Manifest:
    if document.pop("format") != FORMAT:
        raise ValueError(
            f"it has another format than {FORMAT}, that of this version of resemblance"
        )
    check_finite(document)
    files = {name: _packed_file(entry) for name, entry in document["files"].items()}
    manifest = Manifest(**document | {"files": files})
    check_manifest(manifest)
    return manifest


def _packed_file(entry: dict[str, Any]) -> PackedFile:
    shape = entry.get("shape")
    return PackedFile(**entry | ({} if shape is None else {"shape": tuple(shape)}))


# ------------------------------------------------------------------------------------------- checks


def check_manifest(manifest: Manifest) -> None:
    """Raise ``ValueError`` unless all entries have their types and are within their limits."""
    if not 1 <= len(manifest.files) <= FILES:
        raise ValueError(f"a pack has 1 to {FILES:,} files; got {len(manifest.files):,}")
    check_types(manifest._replace(files={}), Manifest)
    check_identity(manifest.name, manifest.version)
    check_names(manifest.files)
    words = {f"version of {name!a:.80}": f"{name} {v}" for name, v in manifest.versions.items()}
    for what, text in {**{n: getattr(manifest, n) for n in SHOWN}, **words}.items():
        if printable(text) != text:
            raise ValueError(f"its {what} has control characters: {text!a:.80}")
    for name, file in manifest.files.items():
        _check_file(name, file)
    if manifest.size > PACK_BYTES:
        raise ValueError(f"the files have {manifest.size:,} bytes; the limit is {PACK_BYTES:,}")


def _check_file(name: str, file: PackedFile) -> None:
    """Raise ``ValueError`` for an impossible entry; a pack has many, so it is short and fast."""
    if not isinstance(file.sha256, str) or not DIGEST.fullmatch(file.sha256):
        raise ValueError(f"{name} has no SHA-256, but {file.sha256!r:.80}")
    if type(file.size) is not int or not 0 <= file.size <= FILE_BYTES:
        raise ValueError(f"{name} has {file.size!r:.80} bytes; the limit is {FILE_BYTES:,}")
    if any(type(n) is not int or n < 0 for n in file.shape or ()):
        raise ValueError(f"{name} has no shape, but {file.shape!r:.80}")
    if not isinstance(file.dtype, str) or bool(file.dtype) != (file.shape is not None):
        raise ValueError(f"{name} has the type {file.dtype!r:.80} and the shape {file.shape}")


def check_identity(name: str, version: int) -> None:
    """Raise ``ValueError`` unless a pack can have this name and version."""
    if not IDENTITY.fullmatch(f"{name}@{version}"):
        raise ValueError(
            "a pack has a name of at most 64 lower-case letters, digits and hyphens, and a version "
            f"from 1 to 999999; got {name!r:.80} and {version}"
        )


def check_names(names: Iterable[str]) -> None:
    """Raise ``ValueError`` for a file that would not be the same file on every system.

    Refused are paths that lead out of the pack, characters that some systems do not have in names,
    and names of which one differs from another only in case, or is the folder of another.
    """
    spellings = {MANIFEST.casefold(): MANIFEST}
    folders: dict[str, str] = {}
    for name in names:
        _check_portable(name)
        first = spellings.setdefault(name.casefold(), name)
        if first != name or name == MANIFEST:
            raise ValueError(f"{name} and {first} are one file where case does not count")
        folder = name
        while (folder := folder.rpartition("/")[0]) and folders.get(folder.casefold()) != folder:
            first = folders.setdefault(folder.casefold(), folder)
            if first != folder:
                raise ValueError(f"{folder} and {first} are one folder where case does not count")
    for both in spellings.keys() & folders.keys():
        raise ValueError(f"{spellings[both]} is a file and also a folder")


def _check_portable(name: str) -> None:
    if any(not PORTABLE.fullmatch(p) or DEVICE.fullmatch(p) for p in name.split("/")):
        raise ValueError(
            f"{name!r:.120} cannot be the path of a file in a pack: use relative paths of letters, "
            "digits and plain signs, without .. and without spaces or dots at the end of a name"
        )
    if len(name) > LONGEST_PATH or max(map(len, name.split("/"))) > LONGEST_NAME:
        raise ValueError(
            f"{name:.80}... is too long: a path has at most {LONGEST_PATH} characters, and each of "
            f"its parts at most {LONGEST_NAME}"
        )
