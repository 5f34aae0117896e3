"""Packs as archives: written with the same bytes for the same content, and unpacked only if every
byte is as its manifest lists it."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..json_files import checksum, replacing, write_atomically
from ..provenance import machine_words, versions
from .contents import check_same, check_size, described, packed_file
from .manifest import (
    MANIFEST,
    MANIFEST_BYTES,
    SUFFIX,
    Manifest,
    Pack,
    PackedFile,
    check_identity,
    check_manifest,
    check_names,
    manifest_text,
    parse_manifest,
)
from .reading import Member, read_members

# Numbers of 4 bytes: with lp and pb of 2 they take 8 % less space than by default.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 2, "pb": 2}]


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
    """Pack all files of a folder into an archive, and return its manifest.

    ``target``: a path that ends in ``.tar.xz``, or a folder, where the archive is called
    ``NAME@VERSION.tar.xz``. Its checksum is written to a file with ``.sha256`` at the end of its
    name. Equal content has equal bytes, wherever and whenever it is packed on such a machine with
    the same versions of libraries.

    Raises ``ValueError`` for a folder with anything else than plain files and folders, for names
    that are not the same on every system, for a ``.npy`` file that holds objects or is damaged, for
    facts that are no JSON, and beyond the limits of a pack.
    """
    check_identity(name, version)
    archive = target if target.name.endswith(SUFFIX) else target / f"{name}@{version}{SUFFIX}"
    if folder.resolve() in archive.resolve().parents:
        raise ValueError(f"{archive} would be in the folder that it packs; give another target")
    paths = list(_files_below(folder))
    check_names(paths)
    files = {path: described(folder / path, path) for path in paths}
    of = versions(), machine_words()
    manifest = Manifest(name, version, suite, about, files, _plain(facts), *of)
    check_manifest(manifest)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with replacing(archive) as partial:
        _write(folder, manifest, partial)
        verify(partial)  # also that no file changed while it was packed
    line = f"{checksum(archive)}  {archive.name}\n"  # as sha256sum writes it
    write_atomically(archive.with_name(f"{archive.name}.sha256"), line)
    return manifest


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as they come back from JSON."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(facts), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the facts of a pack must be finite numbers and texts: {error}"
        ) from error
    return plain


def _write(folder: Path, manifest: Manifest, target: Path) -> None:
    text = manifest_text(manifest).encode()
    with (
        lzma.open(target, "wb", format=lzma.FORMAT_XZ, filters=FILTERS) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        archive.addfile(_header(MANIFEST, len(text)), io.BytesIO(text))
        for name in sorted(manifest.files):
            with (folder / name).open("rb") as file:
                archive.addfile(_header(name, manifest.files[name].size), file)


def _header(name: str, size: int) -> tarfile.TarInfo:
    """Return a header without time, owner, and the permissions of its origin."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, 0o644
    return header


def _files_below(folder: Path, below: str = "") -> Iterator[str]:
    """Yield the paths of all files in a folder, with slashes; ``ValueError`` for links and such."""
    for entry in sorted(os.scandir(folder / below), key=lambda entry: entry.name):
        path = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(folder, f"{path}/")
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            raise ValueError(f"{folder / path} is neither a plain file nor a folder")


# ---------------------------------------------------------------------------------------- unpacking


def unpack(archive: Path, folder: Path, *, sha256: str | None = None) -> Pack:
    """Unpack an archive into a new folder, and check every file while it is written.

    The folder appears at once, when all is checked; nothing remains of an attempt that fails or is
    interrupted. Its files are read-only.

    Raises ``ValueError`` for an archive without the checksum ``sha256`` or with anything that its
    manifest does not list, ``FileExistsError`` for a folder that exists.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists; give a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with archive.open("rb") as file, _appearing(folder) as partial:
        check_digest(archive, file, sha256)
        manifest = _read_checked(archive, file, partial)
    return Pack(folder, manifest)


def check_digest(archive: Path, file: io.BufferedReader, sha256: str | None) -> None:
    """Raise ``ValueError`` for an open archive with another checksum; leave it at its start."""
    if sha256 is not None:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sha256:
            raise ValueError(
                f"{archive} has the SHA-256 {digest} instead of {sha256}: it is damaged or another "
                "pack; get it again"
            )
        file.seek(0)


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Yield a new folder that takes its name once it is complete, and is removed otherwise."""
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        partial.chmod(0o755)
        yield partial
        try:
            os.replace(partial, folder)
        except OSError as error:
            if not folder.exists():
                raise
            raise FileExistsError(f"{folder} was created by another process") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def verify(pack_or_archive: Path) -> Manifest:
    """Check every file of an archive or an unpacked pack, and return its manifest.

    Raises ``ValueError`` that names the first file that differs, is missing or is not listed.
    """
    if pack_or_archive.is_dir():
        return _verify_folder(pack_or_archive)
    with pack_or_archive.open("rb") as file:
        return _read_checked(pack_or_archive, file, None)


def read_manifest(pack_or_archive: Path) -> Manifest:
    """Return the manifest of an archive or an unpacked pack, whose files are not read.

    Raises ``ValueError`` for what has none.
    """
    with _refusing(pack_or_archive):
        if pack_or_archive.is_dir():
            return _manifest_in(pack_or_archive)
        with pack_or_archive.open("rb") as file:
            return _first(read_members(file))


def _read_checked(archive: Path, file: io.BufferedReader, folder: Path | None) -> Manifest:
    """Check an archive from one end to the other; write its files where a folder is given."""
    with _refusing(archive):
        members = read_members(file)
        manifest = _first(members)
        missing = dict(manifest.files)
        for member in members:
            if member.name not in missing:
                is_listed = member.name in manifest.files
                why = " twice" if is_listed else ", which its manifest does not list"
                raise ValueError(f"it holds {member.name!r:.120}{why}")
            _read_file(member, missing.pop(member.name), folder)
        if missing:
            raise ValueError(f"{min(missing)} is missing")
    if folder is not None:
        written = folder / MANIFEST
        written.write_bytes(manifest_text(manifest).encode())
        written.chmod(0o444)
    return manifest


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} is refused as a pack: {error}") from error


def _first(members: Iterator[Member]) -> Manifest:
    first = next(members, None)
    if first is None or first.name != MANIFEST:
        raise ValueError(f"it does not begin with {MANIFEST}")
    _check_manifest_size(first.size)
    return parse_manifest(b"".join(first.chunks), MANIFEST)


def _read_file(member: Member, expected: PackedFile, folder: Path | None) -> None:
    """Check a file before and after its content is read, and write it where a folder is given."""
    check_size(member.name, member.size, expected)
    chunks: Iterable[bytes] = member.chunks
    if folder is not None:
        path = folder / member.name
        path.parent.mkdir(parents=True, exist_ok=True)
        chunks = _write_read_only(path, chunks)
    check_same(member.name, packed_file(member.name, chunks), expected)


def _write_read_only(path: Path, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Write chunks to a new file, and yield each."""
    with path.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
            yield chunk
    path.chmod(0o444)


def _verify_folder(folder: Path) -> Manifest:
    with _refusing(folder):
        manifest = _manifest_in(folder)
        present = set(_files_below(folder)) - {MANIFEST}
        for name in sorted(present | set(manifest.files)):
            if name not in manifest.files:
                raise ValueError(f"{name!r:.120} is not listed in its manifest")
            if name not in present:
                raise ValueError(f"{name} is missing")
            expected = manifest.files[name]
            check_size(name, (folder / name).stat().st_size, expected)
            check_same(name, described(folder / name, name), expected)
    return manifest


def _manifest_in(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"it has no {MANIFEST}")
    _check_manifest_size(path.stat().st_size)
    return parse_manifest(path.read_bytes(), MANIFEST)


def _check_manifest_size(size: int) -> None:
    if size > MANIFEST_BYTES:
        raise ValueError(f"its manifest has {size:,} bytes; the limit is {MANIFEST_BYTES:,}")
