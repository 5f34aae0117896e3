"""Stores of features that are cut short, moved or damaged, and models and samples that are odd."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import resemblance as rs
from resemblance.cli import run
from resemblance.models import features, load_samples
from resemblance.models.two_models import SCORES_FILE, model_folder_name

SAMPLES = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)


class Net(nn.Module):
    """Two blocks in a list, of which one part may be unused, and a head that may fail."""

    def __init__(self, seed=0, spoilt=False):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
            self.head, self.unused = nn.Linear(4, 3), nn.Linear(2, 2)
        self.spoilt, self.calls = spoilt, 0

    def forward(self, x):
        self.calls += 1
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x * float("nan") if self.spoilt else x)


def extract(model, folder, data=SAMPLES, **options):
    return rs.extract_features(model, data, folder, progress=False, batch_size=4, **options)


@pytest.mark.parametrize("stop", [0, 1, 2, 5])
def test_a_kill_while_complete_arrays_are_moved(tmp_path, monkeypatch, stop):
    whole = extract(Net(), tmp_path / "whole")
    moves = []

    def move(source, target):
        if target.parent == tmp_path / "store" and source.parent != target.parent:
            moves.append(target)
            if len(moves) > stop:
                raise KeyboardInterrupt
        source.rename(target)

    with monkeypatch.context() as patch:
        patch.setattr(features.os, "replace", move)
        with suppress(KeyboardInterrupt):
            extract(Net(), tmp_path / "store")
    model = Net()
    subject = extract(model, tmp_path / "store")
    assert model.calls == 0
    assert list(subject.layers) == list(whole.layers) == ["blocks.0", "blocks.1", "head"]
    for layer, r in whole.layers.items():
        assert (np.asarray(subject.layers[layer].source) == np.asarray(r.source)).all()
    assert not list((tmp_path / "store").glob(".pass-*"))


def test_outputs_that_are_not_numbers_are_left_out_and_layers_fail_with_a_reason(tmp_path):
    scores = rs.compare_models(
        {"a": Net(spoilt=True), "b": Net(1)}, SAMPLES, measures="cka", save=tmp_path,
        progress=False,
    )  # fmt: skip
    assert "NaN" in scores.provenance["models"]["a"]["outputs"]
    spoilt = scores.rows.index("a/head")
    assert np.isnan(scores["cka"][spoilt]).all()
    assert {"a/head"} <= {f.x for f in scores.failures} | {f.y for f in scores.failures}
    assert rs.open_features(tmp_path / "a").outputs is None


class Texts:
    """A data set without a fingerprint of its own."""

    def __init__(self, texts):
        self.texts = texts

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index]


def letters(width):
    def prepare(texts):
        codes = [[ord(letter) for letter in text.ljust(width)[:width]] for text in texts]
        return torch.tensor(codes, dtype=torch.float32)

    return prepare


def test_samples_are_the_same_whatever_a_tokenizer_makes_of_them(tmp_path):
    texts = Texts([f"text {k}" for k in range(9)])
    a, b = (nn.Linear(8, 3), letters(8)), (nn.Linear(6, 3), letters(6))
    one = rs.extract_features(a, texts, tmp_path / "a", batch_size=4, progress=False)
    two = rs.extract_features(b, texts, tmp_path / "b", batch_size=3, progress=False)
    assert one.last.ids == two.last.ids
    assert rs.compare([one, two], measures="cka", progress=False)["cka"].shape == (2, 2)
    others = Texts([f"word {k}" for k in range(9)])
    with pytest.raises(ValueError, match="another data"):
        rs.extract_features(a, others, tmp_path / "a", batch_size=4, progress=False)


def test_a_complete_store_refuses_another_loader(tmp_path):
    batches = list(torch.from_numpy(SAMPLES).split(4))
    model = Net()
    extract(model, tmp_path, batches)
    extract(model, tmp_path, batches)
    assert model.calls == 3 + 1  # some of the samples once more
    with pytest.raises(ValueError, match="another data"):
        extract(model, tmp_path, batches[::-1])


def test_loaders_that_shuffle_and_iterators_that_end(tmp_path):
    shuffled = DataLoader(TensorDataset(torch.from_numpy(SAMPLES)), batch_size=4, shuffle=True)
    with pytest.raises(ValueError, match="shuffle=False"):
        extract(Net(), tmp_path, shuffled)
    once = iter(torch.from_numpy(SAMPLES).split(4))
    with pytest.raises(ValueError, match="pass a list or a loader"):
        rs.compare_models([Net(), Net(1)], once, progress=False)


def test_a_pattern_may_match_modules_that_are_never_called(tmp_path):
    subject = extract(Net(), tmp_path, layers="**")
    assert list(subject.layers) == ["blocks.0", "blocks.1", "head"]
    assert list(extract(Net(), tmp_path, layers=["head"]).layers) == ["head"]
    assert list(extract(Net(), tmp_path, layers="blocks").layers) == list(subject.layers)
    with pytest.raises(ValueError, match="'unused' was never called"):
        extract(Net(), tmp_path / "other", layers=["head", "unused"])


@pytest.mark.parametrize("key", ["a/b", "a\nb", "a" * 300])
def test_layers_that_cannot_be_files_are_refused_before_the_run(tmp_path, key):
    model = nn.Sequential()
    model.add_module("list", nn.ModuleDict({key: nn.Linear(4, 2)}))
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        extract(model, tmp_path, layers="list.*")


@pytest.mark.parametrize("name", ["..", ".", ".x", SCORES_FILE, "x" * 300, "日" * 120])
def test_any_name_of_a_model_is_a_folder_inside(tmp_path, name):
    place = model_folder_name(name)
    (tmp_path / "in" / place).mkdir(parents=True)
    assert (tmp_path / "in" / place).resolve().parent == (tmp_path / "in").resolve()
    assert place not in (SCORES_FILE, model_folder_name(name + "2"))
    assert model_folder_name("bert-base.v1") == "bert-base.v1"


def test_models_without_weights_are_known_by_their_class(tmp_path):
    extract(nn.Tanh(), tmp_path)
    with pytest.raises(ValueError, match=r"another model \(class"):
        extract(nn.ReLU(), tmp_path)


class Scaled(nn.Module):
    """A model with an option, a function, and a state."""

    def __init__(self, scale=2.0, function=torch.tanh, seed=0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.block = nn.Linear(4, 4)
        self.scale, self.function, self.calls, self.inputs = scale, function, 0, []
        self.sizes, self.counts = [], {"calls": 0, "rows": 0}
        self.register_buffer("rows", torch.zeros(1), persistent=False)

    def set_scale(self, scale):
        self.scale = scale
        return self

    def forward(self, x):
        self.count()
        self.inputs.append(x)
        self.sizes.append(len(x))
        self.counts["calls"] += 1
        self.counts["rows"] = len(x)
        self.rows += len(x)
        return self.function(self.block(x)) * self.scale

    def count(self):
        self.calls += 1


def sequence(*parts):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 4), *parts)


def attending(**options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        options = {"nhead": 2, "dim_feedforward": 8, "batch_first": True} | options
        return nn.Sequential(nn.Unflatten(1, (1, 4)), nn.TransformerEncoderLayer(4, **options))


def times(factor):
    return lambda rows: torch.from_numpy(rows) * factor


NOTEBOOK = """
import torch
from torch import nn
SHIFT = 1

def bent(x):
    return torch.relu(x) + SHIFT

class Net(nn.Module):
    def forward(self, x):
        return [bent(part) for part in [x]][0]

class Preparation:
    def __init__(self, size):
        self.size = size
    def sized(self, size):
        self.size = size
        return self
    def __call__(self, rows):
        return torch.stack([bent(torch.tensor(row)) for row in rows]) * self.size

def prepare(rows, size=3):
    return Preparation(size)(rows)

"""


def of_notebook(end, old="", new=""):
    names = {"__name__": "notebook"}
    exec(NOTEBOOK.replace(old, new), names)
    return eval(end, names)


DEFINITIONS = {
    "layers": [lambda: sequence(nn.ReLU()), lambda: sequence(nn.Tanh())],
    "options in the repr": [
        lambda: sequence(nn.LayerNorm(4, eps=0.1)), lambda: sequence(nn.LayerNorm(4, eps=0.2)),
    ],
    "heads": [lambda: attending(nhead=1), lambda: attending(nhead=2)],
    "functions": [lambda: attending(), lambda: attending(activation=torch.nn.functional.gelu)],
    "options": [lambda: Scaled(2.0), lambda: Scaled(3.0), lambda: Scaled().set_scale(4.0)],
    "functions of a user": [
        lambda: Scaled(function=lambda x: x), lambda: Scaled(function=lambda x: -x),
    ],
    "forward": [lambda: of_notebook("Net()"), lambda: of_notebook("Net()", "[0]", "[-1] + 1")],
    "a function that forward names": [
        lambda: of_notebook("Net()"), lambda: of_notebook("Net()", "relu", "tanh"),
    ],
    "a constant that it names": [
        lambda: of_notebook("Net()"), lambda: of_notebook("Net()", "SHIFT = 1", "SHIFT = 2"),
    ],
    "preparations": [
        lambda: (sequence(), torch.tensor), lambda: sequence(),
        lambda: (sequence(), times(2)), lambda: (sequence(), times(3)),
        lambda: (sequence(), of_notebook("prepare")),
        lambda: (sequence(), of_notebook("prepare", "* self.size", "+ self.size")),
        lambda: (sequence(), of_notebook("prepare", "size=3", "size=4")),
        lambda: (sequence(), of_notebook("Preparation(1)")),
        lambda: (sequence(), of_notebook("Preparation(2)")),
        lambda: (sequence(), of_notebook("Preparation(2).__call__")),
        lambda: (sequence(), of_notebook("Preparation(2).sized(5)")),
    ],
}  # fmt: skip


def test_a_store_knows_its_model_by_all_that_makes_the_features(tmp_path, subtests):
    for case, makes in DEFINITIONS.items():
        for i, make in enumerate(makes):
            store = tmp_path / f"{case} {i}"
            extract(make(), store, name="net")
            for j, other in enumerate(makes):
                with subtests.test(f"{case}: {i}, then {j}"):
                    if i == j:
                        extract(other(), store, name="net")
                        continue
                    with pytest.raises(ValueError, match="another model"):
                        extract(other(), store, name="net")


def test_the_state_of_a_model_is_no_part_of_its_identity(tmp_path):
    model = Scaled()
    extract(model, tmp_path, layers=["block"])
    assert model.calls == 3 + 1
    extract(model, tmp_path, layers=["block"], pool=["mean", "flatten"])
    model.note = "after"
    with pytest.raises(ValueError, match="options or code changed since"):
        extract(model, tmp_path, layers=["block"])


def test_another_process_knows_the_same_model_and_an_edited_file_is_another(tmp_path):
    file = tmp_path / "mine.py"
    text = f"{NOTEBOOK}def pair():\n    torch.manual_seed(0)\n"
    text += "    return nn.Sequential(Net(), nn.Linear(4, 2)), prepare\n"
    file.write_text(text)
    np.save(tmp_path / "x.npy", SAMPLES)
    call = [f"{file}:pair", str(tmp_path / "x.npy"), str(tmp_path / "store")]
    code = "import sys, resemblance as rs; rs.extract_features(*sys.argv[1:], progress=False)"
    subprocess.run([sys.executable, "-c", code, *call], check=True)
    before = (tmp_path / "store/traits.json").read_bytes()
    rs.extract_features(*call, progress=False)
    assert (tmp_path / "store/traits.json").read_bytes() == before
    file.write_text(f"{text}\ndef unrelated():\n    return 1\n")
    rs.extract_features(*call, progress=False)
    file.write_text(text.replace("relu", "tanh"))
    with pytest.raises(ValueError, match=r"another model .*choose another name or folder"):
        rs.extract_features(*call, progress=False)


class Frame:
    """An object with a slow dictionary, of no package that is known."""

    def to_dict(self):
        raise AssertionError


ODD: dict = {"frame": Frame()}
ODD["itself"] = [ODD]


def test_globals_of_a_preparation_may_hold_themselves_and_be_of_any_class(tmp_path):
    Frame.__module__ = "numpy"  # of an installed package

    def prepare(rows):
        return torch.from_numpy(rows) if ODD else None

    for _ in range(2):
        extract((sequence(), prepare), tmp_path)


@pytest.mark.parametrize("options", [{"pool": []}, {"batch_size": "3"}, {"batch_size": 2.5}])
def test_options_of_another_type_are_refused(tmp_path, options):
    with pytest.raises(ValueError, match="must be"):
        rs.extract_features(Net(), SAMPLES, tmp_path, progress=False, **options)


KILLS = """
import mmap, os, random, signal, sys
from pathlib import Path
import numpy as np, torch
from torch import nn
import resemblance as rs
from resemblance.models.features import GrowingArrays

torch.manual_seed(0)
calls = mmap.mmap(-1, 8)  # of the model, seen by the parent

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3))
    def forward(self, x):
        calls[:] = (int.from_bytes(calls[:], "little") + 1).to_bytes(8, "little")
        return self.blocks(x)

model, (whole, killed), kills, is_loader = Net(), map(Path, sys.argv[1:3]), *map(int, sys.argv[3:])
samples = np.random.default_rng(0).standard_normal((100 * kills, 4)).astype(np.float32)
data = list(torch.from_numpy(samples).split(1)) if is_loader else samples

def extract(folder):
    rs.extract_features(model, data, folder, batch_size=1, progress=False)

def written():
    return sum(GrowingArrays(p).written.batches for p in killed.glob(".pass-*"))

def kill(delay):
    before, calls[:] = written(), bytes(8)
    pid = os.fork()
    if not pid:
        extract(killed)
        os._exit(0)
    while int.from_bytes(calls[:], "little") < 3:  # one of them for a sample once more
        pass
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    signal.setitimer(signal.ITIMER_REAL, delay)
    signal.sigwait([signal.SIGALRM])
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    lost = before + int.from_bytes(calls[:], "little") - 1 - written()
    assert 0 <= lost <= 1, lost
    return lost

extract(whole)
draw = random.Random(0)
lost = [kill(draw.uniform(1e-5, 0.05)) for _ in range(kills)]
print(sum(lost), "batches lost,", written(), "written")
extract(killed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("is_loader", "01")
def test_killed_at_any_moment_an_extraction_loses_at_most_a_batch(tmp_path, is_loader):
    folders = [tmp_path / "whole", tmp_path / "killed"]
    call = [sys.executable, "-c", KILLS, *map(str, folders), "4", is_loader]
    subprocess.run(call, check=True)
    whole, killed = ({p.name: p.read_bytes() for p in f.glob("*.npy")} for f in folders)
    assert whole == killed
    assert {"mean.blocks.0.npy", "outputs.npy"} <= whole.keys()


def not_moved(monkeypatch, folder, **options):
    """Extract features into a folder, but die before the complete arrays are moved."""
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(features.os, "replace", only_inside)
        extract(Net(), folder, **options)
    (place,) = folder.glob(".pass-*")
    return place


def only_inside(source, target):
    if source.parent != target.parent:
        raise KeyboardInterrupt
    source.rename(target)


@pytest.mark.parametrize("damage", ["mean.blocks.0.npy", "traits.json"])
def test_arrays_of_a_complete_pass_that_changed_are_computed_again(tmp_path, monkeypatch, damage):
    whole = extract(Net(), tmp_path / "whole")
    file = not_moved(monkeypatch, tmp_path / "store") / damage
    with pytest.raises(ValueError, match="interrupted"):
        rs.open_features(tmp_path / "store")
    file.write_bytes(file.read_bytes()[:-8] + b"\0" * 8)
    subject = extract(Net(), tmp_path / "store")
    for layer, r in whole.layers.items():
        assert (np.asarray(subject.layers[layer].source) == np.asarray(r.source)).all()


def test_a_complete_pass_is_taken_in_whatever_is_asked_for_next(tmp_path, monkeypatch):
    not_moved(monkeypatch, tmp_path, layers=["blocks.0"])
    extract(Net(), tmp_path, layers=["head"])
    model = Net()
    for layer in ("blocks.0", "head"):
        assert list(extract(model, tmp_path, layers=[layer]).layers) == [layer]
    assert model.calls == 0


def test_a_kill_before_a_pass_is_removed_leaves_nothing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(features.shutil, "rmtree", lambda place, **options: None)
        extract(Net(), tmp_path)
    assert list(tmp_path.glob(".pass-*"))
    extract(Net(), tmp_path)
    assert not list(tmp_path.glob(".pass-*"))


def test_a_changed_layer_is_computed_again(tmp_path):
    extract(Net(), tmp_path)
    array = tmp_path / "mean.blocks.0.npy"
    content = array.read_bytes()
    array.write_bytes(content[:-8] + b"\0" * 8)
    extract(Net(), tmp_path)
    assert array.read_bytes() == content


def test_a_deleted_layer_is_computed_again(tmp_path):
    extract(Net(), tmp_path)
    (tmp_path / "mean.blocks.0.npy").unlink()
    with pytest.raises(ValueError, match=r"mean\.blocks\.0\.npy is missing"):
        rs.open_features(tmp_path)
    assert list(extract(Net(), tmp_path).layers) == ["blocks.0", "blocks.1", "head"]


def test_damaged_facts_are_refused_with_the_file_and_the_remedy(tmp_path, subtests):
    extract(Net(), tmp_path)
    traits = tmp_path / "traits.json"
    content = traits.read_text()
    good = json.loads(content)
    others = [{**good, name: [3]} for name in good] + [{**good, "layers": {"mean": 3}}, [], 3]
    others += [{**good, "layers": 3}, {**good, "layers": {"last": ["head"]}}]
    others += [{**good, "layers": {"mean": [3]}}, {**good, "layers": {}}, {**good, "more": 1}]
    others += [{k: v for k, v in good.items() if k != name} for name in ("layers", "format")]
    for text in [*map(json.dumps, others), "[" * 10**5, "", "\ud800", '{"a": 1}']:
        with subtests.test(ascii(text[:100])):
            traits.write_text(text, encoding="utf-8", errors="surrogatepass")
            calls = [lambda folder: extract(Net(), folder), rs.open_features]
            for call in calls[: 1 if text == '{"a": 1}' else 2]:  # that is a model of one's own
                with pytest.raises(ValueError, match=r"traits\.json|is missing|interrupted"):
                    call(tmp_path)
            traits.write_text(content)
    assert list(rs.open_features(tmp_path).layers) == ["blocks.0", "blocks.1", "head"]


def test_a_model_whose_extraction_was_cut_short_is_not_left_out(tmp_path, capsys, monkeypatch):
    extract(Net(), tmp_path / "a")
    not_moved(monkeypatch, tmp_path / "b")
    with pytest.raises(ValueError, match=r"b has no complete layers yet"):
        rs.read_models(tmp_path)
    assert run(["compare", str(tmp_path), "-m", "cka"]) == 2
    assert "no complete layers yet" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_data_frames_of_numbers_are_refused(package):
    frame = importlib.import_module(package).DataFrame(SAMPLES)
    with pytest.raises(ValueError, match="to_numpy"):
        load_samples(frame)
