"""Executes the tutorials that need weights or data from elsewhere, and stores their outputs.

    python docs/execute.py graphs --data FOLDER
    python docs/execute.py language-models --data FOLDER --weights FOLDER

``docs/tutorials/sources/NAME.md`` is the text, ``docs/tutorials/NAME.ipynb`` the text with its
outputs, which the pages show. FOLDER of the data holds ``Cora/raw`` and ``sst2``, that of the
weights a model of ``transformers``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parent / "tutorials"
SOURCES = TUTORIALS / "sources"
TIMEOUT = 1200  # seconds for a cell
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}


def read(source: Path) -> nbformat.NotebookNode:
    """Return a tutorial written as text as a notebook without outputs."""
    notebook = read_myst_markdown_notebook(source.read_text("utf-8"))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # not random: the same source is the same notebook
    notebook.metadata = nbformat.from_dict(KERNEL)
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of its cells, executed in a folder, on one thread."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    client = NotebookClient(
        notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return stripped(notebook)


def stripped(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without what differs from run to run: times, versions, warnings."""
    notebook.metadata = nbformat.from_dict(KERNEL)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def main() -> None:
    """Execute one tutorial and write its notebook."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(path.stem for path in SOURCES.glob("*.md")))
    parser.add_argument("--data", type=Path, help="folder with Cora/raw and sst2")
    parser.add_argument("--weights", type=Path, help="folder of a model of transformers")
    given = parser.parse_args()
    for variable, folder in (("DATA", given.data), ("WEIGHTS", given.weights)):
        if folder is not None:
            os.environ[f"RESEMBLANCE_{variable}"] = str(folder.resolve())
    notebook = execute(read(SOURCES / f"{given.name}.md"), TUTORIALS)
    target = TUTORIALS / f"{given.name}.ipynb"
    nbformat.write(notebook, target)
    print(f"{target}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
