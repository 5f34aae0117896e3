"""Feature packs as archives: reproducible bytes, a checksum before unpacking, and files checked
against the manifest.

The manifest is canonical JSON. The SHA-256 of the manifest identifies the pack in all scores
computed with the pack.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from resemblance.base.json_files import (
    atomic_write,
    check_finite_json,
    check_types,
    checksum,
    decode_record,
    parse_document,
    write_atomically,
)
from resemblance.base.text import escape_control_characters
from resemblance.comparison.provenance import describe_machine, library_versions

PACK_FORMAT = 1
MANIFEST_FILE = "MANIFEST.json"
PACK_SUFFIX = ".tar.xz"
PACK_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
PACK_IDENTITY_PATTERN = re.compile(rf"({PACK_NAME_PATTERN.pattern})(?:@([1-9][0-9]{{0,5}}))?")
DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
# The limits on bytes are checked before unpacking.
MAX_PACK_BYTES, MAX_MANIFEST_BYTES = 2**32, 2**25
MAX_PATH_LENGTH = 255  # characters that a tar header holds without extensions
HEADER_BYTES = tarfile.RECORDSIZE  # limit for the headers of a file; our headers have 512 bytes
# For numbers of 4 bytes, lp and pb of 2 save 8 % of the space that the defaults need.
LZMA_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 2, "pb": 2}]
UNREADABLE_PACK_ERRORS = (ValueError, tarfile.TarError, lzma.LZMAError, EOFError, RecursionError)


class PackedFile(NamedTuple):
    """A file of a pack: the SHA-256 and the size in bytes. A ``.npy`` file also has the shape and a
    nonempty ``dtype`` of the array; another file has None and ""."""

    sha256: str
    size: int
    shape: tuple[int, ...] | None = None
    dtype: str = ""


class Manifest(NamedTuple):
    """The content and the origin of a pack.

    ``files``: by path relative to the root of the pack, with slashes. ``facts``: data of the suite,
    as JSON. ``versions``, ``machine``: the library versions and the machine that built the pack.
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
        """The name with the version: "resi-compact@1"."""
        return f"{self.name}@{self.version}"

    @property
    def size(self) -> int:
        """The total number of bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def sha256(self) -> str:
        """The SHA-256 of the canonical JSON, equal to the SHA-256 of the file MANIFEST.json."""
        return hashlib.sha256(manifest_text(self).encode()).hexdigest()


class Pack(NamedTuple):
    """A pack unpacked in a folder. The files in the folder were verified against the manifest."""

    folder: Path
    manifest: Manifest


# ---------------------------------------------------------------------------------------- manifests


def manifest_text(manifest: Manifest) -> str:
    """Return the canonical JSON of a manifest: sorted, ASCII, one line per entry."""
    files = {name: _manifest_entry(file) for name, file in manifest.files.items()}
    document = {"format": PACK_FORMAT, **manifest._asdict(), "files": files}
    return json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _manifest_entry(file: PackedFile) -> dict[str, Any]:
    return {key: value for key, value in file._asdict().items() if value not in (None, "")}


def _parse_manifest(content: bytes) -> Manifest:
    """Return the manifest from the bytes of a MANIFEST.json; ``ValueError`` for an invalid
    manifest."""
    text = content.decode("ascii", "replace")
    manifest = parse_document(
        text, _manifest_from_document, MANIFEST_FILE, "the manifest of a pack"
    )
    if manifest_text(manifest) != text:
        raise ValueError(f"{MANIFEST_FILE} is not in the form in which manifests are written")
    return manifest


def _manifest_from_document(document: dict[str, Any]) -> Manifest:
    if document.pop("format") != PACK_FORMAT:
        raise ValueError(
            f"it has another format than {PACK_FORMAT}, that of this version of resemblance"
        )
    check_finite_json(document)
    manifest: Manifest = decode_record(Manifest, document)
    _check_manifest(manifest)
    return manifest


def _check_manifest(manifest: Manifest) -> None:
    """Raise ``ValueError`` for entries of the wrong type, invalid paths or checksums, and a pack
    that is too large."""
    check_types(manifest, Manifest)
    check_identity(manifest.name, manifest.version)
    versions_and_names = " ".join(f"{name} {v}" for name, v in manifest.versions.items())
    for text in (manifest.suite, manifest.about, manifest.machine, versions_and_names):
        if escape_control_characters(text) != text:
            raise ValueError(f"it has control characters in {text!a:.80}")
    paths = [name.split("/") for name in manifest.files]
    folders = {"/".join(parts[:i]) for parts in paths for i in range(len(parts))}
    for name, file in manifest.files.items():
        if (
            escape_control_characters(name) != name
            or len(name) > MAX_PATH_LENGTH
            or name in folders
        ):
            raise ValueError(
                f"{name!a:.120} cannot be a file of a pack: a path has at most {MAX_PATH_LENGTH} "
                "characters, all printable, and is not the folder of another file"
            )
        if not DIGEST_PATTERN.fullmatch(file.sha256) or file.size < 0:
            raise ValueError(f"{name} has no SHA-256, or no size")
    if not manifest.files or manifest.size > MAX_PACK_BYTES:
        raise ValueError(
            f"a pack has at least one file, and at most {MAX_PACK_BYTES:,} bytes; it has "
            f"{len(manifest.files):,} with {manifest.size:,} bytes"
        )


def check_identity(name: str, version: int) -> None:
    """Raise ``ValueError`` unless a name and a version are valid for a pack: at most 64 lower-case
    letters, digits and hyphens, and a number from 1 to 999999."""
    if not PACK_IDENTITY_PATTERN.fullmatch(f"{name}@{version}"):
        raise ValueError(
            "a pack has a name of at most 64 lower-case letters, digits and hyphens, and a version "
            f"from 1 to 999999; got {name!r:.80} and {version}"
        )


def read_manifest(pack_or_archive: Path) -> Manifest:
    """Return the manifest of an archive (a file) or of an unpacked pack (a folder), without reading
    the other files.

    Raises ``ValueError`` without a valid manifest.
    """
    with _refuse_unreadable_pack(pack_or_archive):
        if pack_or_archive.is_dir():
            return _read_folder_manifest(pack_or_archive)
        with _open_tar_xz(pack_or_archive) as (tar, content):
            return _read_first_member(tar, content)


def _read_folder_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST_FILE
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"it has no {MANIFEST_FILE}")
    return _parse_manifest(path.read_bytes())


class _LimitedReader:
    """A reader of an archive that stops after ``left`` bytes. Without a limit, a header extension,
    such as a list of holes in a file, could fill the memory."""

    def __init__(self, file: lzma.LZMAFile) -> None:
        self._read, self.seek, self.tell = file.read, file.seek, file.tell
        self.left = HEADER_BYTES

    def read(self, size: int) -> bytes:
        self.left -= size
        if self.left < 0:
            raise ValueError("it has a header that is too large")
        return self._read(size)


@contextmanager
def _open_tar_xz(archive: Path) -> Iterator[tuple[tarfile.TarFile, _LimitedReader]]:
    with lzma.open(archive, "rb", format=lzma.FORMAT_XZ) as file:
        content = _LimitedReader(file)
        with tarfile.open(fileobj=cast(Any, content), mode="r:") as tar:
            yield tar, content


def _read_first_member(tar: tarfile.TarFile, content: _LimitedReader) -> Manifest:
    member = tar.next()
    if member is None or member.name != MANIFEST_FILE or not (file := tar.extractfile(member)):
        raise ValueError(f"it does not begin with {MANIFEST_FILE}")
    if member.size > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"its manifest has {member.size:,} bytes; the limit is {MAX_MANIFEST_BYTES:,}"
        )
    content.left = member.size
    return _parse_manifest(file.read())


# ------------------------------------------------------------------------------------------ writing


def write_pack(
    folder: Path,
    target: Path,
    *,
    name: str,
    version: int,
    suite: str,
    about: str,
    facts: Mapping[str, Any],
) -> Manifest:
    """Write all files of a folder into an archive, and return the manifest.

    ``target``: a path that ends in ``.tar.xz``, or a folder for the archive
    ``NAME@VERSION.tar.xz``. ``suite``: the name of the suite. ``about``: a line of description.
    ``facts``: data of the suite, as JSON. The function writes the checksum to a second file, with
    ``.sha256`` appended to the name of the archive. Equal content gives equal bytes, at any time
    and place, on machines with the same description and the same library versions.

    Raises ``ValueError`` for a folder with anything except plain files and folders, for a ``.npy``
    file that contains objects or is damaged, for facts that are not JSON, and beyond 4 GiB.
    """
    check_identity(name, version)
    archive = (
        target if target.name.endswith(PACK_SUFFIX) else target / f"{name}@{version}{PACK_SUFFIX}"
    )
    if folder.resolve() in archive.resolve().parents:
        raise ValueError(f"{archive} is inside the folder to pack; choose another target")
    files = {path: _describe_file(folder / path, path) for path in _walk_files(folder)}
    if MANIFEST_FILE in files:
        raise ValueError(f"{folder} has a {MANIFEST_FILE}, which is the name of the manifest")
    try:
        json_facts = json.loads(json.dumps(dict(facts), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the facts of a pack must be finite numbers and texts: {error}"
        ) from error
    manifest = Manifest(
        name, version, suite, about, files, json_facts, library_versions(), describe_machine()
    )
    _check_manifest(manifest)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(archive) as temporary_file:
        _write_tar_xz(folder, manifest, temporary_file)
        verify(temporary_file)  # detects a file that changed during packing, too
    line = f"{checksum(archive)}  {archive.name}\n"  # the format of sha256sum
    write_atomically(archive.with_name(f"{archive.name}.sha256"), line)
    return manifest


def _describe_file(path: Path, name: str) -> PackedFile:
    """Return the manifest entry of the file at ``path``; ``name``: the path in the pack, for error
    messages. Raises ``ValueError`` for a ``.npy`` file without a readable array."""
    digest, size = checksum(path), path.stat().st_size
    if not name.endswith(".npy"):
        return PackedFile(digest, size)
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged or hostile header may raise anything
        raise ValueError(f"{name} is no array of numbers, or is damaged ({error})") from error
    return PackedFile(digest, size, array.shape, array.dtype.str)


def _write_tar_xz(folder: Path, manifest: Manifest, target: Path) -> None:
    text = manifest_text(manifest).encode()
    with (
        lzma.open(target, "wb", format=lzma.FORMAT_XZ, filters=LZMA_FILTERS) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        archive.addfile(_tar_header(MANIFEST_FILE, len(text)), io.BytesIO(text))
        for name in sorted(manifest.files):
            with (folder / name).open("rb") as file:
                archive.addfile(_tar_header(name, manifest.files[name].size), file)


def _tar_header(name: str, size: int) -> tarfile.TarInfo:
    """Return a tar header of a file, given its path in the archive and its size in bytes; without
    time, owner, and the permissions of the original file."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, 0o644
    return header


def _walk_files(folder: Path, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all files in the folder and its subfolders, relative to the folder, with
    slashes; ``ValueError`` for links and special files.

    ``prefix``: a subfolder, with a slash at the end, to walk alone.
    """
    for entry in sorted(os.scandir(folder / prefix), key=lambda entry: entry.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_files(folder, f"{path}/")
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            raise ValueError(f"{folder / path} is neither a plain file nor a folder")


# --------------------------------------------------------------------------- unpacking and checking


def unpack(archive: Path, folder: Path, *, sha256: str | None = None) -> Pack:
    """Unpack an archive into a new folder, and check every file.

    The function checks the ``sha256`` of the archive, if given, before reading any content. The
    folder appears at once, after all checks; a failed or interrupted attempt leaves nothing behind.
    The unpacked files are read-only.

    Raises ``ValueError`` for an archive with another checksum or with any entry that the manifest
    does not list, ``FileExistsError`` for an existing folder.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists; give a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if sha256 is not None and (digest := checksum(archive)) != sha256:
        raise ValueError(
            f"{archive} has the SHA-256 {digest} instead of {sha256}, and is not unpacked: it is "
            "damaged or another pack; get it again"
        )
    temporary_folder = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        manifest = _unpack_files(archive, temporary_folder)
        temporary_folder.chmod(0o755)
        try:
            os.replace(temporary_folder, folder)
        except OSError as error:
            if not folder.exists():
                raise
            raise FileExistsError(f"{folder} was created by another process") from error
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)
    return Pack(folder, manifest)


def verify(pack_or_archive: Path) -> Manifest:
    """Check every file of an archive or of an unpacked pack, and return the manifest.

    Raises ``ValueError`` with the name of the first file that differs, is missing or is not listed.
    """
    if not pack_or_archive.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            return _unpack_files(pack_or_archive, Path(folder))
    with _refuse_unreadable_pack(pack_or_archive):
        return _verify_folder(pack_or_archive)


def _unpack_files(archive: Path, folder: Path) -> Manifest:
    """Write the files listed in the manifest of an archive into a folder, with at most the listed
    number of bytes, check the files, and return the manifest."""
    with _refuse_unreadable_pack(archive):
        with _open_tar_xz(archive) as (tar, content):
            manifest = _read_first_member(tar, content)
            sizes = {name: file.size for name, file in manifest.files.items()}
            content.left = HEADER_BYTES
            while member := tar.next():
                if not member.isreg() or sizes.pop(member.name, None) != member.size:
                    raise ValueError(
                        f"it holds {member.name!r:.120}, which is no plain file, or which its "
                        f"manifest does not list with {member.size:,} bytes"
                    )
                content.left = member.size
                tar.extract(member, folder, set_attrs=False, filter="data")
                content.left = HEADER_BYTES
        (folder / MANIFEST_FILE).write_text(manifest_text(manifest), encoding="ascii")
        for path in (folder / name for name in (*_walk_files(folder),)):
            path.chmod(0o444)
        return _verify_folder(folder)


def _verify_folder(folder: Path) -> Manifest:
    manifest = _read_folder_manifest(folder)
    paths = set(_walk_files(folder)) - {MANIFEST_FILE}
    for name in sorted(paths | set(manifest.files)):
        if name not in manifest.files:
            raise ValueError(f"{name!r:.120} is not listed in its manifest")
        if name not in paths:
            raise ValueError(f"{name} is missing")
        size, digest = (folder / name).stat().st_size, checksum(folder / name)
        if (digest, size) != manifest.files[name][:2]:
            raise ValueError(f"{name} differs from the manifest")
    return manifest


@contextmanager
def _refuse_unreadable_pack(path: Path) -> Iterator[None]:
    try:
        yield
    except UNREADABLE_PACK_ERRORS as error:
        remedy = (
            "" if path.is_dir() else "; get it again"
        )  # for a folder, the caller gives the remedy
        raise ValueError(f"{path} is refused as a pack: {error}{remedy}") from error
