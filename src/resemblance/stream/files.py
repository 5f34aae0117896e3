"""The file of a stream: a ``.npz`` archive of numbers and one JSON text, without Python objects."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base.json_files import atomic_write
from ..data.array_files import name_file_in_errors

STREAM_FILE_KIND, STREAM_FILE_VERSION = "resemblance stream", 3
STREAM_FILE_KEYS = {"method", "pairs", "directions", "layers", "n_samples", "batches", "caveats"}


def write_stream_file(
    path: Path, entries: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a stream file, completely or not at all. ``entries``: the header as JSON values;
    ``arrays``: by name. Raises ``ValueError`` for a folder."""
    if path.is_dir():
        raise ValueError(f"Stream.save: {path} is a folder; give a file, as {path / 'state.npz'}")
    header = json.dumps({"kind": STREAM_FILE_KIND, "version": STREAM_FILE_VERSION, **entries})
    with atomic_write(path) as partial, partial.open("wb") as file:
        np.savez(file, about=np.array(header), **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def read_stream_file(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays, by name, of a file of :func:`write_stream_file`.

    Raises ``ValueError``, with the file's name, for any other file.
    """
    if not path.is_file():
        raise ValueError(f"no stream at {path}; check the path")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a saved stream; Stream.save writes a .npz file")
    with name_file_in_errors(str(path)):
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("about", "{}")))
        if not isinstance(header, dict) or header.get("kind") != STREAM_FILE_KIND:
            raise ValueError("the file is not written by Stream.save")
        if header.get("version") != STREAM_FILE_VERSION:
            raise ValueError(
                f"its format is {header.get('version')}, and {STREAM_FILE_VERSION} is read here"
            )
        if missing_keys := sorted(STREAM_FILE_KEYS - set(header)):
            raise ValueError(f"it lacks the entries {', '.join(missing_keys)}")
    return header, arrays
