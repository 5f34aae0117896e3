"""The machine, the versions and the commands behind a run, as a study keeps them and pages show."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from resemblance import cli
from resemblance.bench.status import provenance_of_runs, record_run
from resemblance.comparison.provenance import describe_machine, library_versions, processor_name


def test_machine_processor_and_versions_are_those_here(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: Fast CPU @ 3 GHz\n")
    assert processor_name(tmp_path / "cpuinfo") == "Fast CPU @ 3 GHz"
    assert processor_name(tmp_path / "absent")  # the architecture at least
    assert re.fullmatch(r".+, \d+ cores?, \S.+", describe_machine())
    assert library_versions()["numpy"] == np.__version__
    assert set(library_versions()) >= {"resemblance", "python", "scipy"}


def test_a_repeated_run_leaves_the_record_as_it_is(tmp_path):
    assert provenance_of_runs(tmp_path) == {}
    record_run(tmp_path, "resemblance toy run")
    before = (tmp_path / "record.json").read_bytes()
    record_run(tmp_path, "resemblance toy run")
    assert (tmp_path / "record.json").read_bytes() == before
    record_run(tmp_path, "resemblance toy run --measures cka")
    shown = provenance_of_runs(tmp_path)
    assert shown["commands"] == "resemblance toy run; resemblance toy run --measures cka"
    assert shown["date"] == json.loads(before)["begun"]
    assert f"numpy {np.__version__}" in shown["libraries"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"begun": 3, "commands": [], "machines": [], "versions": []}']
)
def test_a_damaged_record_is_an_error_with_its_remedy(text, tmp_path):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(ValueError, match=r"record\.json is not the record .*; remove it"):
        provenance_of_runs(tmp_path)


def test_a_page_shows_the_command_as_typed_without_defaults(tmp_path):
    files, page = [str(tmp_path / f"{name}.npy") for name in "ab"], tmp_path / "a page.html"
    for name in files:
        np.save(name, np.random.default_rng(len(name)).normal(size=(40, 4)))
    cli.run(["drift", *files, "--html", str(page), "--seed", "3", "--k", "10"])
    text = page.read_text(encoding="utf-8")
    footer = re.search(r"<footer>Made by <code>([^<]*)</code>", text)[1].replace("&#39;", "'")
    assert footer.startswith(f"resemblance drift {files[0]} {files[1]} --")
    assert f"--html '{page}'" in footer
    assert "--seed 3" in footer
    assert "--k" not in footer
    for name in ("date", "machine", "libraries"):
        assert f"<dt>{name}</dt>" in text
