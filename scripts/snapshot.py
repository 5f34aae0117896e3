"""Extract the text and the graph in ``bench/training/data/stdlib.json.gz`` from the standard
library of CPython.

Run once, with CPython 3.11.7: ``python scripts/snapshot.py``. The same interpreter always writes
the same bytes.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import keyword
import platform
import re
import sysconfig
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PYTHON = "3.11.7"
TARGET = Path(__file__).parents[1] / "src/resemblance/bench/training/data/stdlib.json.gz"
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "__pycache__", "_bundled"}
FUNCTION_PACKAGES, FUNCTIONS = 8, 350
SENTENCE_PACKAGES, SENTENCES = 10, 600
VOCABULARY = 800
DEFINERS = 5  # a name with more definitions does not identify the called function
COMMON = 0.2  # a word in a larger share of the functions carries little information


class Module(NamedTuple):
    name: str  # "email.message"
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


class Function(NamedTuple):
    package: str
    name: str  # "email.message.Message.as_string"
    words: frozenset[str]
    calls: frozenset[str]

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


class Sentence(NamedTuple):
    package: str
    text: str
    module: str


def main() -> None:
    if platform.python_version() != PYTHON:
        raise SystemExit(
            f"the snapshot is of CPython {PYTHON}; this is {platform.python_version()}"
        )
    modules = list(read_modules(Path(sysconfig.get_path("stdlib"))))
    content = {"python": PYTHON, "graph": graph(modules), "sentences": sentences(modules)}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read_modules(root: Path) -> Iterator[Module]:
    """Yield all modules of the standard library that are written in Python, sorted by file."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        # _sysconfigdata and config-3.11 describe the machine that built the interpreter.
        if LEFT_OUT & set(parts) or parts[0].startswith(("_sysconfigdata", "config-")):
            continue
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(path.read_bytes())
        yield Module(".".join(parts).removesuffix(".__init__"), tree)


# -------------------------------------------------------------------------------------------- graph


def graph(modules: list[Module]) -> dict[str, Any]:
    all_functions = [
        function
        for module in modules
        for function in functions(module.tree, module.package, module.name)
    ]
    library = distinct(all_functions)
    packages = largest(Counter(f.package for f in library), FUNCTION_PACKAGES)
    candidates = [f for f in library if f.package in packages]
    selection = connected(candidates, packages, calls(candidates, library))
    vocabulary = common_words(selection)
    index = {word: i for i, word in enumerate(vocabulary)}
    return {
        "packages": packages,
        "labels": [packages.index(f.package) for f in selection],
        "names": [f.name for f in selection],
        "vocabulary": vocabulary,
        "words": [sorted(index[w] for w in f.words if w in index) for f in selection],
        "edges": calls(selection, library),
    }


def distinct(candidates: list[Function]) -> list[Function]:
    """Return the functions with at least three words, without duplicates.

    Of redefinitions, and of functions with the same content in a package, the last function stays.
    """
    by_name = {f.name: f for f in candidates if len(f.words) >= 3}
    return list({(f.package, f.words, f.calls): f for f in by_name.values()}.values())


def functions(node: ast.AST, package: str, prefix: str) -> Iterator[Function]:
    """Yield functions and methods, without functions inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(package, f"{prefix}.{child.name}", words(child), called(child))
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, package, f"{prefix}.{child.name}")
        else:  # definitions under if, try and with
            yield from functions(child, package, prefix)


def identifiers(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name


def words(function: ast.AST) -> frozenset[str]:
    """Return the words of at least three letters in the identifiers of a function, split at _,
    digits and camelCase."""
    parts = (
        p
        for name in identifiers(function)
        for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    )
    return frozenset(p.lower() for p in parts if len(p) > 2 and not keyword.iskeyword(p.lower()))


def called(function: ast.AST) -> frozenset[str]:
    """Return the names that a function calls: ``f`` in ``f()`` and in ``x.f()``."""
    targets = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return frozenset(
        t.id if isinstance(t, ast.Name) else t.attr
        for t in targets
        if isinstance(t, ast.Name | ast.Attribute)
    )


def connected(
    candidates: list[Function], packages: list[str], edges: list[tuple[int, int]]
) -> list[Function]:
    """Return the ``FUNCTIONS`` functions per package with most callers and callees, sorted by
    name."""
    degrees = Counter(i for edge in edges for i in edge)
    degree_by_name = {f.name: degrees[i] for i, f in enumerate(candidates)}
    best = {
        p: largest(
            {f.name: degree_by_name[f.name] for f in candidates if f.package == p}, FUNCTIONS
        )
        for p in packages
    }
    function_by_name = {f.name: f for f in candidates}
    return [function_by_name[name] for package in packages for name in sorted(best[package])]


def common_words(selection: list[Function]) -> list[str]:
    """Return the most frequent words, without words in more than a share ``COMMON`` of the
    functions."""
    counts = Counter(word for f in selection for word in f.words)
    return largest({w: c for w, c in counts.items() if c <= COMMON * len(selection)}, VOCABULARY)


def calls(nodes: list[Function], library: list[Function]) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, in which one function calls a name that the other function
    defines.

    Names with more than ``DEFINERS`` definitions in the library are skipped.
    """
    counts, definers = Counter(f.short for f in library), defaultdict(list)
    for j, f in enumerate(nodes):
        definers[f.short].append(j)
    edges = {
        (min(i, j), max(i, j))
        for i, f in enumerate(nodes)
        for name in f.calls
        for j in definers.get(name, ())
        if counts[name] <= DEFINERS and i != j
    }
    return sorted(edges)


# ---------------------------------------------------------------------------------------- sentences


def sentences(modules: list[Module]) -> dict[str, Any]:
    all_sentences = [
        Sentence(m.package, text, m.name)
        for m in modules
        for d in docstrings(m.tree)
        for text in split(d)
    ]
    row_by_text = {row.text: row for row in reversed(all_sentences)}
    owners = Counter(text for _, text in {(row.package, row.text) for row in all_sentences})
    library = [row for row in row_by_text.values() if owners[row.text] == 1][::-1]
    packages = largest(Counter(row.package for row in library), SENTENCE_PACKAGES)
    selection = [
        row
        for package in packages
        for row in few([row for row in library if row.package == package])
    ]
    return {
        "packages": packages,
        "labels": [packages.index(row.package) for row in selection],
        "texts": [row.text for row in selection],
        "files": [row.module for row in selection],
    }


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def split(docstring: str) -> Iterator[str]:
    """Yield sentences of 4 to 40 words in plain ASCII, without examples, code, tables and lists of
    options."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z])", " ".join(paragraph.split())):
            is_strange = not sentence.isascii() or re.search(
                r">>>|\.\.\.|[|{}<>=\\*#]|--", sentence
            )
            if 4 <= len(sentence.split()) <= 40 and sentence[0].isupper() and not is_strange:
                yield sentence


def few(rows: list[Sentence]) -> list[Sentence]:
    """Return at most ``SENTENCES`` sentences, the sentences with the lowest hashes, in their
    order."""
    lowest = sorted(rows, key=lambda row: hashlib.sha256(row.text.encode()).digest())[:SENTENCES]
    texts = {row.text for row in lowest}
    return [row for row in rows if row.text in texts]


def largest(counts: Any, n: int) -> list[str]:
    """Return the ``n`` names with the largest counts, sorted by decreasing count, then by name."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:n]


if __name__ == "__main__":
    main()
