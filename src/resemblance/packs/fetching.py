"""Archives from a folder or over HTTP, limited in size; nothing fetched is trusted here."""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib import request
from urllib.parse import quote, urlsplit, urlunsplit

from .. import __version__
from .manifest import DIGEST, SUFFIX
from .reading import CHUNK

TIMEOUT = 30.0  # seconds without an answer
SLOWEST = 1000  # bytes a second of an archive, after that time
LINE = 4096  # bytes of a file with a checksum
TRANSFER = (OSError, ValueError, HTTPException)  # what can go wrong with one of several sources
# All that a request may need; there is none for ftp:, data: or file:, wherever a server redirects.
HANDLERS = (
    request.ProxyHandler,
    request.UnknownHandler,
    request.HTTPHandler,
    request.HTTPSHandler,
    request.HTTPDefaultErrorHandler,
    request.HTTPRedirectHandler,
    request.HTTPErrorProcessor,
)
Place = str | Path  # an address, which is a text, or a path


def place_of(source: str | Path, identity: str) -> Place:
    """Return the address or path of an archive in a source: a folder, or the archive itself.

    Raises ``ValueError`` for addresses of other kinds than http, https and file.
    """
    name = f"{identity}{SUFFIX}"
    parts = urlsplit(str(source))
    if isinstance(source, str) and parts.scheme in ("http", "https"):
        if parts.path.endswith(SUFFIX):
            return source
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name, '@')}"))
    path = Path(source)
    if isinstance(source, str) and "://" in source:
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            raise ValueError(f"{source} is no http or https address, no file: address and no path")
        path = Path(request.url2pathname(parts.path))
    return path if path.name.endswith(SUFFIX) else path / name


def fetch(
    place: Place, target: BinaryIO, limit: int, count: Callable[[int], None] = lambda more: None
) -> str:
    """Copy an archive and return its SHA-256; ``count`` is called with the size of every chunk.

    Raises ``ValueError`` beyond the limit, and one of ``TRANSFER`` for a source that fails.
    """
    digest, size = hashlib.sha256(), 0
    with _opened(place) as source:
        start = time.monotonic()
        while chunk := source.read1(CHUNK):
            size += len(chunk)
            if time.monotonic() - start > TIMEOUT + size / SLOWEST:
                raise ValueError(f"it sends less than {SLOWEST:,} bytes a second")
            if size > limit:
                raise ValueError(f"it has more than {limit:,} bytes")
            digest.update(chunk)
            target.write(chunk)
            count(len(chunk))
        if missing := getattr(source, "length", 0):  # of an answer over HTTP
            raise ValueError(f"it ends {missing:,} bytes before the length that it states")
    return digest.hexdigest()


def digest_beside(place: Place) -> str:
    """Return the SHA-256 that a source gives of its archive, in the file NAME.tar.xz.sha256.

    Raises ``ValueError`` where there is none.
    """
    if isinstance(place, Path) and not place.is_file():
        raise ValueError(f"there is no file {place}")
    beside, content = _beside(place), io.BytesIO()
    try:
        fetch(beside, content, LINE)
    except TRANSFER as error:
        raise ValueError(
            f"its checksum is not known, and {beside} cannot be read ({error}); give the checksum"
        ) from error
    line = content.getvalue().decode("ascii", "replace")
    digest = re.split(r"\s", line, maxsplit=1)[0].lower()
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"{beside} does not begin with a SHA-256; give the checksum")
    return digest


def _beside(place: Place) -> Place:
    if isinstance(place, Path):
        return place.with_name(f"{place.name}.sha256")
    parts = urlsplit(place)
    return urlunsplit(parts._replace(path=f"{parts.path}.sha256"))


@contextmanager
def _opened(place: Place) -> Iterator[Any]:
    if isinstance(place, Path):
        with place.open("rb") as file:
            yield file
        return
    opener = request.OpenerDirector()
    opener.addheaders = [("User-Agent", f"resemblance/{__version__}")]
    for handler in HANDLERS:
        opener.add_handler(handler())
    with opener.open(place, timeout=TIMEOUT) as answer:
        yield answer
