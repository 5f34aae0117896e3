"""Packs: the same bytes for the same content, and nothing unpacked that is not as it should be."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import stat
import tarfile
from pathlib import Path

import numpy as np
import pytest
from factories.archives import (
    TEXT,
    Entry,
    changed,
    manifest_of,
    plain,
    tar_of,
    write_archive,
    write_content,
    write_mini,
)

from resemblance.bench.packs import archive, unpack, verify, write_pack
from resemblance.bench.packs.archive import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    MAX_PACK_BYTES,
    manifest_text,
)

FILES_OF_MINI = {"subjects/seed0/block1.npy", "subjects/seed0/labels.npy", "traits.json"}
HONEST = {"a.json": TEXT, "b/c.txt": b"c"}


@pytest.fixture
def content(tmp_path):
    return write_content(tmp_path / "content")


@pytest.fixture
def mini(content, tmp_path):
    return write_mini(content, tmp_path / "out")


def below(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def with_manifest(text, entries=()):
    """A tar file that begins with a manifest."""
    return tar_of([Entry(MANIFEST_FILE, manifest_text(text).encode()), *entries])


# --------------------------------------------------------------------------------------- round trip


def test_what_is_packed_comes_back_read_only(content, mini, tmp_path):
    pack = unpack(mini, tmp_path / "new" / "pack")
    assert pack.folder == tmp_path / "new" / "pack"
    assert below(pack.folder) == {*FILES_OF_MINI, MANIFEST_FILE}
    for name in FILES_OF_MINI:
        assert (pack.folder / name).read_bytes() == (content / name).read_bytes()
    for name in below(pack.folder):
        assert stat.S_IMODE((pack.folder / name).stat().st_mode) == 0o444
    assert pack.manifest == verify(mini) == verify(pack.folder)
    assert pack.manifest.identity == "mini@1"
    assert pack.manifest.facts == {"size": "mini", "seeds": [0, 1]}
    assert pack.manifest.versions["numpy"] == np.__version__
    assert pack.manifest.machine


def test_equal_content_has_equal_bytes_and_other_content_another_checksum(content, mini, tmp_path):
    copy = tmp_path / "copy"
    for name in sorted(FILES_OF_MINI, reverse=True):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((content / name).read_bytes())
        (copy / name).chmod(0o700)
        os.utime(copy / name, (1, 1))
    again = write_mini(copy, tmp_path / "elsewhere.tar.xz")
    assert again.read_bytes() == mini.read_bytes()
    with tarfile.open(mini) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == [MANIFEST_FILE, *sorted(FILES_OF_MINI)]
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == {
        (0, 0, 0, "", "", 0o644, tarfile.REGTYPE)
    }
    np.save(content / "subjects" / "seed0" / "block1.npy", np.zeros((3, 4)))
    assert verify(write_mini(content, tmp_path / "b")).sha256 != verify(mini).sha256


def test_a_folder_is_packed_where_it_is_told_with_a_line_for_sha256sum(content, tmp_path):
    entries = {"name": "mini", "version": 3, "suite": "resi", "about": "A test.", "facts": {}}
    manifest = write_pack(content, tmp_path / "a" / "b", **entries)
    file = tmp_path / "a" / "b" / "mini@3.tar.xz"
    assert verify(file) == manifest
    line = Path(f"{file}.sha256").read_text()
    assert line == f"{hashlib.sha256(file.read_bytes()).hexdigest()}  mini@3.tar.xz\n"
    write_pack(content, tmp_path / "other.tar.xz", **entries)
    assert below(tmp_path / "a") == {"b/mini@3.tar.xz", "b/mini@3.tar.xz.sha256"}
    assert verify(tmp_path / "other.tar.xz") == manifest


# ---------------------------------------------------------------------------- what cannot be packed


def half_an_array(folder):
    path = folder / "subjects" / "seed0" / "block1.npy"
    path.write_bytes(path.read_bytes()[:-8])


UNPACKABLE = {
    "link": (lambda f: (f / "link").symlink_to(f / "traits.json"), "link is neither a plain file"),
    "folder": (lambda f: (f / "link").symlink_to(f / "subjects"), "link is neither a plain file"),
    "pipe": (lambda f: os.mkfifo(f / "pipe"), "pipe is neither a plain file nor a folder"),
    "objects": (lambda f: np.save(f / "o.npy", np.array([{}], object)), "o.npy is no array of num"),
    "half": (half_an_array, "block1.npy is no array of numbers, or is damaged"),
    "no array": (lambda f: (f / "a.npy").write_bytes(b"no"), "a.npy is no array of numbers"),
    "manifest": (lambda f: (f / MANIFEST_FILE).write_bytes(b""), "the name of the manifest"),
    "long name": (lambda f: (f / ("x" * 101)).write_bytes(b""), "too long"),
    "empty": (shutil.rmtree, "at least one file"),
}


def test_folders_that_cannot_be_packed(tmp_path, subtests):
    for name, (put, reason) in UNPACKABLE.items():
        with subtests.test(name):
            folder = write_content(tmp_path / name)
            put(folder)
            folder.mkdir(exist_ok=True)
            with pytest.raises(ValueError, match=reason):
                write_mini(folder, tmp_path / "out")
            assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_entries_that_no_pack_has(content, tmp_path, subtests):
    for changes, reason in (
        ({"name": "Mini"}, "lower-case"),
        ({"name": "../mini"}, "lower-case"),
        ({"name": "-mini"}, "lower-case"),
        ({"version": 0}, "version"),
        ({"facts": {"x": float("nan")}}, "facts"),
        ({"facts": {"x": {1, 2}}}, "facts"),
    ):
        with subtests.test(str(changes)):
            with pytest.raises(ValueError, match=reason):
                write_mini(content, tmp_path / "out", **changes)
            assert not (tmp_path / "out").exists()


def test_a_pack_is_not_written_into_what_it_packs(content):
    with pytest.raises(ValueError, match="is inside the folder to pack"):
        write_mini(content, content / "out")


def test_a_file_that_changes_while_it_is_packed_is_noticed(content, tmp_path, monkeypatch):
    addfile = tarfile.TarFile.addfile

    def change(tar, header, file):
        if header.name == "subjects/seed0/labels.npy":
            np.save(content / "subjects" / "seed0" / "labels.npy", np.arange(3) + 7)
        addfile(tar, header, file)

    monkeypatch.setattr(tarfile.TarFile, "addfile", change)
    with pytest.raises(ValueError, match=r"labels\.npy differs from the manifest"):
        write_mini(content, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


# --------------------------------------------------------------------------------- hostile archives


def listing(*names):
    """A manifest that lists these names besides the honest ones."""
    return manifest_of(HONEST | dict.fromkeys(names, b"x"))


def of_kind(name, kind, **changes):
    # The size in the header is the listed size, so that only the kind is wrong.
    return Entry(name, b"", {"type": kind, "size": 1, **changes})


NOT_PLAIN = "'x.?', which is no plain file"
UNLISTED = "which its manifest does not list"
HOSTILE = {
    "path that leads out": (listing("../x"), [Entry("../x", b"x")], "outside the destination"),
    "absolute path": (listing("/tmp/x"), [Entry("/tmp/x", b"x")], "'?/?tmp/x'? is (not|missing)"),
    "unlisted path that leads out": (manifest_of(HONEST), [Entry("../x", b"x")], UNLISTED),
    "symbolic link": (
        listing("x"), [of_kind("x", tarfile.SYMTYPE, linkname="/etc/passwd")], NOT_PLAIN
    ),
    "hard link": (listing("x"), [of_kind("x", tarfile.LNKTYPE, linkname="a.json")], NOT_PLAIN),
    "character device": (listing("x"), [of_kind("x", tarfile.CHRTYPE)], NOT_PLAIN),
    "block device": (listing("x"), [of_kind("x", tarfile.BLKTYPE)], NOT_PLAIN),
    "pipe": (listing("x"), [of_kind("x", tarfile.FIFOTYPE)], NOT_PLAIN),
    "folder": (listing("x"), [of_kind("x", tarfile.DIRTYPE)], NOT_PLAIN),
    "the same file twice": (listing("x"), [Entry("x", b"x"), Entry("x", b"x")], UNLISTED),
    "two manifests": (manifest_of(HONEST), [Entry(MANIFEST_FILE, b"{}")], UNLISTED),
    "unlisted file": (manifest_of(HONEST), [Entry("x", b"x")], UNLISTED),
    "missing file": (listing("x"), [], "x is missing"),
    "another content": (listing("x"), [Entry("x", b"y")], "x differs from the manifest"),
    "another size": (listing("x"), [Entry("x", b"xx")], "does not list with 2 bytes"),
    "size of another header": (
        listing("x"), [Entry("x", b"x", {"size": 2**40})], "list with 1,099,511,627,776 bytes"
    ),
    "a file that is a folder": (listing("b"), [Entry("b", b"x")], "'b' cannot be a file"),
    "no name": (listing(""), [Entry("", b"x")], "'' cannot be a file of a pack"),
    "long path": (listing("x/" * 200 + "x"), [], "at most 255 characters"),
    "control characters": (listing("\x1b[2J"), [Entry("\x1b[2J", b"x")], "all printable"),
    **{
        f"large header {kind!r}": (
            listing("x"), [Entry("x", bytes(2**16), {"type": kind}), Entry("x", b"x")], "too large"
        )
        for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)
    },
}  # fmt: skip


def test_hostile_archives_are_refused_and_leave_nothing(tmp_path, subtests):
    for kind, (manifest, entries, reason) in HOSTILE.items():
        with subtests.test(kind):
            target = write_archive(tmp_path / "h.tar.xz", manifest, [*plain(HONEST), *entries])
            for act in (verify, lambda path: unpack(path, tmp_path / "new" / "pack")):
                with pytest.raises(ValueError, match=f"h.tar.xz is refused as a pack: .*{reason}"):
                    act(target)
            assert below(tmp_path) == {"h.tar.xz"}
            assert not list((tmp_path / "new").iterdir())


# ---------------------------------------------------------------------------------------- manifests


def with_entry(**changes):
    manifest = manifest_of(HONEST)
    files = {n: {"sha256": f.sha256, "size": f.size} for n, f in manifest.files.items()}
    return changed(manifest, files=files | {"a.json": files["a.json"] | changes})


MANIFESTS = {
    "no JSON": (b"{", "is not the manifest of a pack"),
    "no object": (b"[]\n", "is not the manifest of a pack"),
    "deep": (b"[" * 100_000, "is not the manifest of a pack"),
    "bytes that are no text": (b"\xff\xfe", "is not the manifest of a pack"),
    "another format": (changed(manifest_of(HONEST), format=2), "another format than 1"),
    "no format": (b"{}\n", "no entry 'format'"),
    "NaN": (changed(manifest_of(HONEST), facts={"x": float("nan")}), "facts.x is not a finite"),
    "another entry": (changed(manifest_of(HONEST), code="import os"), "code"),
    "version as text": (changed(manifest_of(HONEST), version="1"), "version cannot be str"),
    "name of a path": (changed(manifest_of(HONEST), name="../x"), "lower-case"),
    "control characters": (changed(manifest_of(HONEST), about="\x1b[2J"), "control characters"),
    "in a version": (changed(manifest_of(HONEST), versions={"a": "\r"}), "control characters"),
    "no files": (changed(manifest_of(HONEST), files={}), "at least one file"),
    "negative size": (with_entry(size=-1), "a.json has no SHA-256, or no size"),
    "too large": (with_entry(size=MAX_PACK_BYTES), "at most 4,294,967,296 bytes"),
    "size that is no number": (with_entry(size=True), "size cannot be bool"),
    "no checksum": (with_entry(sha256="../x"), "a.json has no SHA-256"),
    "shape that is none": (with_entry(shape=["a"], dtype="<f8"), "shape cannot be"),
    "lines of another length": (
        manifest_text(manifest_of(HONEST)).replace("\n ", "\n  ").encode(), "not in the form"
    ),
    "a key twice": (
        manifest_text(manifest_of(HONEST)).replace(
            '"about"', '"about": "B.",\n "about"'
        ).encode(),
        "not in the form",
    ),
}  # fmt: skip


def test_manifests_that_are_none(tmp_path, subtests):
    for kind, (text, reason) in MANIFESTS.items():
        with subtests.test(kind):
            target = write_archive(tmp_path / "h.tar.xz", text, plain(HONEST))
            with pytest.raises(ValueError, match=reason):
                unpack(target, tmp_path / "pack")
            assert below(tmp_path) == {"h.tar.xz"}


def test_a_manifest_must_come_first(tmp_path):
    manifest = manifest_text(manifest_of(HONEST)).encode()
    for entries in ([*plain(HONEST), Entry(MANIFEST_FILE, manifest)], []):
        (tmp_path / "h.tar.xz").write_bytes(lzma.compress(tar_of(entries)))
        with pytest.raises(ValueError, match=r"does not begin with MANIFEST\.json"):
            verify(tmp_path / "h.tar.xz")


# -------------------------------------------------------------------------------- bombs and damage


def bomb(before, zeros=2**24):
    """An archive that decodes to what is given, and then to very many zeros."""
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(before)]
    parts += [packer.compress(bytes(2**20)) for _ in range(zeros // 2**20)]
    return b"".join([*parts, packer.flush()])


def header_of(name, size):
    header = tarfile.TarInfo(name)
    header.size = size
    return header.tobuf(tarfile.GNU_FORMAT)


def test_no_more_is_read_or_written_than_a_manifest_lists(tmp_path):
    before = with_manifest(listing("x"), plain(HONEST))[:-1024]
    for content, reason in (
        (
            header_of(MANIFEST_FILE, MAX_MANIFEST_BYTES + 1),
            "its manifest has 33,554,433 bytes; the limit",
        ),
        (before + header_of("x", 2**33), "does not list with 8,589,934,592 bytes"),
        (before + header_of("x", 1), "x differs from the manifest"),  # and then very many
    ):
        (tmp_path / "h.tar.xz").write_bytes(bomb(content))
        with pytest.raises(ValueError, match=reason):
            unpack(tmp_path / "h.tar.xz", tmp_path / "new" / "pack")
        assert not list((tmp_path / "new").iterdir())


def test_damage_is_refused_or_changes_nothing(mini, tmp_path):
    content, expected = mini.read_bytes(), verify(mini)
    cut = [content[:size] for size in range(0, len(content), 29)]
    flipped = [
        content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]
        for at in range(0, len(content), 17)
    ]
    refused = 0
    for damaged in (*cut, *flipped):
        (tmp_path / "d.tar.xz").write_bytes(damaged)
        try:
            assert verify(tmp_path / "d.tar.xz") == expected
        except ValueError as error:
            refused += "d.tar.xz is refused as a pack" in str(error)
    assert refused > 0.8 * len(cut + flipped)


def test_the_checksum_of_an_archive_comes_first(mini, tmp_path, monkeypatch):
    good = hashlib.sha256(mini.read_bytes()).hexdigest()
    assert unpack(mini, tmp_path / "pack", sha256=good).manifest.name == "mini"

    def read(*arguments, **more):
        raise AssertionError("it was read")

    monkeypatch.setattr(archive.tarfile, "open", read)
    (tmp_path / "h.tar.xz").write_bytes(b"anything")
    nearly = good[:-1] + ("0" if good[-1] != "0" else "1")
    for damaged, digest in ((tmp_path / "h.tar.xz", good), (mini, nearly)):
        with pytest.raises(ValueError, match=f"instead of {digest}"):
            unpack(damaged, tmp_path / "new" / "pack", sha256=digest)
    assert not list((tmp_path / "new").iterdir())


def test_a_folder_that_exists_is_left_alone(mini, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="give a new folder"):
        unpack(mini, tmp_path / "pack")
    assert below(tmp_path / "pack") == {"mine.txt"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_attempt_leaves_nothing(mini, tmp_path, monkeypatch, error):
    extract, written = tarfile.TarFile.extract, []

    def interrupt(tar, member, *arguments, **options):
        written.extend(below(tmp_path / "new"))
        if written:  # this is the second file
            raise error
        return extract(tar, member, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extract", interrupt)
        with pytest.raises(type(error)):
            unpack(mini, tmp_path / "new" / "pack")
    assert len(written) == 1
    assert not list((tmp_path / "new").iterdir())
    assert unpack(mini, tmp_path / "new" / "pack").manifest.name == "mini"


# -------------------------------------------------------------------------------- tampered folders


def edit(path, content):
    path.chmod(0o644)
    path.write_bytes(content)


def link(path):
    path.rename(path.parent.parent / path.name)
    path.symlink_to(path.parent.parent / path.name)


TAMPERED = {
    "changed": (lambda f: edit(f / "traits.json", TEXT.replace(b"5", b"6")), "traits.json differs"),
    "cut": (lambda f: edit(f / "traits.json", TEXT[:-1]), "traits.json differs"),
    "removed": (lambda f: shutil.rmtree(f / "subjects"), "subjects/seed0/block1.npy is missing"),
    "added": (
        lambda f: (f / "subjects" / "code.py").write_text(""),
        "'subjects/code.py' is not listed",
    ),
    "linked": (lambda f: link(f / "traits.json"), "traits.json is neither a plain file"),
    "another manifest": (
        lambda f: edit(
            f / MANIFEST_FILE,
            (f / MANIFEST_FILE).read_bytes().replace(b'"size": 17', b'"size": 18'),
        ),
        "traits.json differs",
    ),
    "no manifest": (lambda f: (f / MANIFEST_FILE).unlink(), "it has no MANIFEST.json"),
    "a linked manifest": (lambda f: link(f / MANIFEST_FILE), "it has no MANIFEST.json"),
}


def test_tampered_folders_are_refused_with_the_first_difference(mini, tmp_path, subtests):
    for name, (tamper, reason) in TAMPERED.items():
        with subtests.test(name):
            folder = unpack(mini, tmp_path / name / "pack").folder
            verify(folder)
            tamper(folder)
            with pytest.raises(ValueError, match=f"pack is refused as a pack: .*{reason}"):
                verify(folder)
