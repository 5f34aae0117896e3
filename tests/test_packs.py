"""Packs: the same bytes for the same content, and nothing unpacked that is not as it should be."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import shutil
import stat
import struct
import tarfile
import zlib
from contextlib import suppress
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

from resemblance.packs import PackedFile, archive, manifest, unpack, verify, write_pack
from resemblance.packs.manifest import (
    FILE_BYTES,
    MANIFEST,
    MANIFEST_BYTES,
    check_names,
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


# --------------------------------------------------------------------------------------- round trip


def test_what_is_packed_comes_back(content, mini, tmp_path):
    pack = unpack(mini, tmp_path / "new" / "pack")
    assert pack.folder == tmp_path / "new" / "pack"
    assert below(pack.folder) == {*FILES_OF_MINI, MANIFEST}
    for name in FILES_OF_MINI:
        assert (pack.folder / name).read_bytes() == (content / name).read_bytes()
    assert pack.manifest == verify(mini) == verify(pack.folder)
    assert pack.manifest.identity == "mini@1"
    assert pack.manifest.facts == {"size": "mini", "seeds": [0, 1]}
    assert pack.manifest.versions["numpy"] == np.__version__
    assert pack.manifest.machine


def test_a_manifest_describes_arrays_and_is_named_by_its_checksum(mini, tmp_path):
    folder, listed = unpack(mini, tmp_path / "pack")
    block = listed.files["subjects/seed0/block1.npy"]
    assert (block.shape, block.dtype) == ((3, 4), "<f8")
    assert listed.files["traits.json"] == PackedFile(hashlib.sha256(TEXT).hexdigest(), len(TEXT))
    assert listed.sha256 == hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    assert listed.size == sum((folder / name).stat().st_size for name in listed.files)


def test_what_is_unpacked_is_read_only(mini, tmp_path):
    folder = unpack(mini, tmp_path / "pack").folder
    for name in below(folder):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o444


def test_equal_content_has_equal_bytes(content, mini, tmp_path):
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
    assert [m.name for m in members] == [MANIFEST, *sorted(FILES_OF_MINI)]
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == {
        (0, 0, 0, "", "", 0o644, tarfile.REGTYPE)
    }


def test_other_content_has_another_checksum(content, mini, tmp_path):
    first = verify(mini)
    np.save(content / "subjects" / "seed0" / "block1.npy", np.zeros((3, 4)))
    assert verify(write_mini(content, tmp_path / "b")).sha256 != first.sha256


def test_the_checksum_is_written_for_sha256sum(mini):
    line = Path(f"{mini}.sha256").read_text()
    assert line == f"{hashlib.sha256(mini.read_bytes()).hexdigest()}  mini@1.tar.xz\n"


def test_arrays_of_every_plain_type_are_packed(tmp_path):
    arrays = {
        "half": np.zeros((2, 3), np.float16),
        "none": np.zeros((0, 5)),
        "number": np.array(3),
        "texts": np.array(["a", "bc"]),
        "turned": np.asfortranarray(np.ones((3, 2), ">f4")),
        "pairs": np.zeros(2, [("x", "f4"), ("y", "i8")]),
    }
    (tmp_path / "in").mkdir()
    for name, array in arrays.items():
        np.save(tmp_path / "in" / f"{name}.npy", array)
    pack = unpack(write_mini(tmp_path / "in", tmp_path / "out"), tmp_path / "pack")
    for name, array in arrays.items():
        file = pack.manifest.files[f"{name}.npy"]
        assert (file.shape, file.dtype) == (array.shape, array.dtype.str)
        back = np.load(pack.folder / f"{name}.npy", mmap_mode="r" if array.size else None)
        np.testing.assert_array_equal(back, array)


# ---------------------------------------------------------------------------- what cannot be packed


def put_link(folder):
    (folder / "link").symlink_to(folder / "traits.json")


def put_link_to_folder(folder):
    (folder / "link").symlink_to(folder / "subjects")


def put_pipe(folder):
    os.mkfifo(folder / "pipe")


def put_objects(folder):
    np.save(folder / "o.npy", np.array([{}], object), allow_pickle=True)


def put_half_an_array(folder):
    path = folder / "subjects" / "seed0" / "block1.npy"
    path.write_bytes(path.read_bytes()[:-8])


def put_no_array(folder):
    (folder / "a.npy").write_bytes(b"not an array")


def put_other_case(folder):
    (folder / "Traits.json").write_bytes(b"")


def put_other_case_of_folder(folder):
    (folder / "Subjects").mkdir()
    (folder / "Subjects" / "x").write_bytes(b"")


def put_manifest(folder):
    (folder / MANIFEST).write_bytes(b"")


def put_backslash(folder):
    (folder / "a\\b").write_bytes(b"")


def put_control_character(folder):
    (folder / "a\nb").write_bytes(b"")


def put_bytes_that_are_no_text(folder):
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"")


def put_long_name(folder):
    (folder / ("x" * 101)).write_bytes(b"")


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        (put_link, "link is neither a plain file nor a folder"),
        (put_link_to_folder, "link is neither a plain file nor a folder"),
        (put_pipe, "pipe is neither a plain file nor a folder"),
        (put_objects, "o.npy holds Python objects"),
        (put_half_an_array, "block1.npy has .* not what its header promises"),
        (put_no_array, "a.npy is no .npy file"),
        (put_other_case, "are one file where case does not count"),
        (put_other_case_of_folder, "are one folder where case does not count"),
        (put_manifest, "are one file where case does not count"),
        (put_backslash, "cannot be the path of a file in a pack"),
        (put_control_character, "cannot be the path of a file in a pack"),
        (put_bytes_that_are_no_text, "cannot be the path of a file in a pack"),
        (put_long_name, "too long"),
    ],
)
def test_folders_that_cannot_be_packed(content, tmp_path, put, reason):
    put(content)
    with pytest.raises(ValueError, match=reason):
        write_mini(content, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "Mini"}, "lower-case"),
        ({"name": "../mini"}, "lower-case"),
        ({"name": "-mini"}, "lower-case"),
        ({"version": 0}, "version"),
        ({"facts": {"x": float("nan")}}, "facts"),
        ({"facts": {"x": {1, 2}}}, "facts"),
    ],
)
def test_entries_that_no_pack_has(content, tmp_path, changes, reason):
    with pytest.raises(ValueError, match=reason):
        write_mini(content, tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_no_pack(tmp_path):
    (tmp_path / "in" / "empty").mkdir(parents=True)
    with pytest.raises(ValueError, match="1 to 100,000 files; got 0"):
        write_mini(tmp_path / "in", tmp_path / "out")


def test_a_pack_is_not_written_into_what_it_packs(content):
    with pytest.raises(ValueError, match="in the folder that it packs"):
        write_mini(content, content / "out")


def test_a_file_that_changes_while_it_is_packed_is_noticed(content, tmp_path, monkeypatch):
    addfile = tarfile.TarFile.addfile

    def change(tar, header, file):
        if header.name == "subjects/seed0/labels.npy":
            np.save(content / "subjects" / "seed0" / "labels.npy", np.arange(3) + 7)
        addfile(tar, header, file)

    monkeypatch.setattr(tarfile.TarFile, "addfile", change)
    with pytest.raises(ValueError, match=r"labels\.npy has another content"):
        write_mini(content, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


PATHS = (
    "/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a/", "", ".", "..", "C:x", "C:\\x",
    "a\\..\\b", "a\0b", "a ", "a.", "a/b./c", "nul", "COM1.txt", "a/lpt1", "~\u0301", "Ａ",
    "a:b", "a\tb", "x" * 101, "/".join("x" * 100),
)  # fmt: skip


def test_paths_that_are_not_the_same_on_every_system(subtests):
    for name in PATHS:
        with subtests.test(name), pytest.raises(ValueError, match=r"cannot be the path|too long"):
            check_names([name])


@pytest.mark.parametrize(
    "names",
    [
        ["a", "a/b"], ["A", "a/b"], ["a/B", "a/b"], ["A/b", "a/c"], ["manifest.json"],
        ["MANIFEST.json/x"], [MANIFEST],
    ],
)  # fmt: skip
def test_names_that_take_each_others_place(names):
    check_names(["a/b", "a/c", "d"])
    with pytest.raises(ValueError, match=r"where case does not count|also a folder"):
        check_names(names)


# --------------------------------------------------------------------------------- hostile archives


def listing(*names):
    """A manifest that lists these names besides the honest ones."""
    return manifest_of(HONEST | dict.fromkeys(names, b"x"))


def of_kind(name, kind, **changes):
    return Entry(name, b"", {"type": kind, **changes})


HOSTILE = {
    "path that leads out": (listing("../x"), [Entry("../x", b"x")], "cannot be the path"),
    "absolute path": (listing("/tmp/x"), [Entry("/tmp/x", b"x")], "cannot be the path"),
    "unlisted path that leads out": (
        manifest_of(HONEST), [Entry("../x", b"x")], "'../x', which its manifest does not list"
    ),
    "backslashes": (listing("..\\x"), [Entry("..\\x", b"x")], "cannot be the path"),
    "symbolic link": (
        listing("x"), [of_kind("x", tarfile.SYMTYPE, linkname="/etc/passwd")], "'x' is not a plain"
    ),
    "file with the target of a link": (
        listing("x"), [Entry("x", b"x", {"linkname": "/etc/passwd"})], "'x' is not a plain file"
    ),
    "hard link": (
        listing("x"), [of_kind("x", tarfile.LNKTYPE, linkname="a.json")], "'x' is not a plain file"
    ),
    "character device": (listing("x"), [of_kind("x", tarfile.CHRTYPE)], "'x' is not a plain file"),
    "block device": (listing("x"), [of_kind("x", tarfile.BLKTYPE)], "'x' is not a plain file"),
    "pipe": (listing("x"), [of_kind("x", tarfile.FIFOTYPE)], "'x' is not a plain file"),
    "folder": (listing("x"), [of_kind("x", tarfile.DIRTYPE)], "'x.?' is not a plain file"),
    "sparse file": (listing("x"), [of_kind("x", tarfile.GNUTYPE_SPARSE)], "is not a plain file"),
    "contiguous file": (listing("x"), [of_kind("x", tarfile.CONTTYPE)], "is not a plain file"),
    "extended header": (
        listing("x"), [Entry("h", b"11 path=/x\n", {"type": tarfile.XHDTYPE})], "not a plain file"
    ),
    "long name": (
        listing("x"), [Entry("././@LongLink", b"../x\0", {"type": tarfile.GNUTYPE_LONGNAME})],
        "is not a plain file",
    ),
    "the same file twice": (
        listing("x"), [Entry("x", b"x"), Entry("x", b"x")], "it holds 'x' twice"
    ),
    "two manifests": (
        manifest_of(HONEST), [Entry(MANIFEST, b"{}")], "which its manifest does not list"
    ),
    "names that differ in case": (
        listing("X", "x"), [Entry("X", b"x"), Entry("x", b"x")], "where case does not count"
    ),
    "unlisted file": (
        manifest_of(HONEST), [Entry("x", b"x")], "'x', which its manifest does not list"
    ),
    "missing file": (listing("x"), [], "x is missing"),
    "another content": (listing("x"), [Entry("x", b"y")], "x has another content"),
    "another size": (listing("x"), [Entry("x", b"xx")], "x has 2 bytes, but its manifest lists 1"),
    "negative size": (listing("x"), [Entry("x", b"", {"size": -512})], "'x' is not a plain file"),
    "size of another header": (
        listing("x"), [Entry("x", b"x", {"size": 2**40})], "x has 1,099,511,627,776 bytes, but"
    ),
}  # fmt: skip


def test_hostile_archives_are_refused_and_leave_nothing(tmp_path, subtests):
    for kind in HOSTILE:
        with subtests.test(str(kind)):
            manifest, entries, reason = HOSTILE[kind]
            target = write_archive(tmp_path / "h.tar.xz", manifest, [*plain(HONEST), *entries])
            for act in (verify, lambda path: unpack(path, tmp_path / "new" / "pack")):
                with pytest.raises(ValueError, match=f"h.tar.xz is refused as a pack: .*{reason}"):
                    act(target)
            assert below(tmp_path) == {"h.tar.xz"}
            assert not list((tmp_path / "new").iterdir())


def test_the_hostile_archives_would_be_fine_without_what_is_wrong_with_them(tmp_path):
    target = write_archive(tmp_path / "h.tar.xz", listing("x"), plain({**HONEST, "x": b"x"}))
    assert set(unpack(target, tmp_path / "pack").manifest.files) == {*HONEST, "x"}


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (npy(np.array([{}], object)), "holds Python objects"),
        (npy(np.zeros(4)).replace(b"(4,)", b"(9,)"), "not what its header promises"),
        (npy(np.zeros(4)).replace(b"(4,)", b"(3,)"), "not what its header promises"),
        (npy(np.zeros(4)).replace(b"(4,)", b"(-4,)")[:-1], "not what its header promises"),
        (npy(np.zeros(4)).replace(b"'<f8'", b"'|O8'"), "holds Python objects"),
        (npy(np.zeros(4)).replace(b"'<f8'", b"boom "), "is no .npy file"),
        (npy(np.zeros(4), version=(3, 0)), "is no .npy file"),
        (b"\x93NUMPY\x01\x00" + b"\xff" * 90, "is no .npy file"),
        (b"", "is no .npy file"),
    ],
)
def test_arrays_that_could_harm_their_readers_are_refused(tmp_path, array, reason):
    files = HONEST | {"x.npy": array}
    target = write_archive(tmp_path / "h.tar.xz", manifest_of(files), plain(files))
    with pytest.raises(ValueError, match=f"x.npy {reason}|x.npy has .*{reason}"):
        unpack(target, tmp_path / "pack")
    assert below(tmp_path) == {"h.tar.xz"}


def test_an_array_that_is_listed_with_another_shape_is_refused(tmp_path):
    files = {"x.npy": npy(np.zeros((2, 2)))}
    manifest = manifest_of(files)
    for change in ({"shape": (4,)}, {"dtype": "<i8"}, {"shape": None, "dtype": ""}):
        listed = {"x.npy": manifest.files["x.npy"]._replace(**change)}
        target = write_archive(tmp_path / "h.tar.xz", manifest._replace(files=listed), plain(files))
        with pytest.raises(ValueError, match=r"x\.npy is an array of <f8 of shape \(2, 2\)"):
            verify(target)


# ---------------------------------------------------------------------------------------- manifests


def with_entry(**changes):
    manifest = manifest_of(HONEST)
    entry = manifest.files["a.json"]._asdict()
    files = {n: {"sha256": f.sha256, "size": f.size} for n, f in manifest.files.items()}
    del entry["shape"], entry["dtype"]
    return changed(manifest, files=files | {"a.json": entry | changes})


MANIFESTS = {
    "no JSON": (b"{", "is not the manifest of a pack"),
    "no object": (b"[]\n", "is not the manifest of a pack"),
    "deep": (b"[" * 100_000, "is not the manifest of a pack"),
    "bytes that are no text": (b"\xff\xfe", "is not the manifest of a pack"),
    "another format": (changed(manifest_of(HONEST), format=2), "another format than 1"),
    "no format": (b"{}\n", "no entry 'format'"),
    "NaN": (changed(manifest_of(HONEST), facts={"x": float("nan")}), "facts.x is not a finite"),
    "infinity": (changed(manifest_of(HONEST), facts={"x": [float("inf")]}), r"facts.x\[0\]"),
    "another entry": (changed(manifest_of(HONEST), code="import os"), "code"),
    "version as text": (changed(manifest_of(HONEST), version="1"), "version cannot be str"),
    "name of a path": (changed(manifest_of(HONEST), name="../x"), "lower-case"),
    "control characters": (changed(manifest_of(HONEST), about="\x1b[2J"), "its about has control"),
    "others": (changed(manifest_of(HONEST), suite="resi\x9b31m"), "its suite has control"),
    "in a version": (changed(manifest_of(HONEST), versions={"a": "\r"}), "version of 'a' has"),
    "no files": (changed(manifest_of(HONEST), files={}), "1 to 100,000 files; got 0"),
    "negative size": (with_entry(size=-1), "a.json has -1 bytes"),
    "too large a file": (with_entry(size=FILE_BYTES + 1), "the limit is 1,073,741,824"),
    "size that is no number": (with_entry(size=True), "a.json has True bytes"),
    "type without a shape": (with_entry(dtype="<f8"), "a.json has the type"),
    "no checksum": (with_entry(sha256="../x"), "a.json has no SHA-256"),
    "shape that is none": (with_entry(shape=["a"], dtype="<f8"), "a.json has no shape"),
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
    for kind in MANIFESTS:
        with subtests.test(str(kind)):
            text, reason = MANIFESTS[kind]
            target = write_archive(tmp_path / "h.tar.xz", text, plain(HONEST))
            with pytest.raises(ValueError, match=reason):
                unpack(target, tmp_path / "pack")
            assert below(tmp_path) == {"h.tar.xz"}


def test_all_files_together_have_a_limit(tmp_path):
    large = PackedFile("0" * 64, FILE_BYTES)
    manifest = manifest_of(HONEST)._replace(files={f"f{i}": large for i in range(5)})
    target = write_archive(tmp_path / "h.tar.xz", manifest, [])
    with pytest.raises(ValueError, match=r"5,368,709,120 bytes; the limit is 4,294,967,296"):
        verify(target)


def test_the_number_of_files_has_a_limit(tmp_path, monkeypatch):
    target = write_archive(tmp_path / "h.tar.xz", manifest_of(HONEST), plain(HONEST))
    monkeypatch.setattr(manifest, "FILES", 2)
    verify(target)
    monkeypatch.setattr(manifest, "FILES", 1)
    with pytest.raises(ValueError, match="a pack has 1 to 1 files; got 2"):
        verify(target)


def test_a_manifest_must_come_first(tmp_path):
    manifest = manifest_text(manifest_of(HONEST)).encode()
    entries = [*plain(HONEST), Entry(MANIFEST, manifest)]
    (tmp_path / "h.tar.xz").write_bytes(lzma.compress(tar_of(entries)))
    with pytest.raises(ValueError, match=r"does not begin with MANIFEST\.json"):
        verify(tmp_path / "h.tar.xz")
    (tmp_path / "h.tar.xz").write_bytes(lzma.compress(tar_of([])))
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


def test_a_manifest_that_is_a_bomb_is_not_read(tmp_path):
    content = bomb(header_of(MANIFEST, MANIFEST_BYTES + 1))
    (tmp_path / "h.tar.xz").write_bytes(content)
    with pytest.raises(ValueError, match="its manifest has 33,554,433 bytes; the limit"):
        unpack(tmp_path / "h.tar.xz", tmp_path / "pack")


def test_a_bomb_behind_a_lying_header_is_neither_read_nor_written(tmp_path):
    manifest = manifest_text(listing("x")).encode()
    before = tar_of([Entry(MANIFEST, manifest), *plain(HONEST)])[:-1024]
    (tmp_path / "h.tar.xz").write_bytes(bomb(before + header_of("x", 2**33)))
    with pytest.raises(ValueError, match=r"x has 8,589,934,592 bytes, but its manifest lists 1"):
        unpack(tmp_path / "h.tar.xz", tmp_path / "new" / "pack")
    # a header that says 1 byte, as the manifest does, and is followed by very many
    (tmp_path / "h.tar.xz").write_bytes(bomb(before + header_of("x", 1)))
    with pytest.raises(ValueError, match="x has another content"):
        unpack(tmp_path / "h.tar.xz", tmp_path / "new" / "pack")
    assert not list((tmp_path / "new").iterdir())


def test_a_bomb_after_the_end_is_not_read(tmp_path):
    tar = tar_of([Entry(MANIFEST, manifest_text(manifest_of(HONEST)).encode()), *plain(HONEST)])
    (tmp_path / "h.tar.xz").write_bytes(bomb(tar))
    with pytest.raises(ValueError, match="it goes on after its end"):
        verify(tmp_path / "h.tar.xz")
    (tmp_path / "h.tar.xz").write_bytes(lzma.compress(tar + b"hidden"))
    with pytest.raises(ValueError, match="it goes on after its end"):
        verify(tmp_path / "h.tar.xz")


@pytest.mark.parametrize("more", [b"\0", b"hidden", lzma.compress(b"another stream")])
def test_nothing_may_follow_an_archive(mini, more):
    mini.write_bytes(mini.read_bytes() + more)
    with pytest.raises(ValueError, match="something follows its end"):
        verify(mini)


def test_a_decoder_gets_no_more_memory_than_packs_need(mini):
    content = bytearray(mini.read_bytes())
    size = (content[12] + 1) * 4  # of the header of the first block
    content[12 + 4] = 40  # asks for a dictionary of 4 GiB
    checksum = zlib.crc32(content[12 : 12 + size - 4])
    content[12 + size - 4 : 12 + size] = struct.pack("<I", checksum)
    mini.write_bytes(content)
    with pytest.raises(ValueError, match="Memory usage limit"):
        verify(mini)


def test_every_archive_with_a_changed_byte_is_refused(mini, tmp_path):
    content = mini.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        (tmp_path / "d.tar.xz").write_bytes(damaged)
        with pytest.raises(ValueError, match="refused"):
            verify(tmp_path / "d.tar.xz")


def test_every_truncated_archive_is_refused_and_leaves_nothing(mini, tmp_path):
    content = mini.read_bytes()
    for size in {*range(0, len(content), 7), len(content) - 1}:
        (tmp_path / "d.tar.xz").write_bytes(content[:size])
        with pytest.raises(ValueError, match="refused"):
            unpack(tmp_path / "d.tar.xz", tmp_path / "new" / "pack")
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("byte", [0, 0xFF])
def test_headers_that_lie_are_refused_or_change_nothing(tmp_path, byte):
    files = {"x/y.txt": b"y" * 600}
    listed = manifest_text(manifest_of(files)).encode()
    tar = tar_of([Entry(MANIFEST, listed), *plain(files)])
    start = 512 + len(listed) + -len(listed) % 512
    for place in range(0, 512, 3):
        lying = bytearray(tar)
        lying[start + place] = byte
        lying[start + 148 : start + 156] = b" " * 8
        lying[start + 148 : start + 156] = b"%06o\0 " % sum(lying[start : start + 512])
        (tmp_path / "h.tar.xz").write_bytes(lzma.compress(lying, preset=0))
        with suppress(ValueError):
            unpack(tmp_path / "h.tar.xz", tmp_path / "new" / "pack")
            assert below(tmp_path / "new" / "pack") == {MANIFEST, *files}
            shutil.rmtree(tmp_path / "new" / "pack")
        assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("other", [b"", b"PK\3\4", lzma.compress(b"no tar"), b"\x1f\x8b"])
def test_files_of_other_kinds_are_refused(tmp_path, other):
    (tmp_path / "d.tar.xz").write_bytes(other)
    with pytest.raises(ValueError, match=r"d\.tar\.xz is refused as a pack"):
        verify(tmp_path / "d.tar.xz")


def test_the_checksum_of_an_archive_comes_first(mini, tmp_path):
    good = hashlib.sha256(mini.read_bytes()).hexdigest()
    assert unpack(mini, tmp_path / "pack", sha256=good).manifest.name == "mini"
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
    describe, written = archive.packed_file, []

    def interrupt(name, chunks):
        written.extend(below(tmp_path / "new"))
        if written:  # this is the second file
            raise error
        return describe(name, chunks)

    with monkeypatch.context() as patch:
        patch.setattr(archive, "packed_file", interrupt)
        with pytest.raises(type(error)):
            unpack(mini, tmp_path / "new" / "pack")
    assert len(written) == 1
    assert not list((tmp_path / "new").iterdir())
    assert unpack(mini, tmp_path / "new" / "pack").manifest.name == "mini"


# -------------------------------------------------------------------------------- tampered folders


def edit(path, content):
    path.chmod(0o644)
    path.write_bytes(content)


def change_a_file(folder):
    edit(folder / "traits.json", TEXT.replace(b"5", b"6"))


def cut_a_file(folder):
    edit(folder / "traits.json", TEXT[:-1])


def remove_a_file(folder):
    (folder / "traits.json").unlink()


def add_a_file(folder):
    (folder / "subjects" / "code.py").write_text("")


def link_a_file(folder):
    (folder / "traits.json").rename(folder.parent / "traits.json")
    (folder / "traits.json").symlink_to(folder.parent / "traits.json")


def change_the_manifest(folder):
    text = (folder / MANIFEST).read_text().replace('"size": 17', '"size": 18')
    edit(folder / MANIFEST, text.encode())


def remove_the_manifest(folder):
    (folder / MANIFEST).unlink()


def link_the_manifest(folder):
    (folder / MANIFEST).rename(folder.parent / MANIFEST)
    (folder / MANIFEST).symlink_to(folder.parent / MANIFEST)


TAMPERED = {
    change_a_file: "traits.json has another content",
    cut_a_file: "traits.json has 16 bytes, but its manifest lists 17",
    remove_a_file: "traits.json is missing",
    add_a_file: "'subjects/code.py' is not listed",
    link_a_file: "traits.json is neither a plain file",
    change_the_manifest: "traits.json has 17 bytes, but its manifest lists 18",
    remove_the_manifest: "it has no MANIFEST.json",
    link_the_manifest: "it has no MANIFEST.json",
}


@pytest.mark.parametrize("tamper", TAMPERED)
def test_tampered_folders_are_refused(mini, tmp_path, tamper):
    folder = unpack(mini, tmp_path / "pack").folder
    verify(folder)
    tamper(folder)
    with pytest.raises(ValueError, match=f"pack is refused as a pack: .*{TAMPERED[tamper]}"):
        verify(folder)


def test_the_first_difference_is_named(mini, tmp_path):
    folder = unpack(mini, tmp_path / "pack").folder
    shutil.rmtree(folder / "subjects")
    change_a_file(folder)
    with pytest.raises(ValueError, match=r"subjects/seed0/block1\.npy is missing"):
        verify(folder)


def test_a_folder_is_packed_where_it_is_told(content, tmp_path):
    entries = {"name": "mini", "version": 3, "suite": "resi", "about": "A test.", "facts": {}}
    manifest = write_pack(content, tmp_path / "a" / "b", **entries)
    assert verify(tmp_path / "a" / "b" / "mini@3.tar.xz") == manifest
    write_pack(content, tmp_path / "other.tar.xz", **entries)
    assert below(tmp_path / "a") == {"b/mini@3.tar.xz", "b/mini@3.tar.xz.sha256"}
    assert verify(tmp_path / "other.tar.xz") == manifest
