"""Executes the tutorials that need weights or data from elsewhere, and stores their outputs.

    python docs/_scripts/execute.py graphs --data FOLDER
    python docs/_scripts/execute.py language-models --data FOLDER --weights FOLDER
    python docs/_scripts/execute.py graphs --text

``docs/tutorials/sources/NAME.md`` is the text, ``docs/tutorials/NAME.ipynb`` the text with its
outputs, which the pages show. FOLDER of the data holds ``Cora/raw`` and ``sst2``, that of the
weights a model of ``transformers``. ``--text`` keeps the outputs, if no code changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parents[1] / "tutorials"
SOURCES = TUTORIALS / "sources"
TIMEOUT = 1200  # seconds for a cell
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def read(source: Path) -> nbformat.NotebookNode:
    """Return a tutorial written as text as a notebook without outputs."""
    notebook = read_myst_markdown_notebook(source.read_text("utf-8"))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # not random: the same source is the same notebook
    notebook.metadata = nbformat.from_dict(KERNEL)
    return notebook


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells that hold code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of its cells, executed in a folder, on one thread."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=TIMEOUT, resources=resources).execute()
    return stripped(notebook)


def stripped(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without what differs from run to run: times, versions, warnings."""
    notebook.metadata = nbformat.from_dict(KERNEL)
    for cell in code_cells(notebook):
        cell.metadata.pop("execution", None)
        cell.outputs = merged(o for o in cell.outputs if o.get("name") != "stderr")
    return notebook


def merged(outputs):
    """Return outputs with pieces of printed text that follow each other in one."""
    result = []
    for output in outputs:
        if output.output_type == "stream" and result and result[-1].output_type == "stream":
            result[-1].text += output.text
        else:
            result.append(output)
    return result


def with_outputs(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs that are stored, if its code has not changed."""
    old_cells, new_cells = code_cells(nbformat.read(path, as_version=4)), code_cells(notebook)
    if [cell.source for cell in old_cells] != [cell.source for cell in new_cells]:
        sys.exit(f"{path}: the code changed; execute it")
    for old_cell, new_cell in zip(old_cells, new_cells):
        new_cell.outputs, new_cell.execution_count = old_cell.outputs, old_cell.execution_count
    return stripped(notebook)


def main() -> None:
    """Execute one tutorial and write its notebook."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(path.stem for path in SOURCES.glob("*.md")))
    parser.add_argument("--data", type=Path, help="folder with Cora/raw and sst2")
    parser.add_argument("--weights", type=Path, help="folder of a model of transformers")
    parser.add_argument("--text", action="store_true", help="replace the text alone")
    options = parser.parse_args()
    for variable, folder in (("DATA", options.data), ("WEIGHTS", options.weights)):
        if folder is not None:
            os.environ[f"RESEMBLANCE_{variable}"] = str(folder.resolve())
    target = TUTORIALS / f"{options.name}.ipynb"
    notebook = read(SOURCES / f"{options.name}.md")
    result = with_outputs(notebook, target) if options.text else execute(notebook, TUTORIALS)
    nbformat.write(result, target)
    print(f"{target}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
