"""Write the tables of numbers into the committed pages, between ``<!-- table: NAME -->`` and
``<!-- end -->``, so that the pages are complete wherever they are read; and files of their own.

    python docs/_scripts/write_tables.py            # write the tables that have changed
    python docs/_scripts/write_tables.py --check    # only name the pages with outdated tables
    python docs/_scripts/write_tables.py own-suite  # or calls, devices, pictures, tutorial-pictures
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "measures"))
sys.path.insert(0, str(Path(__file__).parent))

import coming_from
import conventions
import how_it_compares
import numpy as np
from measure_pages import all_measures
from pieces import markdown, number

import resemblance as rs
from resemblance.base.formatting import format_fixed
from resemblance.bench.scoring import score
from resemblance.catalogue import get_measures
from resemblance.citations import bibliography
from resemblance.report.citing import format_reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STORED = sorted((DOCS / "_generated").glob("*.md"))  # written by papers and benchmarks
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)
NUMBER = re.compile(r"−?\d+\.\d+(?:e[+−-]?\d+)?")
TOLERANCE = 2e-3  # of the last digits, which depend on the machine


def same_name() -> str:
    """Return what goes by one name in different codes."""
    head = ("name", "convention", "independent", "related", "here", "used by")
    rows = (
        (name, convention, number(independent), number(related), description, users)
        for name, convention, independent, related, description, users in conventions.conventions()
    )
    return markdown(head, rows)


# Measures with a value that independent representations have because of their shapes
BY_CHANCE = (
    "cka", "cka[estimator=debiased]", "mean_cca", "svcca", "linear_regression", "procrustes",
    "aligned_cosine", "hard_correlation_match", "distance_correlation", "eigenspace_overlap",
    "rsa", "jaccard", "second_order_cosine", "second_order_cosine[of=distance]",
)  # fmt: skip


def chance() -> str:
    """Return the mean of each measure over 9 pairs of independent Gaussian representations."""
    sizes = ((200, 20), (200, 200), (200, 800), (1000, 200))
    measures = list(map(rs.get_measure, BY_CHANCE))
    columns = []
    for n, d in sizes:
        arrays = list(np.random.default_rng([n, d]).standard_normal((6, n, d)))
        columns.append(rs.compare(arrays[:3], arrays[3:], measures=measures, progress=False))
    head = ("measure", *(f"n = {n}, d = {d}" for n, d in sizes))
    rows = [
        (spelled(m), *(format_fixed(column[m].mean(), 3) for column in columns)) for m in measures
    ]
    return markdown(head, rows)


def speed() -> str:
    """Return the times that ``benchmarks/suite.py --write`` kept, of some measures and of all."""
    lines = (ROOT / "benchmarks" / "suite.csv").read_text().splitlines()
    _, samples, features, count, pairs = lines[1].split(",")
    head = (
        f"{count} representations of {samples} x {features}", f"{pairs} pairs, NumPy", "here",
        "one pair, ReSi's code", "here",
    )  # fmt: skip
    times = {name: values for name, *values in (line.split(",") for line in lines[3:])}
    rows = [
        (
            name if name == "all together" else f"`{name}`",
            *(f"{float(value):.2g}" if value else "" for value in times[name]),
        )
        for name in ("cka", "pwcca", "rsa", "jaccard", "imd", "all together")
    ]
    return markdown(head, rows)


def spelled(m: rs.Measure) -> str:
    parameters = f" `{m.spec.removeprefix(m.name)}`" if m.spec != m.name else ""
    return f"`{m.name}`{parameters}"


def stored_table(path: Path) -> str:
    """Return a table that ``make papers`` or a script in ``benchmarks`` stored, without the comment
    that names the maker."""
    return re.sub(r"\A<!--.*?-->\s*", "", path.read_text("utf-8")).strip()


def references() -> str:
    """Return a line per work of the bibliography, with an anchor; the built page has the
    bibliography of Sphinx in its place."""
    entries = {key: format_reference(key) for key in bibliography()}
    by_author = sorted(entries.items(), key=lambda entry: entry[1])
    return "\n".join(f'- <a id="{key}"></a>{text}' for key, text in by_author)


TABLES: dict[str, Callable[[], str]] = {
    "references": references,
    "measures": all_measures,
    "chance": chance,
    "same-name": same_name,
    "speed": speed,
    "how-it-compares": how_it_compares.table,
    **{f"from-{package}": partial(coming_from.table, package) for package in coming_from.PACKAGES},
    **{path.stem: partial(stored_table, path) for path in STORED},
}


# --------------------------------------------------------------------------- files of their own


def own_suite() -> dict[str, bytes]:
    """Return the table of the example of a suite of one's own (ten seconds): the scores, a line for
    each measure, and the reliability of what was lost."""
    sys.path.append(str(DOCS / "examples"))
    import suite_of_quantisation as example

    tasks = list(example.tasks([example.train_network(seed) for seed in range(24)]))
    rows_of_scores = score(tasks, get_measures(example.MEASURES))
    scores = {(s.measure, s.test, s.cell[0]): s for s in rows_of_scores}
    bits = [(test, f"{n} bits") for test in ("identity", "accuracy") for n in (8, 4, 3, 2)]
    cells = [("bits", "order"), *bits]
    rows = [
        (f"`{m}`", *(format_fixed(scores[m, *cell].value) for cell in cells))
        for m in example.MEASURES
    ]
    repeats = (scores[example.MEASURES[0], *cell].reliability for cell in cells)
    rows.append(("*reliability*", *("" if r is None else format_fixed(r) for r in repeats)))
    table = markdown(("measure", "bits", *map(", ".join, bits)), rows)
    return {"_generated/own-suite.md": f"{table}\n".encode()}


def devices() -> dict[str, bytes]:
    """Return the table of what measures copy from a device to the host."""
    from devices import table

    return {"_generated/devices.md": table().encode()}


def pictures() -> dict[str, bytes]:
    """Return the pictures of the pages on inference."""
    import make_inference_pictures

    return {f"_static/{name}": svg for name, svg in make_inference_pictures.drawings().items()}


def calls() -> dict[str, bytes]:
    """Return the pictures of the walk of three calls."""
    import make_call_pictures

    return {f"_static/{name}": svg for name, svg in make_call_pictures.drawings().items()}


def tutorial_pictures() -> dict[str, bytes]:
    """Return the two pictures of the README, from the outputs of the tutorial on language
    models."""
    cells = json.loads((DOCS / "tutorials" / "language-models.ipynb").read_text())["cells"]
    files = {}
    for name, call in (("map", "rs.plot.heatmap("), ("depth", "rs.plot.layers(")):
        cell = next(c for c in cells if call in "".join(c["source"]) and c["cell_type"] == "code")
        image = next(o["data"]["image/png"] for o in cell["outputs"] if "image/png" in o["data"])
        files[f"_static/two-models-{name}.png"] = base64.b64decode("".join(image))
    return files


FILES: dict[str, Callable[[], dict[str, bytes]]] = {
    "own-suite": own_suite,
    "calls": calls,
    "devices": devices,
    "pictures": pictures,
    "tutorial-pictures": tutorial_pictures,
}

# ------------------------------------------------------------------------------- tables in pages


def rewritten(text: str) -> str:
    """Return a page with its tables computed anew; one that differs by rounding is kept."""

    def filled(match: re.Match[str]) -> str:
        table = f"\n{TABLES[match[2]]()}\n\n"
        return match[1] + (match[3] if same(match[3], table) else table) + match[4]

    return MARKED.sub(filled, text)


def same(old_text: str, new_text: str) -> bool:
    """Say whether two tables agree in words, and in numbers up to what machines differ by."""
    if NUMBER.sub("", old_text) != NUMBER.sub("", new_text):
        return False
    pairs = zip(*(map(_value, NUMBER.findall(text)) for text in (old_text, new_text)), strict=True)
    return all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b), 1e-2) for a, b in pairs)


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


def outdated(write: bool = False) -> list[str]:
    """Return the names of pages whose tables are not up to date, after writing them if told to."""
    names = []
    for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))):
        text = page.read_text("utf-8")
        current = rewritten(text)
        if current != text:
            names.append(page.name)
            if write:
                page.write_text(current, "utf-8")
    return names


def main(arguments: Sequence[str]) -> int:
    """Write the files that are named, or the tables of all pages; return 1 if a check finds pages
    that are not up to date."""
    if unknown_names := set(
        arguments[1:] if arguments[:1] == ["--check"] else arguments
    ).difference(FILES):
        raise SystemExit(
            f"no {', '.join(sorted(unknown_names))}; there are --check, {', '.join(FILES)}"
        )
    if arguments[:1] == ["--check"] and arguments[1:]:
        raise SystemExit("--check is of all pages, without names")
    for argument in (argument for argument in arguments if argument != "--check"):
        for name, content in FILES[argument]().items():
            (DOCS / name).write_bytes(content)
            print(name)
    if set(arguments) - {"--check"}:
        return 0
    pages = outdated(write=not arguments)
    print(*pages, sep="\n")
    return int(bool(arguments and pages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
