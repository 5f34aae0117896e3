"""Archives read with bounds on memory, and nothing else in them than plain files.

The reader knows the one kind of header that packs are written with. Links, devices, folders, sparse
files, and headers that extend others are refused, because no pack has them.
"""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

CHUNK = 2**20
MEMORY = 2**26  # for the dictionary of the decoder, of which a header could ask for 4 GiB


class Member(NamedTuple):
    """A file in an archive: its name, its size by the header, and its content in chunks, which can
    be read once and before the next file."""

    name: str
    size: int
    chunks: Iterator[bytes]


class Decoded:
    """The content of an .xz file, decoded only as far as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)

    def read(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end; ``ValueError`` for a damaged file."""
        parts, missing = [], size
        try:
            while missing and not self._decoder.eof:
                data = self._file.read(CHUNK) if self._decoder.needs_input else b""
                if self._decoder.needs_input and not data:
                    raise ValueError("it is truncated")
                parts.append(self._decoder.decompress(data, missing))
                missing -= len(parts[-1])
        except lzma.LZMAError as error:
            raise ValueError(f"it is no .xz file, or is damaged ({error})") from error
        return b"".join(parts)

    def exactly(self, size: int) -> bytes:
        """Return so many bytes; ``ValueError`` where the content ends before."""
        data = self.read(size)
        if len(data) < size:
            raise ValueError("it is truncated")
        return data

    def check_end(self) -> None:
        """Raise ``ValueError`` unless only the padding of a tar file follows, and then nothing."""
        rest = self.read(tarfile.RECORDSIZE + 1)
        if len(rest) > tarfile.RECORDSIZE or any(rest):
            raise ValueError("it goes on after its end")
        if not self._decoder.eof or self._decoder.unused_data or self._file.read(1):
            raise ValueError("something follows its end")


def read_members(file: BinaryIO) -> Iterator[Member]:
    """Yield the files of a .tar.xz file; nothing is read or decoded before it is asked for.

    Raises ``ValueError`` for anything else than a plain file, for damage, and for what follows the
    end.
    """
    content = Decoded(file)
    while any(header := content.exactly(tarfile.BLOCKSIZE)):
        member = _header(header)
        chunks = _chunks(content, member.size)
        yield Member(member.name, member.size, chunks)
        for _ in chunks:  # what was not read of it
            pass
        content.exactly(-member.size % tarfile.BLOCKSIZE)
    content.check_end()


def _header(data: bytes) -> tarfile.TarInfo:
    try:
        member = tarfile.TarInfo.frombuf(data, "ascii", "strict")
    except (tarfile.TarError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no .tar file, or is damaged ({error})") from error
    if member.type != tarfile.REGTYPE or member.linkname or member.size < 0:
        raise ValueError(f"{member.name!r:.120} is not a plain file")
    return member


def _chunks(content: Decoded, size: int) -> Iterator[bytes]:
    for start in range(0, size, CHUNK):
        yield content.exactly(min(CHUNK, size - start))
