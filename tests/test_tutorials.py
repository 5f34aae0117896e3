"""The tutorials are complete, and the outputs that are stored belong to their text."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import write_tables

DOCS = Path(__file__).parent.parent / "docs"
TUTORIALS = DOCS / "tutorials"
SOURCES = sorted((TUTORIALS / "sources").glob("*.md"))
EXECUTED = sorted(page for page in TUTORIALS.glob("*.md") if page.name != "index.md")
CELL = re.compile(r"^```\{code-cell\} python\n(?::.*\n)*\n?(.*?)^```$", re.MULTILINE | re.DOTALL)
LARGEST = 1e6  # bytes of a notebook with its outputs
# Folders of the machine that made the outputs.
PRIVATE = re.compile(r"/(?:tmp|home|work|root|Users)/")


def cells(page: Path) -> list[str]:
    return [cell.strip() for cell in CELL.findall(page.read_text("utf-8"))]


def notebook(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))
    return document


def code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def printed(document: dict[str, Any]) -> str:
    outputs = [output for cell in code_cells(document) for output in cell["outputs"]]
    return "".join("".join(output.get("text", "")) for output in outputs)


@pytest.mark.parametrize("page", [*EXECUTED, *SOURCES, DOCS / "gallery.md"], ids=lambda p: p.stem)
def test_cells_compile(page: Path) -> None:
    assert len(cells(page)) == page.read_text("utf-8").count("```{code-cell}") > 3
    for number, cell in enumerate(cells(page)):
        compile(cell, f"{page.name}, cell {number}", "exec")


@pytest.mark.parametrize("page", [*EXECUTED, DOCS / "gallery.md"], ids=lambda p: p.stem)
def test_a_page_that_is_executed_names_its_kernel(page: Path) -> None:
    assert page.read_text("utf-8").startswith("---\nfile_format: mystnb\nkernelspec:\n")


@pytest.mark.parametrize("page", [*EXECUTED, *SOURCES], ids=lambda p: p.stem)
def test_a_tutorial_ends_with_what_to_remember_and_where_to_go_on(page: Path) -> None:
    end = page.read_text("utf-8").partition("\n## What to remember\n")[2]
    assert end.count("\n- ") >= 3
    assert "](" in end.rpartition("\n\n")[2]


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_stored_outputs_belong_to_the_source(source: Path) -> None:
    document = notebook(source.stem)
    assert [
        "".join(cell["source"]).strip() for cell in code_cells(document)
    ] == cells(source)  # fmt: skip
    words = "\n\n".join(
        "".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "markdown"
    )
    assert words.split() == CELL.sub("", source.read_text("utf-8")).split()


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_a_stored_notebook_is_complete_small_and_without_traces(source: Path) -> None:
    path, document = TUTORIALS / f"{source.stem}.ipynb", notebook(source.stem)
    outputs = [output for cell in code_cells(document) for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 3
    assert printed(document)
    assert path.stat().st_size < LARGEST
    assert not PRIVATE.search(path.read_text("utf-8"))
    assert set(document["metadata"]) == {"kernelspec", "language_info"}


@pytest.mark.skipif(
    not Path(os.environ.get("RESEMBLANCE_DATA", "-"), "Cora").is_dir(),
    reason="RESEMBLANCE_DATA names no folder with Cora",
)
def test_the_graphs_give_the_stored_numbers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cora = tmp_path / "Cora" / "raw"  # a copy: processed files are written next to it
    cora.parent.mkdir()
    cora.symlink_to(Path(os.environ["RESEMBLANCE_DATA"], "Cora", "raw").resolve())
    monkeypatch.setenv("RESEMBLANCE_DATA", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "tutorial"}
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        for cell in cells(TUTORIALS / "sources" / "graphs.md"):
            exec(compile(cell, "graphs.md", "exec"), namespace)
    was, now = map(numbers, (printed(notebook("graphs")), stdout.getvalue()))
    assert now == pytest.approx(was, abs=0.05)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_the_pictures_of_the_readme_are_those_of_the_tutorial() -> None:
    files = write_tables.tutorial_pictures()
    assert len(files) == 2
    for name, content in files.items():
        assert (DOCS / name).read_bytes() == content
