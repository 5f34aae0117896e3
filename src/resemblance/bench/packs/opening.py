"""Opening packs by name: packs shipped with the library, packs in the cache, and downloads.

::

    ~/.cache/resemblance/packs/
      resi-compact@1-0f3a5b7c9d1e/     a pack: MANIFEST.json and all files, read-only; the name ends
                                       with the first digits of the checksum of the archive
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import urlopen

from resemblance.base.json_files import checksum, decode_record, read_document
from resemblance.base.progress import Progress, progress_reporter
from resemblance.base.text import did_you_mean

from .archive import (
    DIGEST_PATTERN,
    MAX_PACK_BYTES,
    PACK_IDENTITY_PATTERN,
    PACK_NAME_PATTERN,
    PACK_SUFFIX,
    Pack,
    check_identity,
    read_manifest,
    unpack,
    verify,
)

SHIPPED_PACKS_FOLDER = Path(__file__).with_name("shipped")
PACK_LIST_FORMAT = 1  # format of the list of shipped packs
CACHE_VARIABLE = "RESEMBLANCE_CACHE"  # the environment variable for another cache folder
CACHED_PACK_PATTERN = re.compile(
    rf"({PACK_NAME_PATTERN.pattern})@([1-9][0-9]{{0,5}})-([0-9a-f]{{12}})"
)
UNFINISHED_PACK_PATTERN = re.compile(rf"\.{CACHED_PACK_PATTERN.pattern}-\w+|\.download-\w+")
# An unfinished pack older than a day is a leftover of a killed process.
STALE_PACK_SECONDS = 24 * 3600.0
DOWNLOAD_TIMEOUT = 30.0  # seconds without an answer
DOWNLOAD_CHUNK_BYTES = 2**20
# After any of these errors, the next source is tried.
DOWNLOAD_ERRORS = (OSError, ValueError, HTTPException)


class KnownPack(NamedTuple):
    """A pack that ships with the library: ``sha256`` and ``size`` describe the archive,
    ``manifest`` is the SHA-256 of the manifest."""

    name: str
    version: int
    suite: str
    about: str
    sha256: str
    size: int
    manifest: str

    @property
    def identity(self) -> str:
        """The name with the version: "resi-compact@1"."""
        return f"{self.name}@{self.version}"

    @property
    def archive(self) -> Path:
        """The path of the archive."""
        return SHIPPED_PACKS_FOLDER / f"{self.identity}{PACK_SUFFIX}"


def list_packs() -> tuple[KnownPack, ...]:
    """Return the packs that ship with the library, sorted by name and version."""
    remedy = "install resemblance again"
    return read_document(
        SHIPPED_PACKS_FOLDER / "index.json", _parse_list_of_packs, "the list of known packs", remedy
    )


def _parse_list_of_packs(document: dict[str, Any]) -> tuple[KnownPack, ...]:
    if document["format"] != PACK_LIST_FORMAT:
        raise ValueError("it has another format")
    packs: tuple[KnownPack, ...] = decode_record(tuple[KnownPack, ...], document["packs"])
    for pack in packs:
        check_identity(pack.name, pack.version)
        if not DIGEST_PATTERN.fullmatch(pack.sha256) or not DIGEST_PATTERN.fullmatch(pack.manifest):
            raise ValueError(f"{pack.identity} has no checksum")
    return tuple(sorted(packs))


def _find_known_pack(identity: str) -> KnownPack | None:
    return next((pack for pack in list_packs() if pack.identity == identity), None)


# ------------------------------------------------------------------------------------------ opening


def open_pack(
    name: str | Path, *, source: str | Path | None = None, cache: Path | None = None
) -> Pack:
    """Return a pack by name, or from an archive or an unpacked folder.

    ``name``: "resi-compact@1"; "resi-compact" is the newest known version. If a pack neither ships
    with the library nor is in the cache, the function fetches the pack from ``source``, as
    ``get_pack`` does. Every call verifies all files.

    Raises ``ValueError`` for a missing pack, and for a pack with changed files.
    """
    place = find_pack(name, cache=cache)
    if place is None:
        if source is None:
            suggestion = did_you_mean(str(name), [pack.identity for pack in list_packs()])
            raise ValueError(
                f"{name} is not installed; download the pack with resemblance pack "
                f"get{suggestion if 'mean' in suggestion else ''}"
            )
        return get_pack(str(name), source, cache=cache)
    if place.is_dir():
        return _pack_from_folder(place)
    entry = {pack.archive: pack for pack in list_packs()}.get(place)
    identity = entry.identity if entry else read_manifest(place).identity
    digest = entry.sha256 if entry else checksum(place)
    return _pack_from_archive(place, identity, digest, _prepare_cache(cache_folder(cache)))


def find_pack(name: str | Path, *, cache: Path | None = None) -> Path | None:
    """Return the folder or archive of a pack; None for a pack that must be fetched.

    ``name``: "resi-compact@1", "resi-compact" for the newest known version, or a path. ``cache``:
    the folder of downloads, by default the folder given by the environment. Raises ``ValueError``
    if ``name`` is neither the name of a pack nor a path, and if several packs in the cache have the
    same name.
    """
    if isinstance(name, str) and PACK_IDENTITY_PATTERN.fullmatch(name):
        identity = _newest_pack_name(name, cache)
        place = _find_cached_pack(identity, cache) if identity else None
        if place is not None or not Path(name).exists():
            return place
    if not Path(name).exists():
        raise ValueError(
            f"{name} is not a pack (such as resi-compact@1), an archive or a folder; check the path"
        )
    return Path(name)


def _newest_pack_name(name: str, cache: Path | None) -> str | None:
    """Return the name of a pack with the version, "resi-compact@1". Without a version in ``name``,
    use the newest known or cached version; return None if no version is known."""
    match = PACK_IDENTITY_PATTERN.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r:.80} is no pack: give its name and version, as resi-compact@1")
    if match[2]:
        return name
    matches = [CACHED_PACK_PATTERN.fullmatch(folder.name) for folder in cached_packs(cache)]
    numbers = [int(folder[2]) for folder in matches if folder and folder[1] == name]
    numbers += [pack.version for pack in list_packs() if pack.name == name]
    return f"{name}@{max(numbers)}" if numbers else None


def _find_cached_pack(identity: str, cache: Path | None) -> Path | None:
    entry = _find_known_pack(identity)
    folders = [f for f in cached_packs(cache) if f.name.rpartition("-")[0] == identity]
    if entry:
        folders = [f for f in folders if entry.sha256.startswith(f.name.rpartition("-")[2])]
    if len(folders) > 1:
        places = ", ".join(map(str, folders))
        raise ValueError(f"the cache has several packs {identity}: give the path of one, {places}")
    return folders[0] if folders else entry and entry.archive


# -------------------------------------------------------------------------------------------- cache


def cache_folder(cache: Path | None = None) -> Path:
    """Return the folder of unpacked packs: ``packs`` in ``cache``; without ``cache``, in the folder
    given by the environment."""
    if cache is not None:
        return cache / "packs"
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder).expanduser() / "packs"
    folder = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(folder).expanduser() / "resemblance" / "packs"


def cached_packs(cache: Path | None = None) -> tuple[Path, ...]:
    """Return the folders of the packs in the cache, sorted by name, without verification."""
    root = cache_folder(cache)
    names = sorted(os.listdir(root)) if root.is_dir() else []
    return tuple(root / name for name in names if CACHED_PACK_PATTERN.fullmatch(name))


def _pack_from_archive(archive: Path, identity: str, digest: str, root: Path) -> Pack:
    """Return the pack of an archive, unpacked into the cache unless the pack is in the cache
    already.

    ``identity``: "NAME@VERSION". ``digest``: the SHA-256 of the archive. ``root``: the folder of
    unpacked packs.
    """
    folder = root / f"{identity}-{digest[:12]}"
    if not folder.exists():
        with suppress(FileExistsError):  # another process was faster
            return unpack(archive, folder, sha256=digest)
    return _pack_from_folder(folder)


def _pack_from_folder(folder: Path) -> Pack:
    """Verify an unpacked folder, and return the pack; in the cache, the manifest must also match
    the name of the folder."""
    remedy = f"; remove {folder}, and open or get the pack again"
    try:
        manifest = verify(folder)
    except ValueError as error:
        raise ValueError(f"{error}{remedy}") from error
    if match := CACHED_PACK_PATTERN.fullmatch(folder.name):
        entry = _find_known_pack(manifest.identity)
        is_known = entry is not None and entry.sha256.startswith(match[3])
        is_other = is_known and entry is not None and entry.manifest != manifest.sha256
        if is_other or not folder.name.startswith(f"{manifest.identity}-"):
            raise ValueError(f"{folder} holds another pack than its name says{remedy}")
    return Pack(folder, manifest)


def _prepare_cache(root: Path) -> Path:
    """Create the folder of unpacked packs and return the folder; remove unfinished packs left
    behind by processes killed at least a day ago."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        paths = [path for path in root.iterdir() if UNFINISHED_PACK_PATTERN.fullmatch(path.name)]
    except OSError as error:
        raise ValueError(
            f"the cache {root} cannot be used ({error}); set {CACHE_VARIABLE} to another folder"
        ) from error
    for path in paths:
        with suppress(OSError):  # another process may remove the same path
            if time.time() - path.lstat().st_mtime > STALE_PACK_SECONDS:
                shutil.rmtree(path)
    return root


# ----------------------------------------------------------------------------------------- fetching


def get_pack(
    name: str,
    source: str | Path | Sequence[str | Path],
    *,
    sha256: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Pack:
    """Fetch a pack into the cache, unless the pack is in the cache already, and return the pack.

    ``name``: with the version, "resi-compact@1". ``source``: a folder, an http or https address of
    a folder or of the archive, or several sources, tried in order. ``sha256``: the checksum of the
    archive. By default the function uses the checksum known to the library, or else the checksum in
    the file ``NAME@VERSION.tar.xz.sha256`` of the source, which protects from damage but not from a
    malicious source. Nothing is unpacked before the checksum matches. ``progress``: True, or a
    function called with the number of bytes fetched and the total, 0 if the total is unknown.

    Raises ``ValueError`` with all tried sources and the reasons of the failures.
    """
    identity = _newest_pack_name(name, cache)
    if identity is None:
        raise ValueError(f"no version of {name} is known; give one, as {name}@1")
    digest = _expected_digest(identity, sha256)
    sources = [source] if isinstance(source, str | Path) else list(source)
    root, failures = _prepare_cache(cache_folder(cache)), []
    for origin in sources:
        try:
            return _download_pack(identity, origin, digest, root, progress or False)
        except DOWNLOAD_ERRORS as error:
            failures.append(f"{origin}: {str(error) or type(error).__name__}")
    summary = "; ".join(failures) or "no source was given"
    raise ValueError(f"{identity} cannot be downloaded ({summary})")


def _expected_digest(identity: str, sha256: str | None) -> str | None:
    """Return the required checksum of the archive of a pack; None if only the source knows the
    checksum.

    ``sha256``: the checksum given by the user. Raises ``ValueError`` if the checksum is invalid or
    differs from the checksum known to the library.
    """
    entry = _find_known_pack(identity)
    if sha256 is None:
        return entry.sha256 if entry else None
    digest = sha256.strip().lower()
    if not DIGEST_PATTERN.fullmatch(digest):
        raise ValueError(f"a SHA-256 has 64 hexadecimal digits; got {sha256!r:.80}")
    if entry and entry.sha256 != digest:
        raise ValueError(f"{identity} is known with the SHA-256 {entry.sha256}, not {digest}")
    return digest


def _download_pack(
    identity: str, origin: str | Path, digest: str | None, root: Path, progress: Progress
) -> Pack:
    digest = digest or _published_digest(_pack_address(origin, identity, ".sha256"))
    folder = root / f"{identity}-{digest[:12]}"
    if folder.exists():
        return _pack_from_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as temporary_folder:
        archive = Path(temporary_folder) / f"{identity}{PACK_SUFFIX}"
        with (
            archive.open("wb") as file,
            urlopen(_pack_address(origin, identity), timeout=DOWNLOAD_TIMEOUT) as answer,
            progress_reporter(
                progress, int(answer.headers.get("Content-Length", 0)), identity
            ) as count,
        ):
            while chunk := answer.read(DOWNLOAD_CHUNK_BYTES):
                file.write(chunk)
                count(len(chunk))
                if file.tell() > MAX_PACK_BYTES:
                    raise ValueError(f"it has more than {MAX_PACK_BYTES:,} bytes")
        pack = unpack(archive, Path(temporary_folder) / "pack", sha256=digest)
        if pack.manifest.identity != identity:
            raise ValueError(f"it is {pack.manifest.identity}")
        with suppress(OSError):  # another process was faster
            os.replace(pack.folder, folder)
    return _pack_from_folder(folder)


def _pack_address(source: str | Path, identity: str, suffix: str = "") -> str:
    """Return the address of an archive in a source: a folder, or the archive itself.

    ``identity``: "NAME@VERSION". ``suffix``: added to the address, such as ".sha256". Raises
    ``ValueError`` for addresses of other kinds than http, https and file.
    """
    is_path = isinstance(source, Path) or "://" not in source
    parts = urlsplit(Path(source).absolute().as_uri() if is_path else str(source))
    if parts.scheme not in ("http", "https", "file"):
        raise ValueError(f"{source} is not an http, https or file: address, and not a path")
    name = "" if parts.path.endswith(PACK_SUFFIX) else f"/{quote(f'{identity}{PACK_SUFFIX}', '@')}"
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}{name}{suffix}"))


def _published_digest(address: str) -> str:
    """Return the SHA-256 at the start of the file at an address; ``ValueError`` without a
    SHA-256."""
    try:
        with urlopen(address, timeout=DOWNLOAD_TIMEOUT) as answer:
            line = answer.read(64).decode("ascii", "replace").lower()
    except DOWNLOAD_ERRORS as error:
        raise ValueError(
            f"its checksum is not known, and {address} cannot be read ({error}); give the checksum"
        ) from error
    if not DIGEST_PATTERN.fullmatch(line):
        raise ValueError(f"{address} does not begin with a SHA-256; give the checksum")
    return line
