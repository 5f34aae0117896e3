"""Random faults of one expression in the package, sampled over all rooms, and the tests that reach
the line of a fault.

A fault changes one expression: a comparison or its boundary, an operator, a number, a default, or
the condition of an ``if`` that raises. Annotations, docstrings, texts, and parts of f-strings stay
unchanged. The tests that reach a line come from ``.coverage``, which ``make coverage`` writes.
"""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/resemblance"
SECONDS = ROOT / "tests/seconds.json"
MIN_PER_ROOM = 2  # minimum number of faults per room
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
}  # fmt: skip


class Fault(NamedTuple):
    """A replacement of the expression between ``start`` and ``end`` in a file of the package."""

    file: str
    line: int
    last_line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """Location of the fault, old code and new code."""
        return f"{self.file}:{self.line}: {flat(self.old)} -> {flat(self.new)}"

    def put_into(self, text: str) -> str:
        """Return the text of the file with the fault."""
        return text[: self.start] + self.new + text[self.end :]


def flat(code: str) -> str:
    """Return code on one line."""
    return " ".join(code.split())


def draw_faults(count: int, seed: int) -> list[Fault]:
    """Sample faults over all rooms, in proportion to the expressions of a room, and at least
    ``MIN_PER_ROOM`` per room."""
    by_room = defaultdict[str, list[Fault]](list)
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        by_room[file.partition("/")[0]] += faults_of(file, path.read_text(encoding="utf-8"))
    rng, total = random.Random(seed), sum(map(len, by_room.values()))
    drawn = []
    for faults in by_room.values():
        share = max(MIN_PER_ROOM, round(count * len(faults) / total))
        drawn += rng.sample(faults, min(share, len(faults)))
    return rng.sample(drawn, min(count, len(drawn)))


def faults_of(file: str, text: str) -> Iterator[Fault]:
    """Yield every possible fault of a file."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node, is_refused in code_nodes(ast.parse(text)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = offset(node.lineno, node.col_offset)
        end = offset(node.end_lineno, node.end_col_offset)
        for new in (*replacements(node), *["False"] * is_refused):
            yield Fault(file, node.lineno, node.end_lineno, start, end, text[start:end], new)


def code_nodes(tree: ast.AST, condition: ast.AST | None = None) -> Iterator[tuple[ast.expr, bool]]:
    """Yield every expression, and whether the expression is the condition of an ``if`` that raises.

    Expressions of annotations, decorators and f-strings are skipped.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr | ast.AnnAssign):
                continue
            if isinstance(node, ast.expr):
                yield node, node is condition
            refuses = isinstance(node, ast.If) and all(isinstance(s, ast.Raise) for s in node.body)
            yield from code_nodes(node, node.test if refuses else None)


def replacements(node: ast.AST) -> Iterator[str]:
    """Yield the source code of every faulty replacement of an expression."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
            changed: ast.expr = ast.Compare(left, [COMPARISONS[type(operator)]()], [right])
            yield f"({ast.unparse(changed)})"
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            changed = ast.BinOp(left, OPERATORS[type(operator)](), right)
            yield f"({ast.unparse(changed)})"
        case ast.BoolOp(operator, values):
            changed = ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            yield f"({ast.unparse(changed)})"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, otherwise):
            yield f"({ast.unparse(ast.IfExp(test, otherwise, body))})"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield str(value + 1)
        case ast.Constant(float() as value):
            yield repr(2 * value) if value else "1.0"


def tests_that_reach(faults: Sequence[Fault]) -> list[list[str]]:
    """Return, for every fault, the tests that reach its lines; tests of the fastest files come
    first.

    If a fixture reaches the lines, the whole test file is returned in place of its tests.
    """
    from coverage import CoverageData

    data = CoverageData(str(ROOT / ".coverage"))
    data.read()
    measured = {path.partition("src/resemblance/")[2]: path for path in data.measured_files()}
    contexts = {file: data.contexts_by_lineno(path) for file, path in measured.items()}
    seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
    found = []
    for fault in faults:
        lines = range(fault.line, fault.last_line + 1)
        by_line = contexts.get(fault.file, {})
        reached = {c for line in lines for c in by_line.get(line, ()) if c}
        by_file = defaultdict[str, set[str]](set)
        for test, _, phase in (context.rpartition("|") for context in reached):
            file = test.partition("::")[0]
            by_file[file].add(file if phase == "setup" else test)
        order = sorted(by_file, key=lambda file: (seconds.get(Path(file).name, 0), file))
        found.append([t for f in order for t in ([f] if f in by_file[f] else sorted(by_file[f]))])
    return found
