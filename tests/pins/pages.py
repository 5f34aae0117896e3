"""Snapshots of the text of pages: one file per kind of page in ``tests/pages``, one line per block.

The line of a drawing contains its kind, its text for screen readers, the number of marks, the
tooltip of the first mark, and the labels; ``{...}`` is a tooltip. A line that occurs before, on the
same page or on another page, is replaced by ``= NAME``, the name of the page where the line occurs
first, followed by its numbers if the numbers differ. So every sentence is stored once.
``scripts/pin.py pages`` writes the snapshots and prints the changes.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from factories.boards import scores_of
from factories.evidence import arrays, compared, made_evidence
from factories.figures import EVERY_FIGURE, FINDINGS
from factories.packs import manifolds_pack
from factories.resi_models import small_evaluation

import resemblance as rs
from resemblance import bench
from resemblance.bench.ranking import board_of
from resemblance.bench.ranking.verdicts import verdicts_on_board
from resemblance.bench.resi import result_of
from resemblance.report import write_page
from resemblance.report.of_drift import drift_result
from resemblance.report.of_drift_layers import layers_result
from resemblance.report.of_upgrade import upgrade_result
from resemblance.sections.result import Result

FOLDER = Path(__file__).parents[1] / "pages"
ELSEWHERE = ("python", "machine", "libraries", "resemblance")  # differ from machine to machine
PREFIXES = {"title": "title: ", "h1": "# ", "h2": "## ", "h3": "### ", "figcaption": "caption: ",
            "caption": "table: ", "tr": "| ", "li": "- ", "summary": "> ", "label": "line: ",
            "footer": "footer: "}  # fmt: skip
BLOCKS = {*PREFIXES, "p", "div", "dl", "section", "figure", "table", "small", "button", "pre"}
MARKS = {"dot", "point", "marks", "branch", "p", "way", "box", "limit", "band", "range", "unsure"}
HASH = re.compile(r"\b[0-9a-f]{64}\b")
NUMBER, NOTE = re.compile(r"\d+(?:\.\d+)?"), re.compile(r" \{[^{}]{20,}\}")
FINGERPRINT = re.compile(r"\b[0-9a-f]{32}\b")  # of arrays, which depends on the processor


class Reader(HTMLParser):
    """The blocks of a page as lines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._line, self._notes = "", list[str]()
        self._drawing: list[str] | None = None  # the labels of the drawing that is read
        self._marks, self._first = 0, ""
        self.feed(page)
        self._end_line()

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self._count(dict(attributes))

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = {name: value or "" for name, value in attributes}
        parent = self._open[-1][0] if self._open else ""
        if tag in ("meta", "input", "wbr", "br"):
            return
        if tag in BLOCKS or (tag == "dt" and parent == "dl"):
            self._end_line()
        is_shown = "template" not in {name for name, _ in self._open}
        if tag == "svg" and "aria-label" in values and is_shown:
            self._end_line()
            self._drawing, self._marks, self._first = [], 0, ""
        self._open.append((tag, values))
        self._count(values)
        if values.get("title"):
            self._notes.append(values["title"])
        if tag == "span" and self._line:
            self._line += " "
        if tag in ("td", "th", "dd", "dt") and self._line:
            self._line += " | " if tag in ("td", "th") else ": "

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, values = self._open.pop()
            if name == tag:
                break
        if tag == "svg" and self._drawing is not None and "aria-label" in values:
            kind, label = values.get("class", ""), values["aria-label"]
            names = f"; labels: {', '.join(self._drawing)}" if self._drawing else ""
            first = f"; first: {self._first}" if self._first else ""
            self.lines.append(f"drawing ({kind}): {label}; {self._marks} marks{first}{names}")
            self._drawing = None
        elif tag in BLOCKS:
            self._open.append((tag, values))
            self._end_line()
            self._open.pop()
        elif tag in ("td", "th", "a", "span") and self._notes:
            self._line += f" {{{'; '.join(self._notes)}}}"
            self._notes = []

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        inside = {tag for tag, _ in self._open}
        if not words or inside & {"style", "script", "template", "pre"}:
            return
        tag = self._open[-1][0]
        if self._drawing is None:
            self._line += f"{' ' * data[:1].isspace()}{words}{' ' * data[-1:].isspace()}"
        elif tag == "text":
            self._drawing.append(words)
        elif tag == "title":
            self._first = self._first or words

    def _count(self, attributes: Mapping[str, Any]) -> None:
        kinds = set((attributes.get("class") or "").split())
        if re.match(r"M\d+ \d+h\d+v1", attributes.get("d") or ""):  # the cells of a map
            self._marks += sum(map(int, re.findall(r"M\d+ \d+h(\d+)v1", attributes["d"])))
        elif kinds & MARKS:
            self._marks += 1

    def _end_line(self) -> None:
        line = " ".join(self._line.split())
        line += f" {{{'; '.join(self._notes)}}}" if self._notes else ""
        if line.strip(" |:"):
            known = (PREFIXES[tag] for tag, _ in reversed(self._open) if tag in PREFIXES)
            classes = self._open[-1][1].get("class", "") if self._open else ""
            special = {"remark": "caveat: ", "trial": "trial: "}.get(classes)
            self.lines.append(f"{special or next(known, '')}{line}")
        self._line, self._notes = "", []


def seen_on(page: str) -> list[str]:
    """Return the visible text of a page as lines, and the options of the selectors of its maps."""
    lines = [FINGERPRINT.sub("(fingerprint)", line) for line in Reader(page).lines]
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    for place, choice in json.loads(data[1])["choices"].items() if data else ():
        of = f"{len(choice['options'])} of {', '.join(choice['selectors'])}"
        lines.append(f"selectors of {place}: {of}: {', '.join(choice['words'])}")
    return lines


# ------------------------------------------------------------------------------------- the pages


def _layers() -> Any:
    """Two models and a copy with new weights, by several families of measures."""
    names = [f"{model}/{layer}" for model in ("a", "b", "new") for layer in ("in", "mid", "out")]
    comparison = compared(
        arrays(names, related=6), None, ("cka", "procrustes", "mutual_knn", "gulp", "rsa")
    )
    models = {
        "a": {"source": "all-MiniLM-L6-v2", "parameters": 22_713_216, "pool": "mean"},
        "b": {"class": "transformers.models.bert.BertModel", "parameters": 1500},
        "new": {},
    }
    data = {"name": "SST-2 validation", "n": 40, "unit": "sentences", "hash": "00ff"}
    facts = {"models": models, "data": data, "reinitialized": "new"}
    return replace(comparison, provenance={**comparison.provenance, **facts})


def _models() -> Any:
    """Three models of unlike depth, and one of a single layer."""
    names = [
        f"{m}/{i}" for m, count in (("a", 2), ("b", 3), ("c", 4), ("d", 1)) for i in range(count)
    ]
    return compared(arrays(names, related=5), None, ("cka", "pwcca"))


def _pair() -> Any:
    two = arrays("ab")
    return compared({"a": two["a"]}, {"b": two["b"]}, ("cka", "procrustes", "pwcca"))


def _failures() -> Any:
    """One list against another, with a constant representation."""
    columns = arrays(["p", "q"], seed=1) | {"dead": np.ones((40, 4))}
    return compared(arrays(["m", "n"]), columns, ("cka", "rsm_norm_difference"))


def _evidence() -> Any:
    """Some representations are related; CKA has exact moments."""
    comparison = compared(
        arrays(["a/1", "a/2", "b/1", "b/2"], related=3), None, ("cka", "procrustes")
    )
    return made_evidence(comparison, within=[i % 10 for i in range(40)], exact=("cka",))


def _drift_arrays(seed: int = 11) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    old = rng.standard_normal((120, 6))
    return old, old @ rng.standard_normal((6, 6)) + 0.3 * rng.standard_normal((120, 6))


def _drift() -> Any:
    options: dict[str, Any] = {"labels": np.arange(120) % 3, "n_resamples": 10, "progress": False}
    return drift_result(rs.drift(*_drift_arrays(), **options))


def _drift_of_layers() -> Any:
    old, new = _drift_arrays()
    pairs = {"first": (old, old + 0.01), "last": (old, new)}
    reports = {n: rs.drift(*p, n_resamples=10, progress=False) for n, p in pairs.items()}
    return layers_result(reports, "only the reference has head", {"command": "resemblance drift"})


def _upgrade() -> Any:
    rng = np.random.default_rng(12)
    old, queries = rng.standard_normal((200, 6)), rng.standard_normal((60, 6))
    turn, noise = np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.standard_normal((200, 6))
    groups = np.repeat(["short", "long"], 30)
    new = old @ turn + 0.2 * noise
    return upgrade_result(
        rs.upgrade_index(old, new, queries, queries @ turn, groups=groups, progress=False)
    )


def _suite() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        manifolds_pack(Path(folder))
        pack = Path(folder) / "manifolds-tiny@1.tar.xz"
        return bench.run("manifolds", pack=pack, measures=("cka", "procrustes", "rsa"))


def _model_scores() -> Any:
    subjects = arrays(["s1", "s2", "s3", "s4"])
    return rs.score_models(arrays(["good", "bad"], related=1), subjects, progress=False)


def _leaderboard() -> Any:
    scores = scores_of()
    return verdicts_on_board(board_of(scores), [rs.cka, rs.procrustes], scores[:2])


PAGES: Mapping[str, Callable[[], Any]] = {
    "every_figure": lambda: EVERY_FIGURE,
    "claims": lambda: FINDINGS,
    "layers": _layers,
    "models": _models,
    "pair": _pair,
    "failures": _failures,
    "evidence": _evidence,
    "drift": _drift,
    "drift_of_layers": _drift_of_layers,
    "upgrade": _upgrade,
    "resi": lambda: result_of(small_evaluation()),
    "manifolds": _suite,
    "model_scores": _model_scores,
    "leaderboard": _leaderboard,
}


def timeless(result: Any) -> Any:
    """A result without times, versions and machines."""
    if isinstance(result, rs.Evidence):
        return replace(result, comparison=timeless(result.comparison))
    if not hasattr(result, "provenance"):
        return result
    facts = {name: fact for name, fact in result.provenance.items() if name not in ELSEWHERE}
    if isinstance(result, Result):
        sections = tuple(s for s in result.sections if s.name not in ("times", "costs"))
        seconds = dict.fromkeys(result.seconds, 0.0)
        return replace(result, provenance=facts, sections=sections, seconds=seconds)
    for matrix in getattr(result, "matrices", {}).values():
        matrix.seconds = 0.0
    return replace(result, provenance=facts)


@cache
def page_of(name: str) -> str:
    """The page of one kind as HTML."""
    with tempfile.TemporaryDirectory() as folder:
        file = write_page(timeless(PAGES[name]()), Path(folder) / "page.html")
        return file.read_text(encoding="utf-8")


def snapshots() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of every snapshot."""
    origins: dict[str, str] = {}
    for name in PAGES:
        lines = [_as_before(line, name, origins) for line in seen_on(page_of(name))]
        yield name, lines


def _as_before(line: str, name: str, origins: dict[str, str]) -> str:
    """Return ``= NAME`` for a line that occurred before on the page NAME, with its numbers if the
    numbers differ; otherwise return the line."""
    for note in NOTE.findall(line):
        line = line.replace(note, "") if note in origins else line
        origins.setdefault(note, name)
    form = line if line.startswith(("| ", "drawing")) else NUMBER.sub("#", line)
    origin = origins.get(line)
    if origin is None and form in origins:
        origin = f"{origins[form]}, with {', '.join(NUMBER.findall(line))}"
    origins.setdefault(line, name)
    origins.setdefault(form, name)
    return f"= {origin}" if origin else line


def changes(name: str, lines: list[str]) -> list[str]:
    """What differs from the snapshot of a page, but for the last digit of a number."""
    file = FOLDER / f"{name}.txt"
    stored = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    if len(stored) == len(lines) and all(map(are_alike, stored, lines)):
        return []
    lines = [a if are_alike(a, b) else b for a, b in zip(stored, lines)] + lines[len(stored) :]
    return list(
        difflib.unified_diff(stored, lines, f"{name} as stored", f"{name} now", "", "", 0, "")
    )


def are_alike(line: str, other: str) -> bool:
    """Say whether two lines are equal but for the last digits of their numbers, and for hashes of
    such numbers, which depend on the processor."""
    line, other = (HASH.sub("", text) for text in (line, other))
    if NUMBER.split(line) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(line), NUMBER.findall(other))
    return all(
        a == b or ("." in a and math.isclose(float(a), float(b), abs_tol=unit(a))) for a, b in pairs
    )


def unit(number: str) -> float:
    """One unit of the last digit of a number, with a little for rounding."""
    return 1.001 * 10.0 ** -len(number.partition(".")[2])


def write_snapshots() -> None:
    """Write the snapshots that changed, and print the differences."""
    FOLDER.mkdir(exist_ok=True)
    for name, lines in snapshots():
        differences = changes(name, lines)
        if differences:
            print("\n".join(differences))
            (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for file in FOLDER.glob("*.txt"):
        if file.stem not in PAGES:
            file.unlink()
