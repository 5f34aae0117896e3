"""Packs by name: those that ship with the library, those in the cache, and those to be fetched.

::

    ~/.cache/resemblance/packs/
      resi-compact@1-0f3a5b7c9d1e/     a pack: MANIFEST.json and its files, read-only; the name ends
                                       with the first digits of the checksum of its archive
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..display import did_you_mean
from ..json_files import checksum
from ..progress import Progress, reporting
from .archive import read_manifest, unpack, verify
from .fetching import TRANSFER, Place, digest_beside, fetch, place_of
from .known import KnownPack, known_packs
from .manifest import DIGEST, IDENTITY, NAME, PACK_BYTES, SUFFIX, Pack

CACHE = "RESEMBLANCE_CACHE"  # in the environment: another folder for the cache
CACHED = re.compile(rf"({NAME.pattern})@([1-9][0-9]{{0,5}})-([0-9a-f]{{12}})")
UNFINISHED = re.compile(rf"\.{CACHED.pattern}-\w+|\.download-\w+\.tar\.xz")
KILLED = 24 * 3600.0  # seconds after which what is unfinished is taken to be a killed process's


def cache_folder(cache: Path | None = None) -> Path:
    """Return the folder of unpacked packs: in ``cache``, or where the environment says."""
    if cache is not None:
        return cache / "packs"
    if folder := os.environ.get(CACHE):
        return Path(folder).expanduser() / "packs"
    folder = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(folder).expanduser() / "resemblance" / "packs"


def open_pack(
    name: str | Path, *, source: str | Path | None = None, cache: Path | None = None
) -> Pack:
    """Return a pack by its name, or from an archive or an unpacked folder.

    ``name``: "resi-compact@1"; "resi-compact" is its newest known version. A pack that neither
    ships with the library nor is in the cache is fetched from ``source``, as ``get_pack`` does. All
    files are verified each time.

    Raises ``ValueError`` for a pack that is not there, and for one whose files have changed.
    """
    place = find_pack(name, cache=cache)
    if place is None:
        if source is None:
            raise ValueError(_remedy(str(name)))
        return get_pack(str(name), source, cache=cache)
    if place.is_dir():
        return _from_folder(place)
    known = {pack.archive: pack for pack in known_packs()}.get(place)
    identity = known.identity if known else read_manifest(place).identity
    digest = known.sha256 if known else checksum(place)
    return _from_archive(place, identity, digest, _prepared(cache_folder(cache)))


def find_pack(name: str | Path, *, cache: Path | None = None) -> Path | None:
    """Return the folder or archive of a pack; None for one that would have to be fetched.

    Raises ``ValueError`` for what is neither the name of a pack nor a path, and for a name that
    several packs in the cache have.
    """
    if isinstance(name, str) and IDENTITY.fullmatch(name):
        identity = _newest(name, cache)
        place = _named(identity, cache) if identity else None
        if place is not None or not Path(name).exists():
            return place
    if not Path(name).exists():
        raise ValueError(
            f"{name} is no pack, such as resi-compact@1, and neither an archive nor a folder"
        )
    return Path(name)


def _named(identity: str, cache: Path | None) -> Path | None:
    known = _known(identity)
    digits = known.sha256[:12] if known else None
    folders = [folder for folder in cached_packs(cache) if _is_of(folder, identity, digits)]
    if len(folders) > 1:
        places = ", ".join(map(str, folders))
        raise ValueError(f"the cache has several packs {identity}: give the path of one, {places}")
    if folders:
        return folders[0]
    return known.archive if known and known.is_shipped else None


def cached_packs(cache: Path | None = None) -> tuple[Path, ...]:
    """Return the folders of the packs in the cache, none of them verified."""
    root = cache_folder(cache)
    names = sorted(os.listdir(root)) if root.is_dir() else []
    return tuple(root / name for name in names if CACHED.fullmatch(name))


def get_pack(
    name: str,
    source: str | Path | Sequence[str | Path],
    *,
    sha256: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Pack:
    """Fetch a pack into the cache, unless it is there, and return it.

    ``name``: with its version, "resi-compact@1". ``source``: a folder, an http or https address of
    a folder or of the archive, or several of these, which are tried in their order. ``sha256``: of
    the archive; otherwise the one that the library knows, or else the one that the source gives in
    the file ``NAME@VERSION.tar.xz.sha256``, which protects from damage but not from a source with
    bad intentions. Nothing is unpacked before its checksum is right. ``progress``: True, or a
    function called with the number of bytes fetched and their total, 0 if it is not known.

    Raises ``ValueError`` that names what was tried, and why it failed.
    """
    identity = _newest(name, cache)
    if identity is None:
        raise ValueError(f"no version of {name} is known; give one, as {name}@1")
    digest = _expected(identity, sha256)
    sources = [source] if isinstance(source, str | Path) else list(source)
    root, failures = _prepared(cache_folder(cache)), []
    for origin in sources:
        try:
            place = place_of(origin, identity)
            return _fetched(identity, place, digest, root, progress or False)
        except TRANSFER as error:
            failures.append(f"{origin}: {str(error) or type(error).__name__}")
    tried = "; ".join(failures) or "no source was given"
    raise ValueError(f"{identity} cannot be had ({tried})")


def _fetched(
    identity: str, place: Place, digest: str | None, root: Path, progress: Progress
) -> Pack:
    digest = digest or digest_beside(place)
    folder = root / f"{identity}-{digest[:12]}"
    if folder.exists():
        return _from_folder(folder)
    known = _known(identity)
    size = known.size if known else None
    with _download(root) as partial:
        with partial.open("wb") as file, reporting(progress, size, identity) as count:
            actual = fetch(place, file, size or PACK_BYTES, count)
        if actual != digest:
            raise ValueError(
                f"it has the SHA-256 {actual} instead of {digest}, and is not unpacked"
            )
        if (other := read_manifest(partial).identity) != identity:
            raise ValueError(f"it is {other}")
        return _from_archive(partial, identity, digest, root)


def _expected(identity: str, sha256: str | None) -> str | None:
    """Return the checksum that an archive must have; None where only its source knows it."""
    known = _known(identity)
    if sha256 is None:
        return known.sha256 if known else None
    digest = sha256.strip().lower()
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"a SHA-256 has 64 hexadecimal digits; got {sha256!r:.80}")
    if known and known.sha256 != digest:
        raise ValueError(f"{identity} is known with the SHA-256 {known.sha256}, not {digest}")
    return digest


# ------------------------------------------------------------------------------------------- names


def _newest(name: str, cache: Path | None) -> str | None:
    """Return the name of a pack with its version, by default the newest that is known or cached;
    None where there is none."""
    match = IDENTITY.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r:.80} is no pack: give its name and version, as resi-compact@1")
    if match[2]:
        return name
    cached = [CACHED.fullmatch(folder.name) for folder in cached_packs(cache)]
    versions = [int(folder[2]) for folder in cached if folder and folder[1] == name]
    versions += [pack.version for pack in known_packs() if pack.name == name]
    return f"{name}@{max(versions)}" if versions else None


def _known(identity: str) -> KnownPack | None:
    return next((pack for pack in known_packs() if pack.identity == identity), None)


def _is_of(folder: Path, identity: str, digits: str | None) -> bool:
    start, _, end = folder.name.rpartition("-")
    return start == identity and digits in (None, end)


def _remedy(name: str) -> str:
    guess = did_you_mean(name, [pack.identity for pack in known_packs()])
    return (
        f"{name} neither ships with the library nor is in the cache; resemblance pack get fetches "
        f"a pack{guess if 'mean' in guess else ''}"
    )


# ------------------------------------------------------------------------------------------- cache


def _from_folder(folder: Path) -> Pack:
    """Verify an unpacked folder; the manifest of one in the cache must be that of its name."""
    remedy = f"; remove {folder}, and open or get the pack again"
    try:
        manifest = verify(folder)
    except ValueError as error:
        raise ValueError(f"{error}{remedy}") from error
    if match := CACHED.fullmatch(folder.name):
        known = _known(manifest.identity)
        is_known = known is not None and known.sha256.startswith(match[3])
        is_other = is_known and known is not None and known.manifest != manifest.sha256
        if is_other or not folder.name.startswith(f"{manifest.identity}-"):
            raise ValueError(f"{folder} holds another pack than its name says{remedy}")
    return Pack(folder, manifest)


def _from_archive(archive: Path, identity: str, digest: str, root: Path) -> Pack:
    """Unpack an archive into the cache, unless it is there."""
    folder = root / f"{identity}-{digest[:12]}"
    if not folder.exists():
        with suppress(FileExistsError):  # another process was faster
            return unpack(archive, folder, sha256=digest)
    return _from_folder(folder)


@contextmanager
def _download(root: Path) -> Iterator[Path]:
    """Yield the path of a new file, which is removed in the end."""
    handle, name = tempfile.mkstemp(prefix=".download-", suffix=SUFFIX, dir=root)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _prepared(root: Path) -> Path:
    """Create the cache, and remove what processes left in it that were killed a day ago or more."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        unfinished = [path for path in root.iterdir() if UNFINISHED.fullmatch(path.name)]
    except OSError as error:
        raise ValueError(
            f"the cache {root} cannot be used ({error}); set {CACHE} to another folder"
        ) from error
    for path in unfinished:
        with suppress(OSError):  # another process removes it, too
            if time.time() - path.lstat().st_mtime > KILLED:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return root
