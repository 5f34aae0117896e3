"""The command that streams: files, folders, parts of the samples, a user's function, states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import resemblance as rs
from resemblance.cli import run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5)).astype(np.float32)
LAYERS = {"a": X, "b": X[:, :3] + RNG.standard_normal((300, 3)).astype(np.float32)}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Both layers whole, and in two parts."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("all", slice(None)), ("one", slice(100)), ("two", slice(100, None))):
        (tmp_path / name).mkdir()
        for layer, x in LAYERS.items():
            np.save(tmp_path / name / f"{layer}.npy", x[rows])
    return tmp_path


def values(capsys, *arguments: str) -> dict[str, float]:
    capsys.readouterr()
    code = run(["stream", *arguments, "--format", "json"])
    output, errors = capsys.readouterr()
    assert code == 0, errors
    records = json.loads(output)["records"] if "records" in output else json.loads(output)
    return {r["measure"]: r["value"] for r in records if (r["x"], r["y"]) == ("a", "b")}


EXPECTED = {m: rs.get_measure(m)(*LAYERS.values()) for m in ("cka", "procrustes")}


def test_files_folders_parts_states_and_functions_give_the_same(folder, capsys):
    own = "import numpy as np\n\ndef batches():\n    for part in ('one', 'two'):\n"
    own += "        yield {k: np.load(f'{part}/{k}.npy') for k in ('a', 'b')}\n"
    (folder / "mine.py").write_text(own)
    for arguments in (
        ["all"],
        ["all/a.npy", "all/b.npy", "--rows", "7"],
        ["one", "two", "--parts", "--method", "qr", "--directions"],
        ["mine.py:batches"],
    ):
        found = values(capsys, *arguments, "-m", "cka,procrustes", "--state", "all.npz")
        assert found == pytest.approx(EXPECTED, rel=1e-9)
        assert rs.Stream.load("all.npz").n_samples == 300
    for part in ("one", "two"):
        assert run(["stream", part, "--state", f"{part}.npz", "-q", "-m", "cka"]) == 0
    merged = values(capsys, "--merge", "one.npz", "--merge", "two.npz", "-m", "cka,procrustes")
    assert merged == pytest.approx(EXPECTED, rel=1e-9)
    more = values(capsys, "two", "--merge", "one.npz", "-m", "cka,procrustes")
    assert more == pytest.approx(EXPECTED, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["all", "-m", "rsa"], "needs the samples", 1),
        ([], "nothing to stream", 2),
        (["all", "--method", "svd"], "--method cannot be 'svd'", 2),
        (["all/a.npy", "one/b.npy"], "'a' has 300 samples and 'b' has 100", 2),
        (["absent.py:f"], "absent.py does not exist", 2),
        (["absent.py:f", "all"], "gives all layers", 2),
        (["--merge", "absent.npz"], "no stream at absent.npz", 2),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, message, code):
    assert run(["stream", *arguments]) == code
    assert message in capsys.readouterr().err


def test_compare_streams_with_the_defaults_of_the_command(folder, capsys):
    arguments = ["all", "-m", "cka,procrustes", "--format", "csv"]
    assert run(["stream", *arguments]) == 0
    expected = capsys.readouterr().out
    assert run(["compare", "--stream", *arguments]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("option", [["--save", "r.db"], ["--jobs", "2"], ["--plan"]])
def test_compare_refuses_what_streams_do_not_have(folder, capsys, option):
    assert run(["compare", "--stream", "all", *option]) == 2
    assert f"{option[0]} does not go with --stream" in capsys.readouterr().err
