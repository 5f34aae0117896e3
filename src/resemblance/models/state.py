"""The state of a model: the attributes and variables that running code assigns or fills. The next
run replaces the state."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

# A variable, and the attributes on the way from its value to the written value
AttributePath = tuple[str, ...]
# The instruction before the call of a method depends on the version of Python
METHOD_OPCODES = ("LOAD_METHOD", "LOAD_ATTR")
VARIABLE_OPCODES = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME")
MUTATING_METHODS = (
    "append", "appendleft", "extend", "insert", "add", "update", "setdefault", "add_", "copy_",
    "fill_", "__setitem__",
)  # fmt: skip


@cache
def attributes_set_by_methods(
    kind: type, roots: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return two sets: the attributes that an object of the class ``kind`` assigns or fills on
    itself when the methods ``roots`` run, and all names in the code of the methods.

    Methods of the class that the code names run as well.
    """
    state, names, next_names = set[str](), set[str](), set(roots)
    while next_names:
        names |= next_names
        functions = [vars(base).get(name) for base in kind.__mro__ for name in next_names]
        methods = [f for f in functions if isinstance(f, FunctionType)]
        for method in methods:
            state |= attributes_written(method, 0)
        codes = [code for method in methods for code in codes_in(method.__code__)]
        next_names = {name for code in codes for name in code.co_names} - names
    return frozenset(state), frozenset(names)


def attributes_written(value: Any, index: int) -> frozenset[str]:
    """Return the attributes of the argument at position ``index``, from 0, that a function, a
    method or a partial function ``value`` assigns or fills; an empty set for other values."""
    while isinstance(value, partial | MethodType):
        index += len(value.args) if isinstance(value, partial) else 1
        value = value.func if isinstance(value, partial) else value.__func__
    if not isinstance(value, FunctionType):
        return frozenset()
    argument = value.__code__.co_varnames[index : index + 1]
    return frozenset(path[1] for path in paths_written(value.__code__) if path[:1] == argument)


def objects_written(value: Any) -> set[tuple[int, str]]:
    """Return pairs (address of the object, name of the attribute), for each attribute of a global
    or enclosed object that the hook ``value`` assigns or fills. The name is "" if the hook fills a
    container."""
    while isinstance(value, partial | MethodType):
        value = value.func if isinstance(value, partial) else value.__func__
    if not isinstance(value, FunctionType):
        return set()
    variables, written_attributes = dict(value.__globals__), set[tuple[int, str]]()
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
        with suppress(ValueError):  # an empty cell
            variables[name] = cell.cell_contents
    for variable, *attributes in paths_written(value.__code__):
        owner = variables.get(variable)
        for name in attributes[:-1]:
            owner = getattr(owner, name, None)
        if owner is not None:
            written_attributes.add((id(owner), attributes[-1] if attributes else ""))
    return written_attributes


@cache
def paths_written(code: CodeType) -> frozenset[AttributePath]:
    """Return the paths that a code object, including inner functions, assigns or fills.

    A path is a tuple of names: a variable shared with other code, or any variable followed by the
    attributes on the way to the written value.
    """
    paths = set[AttributePath]()
    for inner_code in codes_in(code):
        steps = list(dis.get_instructions(inner_code))
        for i, step in enumerate(steps):
            path = _path_written_by_step(steps, i)
            is_shared = step.opname == "STORE_GLOBAL" or step.argval in inner_code.co_freevars
            if step.opname in ("STORE_GLOBAL", "STORE_DEREF") and is_shared:
                path = (step.argval,)
            if len(path) > 1 or (path and path[0] not in inner_code.co_varnames):
                paths.add(path)
    return frozenset(paths)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and the code objects of the functions inside."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes_in(const)


def _path_written_by_step(steps: Sequence[dis.Instruction], i: int) -> AttributePath:
    """Return the path that bytecode instruction ``i`` assigns, or fills with an item or a method
    such as ``append``; () for other instructions."""
    step, after = steps[i], steps[min(i + 1, len(steps) - 1)]
    if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
        return _resolve_attribute(_path_on_stack(steps, i), step.argval)
    if step.opname == "COPY" and after.opname == "LOAD_ATTR":  # as in x.calls += 1
        return _resolve_attribute(_path_on_stack(steps, i), after.argval)
    is_entry = step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
    if is_entry or step.opname == after.opname == "COPY":  # as in x["calls"] += 1
        return _path_on_stack(steps, _start_of_key(steps, i))
    if step.opname in METHOD_OPCODES and step.argval in MUTATING_METHODS:
        return _path_on_stack(steps, i)
    return ()


def _resolve_attribute(owner: AttributePath, name: str) -> AttributePath:
    return (*owner, name) if owner else ()


def _path_on_stack(steps: Sequence[dis.Instruction], i: int) -> AttributePath:
    """Return the path (variable and attributes) of the value on top of the stack before instruction
    ``i``; () for a value of another origin, such as the result of a call."""
    if i < 1:
        return ()
    step = steps[i - 1]
    if step.opname.startswith(VARIABLE_OPCODES) and isinstance(step.argval, str):
        return (step.argval,)
    if step.opname in METHOD_OPCODES:
        return _resolve_attribute(_path_on_stack(steps, i - 1), step.argval)
    is_entry = step.opname == "BINARY_SUBSCR" or step.argrepr == "[]"
    return _path_on_stack(steps, _start_of_key(steps, i - 1)) if is_entry else ()


def _start_of_key(steps: Sequence[dis.Instruction], i: int) -> int:
    """Return the index of the first instruction that puts the key of an item on the stack before
    instruction ``i``."""
    depth = 0
    while i > 0 and depth != 1:
        i -= 1
        depth += dis.stack_effect(steps[i].opcode, steps[i].arg, jump=False)
    return i
