"""The commands for packs: output, refusals and exit codes."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from factories.archives import Answer, served, ship, write_content, write_mini
from factories.output import on_terminal

from resemblance import cli
from resemblance.bench.packs import opening, unpack, verify
from resemblance.bench.study import Purpose, save_purpose


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the archive out/mini@1.tar.xz, an empty cache, and a library without packs."""
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "index.json").write_text('{"format": 1, "packs": []}')
    monkeypatch.setattr(opening, "SHIPPED_PACKS_FOLDER", tmp_path / "shipped")
    write_mini(write_content(tmp_path / "content"), tmp_path / "out")
    return tmp_path


@pytest.fixture
def archive(folder):
    return folder / "out" / "mini@1.tar.xz"


def test_a_pack_is_fetched_listed_shown_and_verified(call, archive, folder):
    assert "No packs yet" in call("pack list")[1]
    code, out, err = call("pack get mini@1 --source out")
    place = out.removeprefix("mini@1 is in ").strip()
    assert (code, err, Path(place).is_dir()) == (0, "", True)
    code, out, _ = call("pack list")
    assert code == 0
    assert [word for word in ("mini@1", "resi", "A test.", place) if word not in out] == []
    code, out, _ = call("pack show mini")
    assert code == 0
    assert "3, including 2 arrays" in out
    assert verify(archive).sha256 in out
    code, out, _ = call("pack verify mini@1")
    assert (code, out.split(":")[0]) == (0, "mini@1 is intact")


def test_a_damaged_pack_in_the_cache_is_listed_as_such(call, folder):
    call("pack get mini@1 --source out")
    (manifest,) = (folder / "cache" / "packs").glob("*/MANIFEST.json")
    manifest.unlink()
    code, out, _ = call("pack list")
    assert code == 0
    assert "damaged: " in out


def test_a_tampered_pack_is_one_line_and_exit_1(call, archive, folder):
    unpacked = unpack(archive, folder / "pack").folder
    assert call("pack", "verify", unpacked)[0] == 0
    (unpacked / "traits.json").unlink()
    code, out, err = call("pack", "verify", unpacked)
    assert (code, out) == (1, "")
    assert err == f"error: {unpacked} is refused as a pack: traits.json is missing\n"
    archive.write_bytes(archive.read_bytes()[:-200])
    code, out, err = call("pack", "verify", archive)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "is refused as a pack" in err


def test_mistakes_are_one_line(refused, folder):
    for name, purpose in (
        ("study", Purpose("resi", "mini")),
        ("own", Purpose("manifolds", "", "m")),
    ):
        (folder / name).mkdir()
        save_purpose(folder / name, purpose)
    refused("""
        pack verify nothing | resemblance pack get nothing
        pack show nothing@1 | resemblance pack get nothing@1
        pack verify no/such.tar.xz | an archive or a folder
        pack show out/mini@1.tar.xz --format csv | got 'csv'
        pack list --format csv | got 'csv'
        pack get mini@1 | no address of mini@1 is known
        pack get mini@1 --source nowhere | No such file or directory
        pack get mini@1 --source out --sha256 12 | 64 hexadecimal digits
        pack get mini@1 --source ftp://a.org | is not an http, https
        pack build resi nowhere | nowhere is not a study
        pack build sensitivity study | study is a study of resi, not of sensitivity
        pack build resi study --version 0 | --version
        pack build manifolds own | own has models that were not trained for a size of the suite
    """)


def test_a_pack_that_ships_needs_no_fetching(call, folder):
    ship(folder / "content")
    code, out, err = call("pack get mini@1")
    assert (code, err) == (0, "")
    assert "ships with the library; nothing to download" in out


def test_get_tries_mirrors_and_checks_a_checksum(call, archive, folder):
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    with served({"/packs/mini@1.tar.xz": Answer(archive.read_bytes())}) as server:
        mirrors = ("--source", folder / "none", "--source", f"{server.address}/packs")
        code, out, err = call("pack", "get", "mini@1", *mirrors, "--sha256", "0" * 64)
        assert (code, out) == (2, "")
        assert "is not unpacked" in err
        options = ("--sha256", digest, "--cache", "here", "--quiet")
        assert call("pack", "get", "mini@1", *mirrors, *options) == (0, "", "")
        words = ["pack", "get", "mini@1", *map(str, mirrors), *options[:2], "--cache", "there"]
        shown = on_terminal(lambda: cli.run(words), 80, "stderr", terminal="xterm")
        assert re.search("mini@1 .*100%", shown)
    assert verify(folder / "here" / "packs" / f"mini@1-{digest[:12]}") == verify(archive)
    assert call("pack verify mini@1 --cache here")[0] == 0
    assert call("pack verify mini@1")[0] == 2


def test_a_study_is_packed_by_name_version_and_size(call, folder):
    (folder / "study").mkdir()
    save_purpose(folder / "study", Purpose("manifolds", "small"))
    words = "-o packs --name mine --version 4 --max-samples 20 --half"
    (folder / "packs").mkdir()
    code, out, _ = call(f"pack build manifolds study {words}")
    assert (code, out.startswith("wrote packs/mine@4.tar.xz: mine@4, 24 files, ")) == (0, True)
    shown = json.loads(call("pack show packs/mine@4.tar.xz --format json")[1])
    assert shown["facts"]["reduction"] == {"samples": 20, "half": True}
