"""The house rules that a machine can check: who imports whom, no work at import, small pieces."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import resemblance
import resemblance.suites
from resemblance.claims import Declared
from resemblance.stream.sums import Sums
from resemblance.views.matrices import PairMatrix

ROOT = Path(resemblance.__file__).parent
FILES = sorted(p for p in ROOT.rglob("*.py"))
PAPERS = Path(__file__).parents[1] / "papers"
WRITTEN = [*FILES, *sorted(PAPERS.rglob("*.py"))]
BESIDE = [
    p for d in ("benchmarks", "docs", "scripts") for p in sorted((PAPERS.parent / d).glob("*.py"))
]

# Left may not import right. Modules of one entry may import each other.
LAYERS = [
    {
        "arrays",
        "rng",
        "extras",
        "compiled",
        "user_modules",
        "progress",
        "display",
        "json_files",
        "locks",
        "engine.__init__",
        "engine.scores",
        "engine.store",
    },
    {"significance"},
    {"columns", "cache_keys", "sample_ids"},
    {"array_files", "frames", "gaps", "lists"},
    {"inputs"},
    {"array_protocol"},
    {"representation"},
    {"subject", "joining"},
    {"views"},
    {"streamed"},
    {"cautions"},
    {"claims"},
    {"measure", "statistic"},
    {"measures"},
    {"catalogue", "stability"},
    {"citations"},
    {"mean_shapes", "stochastic_shapes", "dissimilarities", "noise"},
    {
        "populations",
        "provenance",
        "reasons",
        "engine.memory",
        "engine.view_sizes",
        "engine.workers",
    },
    {"comparison"},
    {"engine.saved", "arrangements"},
    {"arguments"},
    {"engine.work"},
    {"engine.scoring", "engine.shared_views"},
    {"engine.estimate", "engine.tasks"},
    {"compare"},
    {"checks"},
    {"stream"},
    {"engine.forecast"},
    {"inference"},
    {"models"},
    {"grounding"},
    {"results"},
    {"drift"},
    {"packs"},
    {"suites"},
    {"report"},
    {"plot"},
    {"boards"},
    {"cli"},
    {"__main__"},
]
SOURCES_MAY_IMPORT = {
    "array_files",
    "arrays",
    "rng",
    "extras",
    "frames",
    "user_modules",
    "progress",
    "json_files",
    "display",
    "inputs",
    "representation",
    "joining",
    "subject",
    "sources",
    "locks",
}
NEVER = {"report": {"suites"}}
MAY_USE_SOURCES = {"suites", "cli", "stability", "stream", "models"}
HEAVY = {
    "torch",
    "jax",
    "numba",
    "jinja2",
    "matplotlib",
    "pandas",
    "xarray",
    "sklearn",
    "rich",
    "typer",
    "dask",
    "distributed",
    "pyarrow",
    "anndata",
}
COMPILED = {"_cone.py", "_order.py", "_radix.py", "compiled.py"}
HEAVY |= {"transformers", "torch_geometric", "safetensors", "tokenizers", "faiss", "ot"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def part(path: Path) -> str:
    return part_of(".".join(path.relative_to(ROOT).with_suffix("").parts))


def part_of(module: str) -> str:
    """The part that a module belongs to; each file of the engine is one of its own."""
    names = module.split(".")
    return ".".join(names[:2]) if names[0] == "engine" else names[0]


def imported_parts(path: Path) -> set[str]:
    """Parts of this package that a file imports, at its top or inside functions."""
    return set(map(part_of, imported_modules(path)))


def importable(mine: str) -> set[str]:
    """The parts of this package that a part may import."""
    if mine == "sources":
        return SOURCES_MAY_IMPORT
    level = next(i for i, layer in enumerate(LAYERS) if mine in layer)
    sources = {"sources"} if mine in MAY_USE_SOURCES else set()
    return (set().union(*LAYERS[: level + 1]) | sources) - NEVER.get(mine, set())


def test_imports_go_one_way(subtests):
    for path in FILES:
        if path != ROOT / "__init__.py":
            with subtests.test(named(path)):
                assert imported_parts(path) - {"__version__"} <= importable(part(path))


def test_results_are_drawn_through_one_module():
    """What draws imports the results, so they find it by its name when asked: in one place."""
    found = {p for p in FILES if '".plot"' in p.read_text()}
    assert found == {ROOT / "display.py"}


SUITES = {p.name for p in (ROOT / "suites").iterdir() if (p / "suite.py").exists()}


def imported_modules(path: Path) -> set[str]:
    """The modules of this package that a file imports, by their dotted names without its own."""
    modules = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = path.relative_to(ROOT).parts[: -node.level]
            base = (*package, *(node.module.split(".") if node.module else ()))
            modules |= {".".join((*base, alias.name)) for alias in node.names}
    return modules


def imported_suites(path: Path) -> set[str]:
    names = [module.split(".") for module in imported_modules(path)]
    return {name[1] for name in names if name[0] == "suites" and name[1] in SUITES}


def test_no_suite_imports_another():
    assert resemblance.suites.SUITES.keys() == SUITES
    for suite in SUITES:
        for path in (ROOT / "suites" / suite).rglob("*.py"):
            assert imported_suites(path) <= {suite}, path


def test_heavy_packages_are_imported_inside_functions(subtests):
    for path in FILES:
        if path.name in COMPILED or part(path) == "cli":  # imported inside functions themselves
            continue
        top = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {
            (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
            for node in top
        }
        with subtests.test(named(path)):
            assert not {name.split(".")[0] for name in names} & HEAVY


def test_import_is_light_and_changes_nothing():
    code = (
        "import sys, resemblance; assert 'numpy' not in sys.modules; import numpy;"
        "state = numpy.random.get_state()[1].copy(); from resemblance import *;"
        f"assert not {HEAVY!r} & sys.modules.keys(), {HEAVY!r} & sys.modules.keys();"
        "assert (numpy.random.get_state()[1] == state).all()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# ------------------------------------------------------------------------------------- small pieces

UNSPECIFIC = {"found", "own", "kept", "told", "made", "given", "said", "there", "every"}
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def nodes(path: Path, kind: Any) -> list[Any]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, kind)]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT if path.is_relative_to(ROOT) else PAPERS.parent))


def test_pieces_are_small(subtests):
    """No file over 500 lines and no function over 60 lines besides its docstring."""
    for path in [*WRITTEN, *BESIDE]:
        with subtests.test(named(path)):
            assert path.read_text().count("\n") <= 500
            for node in nodes(path, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node, clean=False)
                end = node.end_lineno or 0
                size = end - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
                assert size <= 60, f"{node.name}: {size} lines"


def test_names_are_nouns(subtests):
    """Variables and parameters say what they hold; fields of records, which are saved, may stay."""
    for path in WRITTEN:
        fields = {
            (node.lineno, node.col_offset)
            for record in nodes(path, ast.ClassDef)
            for node in record.body
            if isinstance(node, ast.AnnAssign)
        }
        names = {node.arg for node in nodes(path, ast.arg)}
        for node in nodes(path, ast.Name):
            if isinstance(node.ctx, ast.Store) and (node.lineno, node.col_offset) not in fields:
                names.add(node.id)
        with subtests.test(named(path)):
            assert not names & UNSPECIFIC


def test_no_comprehension_with_a_condition_is_nested(subtests):
    for path in WRITTEN:
        with subtests.test(named(path)):
            for outer in nodes(path, COMPREHENSIONS):
                nest = [node for node in ast.walk(outer) if isinstance(node, COMPREHENSIONS)]
                conditions = [part.ifs for node in nest for part in node.generators if part.ifs]
                assert len(nest) == 1 or not conditions, f"line {outer.lineno}"


def is_literal(node: ast.expr) -> bool:
    """Whether a table holds only constants, their names, and records of them."""
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        return (name == "frozenset" or name[:1].isupper()) and all(map(is_literal, parts))
    if isinstance(node, ast.Dict):
        return None not in node.keys and all(map(is_literal, [*node.keys, *node.values]))
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(map(is_literal, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_literal(node.operand)
    return isinstance(node, ast.Constant | ast.Name | ast.Attribute)


def is_declaration(node: ast.expr) -> bool:
    """Whether a decorator is the table of what is claimed of a measure or statistic, or what a
    paper claims."""
    names = ("measure", "statistic", "claim")
    return isinstance(node, ast.Call) and ast.unparse(node.func) in names


def test_only_literal_tables_and_declarations_are_not_formatted(subtests):
    for path in WRITTEN:
        lines = path.read_text().splitlines()
        ends = {i for i, line in enumerate(lines, 1) if line.endswith("# fmt: skip")}
        tables = [*nodes(path, ast.Assign | ast.AnnAssign), *nodes(path, ast.Call)]
        literal = {
            node.end_lineno
            for node in tables
            if is_literal(node if isinstance(node, ast.Call) else node.value)
        }
        functions = nodes(path, ast.FunctionDef)
        decorators = [decorator for f in functions for decorator in f.decorator_list]
        declared = {node.end_lineno for node in decorators if is_declaration(node)}
        with subtests.test(named(path)):
            assert not [line for line in lines if "# fmt: o" in line]
            assert ends <= literal | declared, sorted(ends - literal - declared)


OUTSIDE = {
    "_ModuleType",
    "NamedTuple",
    "TypedDict",
    "ValueError",
    "UserWarning",
    "Protocol",
    "pickle.Unpickler",
}
OUTSIDE |= {"TyperGroup", "SourceFileLoader", "Sequence[Failure]", "ABC", "Declared", "Sums"}
OUTSIDE |= {"PairMatrix"}


def test_no_classes_inherit_from_ours():
    """But for those that are abstract."""
    assert all(map(inspect.isabstract, (Declared, Sums, PairMatrix)))
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base) for base in node.bases}
                assert bases <= OUTSIDE, (path, node.name, bases)


def test_the_public_names_exist_and_are_documented():
    assert len(set(resemblance.__all__)) == len(resemblance.__all__)
    for name in resemblance.__all__:
        assert getattr(resemblance, name).__doc__, name


def test_type_checkers_see_the_public_names():
    assert (ROOT / "py.typed").exists()
    imports = nodes(ROOT / "__init__.py", ast.ImportFrom)
    seen = {f"{node.module}.{n.asname}" for node in imports if node.level for n in node.names}
    names = {f"{module}.{n}" for n, module in resemblance._HOMES.items()}
    assert seen == names | {"measures.None", *(f"None.{name}" for name in resemblance._PACKAGES)}


def test_the_package_travels_with_functions_of_a_notebook_that_use_it():
    assert pickle.loads(pickle.dumps(resemblance)) is resemblance


def test_functions_keep_their_names_when_their_modules_are_imported():
    code = (
        "import resemblance.compare, resemblance.drift, resemblance as rs;"
        "assert callable(rs.compare) and callable(rs.drift)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
