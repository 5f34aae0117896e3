"""Models and samples from Python files, which are executed, and from exported programs."""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.extras import import_optional
from ..base.user_modules import UserFileError, import_siblings, load_user_file, user_module_name

PICKLE_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle", ".ts", ".torchscript")
MODEL_FILE_SUFFIXES = (".pt2", *PICKLE_SUFFIXES)
# Parts of an export that are compiled libraries or pickles
CODE_MEMBERS = ("aotinductor", "opaque_obj", "custom_obj")
# Syntax of the sizes of tensors in an export; PyTorch evaluates the sizes while reading
ARITHMETIC_NODES = (
    ast.Expression, ast.Constant, ast.Name, ast.Call, ast.keyword, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
ARITHMETIC_FUNCTIONS = (
    "Symbol Integer Rational Float Add Mul Pow Max Min Abs And Or Not Equality Unequality "
    "StrictLessThan LessThan StrictGreaterThan GreaterThan ceiling floor FloorDiv ModularIndexing "
    "Where PythonMod Mod CleanDiv CeilToInt FloorToInt CeilDiv LShift RShift PowByNatural FloatPow "
    "FloatTrueDiv IntTrueDiv IsNonOverlappingAndDenseIndicator TruncToFloat TruncToInt RoundToInt "
    "RoundDecimal ToFloat Identity"
)
# Names that PyTorch writes into the code of forward
FORWARD_NAME_KEYS = ("name", "as_name", "forward_arg_names")
TREE_KEYS = ("in_spec", "out_spec")
IMPORTING_WORDS = ("default_factory_module", "__enum__", r"\u")  # PyTorch imports names in a tree
MAX_SHOWN_LETTERS = 60  # letters of a text in a message
FORCE_WEIGHTS_VARIABLE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
FORBID_WEIGHTS_VARIABLE = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
TORCHSCRIPT_REASON = (
    "is TorchScript, which does not show what its layers return; save the model by "
    "torch.export.save as .pt2, or"
)
PICKLE_REASON = (
    "is a pickle, which may run code when it is read, or contains weights without a model"
)
LOAD_BY_FUNCTION_REMEDY = (
    "write a function that builds the model and loads its weights (torch.load with "
    "weights_only=True), and name it as file.py:function"
)


def read_exported(file: str, kind: str | None) -> tuple[Any, None, dict[str, Any]]:
    """Return the model in a file of ``torch.export.save``, with its original modules; None, for no
    processor; and recorded facts.

    ``kind`` is ignored. Raises ``ValueError`` for other files. TorchScript does not show the
    outputs of its layers. Pickles of whole models would run code, and pickles of weights lack the
    model. An export with compiled libraries, with pickled objects, or with sizes that are more than
    arithmetic is refused as well, because reading would run code.
    """
    path = Path(file)
    if path.suffix != ".pt2":
        names: list[str] = []
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        is_script = any(Path(name).name == "constants.pkl" for name in names)
        raise ValueError(
            f"load_model: {path} {TORCHSCRIPT_REASON if is_script else PICKLE_REASON}; "
            f"{LOAD_BY_FUNCTION_REMEDY}"
        )
    torch = import_optional("torch")
    try:
        with warnings.catch_warnings(), _refuse_stored_code(path):
            warnings.simplefilter("ignore")  # warnings about internals of PyTorch
            # The flat module of a program has no layers that can be watched
            return torch.export.unflatten(torch.export.load(path)), None, {"file": path.name}
    except Exception as error:  # a damaged file may raise anything
        reason = str(error).partition(". ")[0]  # the rest recommends running the pickle
        raise ValueError(
            f"load_model: {path} cannot be read by torch.export.load ({reason}); save it by "
            "torch.export.save, with the same version of PyTorch and tensors only"
        ) from error


@contextmanager
def _refuse_stored_code(path: Path) -> Iterator[None]:
    """Raise ``ValueError`` for an export with compiled libraries, pickled objects, or texts that
    would run as code. Inside the block, PyTorch reads weights only."""
    # Read with the reader of PyTorch, because another reader may see other content
    archive = import_optional("torch._C").PyTorchFileReader(str(path))
    names = archive.get_all_records()
    if any(part.startswith(CODE_MEMBERS) for name in names for part in Path(name).parts):
        raise ValueError("it holds compiled libraries or pickled objects, which may run code")
    for name in names:
        if name.startswith("models/") or name.lower().endswith(".json"):
            _check_values(json.loads(archive.get_record(name)))
    variables = {
        name: os.environ.pop(name, None)
        for name in (FORCE_WEIGHTS_VARIABLE, FORBID_WEIGHTS_VARIABLE)
    }
    os.environ[FORCE_WEIGHTS_VARIABLE] = "1"
    try:
        yield
    finally:
        del os.environ[FORCE_WEIGHTS_VARIABLE]
        os.environ.update({name: value for name, value in variables.items() if value is not None})


def _check_values(value: Any, key: str = "") -> None:
    """Raise ``ValueError`` for a text in a program that would become code when PyTorch reads the
    program. ``key``: the entry that holds the value."""
    if isinstance(value, dict):
        for name, entry in value.items():
            _check_values(entry, name)
    elif isinstance(value, list):
        for entry in value:
            _check_values(entry, key)
    elif isinstance(value, str):
        is_safe = _is_arithmetic(value) if key == "expr_str" else True
        if key in FORWARD_NAME_KEYS:
            is_safe = value.isidentifier() or not value
        elif key == "as_operator":
            is_safe = value.startswith("torch.ops.") and value.count(".") > 2
        elif key in TREE_KEYS:
            is_safe = not any(word in value for word in IMPORTING_WORDS)
        if not is_safe:
            raise ValueError(f"its {key} {value[:MAX_SHOWN_LETTERS]!r} may run code")


def _is_arithmetic(text: str) -> bool:
    """Return whether an expression holds only numbers, names, operators, and calls of the functions
    of SymPy in ``ARITHMETIC_FUNCTIONS``.

    False for attributes, other calls, names with a leading underscore, and invalid expressions.
    """
    if not (text.isascii() and text.isprintable()) or set(text) & {"\\", "#"}:
        return False
    try:
        return all(map(_is_plain_expression, ast.walk(ast.parse(text, mode="eval"))))
    except (SyntaxError, RecursionError, MemoryError):
        return False


def _is_plain_expression(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ARITHMETIC_FUNCTIONS.split()
    if isinstance(node, ast.Name):
        return not node.id.startswith("_")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.fullmatch(r"[\w.+-]+", node.value) is not None  # sympy also evaluates texts
    return isinstance(node, ARITHMETIC_NODES)


FUNCTION_SPEC_PATTERN = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")


def is_function_spec(spec: str) -> bool:
    """Return whether a word has the form ``file.py:function``."""
    return FUNCTION_SPEC_PATTERN.fullmatch(spec) is not None


def call_function_spec(spec: str, caller: str) -> tuple[Any, str]:
    """Return the return value of the function in ``spec``, "file.py:function", called without
    arguments, and the name of the function.

    ``caller`` begins the messages. Raises ``ValueError`` for a missing file or function, and
    ``UserFileError`` for a file or function that fails or ends the program.
    """
    match = FUNCTION_SPEC_PATTERN.fullmatch(spec)
    assert match is not None
    path, function = Path(match["file"]), match["function"]
    if not path.is_file():
        raise ValueError(f"{caller}: {path} does not exist; name the file of {function}")
    with import_siblings(str(path)):
        try:
            module = load_user_file(str(path.resolve()), user_module_name(str(path)))
        except (Exception, SystemExit) as error:  # SystemExit would look like success
            raise UserFileError(
                f"{caller}: {path} cannot be imported: {_unreadable_reason(error)}"
            ) from error
        if not callable(getattr(module, function, None)):
            functions = [name for name, value in vars(module).items() if callable(value)]
            defined = ", ".join(name for name in functions if not name.startswith("_")) or "none"
            raise ValueError(f"{caller}: {path} has no function {function!r}; it has {defined}")
        try:
            return getattr(module, function)(), function
        except (Exception, SystemExit) as error:
            raise UserFileError(f"{caller}: {spec} failed: {_unreadable_reason(error)}") from error


def _unreadable_reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
