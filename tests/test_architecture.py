"""Rules that a machine can check: the order of the rooms, no circle of files, a light import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import resemblance

ROOT = Path(resemblance.__file__).parent
# From the ground up: a room imports from itself and from the rooms before it.
ROOMS = [
    "base", "significance", "data", "intermediates", "contracts", "measures", "statistics",
    "catalogue", "citations", "comparison", "engine", "inference", "checks", "stream", "stability",
    "models", "versions", "sections", "report", "plot", "bench", "cli", "__main__",
]  # fmt: skip
MOST_ENTRIES = 25
MAX_SHARED_NAMES = 0.2  # of functions and classes
# What suites of the benchmark, domains of its training, and modules of commands define each
INTERFACES = {
    "build", "check", "extract", "fit", "head_of", "inputs_of", "learn", "options", "read", "run",
    "score", "show_command", "status",
}  # fmt: skip
HEAVY = {
    "anndata", "dask", "distributed", "faiss", "jax", "jinja2", "matplotlib", "numba", "onnx",
    "onnxruntime", "ot", "pandas", "pyarrow", "rich", "safetensors", "sklearn", "tokenizers",
    "torch", "torch_geometric", "transformers", "typer", "xarray",
}  # fmt: skip
COMPILED = {"_cone.py", "_order.py", "_radix.py", "compiled.py"}  # imported inside functions only


class Import(NamedTuple):
    """An imported module, and whether a function holds the statement."""

    name: str
    lazy: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text())


@cache
def imports_of(module: str) -> list[Import]:
    """Return the imports of a module, but for the version and the imports of type checkers."""
    path, found = FILES[module], list[Import]()
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]

    def visit(node: ast.AST, lazy: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, lazy) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                if alias.name != "__version__":
                    full = f"{start}.{alias.name}"
                    found.append(Import(full if full in FILES else start, lazy))
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                visit(child, lazy or inside)

    visit(tree_of(module), False)
    return found


def room_of(module: str) -> str:
    """Return the entry of the root that holds a module; "" for the root itself."""
    return module.partition(".")[2].partition(".")[0]


def test_a_room_imports_only_from_the_rooms_before_it(subtests):
    for module in FILES:
        if module == "resemblance":
            continue
        allowed = ROOMS[: ROOMS.index(room_of(module)) + 1]
        with subtests.test(module):
            used = {i.name for i in imports_of(module) if i.name.partition(".")[0] == "resemblance"}
            assert {room_of(name) for name in used} <= set(allowed)


def test_no_circle_of_files():
    graph = {
        module: {
            i.name
            for i in imports_of(module)
            if not i.lazy and i.name in FILES and i.name != module
        }
        for module in FILES
    }
    for module, imported in graph.items():  # a module of a package may import its neighbours
        imported.discard(module.rpartition(".")[0])
    TopologicalSorter(graph).prepare()


def test_results_find_the_rooms_that_render_them_through_one_module():
    door = {module for module, path in FILES.items() if '".plot"' in path.read_text()}
    assert door == {"resemblance.base.rendering"}


def test_the_root_has_few_entries():
    entries = {p.name for p in ROOT.iterdir() if p.name != "__pycache__"}
    assert len(entries) <= MOST_ENTRIES
    files = {"__init__.py", "__main__.py", "catalogue.py", "citations.py", "py.typed"}
    assert entries == files | {room for room in ROOMS if (ROOT / room).is_dir()}


def test_no_suite_imports_another():
    suites = {p.parent.name for p in (ROOT / "bench").glob("*/suite.py")}
    for module in FILES:
        parts = module.split(".")
        if parts[1:2] == ["bench"] and parts[2] in suites if len(parts) > 2 else False:
            names = [i.name.split(".") for i in imports_of(module)]
            others = {n[2] for n in names if n[:2] == ["resemblance", "bench"] and len(n) > 2}
            assert others & suites <= {parts[2]}, module


def is_overload(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)


def test_a_name_stands_for_one_thing():
    places = defaultdict(list)
    for module in FILES:
        for node in tree_of(module).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not is_overload(node):
                places[node.name].append(module)
    shared = {name: modules for name, modules in places.items() if len(modules) > 1}
    total = sum(map(len, places.values()))
    assert sum(map(len, shared.values())) <= MAX_SHARED_NAMES * total
    for name, modules in shared.items():
        if name not in INTERFACES:
            rooms = [room_of(module) for module in modules]
            assert len(set(rooms)) == len(rooms), (name, modules)


def test_a_message_begins_with_the_name_of_a_function_that_exists(subtests):
    nodes = [node for module in FILES for node in ast.walk(tree_of(module))]
    names = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    names |= {module.rpartition(".")[2] for module in FILES}
    for error in (n for n in nodes if isinstance(n, ast.Raise) and n.exc):
        words = [c.value for c in ast.walk(error.exc) if isinstance(c, ast.Constant)]
        if start := re.match(r"([a-z_][\w.]*): ", str(words[0]) if words else ""):
            with subtests.test(start[1]):
                assert start[1].rpartition(".")[2] in names, error.lineno


def test_heavy_packages_are_imported_inside_functions(subtests):
    for module, path in FILES.items():
        if path.name in COMPILED or room_of(module) == "cli":  # the test of commands covers cli
            continue
        with subtests.test(module):
            top = {i.name.partition(".")[0] for i in imports_of(module) if not i.lazy}
            assert not top & HEAVY


def test_import_is_light_and_changes_nothing():
    code = (
        "import sys, resemblance; assert 'numpy' not in sys.modules; import numpy;"
        "state = numpy.random.get_state()[1].copy(); from resemblance import *;"
        f"assert not {HEAVY!r} & sys.modules.keys(), {HEAVY!r} & sys.modules.keys();"
        "assert (numpy.random.get_state()[1] == state).all()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_public_names_exist_and_are_documented():
    assert dir(resemblance) == sorted(set(resemblance.__all__)) == resemblance.__all__
    for name in resemblance.__all__:
        assert getattr(resemblance, name).__doc__, name


def test_type_checkers_see_the_public_names():
    assert (ROOT / "py.typed").exists()
    nodes = ast.walk(tree_of("resemblance"))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    seen = {f"{node.module}.{n.asname}" for node in imports for n in node.names}
    names = {f"{module}.{n}" for n, module in resemblance._HOMES.items()}
    packages = {f"None.{name}" for name in resemblance._PACKAGES}
    assert seen == names | packages | {"measures.None", "base.exceptions"}


def test_functions_keep_their_names_when_their_modules_are_imported():
    code = (
        "import pkgutil, importlib, resemblance as rs;"
        "names = [m.name for m in pkgutil.walk_packages(rs.__path__, 'resemblance.')];"
        "[importlib.import_module(n) for n in names if '__main__' not in n and '_cone' not in n "
        "and '_order' not in n and '_radix' not in n and 'compiled' not in n];"
        "modules = [n for n in rs.__all__ if type(getattr(rs, n)).__name__ == 'module'];"
        "assert set(modules) == {*rs._PACKAGES, 'exceptions'}, modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------------- words of docstrings

# Words per 1,000 words of docstring. scikit-learn has 12 pronouns, and "what" 0.1 times.
PRONOUNS = r"\b(these|those|they|them|it|its|others|both|each|such|one)\b"
MAX_PRONOUNS_OF_ROOM, MAX_PRONOUNS = 20, 13
MAX_OF_PACKAGE = {PRONOUNS: MAX_PRONOUNS, r"\bwhat\b": 0.5, r"\b(those|that|the one|one) of\b": 0.5}
NOT_PROSE = r"\.\. math::.*?(\n\n|$)|``[^`]*``|:[a-z]+:`[^`]*`|leave-one-out"


def prose_of(module: str) -> str:
    nodes = ast.walk(tree_of(module))
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    docstrings = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    return re.sub(NOT_PROSE, " ", "\n".join(docstrings), flags=re.DOTALL)


def words_per_thousand(pattern: str, text: str) -> float:
    n_words = len(re.findall(r"[A-Za-z]+", text))
    return 1000 * len(re.findall(pattern, text, re.IGNORECASE)) / max(n_words, 1)


def test_docstrings_repeat_the_noun(subtests):
    texts = defaultdict(list)
    for module in FILES:
        texts[room_of(module)].append(prose_of(module))
    for room in [room for room in texts if (ROOT / room).is_dir() and room]:
        with subtests.test(room):
            parts = texts[room]
            assert words_per_thousand(PRONOUNS, "\n".join(parts)) <= MAX_PRONOUNS_OF_ROOM
    whole = "\n".join(part for parts in texts.values() for part in parts)
    for pattern, limit in MAX_OF_PACKAGE.items():
        with subtests.test(pattern):
            assert words_per_thousand(pattern, whole) <= limit
