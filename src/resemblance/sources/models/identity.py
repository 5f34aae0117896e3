"""What makes the features of a model besides its weights: its parts with their options, the code of
its user, and how samples are prepared for it."""

from __future__ import annotations

import dis
import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .preparing import PARTS, is_tokenizer
from .samples import digest_of_arrays

STORE = dis.opmap["STORE_ATTR"]
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DUNDER = re.compile(r"__.*__", re.DOTALL)
CALLED = ("LOAD_METHOD", "LOAD_ATTR")  # before the call of a method, by the version of Python
FILLING = ("append", "extend", "insert", "add", "update", "setdefault", "add_", "copy_", "fill_")
INSTALLED = {"site-packages", "dist-packages"}
Seen = dict[int, Any]  # objects by their number, so that none is gone and its number another's
PLAIN = (bool, int, float, complex, str, bytes, range, Enum, type(None))
# Where a model or processor was found, and by what it is read
WRAPPED = ("fget", "__func__", "__wrapped__")  # what properties, methods and caches are around
NO_OPTIONS = {"_name_or_path", "name_or_path", "_commit_hash", "transformers_version"}


def identity_of(module: Any, processor: Any) -> dict[str, str]:
    """Return fingerprints of what makes the features of a model besides its weights.

    ``definition``: of the classes of its parts, their options, its config, and the code of classes
    and functions that are not from an installed package, with all of theirs that they name. What
    ``forward``, or a method that it calls, assigns or fills is state, and does not count.
    ``preparation``: likewise of the tokenizer, processor or function that makes a batch of samples.
    """
    pieces = {"definition": _of_module(module, {})}
    if processor is not None:
        pieces["preparation"] = _pieces(processor, {})
    digests = {name: hashlib.sha256() for name in pieces}
    for name, words in pieces.items():
        for word in words:
            digests[name].update(f"{len(word)} {word}".encode("utf-8", "surrogatepass"))
    return {name: digest.hexdigest() for name, digest in digests.items()}


def _of_module(module: Any, seen: Seen) -> Iterator[str]:
    yield ADDRESS.sub("", repr(module))
    inner = NO_OPTIONS | vars(sys.modules["torch"].nn.Module()).keys()
    for name, part in module.named_modules():
        kind = type(part)
        yield f"part {name} {kind.__qualname__}"
        yield from _pieces(kind, seen)
        yield from _pieces(_options(part, "forward", inner), seen)
    for name, buffer in module.named_buffers():
        part, _, leaf = name.rpartition(".")
        is_state = leaf in _state(module.get_submodule(part).__class__, "forward")
        known = (str(buffer.dtype), *buffer.shape) if is_state else buffer
        yield from _pieces([name, known], seen)


def _options(value: Any, root: str, others: Collection[str] = ()) -> dict[str, Any]:
    """Return the attributes of an object that are no state of the method that is called."""
    state = _state(value.__class__, root).union(others)
    return {
        name: part
        for name, part in vars(value).items()
        if name not in state and not _is_collected(part)
    }


def _is_collected(value: Any) -> bool:
    """Return whether this is a list or the like that is empty, or has arrays of past batches."""
    if not isinstance(value, list | dict | set):
        return False
    entries = value.values() if isinstance(value, dict) else value
    return not value or any(hasattr(entry, "shape") for entry in entries)


@cache
def _state(kind: type, *roots: str) -> frozenset[str]:
    """Return the attributes that one of these methods of a class assigns, or a method it names."""
    state, reached, todo = set[str](), set[str](), set(roots)
    while todo:
        reached |= todo
        functions = [vars(base).get(name) for base in kind.__mro__ for name in todo]
        methods = [f for f in functions if isinstance(f, FunctionType)]
        codes = [code for method in methods for code in _codes(method.__code__)]
        steps = [step for code in codes for step in dis.get_instructions(code)]
        state |= {step.argval for step in steps if step.opcode == STORE} | _filled(steps)
        todo = {name for code in codes for name in code.co_names} - reached
    return frozenset(state)


def _filled(steps: Sequence[dis.Instruction]) -> set[str]:
    """Return the attributes whose entries are set, or which are filled by a method of lists, sets,
    dicts or tensors."""
    by_key = {
        a.argval
        for a, _, c, d in zip(steps, steps[1:], steps[2:], steps[3:], strict=False)
        if a.opname == "LOAD_ATTR"
        and (c.opname == "STORE_SUBSCR" or c.opname == d.opname == "COPY")
    }
    called = {
        a.argval
        for a, b in pairwise(steps)
        if a.opname == "LOAD_ATTR" and b.opname in CALLED and str(b.argval) in FILLING
    }
    return by_key | called


def _pieces(value: Any, seen: Seen) -> Iterator[str]:
    """Yield words for all that decides what a value does; objects in ``seen`` by their name."""
    yield type(value).__qualname__
    if isinstance(value, PLAIN):
        yield repr(value)
    elif isinstance(value, Mapping | list | tuple):
        yield from _entries(value, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted(ADDRESS.sub("", repr(entry)) for entry in value)
    elif isinstance(value, ModuleType | BuiltinFunctionType):
        yield value.__name__
    elif _is_array(value):
        yield digest_of_arrays([("", value)])
    elif isinstance(value, CodeType):
        yield f"{value.co_code.hex()} {value.co_names} {value.co_varnames}"
        yield from _pieces(value.co_consts, seen)
    elif id(value) in seen:
        yield getattr(value, "__qualname__", "")
    else:
        seen[id(value)] = value
        yield from _of_object(value, seen)


def _entries(value: Any, seen: Seen) -> Iterator[str]:
    """Yield the words of a container, which is in ``seen`` for as long as it is read: equal ones
    give equal words, and one that holds itself ends."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    for key in sorted(value, key=repr) if isinstance(value, Mapping) else range(len(value)):
        if isinstance(value, Mapping):
            yield ADDRESS.sub("", repr(key))
        yield from _pieces(value[key], seen)
    del seen[id(value)]


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype != object
    return hasattr(value, "detach") and str(getattr(value, "layout", "")) == "torch.strided"


def _of_object(value: Any, seen: Seen, root: str = "__call__") -> Iterator[str]:
    if isinstance(value, FunctionType):
        yield from _of_function(value, seen)
    elif isinstance(value, MethodType):
        yield from _pieces(value.__func__, seen)
        if id(value.__self__) not in seen:
            seen[id(value.__self__)] = value.__self__
            yield from _of_object(value.__self__, seen, value.__name__)
    elif isinstance(value, partial):
        yield from _pieces([value.func, value.args, value.keywords], seen)
    elif isinstance(value, type):
        yield value.__qualname__
        for base in filter(_is_users, value.__mro__):
            # Without what Python adds
            members = {
                k: v for k, v in vars(base).items() if callable(v) or not DUNDER.fullmatch(k)
            }
            yield from _pieces(members, seen)
    elif inside := [getattr(value, name) for name in WRAPPED if hasattr(value, name)]:
        yield from _pieces(inside, seen)
    elif hasattr(value, "named_modules"):
        yield from _of_module(value, seen)
        yield digest_of_arrays(value.named_parameters())
    elif is_tokenizer(value):
        yield from _of_tokenizer(value)
    elif type(value).__module__.startswith("transformers.") and hasattr(value, "to_dict"):
        options = value.to_dict().items()
        yield from _pieces({k: v for k, v in options if k not in NO_OPTIONS}, seen)
        yield from _pieces([getattr(value, part, None) for part in PARTS.values()], seen)
    elif _is_users(type(value)):
        yield from _pieces(
            [type(value), _options(value, root) if hasattr(value, "__dict__") else ()], seen
        )
    else:
        yield ADDRESS.sub("", repr(value))


def _of_function(function: FunctionType, seen: Seen) -> Iterator[str]:
    """Yield the code of a user's function and what it names, and what any function holds."""
    yield function.__qualname__
    for cell in function.__closure__ or ():
        content = None
        with suppress(ValueError):  # empty
            content = cell.cell_contents
        yield from _pieces(content, seen)
    yield from _pieces([function.__defaults__, function.__kwdefaults__], seen)
    if not _is_users(function):
        yield str(function.__module__)
        return
    yield from _pieces(function.__code__, seen)
    codes = list(_codes(function.__code__))
    attributes = {name for code in codes for name in code.co_names}
    steps = [step for code in codes for step in dis.get_instructions(code)]
    for name in sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"}):
        value = function.__globals__.get(name)
        yield from _pieces(value, seen)
        if isinstance(value, ModuleType) and _is_users(value):
            parts = {part: vars(value)[part] for part in attributes & vars(value).keys()}
            yield from _pieces(parts, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code, and those of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _is_users(value: Any) -> bool:
    """Return whether a function, class or module is not from Python or an installed package."""
    name = getattr(value, "__module__", None) or getattr(value, "__name__", "")
    first = str(name).partition(".")[0]
    if first == "__main__":
        return True
    if first in sys.stdlib_module_names or first == __name__.partition(".")[0]:
        return False
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return not (file and INSTALLED & set(Path(file).parts))


def _of_tokenizer(tokenizer: Any) -> Iterator[str]:
    """Yield the vocabulary and the rules of a tokenizer, not how it last padded or truncated."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = (
        {"vocabulary": tokenizer.get_vocab()} if backend is None else json.loads(backend.to_str())
    )
    rules |= {"padding": None, "truncation": None, "special": str(tokenizer.special_tokens_map)}
    yield json.dumps(rules, sort_keys=True)


def facts_of(module: Any, processor: Any = None) -> dict[str, Any]:
    """Return the facts of a model for JSON; ``sha256`` is over the names and values of weights, and
    the rest of what makes its features is as in ``identity_of``."""
    weights = [(k, v) for k, v in module.state_dict().items() if hasattr(v, "detach")]
    parameters = list(module.parameters())
    versions = {
        package: str(getattr(sys.modules[package], "__version__", "unknown"))
        for package in ("torch", "transformers", "timm", "torchvision", "torch_geometric")
        if package in sys.modules
    }
    return {
        "class": f"{type(module).__module__}.{type(module).__name__}",
        "parameters": sum(p.numel() for p in parameters),
        "dtype": ", ".join(sorted({str(p.dtype).removeprefix("torch.") for p in parameters})),
        "device": str(parameters[0].device) if parameters else "cpu",
        "sha256": digest_of_arrays(weights),
        **identity_of(module, processor),
        "versions": versions,
    }
