"""Packs by name: those that ship, the cache, and sources that may be dead, wrong or hostile."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from factories.archives import Answer, served, ship, write_content, write_mini

from resemblance.bench.packs import get_pack, list_packs, open_pack, opening, unpack, verify


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, which no test has to name."""
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "packs"


@pytest.fixture
def content(tmp_path):
    return write_content(tmp_path / "content")


@pytest.fixture
def mini(content, tmp_path):
    return write_mini(content, tmp_path / "out")


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """An empty folder of packs that ship."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "index.json").write_text('{"format": 1, "packs": []}')
    monkeypatch.setattr(opening, "SHIPPED_PACKS_FOLDER", folder)
    return folder


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def answers_of(archive, name="mini@1.tar.xz", folder="/packs"):
    digest = f"{digest_of(archive)}  {name}\n".encode()
    path = f"{folder}/{name}"
    return {path: Answer(archive.read_bytes()), f"{path}.sha256": Answer(digest)}


def edit(path, text):
    path.chmod(0o644)
    path.write_text(text)


# ------------------------------------------------------------------------------------------ opening


def test_archives_and_folders_are_opened(mini, tmp_path, cache):
    pack = open_pack(mini)
    assert pack.folder == cache / f"mini@1-{digest_of(mini)[:12]}"
    assert pack.manifest == verify(mini)
    assert open_pack(str(mini)) == pack
    assert open_pack(pack.folder) == pack
    unpacked = unpack(mini, tmp_path / "mini").folder
    assert open_pack(unpacked) == (unpacked, pack.manifest)


def test_a_folder_with_the_name_of_no_pack_is_a_path(mini, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "mini@1"):
        unpack(mini, Path(name))
        assert open_pack(name).folder == Path(name)


def test_packs_in_the_cache_are_opened_by_name(content, mini, tmp_path):
    second = write_mini(content, tmp_path / "out", version=2)
    first = open_pack(mini)
    assert open_pack("mini@1") == first
    open_pack(second)
    assert open_pack("mini@1") == first
    assert open_pack("mini").manifest.version == 2


def test_another_cache_can_be_named(mini, tmp_path, monkeypatch):
    assert open_pack(mini, cache=tmp_path / "c").folder.parent == tmp_path / "c" / "packs"
    monkeypatch.delenv("RESEMBLANCE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_pack(mini).folder.parent == tmp_path / "xdg" / "resemblance" / "packs"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_pack(mini).folder.parent == tmp_path / "home/.cache/resemblance/packs"


@pytest.mark.parametrize("name", ["nothing@1", "nothing"])
def test_a_pack_that_is_not_here_says_how_to_get_it(name):
    with pytest.raises(ValueError, match="resemblance pack get"):
        open_pack(name)


@pytest.mark.parametrize("name", ["a/b", "Mini@1", "mini@0", "mini@x", "", "mini@1@2"])
def test_what_is_no_name_and_no_path(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"is not a pack|has no MANIFEST"):
        open_pack(name)


def test_a_tampered_cache_is_refused_with_the_remedy(mini):
    folder = open_pack(mini).folder
    edit(folder / "traits.json", "{}")
    for act in (lambda: open_pack("mini@1"), lambda: open_pack(mini)):
        with pytest.raises(ValueError, match=rf"traits\.json .*; remove {folder}, and open"):
            act()
    shutil.rmtree(folder)
    assert open_pack(mini).folder == folder


def test_two_packs_of_one_name_are_not_mixed(content, mini, tmp_path):
    first = open_pack(mini).folder
    second = open_pack(write_mini(content, tmp_path / "b", about="Another.")).folder
    with pytest.raises(ValueError, match=r"several packs mini@1: give the path of one"):
        open_pack("mini@1")
    assert open_pack(first).manifest.about != open_pack(second).manifest.about


def test_a_cache_that_cannot_be_used_is_named_with_the_remedy(mini, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ValueError, match="set RESEMBLANCE_CACHE to another folder"):
        open_pack(mini)


def test_many_may_open_the_same_pack_at_once(mini, cache):
    barrier = threading.Barrier(8)

    def act(i):
        barrier.wait()
        return open_pack(mini)

    with ThreadPoolExecutor(8) as threads:
        packs = list(threads.map(act, range(8)))
    assert {pack.folder for pack in packs} == set(cache.iterdir())
    assert packs == [packs[0]] * 8


def test_only_what_killed_processes_left_long_ago_is_removed(mini, cache, tmp_path):
    names = {f".mini@1-{'0' * 12}-abc": True, ".download-x1": True, ".mine-x": True}
    for age, parent in ((200_000, ""), (10, "new")):
        for name, is_folder in names.items():
            path = cache / name.replace("abc", f"abc{parent}").replace("x", f"x{parent}", 1)
            path.mkdir(parents=True) if is_folder else path.write_text("")
            when = path.stat().st_mtime - age
            os.utime(path, (when, when))
    before = {path.name for path in cache.iterdir()}
    open_pack(mini)
    gone = before - {path.name for path in cache.iterdir()}
    assert gone == {f".mini@1-{'0' * 12}-abc", ".download-x1"}


# ---------------------------------------------------------------------------------- packs that ship


def test_what_ships_is_what_the_library_lists():
    listed = {pack.archive.name: pack for pack in list_packs()}
    assert {path.name for path in opening.SHIPPED_PACKS_FOLDER.iterdir()} == {"index.json", *listed}
    for pack in listed.values():
        manifest = verify(pack.archive)
        assert (digest_of(pack.archive), pack.archive.stat().st_size) == (pack.sha256, pack.size)
        assert (manifest.sha256, manifest.identity) == (pack.manifest, pack.identity)
        assert (manifest.suite, manifest.about) == (pack.suite, pack.about)


def test_a_pack_that_ships_is_opened_by_name(content, shipped, cache):
    pack = ship(content)
    assert list_packs() == (pack,)
    opened = open_pack("mini")
    assert opened.folder == cache / f"mini@1-{pack.sha256[:12]}"
    assert opened.manifest.sha256 == pack.manifest
    assert open_pack("mini@1") == opened


def test_a_cache_with_another_manifest_than_known_is_refused(content, shipped, tmp_path):
    """Even though its files are as that manifest lists them."""
    ship(content)
    folder = open_pack("mini").folder
    other = open_pack(write_mini(content, tmp_path / "b", about="Another.")).folder
    edit(folder / "MANIFEST.json", (other / "MANIFEST.json").read_text())
    verify(folder)
    with pytest.raises(ValueError, match="holds another pack than its name says; remove"):
        open_pack("mini")


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2}', '{"format": 1, "packs": [{}]}'])
def test_a_damaged_list_of_packs_is_named(shipped, text):
    (shipped / "index.json").write_text(text)
    with pytest.raises(ValueError, match=r"index\.json is not the list of known packs"):
        list_packs()


def test_a_list_without_checksums_is_refused(content, shipped):
    ship(content)
    document = json.loads((shipped / "index.json").read_text())
    document["packs"][0]["sha256"] = ""
    (shipped / "index.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="mini@1 has no checksum"):
        list_packs()


# ----------------------------------------------------------------------------------------- fetching


def test_packs_are_fetched_from_folders_and_files(mini, tmp_path, cache):
    sources = [mini, mini.parent, str(mini.parent), mini.parent.as_uri(), mini.as_uri()]
    for source in sources:
        pack = get_pack("mini@1", source)
        assert pack.manifest == verify(mini)
        assert list(cache.iterdir()) == [pack.folder]
        shutil.rmtree(pack.folder)


def test_packs_are_fetched_over_http(mini, cache):
    steps = []
    with served(answers_of(mini)) as server:
        source = f"{server.address}/packs/"
        pack = get_pack("mini@1", source, progress=lambda done, total: steps.append((done, total)))
        assert server.asked == ["/packs/mini@1.tar.xz.sha256", "/packs/mini@1.tar.xz"]
        assert get_pack("mini@1", source).folder == pack.folder
        assert len(server.asked) == 3  # the checksum only: it is there
        shutil.rmtree(pack.folder)
        for source in (f"{server.address}/packs", f"{server.address}/packs/mini@1.tar.xz"):
            assert open_pack("mini@1", source=source) == pack
            shutil.rmtree(pack.folder)
    np.testing.assert_array_equal(steps, [(mini.stat().st_size,) * 2])
    assert not list(cache.iterdir())


def test_mirrors_are_tried_in_order(mini, tmp_path):
    wrong = {path: Answer(b"other") for path in answers_of(mini) if path.endswith("xz")}
    answers = (
        answers_of(mini)
        | answers_of(mini, folder="/wrong")
        | {path.replace("/packs", "/wrong"): answer for path, answer in wrong.items()}
    )
    with served({}) as dead, served(answers) as server:
        pass
    with served(answers) as server:
        mirrors = [dead.address, tmp_path, f"{server.address}/wrong", f"{server.address}/packs"]
        assert get_pack("mini@1", mirrors).manifest == verify(mini)
        assert server.asked[-1] == "/packs/mini@1.tar.xz"


def test_an_error_names_all_that_was_tried(mini, tmp_path, cache):
    with served({}) as dead:
        pass
    with served({}) as server:
        mirrors = [dead.address, tmp_path / "none", f"{server.address}/packs", "ftp://a.org/x"]
        with pytest.raises(ValueError, match=r"mini@1 cannot be downloaded \(http") as caught:
            get_pack("mini@1", mirrors, sha256=digest_of(mini))
    for mirror, reason in zip(mirrors, ("refused", "No such file", "404", "is not an http, https")):
        assert str(mirror) in str(caught.value)
        assert reason in str(caught.value)
    assert not list(cache.iterdir())


@pytest.mark.parametrize("sha256", ["", "0" * 63, "x" * 64, "../" * 20])
def test_a_checksum_that_is_none(mini, sha256):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        get_pack("mini@1", mini, sha256=sha256)


@pytest.mark.parametrize("line", [b"", b"<html>", b"0" * 63, b"\xff" * 64])
def test_a_source_must_give_a_checksum(mini, line):
    answers = answers_of(mini) | {"/packs/mini@1.tar.xz.sha256": Answer(line)}
    with served(answers) as server, pytest.raises(ValueError, match="give the checksum"):
        get_pack("mini@1", f"{server.address}/packs")
    Path(f"{mini}.sha256").unlink()
    with pytest.raises(ValueError, match="give the checksum"):
        get_pack("mini@1", mini)


def test_redirects_do_not_lead_to_files(mini, tmp_path, cache):
    good = answers_of(mini)
    for location in (mini.as_uri(), "data:text/plain,x"):
        answers = good | {"/packs/mini@1.tar.xz": Answer(status=302, location=location)}
        with served(answers) as server:
            reason = r"not allowed|unknown url type"
            with pytest.raises(ValueError, match=reason):
                get_pack("mini@1", f"{server.address}/packs")
        assert not list(cache.iterdir())
    answers = answers_of(mini, folder="/new")
    answers |= {
        path.replace("/new", "/packs"): Answer(status=302, location=path) for path in answers
    }
    with served(answers) as server:
        assert get_pack("mini@1", f"{server.address}/packs").manifest == verify(mini)


def test_more_than_the_limit_is_not_fetched(mini, cache, monkeypatch):
    monkeypatch.setattr(opening, "MAX_PACK_BYTES", 100)
    with served(answers_of(mini)) as server, pytest.raises(ValueError, match="more than 100 bytes"):
        get_pack("mini@1", f"{server.address}/packs")
    assert not list(cache.iterdir())


def test_a_known_pack_needs_its_known_checksum(content, shipped, tmp_path, cache):
    file = ship(content).archive
    answers = answers_of(file) | {"/packs/mini@1.tar.xz.sha256": Answer(b"0" * 64)}
    with served(answers) as server:  # which is not asked for it
        assert get_pack("mini", f"{server.address}/packs").manifest.name == "mini"
        assert server.asked == ["/packs/mini@1.tar.xz"]
        with pytest.raises(ValueError, match="is known with the SHA-256"):
            get_pack("mini@1", f"{server.address}/packs", sha256="0" * 64)
        shutil.rmtree(open_pack("mini").folder)
        other = write_mini(content, tmp_path / "b", about="Another.")
        with pytest.raises(ValueError, match="instead of"):
            get_pack("mini", other)
    assert not list(cache.iterdir())


def test_another_pack_under_the_name_is_refused(content, mini, tmp_path, cache):
    second = write_mini(content, tmp_path / "b", version=2)
    second.rename(tmp_path / "mini@1.tar.xz")
    digest = digest_of(tmp_path / "mini@1.tar.xz")
    with pytest.raises(ValueError, match="it is mini@2"):
        get_pack("mini@1", tmp_path, sha256=digest)
    assert not list(cache.iterdir())


def test_a_download_that_is_interrupted_leaves_nothing(mini, cache):
    def interrupt(done, total):
        assert len(list(cache.iterdir())) == 1
        raise KeyboardInterrupt

    with served(answers_of(mini)) as server, pytest.raises(KeyboardInterrupt):
        get_pack("mini@1", f"{server.address}/packs", progress=interrupt)
    assert not list(cache.iterdir())


def test_a_version_and_a_source_are_needed(mini):
    with pytest.raises(ValueError, match="no version of mini is known; give one, as mini@1"):
        get_pack("mini", mini)
    with pytest.raises(ValueError, match="no source was given"):
        get_pack("mini@1", [])
    with pytest.raises(ValueError, match="is no pack: give its name and version"):
        get_pack("../mini@1", mini)
