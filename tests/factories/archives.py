"""Packs for tests: honest ones, hostile ones, and a server of them."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.bench.packs import Manifest, PackedFile, opening, verify, write_pack
from resemblance.bench.packs.archive import MANIFEST_FILE, manifest_text

TEXT = b'{"accuracy": 0.5}'


def write_content(folder: Path) -> Path:
    """Write three files as a suite would."""
    (folder / "subjects" / "seed0").mkdir(parents=True)
    np.save(folder / "subjects" / "seed0" / "block1.npy", np.arange(12.0).reshape(3, 4))
    np.save(folder / "subjects" / "seed0" / "labels.npy", np.arange(3))
    (folder / "traits.json").write_bytes(TEXT)
    return folder


def write_mini(folder: Path, target: Path, version: int = 1, **more: Any) -> Path:
    """Pack a folder as mini@1, and return the archive."""
    facts = {"size": "mini", "seeds": (0, 1)}
    entries: dict[str, Any] = {"name": "mini", "suite": "resi", "about": "A test.", "facts": facts}
    manifest = write_pack(folder, target, **(entries | {"version": version} | more))
    return target if target.name.endswith(".tar.xz") else target / f"{manifest.identity}.tar.xz"


def ship(folder: Path, version: int = 1, **more: Any) -> opening.KnownPack:
    """Pack a folder where the library has the packs that ship, and list it there."""
    archive = write_mini(folder, opening.SHIPPED_PACKS_FOLDER, version, **more)
    manifest, index = verify(archive), opening.SHIPPED_PACKS_FOLDER / "index.json"
    about = (manifest.name, version, manifest.suite, manifest.about)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    pack = opening.KnownPack(*about, digest, archive.stat().st_size, manifest.sha256)
    document = json.loads(index.read_text())
    document["packs"].append(pack._asdict())
    index.write_text(json.dumps(document))
    return pack


def manifest_of(files: Mapping[str, bytes], **changes: Any) -> Manifest:
    """Return a manifest that lists files with this content."""
    listed = {n: PackedFile(hashlib.sha256(c).hexdigest(), len(c)) for n, c in files.items()}
    manifest = Manifest("mini", 1, "resi", "A test.", listed, {}, {"python": "3"}, "a machine")
    return manifest._replace(**changes)


class Entry(NamedTuple):
    """A member of a tar file: its content, and how its header differs from an honest one."""

    name: str
    content: bytes = b""
    changes: Mapping[str, Any] = {}


def plain(files: Mapping[str, bytes]) -> list[Entry]:
    return [Entry(name, content) for name, content in files.items()]


def tar_of(entries: list[Entry]) -> bytes:
    """Return a tar file whose headers are as they are asked to be, whatever follows them."""
    target = io.BytesIO()
    for name, content, changes in entries:
        header = tarfile.TarInfo(name)
        header.size, header.mode = len(content), 0o644
        for key, value in changes.items():
            setattr(header, key, value)
        target.write(header.tobuf(tarfile.GNU_FORMAT))
        target.write(content + bytes(-len(content) % 512))
    return target.getvalue() + bytes(1024)


def write_archive(target: Path, manifest: Manifest | bytes, entries: list[Entry]) -> Path:
    """Write an archive that begins with a manifest, or with bytes in its place."""
    text = manifest if isinstance(manifest, bytes) else manifest_text(manifest).encode()
    target.write_bytes(lzma.compress(tar_of([Entry(MANIFEST_FILE, text), *entries])))
    return target


def changed(manifest: Manifest, **changes: Any) -> bytes:
    """Return the text of a manifest with other entries, in its canonical form."""
    document = json.loads(manifest_text(manifest)) | changes
    return (json.dumps(document, sort_keys=True, indent=1) + "\n").encode()


class Answer(NamedTuple):
    """What a server sends for a path."""

    body: bytes = b""
    status: int = 200
    location: str = ""
    length: int | None = None
    pause: float = 0  # seconds after every byte


class Served(NamedTuple):
    """A server: its address, and the paths that were asked for."""

    address: str
    asked: list[str]


@contextmanager
def served(answers: Mapping[str, Answer]) -> Iterator[Served]:
    """Serve answers by path on this machine."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer = answers.get(self.path, Answer(status=404))
            self.send_response(answer.status)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Length", str(answer.length or len(answer.body)))
            self.end_headers()
            for i in range(len(answer.body) if answer.pause else 0):
                self.wfile.write(answer.body[i : i + 1])
                time.sleep(answer.pause)
            if not answer.pause:
                self.wfile.write(answer.body)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
