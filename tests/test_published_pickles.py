"""Pickles of data files: arrays come out of them, and nothing that they could run does."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from resemblance.sources.pickles import ARRAYS, read_pickle

ARRAY = np.arange(6.0).reshape(2, 3)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL))
def test_arrays_come_out(tmp_path, protocol):
    content = {"data": ARRAY, "labels": [1, 2], "name": "a"}
    result = read_pickle(written(tmp_path, pickle.dumps(content, protocol)))
    assert np.array_equal(result["data"], ARRAY)
    assert result["data"].dtype == ARRAY.dtype
    assert result["labels"] == [1, 2]


def test_strings_of_python_2_are_bytes_where_that_is_asked_for(tmp_path):
    path = written(tmp_path, b"\x80\x02U\x02\xe9ab.".replace(b"ab", b"a"))
    assert read_pickle(path) == "éa"
    assert read_pickle(path, encoding="bytes") == b"\xe9a"


def test_a_name_gives_what_it_is_allowed_to(tmp_path):
    path = written(tmp_path, pickle.dumps(defaultdict(list, a=[1]), 2))
    allowed = {"collections.defaultdict": dict, "__builtin__.list": ()}
    assert read_pickle(path, allowed) == {"a": [1]}
    with pytest.raises(ValueError, match=r"file cannot .* refers to collections.defaultdict"):
        read_pickle(path, ARRAYS)


class Payload:
    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


def hostile(marker: Path) -> dict[str, bytes]:
    """Pickles that would make a file, or would need more memory than there is."""
    import os

    code = f"open({str(marker)!r}, 'w')"
    attribute = f"cbuiltins\ngetattr\n(cbuiltins\n__import__\nVeval\ntR(V{code}\ntR."
    huge = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(L999999999999999L\ntVb\ntR."
    good = pickle.dumps(ARRAY, 2)
    return {
        "a command": pickle.dumps(Payload(os.system, f"touch {marker}")),
        "code": pickle.dumps(Payload(eval, code)),
        "an attribute": attribute.encode(),
        "an instance": f"(Vtouch {marker}\nios\nsystem\n.".encode(),
        "a class as a function": b"cnumpy\nndarray\n(L999999999999L\ntR.",
        "an extension": b"\x80\x02\x82\x01.",
        "a persistent name": b"\x80\x02X\x01\x00\x00\x00aQ.",
        "half a file": good[: len(good) // 2],
        "another protocol": b"\x80\xff" + good[2:],
        "no pickle": b"PK\x03\x04",
        "nothing": b"",
        "a place far away": b"\x80\x02K\x01r\xff\xff\xff\x7f.",
        "a long string": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x0fa.",
        "an array of another size": good.replace(b"K\x02K\x03", b"K\x02K\x7f"),
        "a large array": huge.encode(),
    }


@pytest.mark.parametrize("kind", sorted(hostile(Path("x")).keys() - {"a large array"}))
def test_hostile_files_run_nothing(tmp_path, kind):
    marker = tmp_path / "marker"
    path = written(tmp_path, hostile(marker)[kind])
    with pytest.raises(ValueError, match=r"file cannot be read as a pickle of plain data: \S"):
        read_pickle(path)
    assert not marker.exists()


def test_an_array_starts_empty_whatever_the_file_says(tmp_path):
    path = written(tmp_path, hostile(Path("x"))["a large array"])
    assert read_pickle(path).shape == (0,)
