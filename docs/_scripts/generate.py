"""Write what belongs to the documentation only when it is built: a page for each measure, and the
pages of results that the gallery shows, on data that takes seconds.

The tables in the committed pages are written by :mod:`write_tables`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from measure_pages import measure_page, sidebar
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import resemblance as rs
from resemblance import bench
from resemblance.report import write_page

TABLE = re.compile(r"(?ms)^<!-- table: .*?^<!-- end -->")
BIBLIOGRAPHY = "```{eval-rst}\n.. bibliography::\n   :all:\n```"  # in place of its table
IN_PARENTHESES = re.compile(r"\(\[[^\]]*\]\(references\.md#(\w+)\)\)")
IN_TEXT = re.compile(r"\[[^\]]*\]\(references\.md#(\w+)\)")


def measures(folder: Path) -> None:
    """Write every generated page into ``folder``, leaving alone what has not changed."""
    folder.mkdir(exist_ok=True)
    pages = {f"{m.name}.rst": measure_page(m) for m in rs.list_measures()}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()


def project_pages(folder: Path) -> None:
    """Write CONTRIBUTING and CHANGELOG of the repository as pages."""
    folder.mkdir(exist_ok=True)
    for name in ("CONTRIBUTING", "CHANGELOG"):
        text = (Path(__file__).parents[2] / f"{name}.md").read_text("utf-8")
        (folder / f"{name.lower()}.md").write_text(text.replace("](docs/", "](../"), "utf-8")


def linked(text: str) -> str:
    """Return a page with what only the built pages have: links from the tables to the pages of
    measures, which the sidebar lists next to the table of all, and citations that lead to their
    entries in the bibliography."""
    if "<!-- table: references -->" in text:
        return TABLE.sub(lambda match: BIBLIOGRAPHY, text)
    names = "|".join(sorted((m.name for m in rs.list_measures()), key=len, reverse=True))
    name = re.compile(rf"^\| `({names})`", flags=re.MULTILINE)
    pages = f"\n\n{sidebar()}\n" if "<!-- table: measures -->" in text else ""
    text = TABLE.sub(lambda match: name.sub(r"| [`\1`](measures/\1)", match[0]), text) + pages
    return IN_TEXT.sub(r"{cite:t}`\1`", IN_PARENTHESES.sub(r"{cite:p}`\1`", text))


# -------------------------------------------------------------------------------------- examples

MEASURES = ["cka[estimator=debiased]", "procrustes", "mutual_knn"]
RANKED = ["cka", "mka", "rsa", "procrustes", "jaccard"]


def examples(folder: Path) -> None:
    """Write a page of a comparison, of a drift report, and of a trial run of a suite."""
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = load_digits(return_X_y=True)
    first, second = (layers(seed, images / 16, labels) for seed in (0, 1))
    models = {"seed 0": first, "seed 1": second}
    write_page(rs.evidence(models, measures=MEASURES, progress=False), folder / "compare.html")
    report = rs.drift(first["layer 1"], second["layer 1"], n_resamples=10, progress=False)
    write_page(report, folder / "drift.html")
    trial = bench.run("manifolds", measures=RANKED, size="small", progress=lambda *_: None)
    write_page(trial, folder / "manifolds.html")


def layers(seed: int, images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hidden layers, for the last 400 images, of a network that learned the others."""
    network = MLPClassifier((48, 32, 24), random_state=seed, learning_rate_init=0.003)
    for _ in range(20):
        network.partial_fit(images[:-400], labels[:-400], classes=np.arange(10))
    values, result = images[-400:], {}
    for depth in range(3):
        values = np.maximum(values @ network.coefs_[depth] + network.intercepts_[depth], 0)
        result[f"layer {depth + 1}"] = values
    return result
