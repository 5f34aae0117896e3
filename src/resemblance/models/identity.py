"""The identity of a model's features besides the weights: modules with their options, hooks and
PyTorch modes, the code of the user, and the preparation of samples."""

from __future__ import annotations

import dis
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial, partialmethod
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from .preparing import PROCESSOR_PARTS, is_tokenizer
from .running import (
    active_torch_modes,
    digest_tensors,
    format_hook_names,
    list_model_hooks,
    uncompiled_function,
)
from .samples import digest_arrays
from .state import (
    attributes_set_by_methods,
    attributes_written,
    codes_in,
    objects_written,
    paths_written,
)

MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DUNDER_NAME = re.compile(r"__.*__", re.DOTALL)
PACKAGE_FOLDERS = {"site-packages", "dist-packages"}
PLAIN_VALUE_TYPES = (bool, int, float, complex, str, bytes, range, Enum, type(None))
# The source of a model or processor, and the version of the reading package
ORIGIN_ATTRIBUTES = {"_name_or_path", "name_or_path", "_commit_hash", "transformers_version"}
# Attributes of a module that do not run, or that its weights, submodules and hooks represent
NON_OPTION_ATTRIBUTES = {
    "training", "_parameters", "_buffers", "_non_persistent_buffers_set", "_modules",
    "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_compiled_call_impl",
}  # fmt: skip
# The functions inside properties, methods and caches
WRAPPED_ATTRIBUTES = ("fget", "__func__", "__wrapped__")
CALL_METHOD, FORWARD_METHOD = frozenset({"__call__"}), frozenset({"forward"})
RootMethods = frozenset[str]  # names of the running methods of an object


class VisitedObjects:
    """The visited objects, with a number per object; the containers being read; and the attributes
    that are state."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # a kept object keeps its address
        self.opened: set[int] = set()
        self.state: set[tuple[int, str]] = set()  # (address, name of an attribute)

    def number(self, value: Any) -> int | None:
        """Return the number of an object visited before; give a new object the next number, from 0,
        and return None."""
        number = self.numbers.setdefault(id(value), len(self.kept))
        if number < len(self.kept):
            return number
        self.kept.append(value)
        return None

    def copy(self) -> VisitedObjects:
        """Return a copy with the same objects."""
        duplicate = VisitedObjects()
        duplicate.numbers, duplicate.kept = {**self.numbers}, [*self.kept]
        duplicate.opened, duplicate.state = {*self.opened}, self.state
        return duplicate


def feature_identity(module: Any, processor: Any) -> dict[str, Any]:
    """Return fingerprints of everything besides the weights that changes the features of a model,
    by name.

    ``module``: of PyTorch. ``processor``: the tokenizer, processor or function that makes a batch
    of samples, or None. ``definition``: a fingerprint of the classes of the modules, their options,
    the config, the hooks of the model and of all modules, PyTorch modes, and the code of classes
    and functions from outside installed packages, with all user code that this code names.
    Attributes that ``forward``, a hook, or a called method assigns or fills are state, and do not
    count. ``hooks`` and ``context``: the hooks by module, and the modes, such as autocast, if there
    are any. ``preparation``: a fingerprint of the processor, if there is one.
    """
    context, hooks = active_torch_modes(), format_hook_names(module)
    descriptions = {"definition": _describe_model(module, context)}
    if processor is not None:
        descriptions["preparation"] = _describe_value(processor, VisitedObjects())
    identity: dict[str, Any] = {}
    for name, words in descriptions.items():
        digest = hashlib.sha256()
        for word in words:
            digest.update(f"{len(word)} {word}".encode("utf-8", "surrogatepass"))
        identity[name] = digest.hexdigest()
    modes = [
        f"{name} {value}" if isinstance(value, str) else name for name, value in context.items()
    ]
    return identity | ({"hooks": hooks} if hooks else {}) | ({"context": modes} if modes else {})


def _describe_model(module: Any, context: Mapping[str, Any]) -> Iterator[str]:
    registry = VisitedObjects()
    yield from _describe_module(module, registry)
    yield from _describe_value([list_model_hooks(None), context], registry)
    yield from _describe_value(
        _find_patched_functions(sys.modules["torch.nn.functional"]), registry
    )


def _describe_module(module: Any, registry: VisitedObjects) -> Iterator[str]:
    yield MEMORY_ADDRESS.sub("", repr(module))
    all_hooks = [hook for part in (*module.modules(), None) for _, hook in list_model_hooks(part)]
    registry.state = registry.state.union(*map(objects_written, all_hooks))
    for part in module.modules():
        registry.number(part)
    for name, part in module.named_modules():
        kind, hooks = part.__class__, list_model_hooks(part)
        yield f"part {name} {kind.__qualname__}"
        if id(kind) not in registry.numbers:
            spaces = (*kind.__mro__, sys.modules.get(kind.__module__))
            yield from _describe_value([*map(_find_patched_functions, spaces)], registry)
        yield from _describe_value(kind, registry)
        state, names = attributes_set_by_methods(kind, FORWARD_METHOD)
        hook_attributes = (attributes_written(hook, 0) for _, hook in hooks)
        state = state.union(*hook_attributes, attributes_written(vars(part).get("forward"), -1))
        if kind.__name__ != "OptimizedModule":  # only the inner module runs
            state |= {name for owner, name in registry.state if owner == id(part)}
            options = {
                k: v
                for k, v in vars(part).items()
                if k not in NON_OPTION_ATTRIBUTES | ORIGIN_ATTRIBUTES | state
            }
            yield from _describe_value(options, registry, names | CALL_METHOD)
        yield from _describe_value(hooks, registry)
    for name, buffer in module.named_buffers():
        part, _, leaf = name.rpartition(".")
        is_state = (
            leaf
            in attributes_set_by_methods(module.get_submodule(part).__class__, FORWARD_METHOD)[0]
        )
        content = (str(buffer.dtype), *buffer.shape) if is_state else buffer
        yield from _describe_value([name, content], registry)


def _find_patched_functions(namespace: Any) -> dict[str, Any]:
    """Return the user functions, by name, inside ``namespace``, a class or module of an installed
    package; {} for a class or module of the user, and for None."""
    if namespace is None or _is_user_defined(namespace):
        return {}
    return {
        name: function
        for name, function in vars(namespace).items()
        if isinstance(uncompiled_function(function), FunctionType)
        and _is_user_defined(uncompiled_function(function))
    }


def _describe_value(
    value: Any, registry: VisitedObjects, roots: RootMethods = CALL_METHOD
) -> Iterator[str]:
    """Yield words for everything that decides the behaviour of a value; a visited object yields
    only its number.

    ``roots``: the names in the code that uses the value, including the names of methods that run.
    """
    value = uncompiled_function(value)
    yield type(value).__qualname__
    if isinstance(value, PLAIN_VALUE_TYPES):
        yield repr(value)
    elif isinstance(value, Mapping | list | tuple):
        yield from _describe_container(value, registry, roots)
    elif isinstance(value, set | frozenset):
        yield from sorted(
            "".join(_describe_value(entry, registry.copy(), roots)) for entry in value
        )
    elif isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, BuiltinFunctionType | MethodWrapperType):
        yield value.__name__
        owner = value.__self__
        if not isinstance(owner, ModuleType | type | None):
            yield from _describe_value(owner, registry)
    elif hasattr(value, "detach") and hasattr(value, "layout"):
        yield digest_tensors({"": value})
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        yield digest_arrays([("", value)])
    elif isinstance(value, CodeType):
        yield f"{value.co_code.hex()} {value.co_names} {value.co_varnames}"
        yield from _describe_value(value.co_consts, registry)
    elif (number := registry.number(value)) is not None:
        yield f"{getattr(value, '__qualname__', '')} {number}"
    else:
        yield from _describe_object(value, registry, roots)


def _describe_container(value: Any, registry: VisitedObjects, roots: RootMethods) -> Iterator[str]:
    """Yield the words of the entries of ``value``, a mapping, list or tuple; a container inside
    itself yields nothing more. Keys of mappings are sorted, so equal containers yield equal words.
    ``registry``: the visited objects, updated in place. ``roots``: the names in the code that uses
    the container."""
    if id(value) in registry.opened:
        return
    registry.opened.add(id(value))
    for key in sorted(value, key=repr) if isinstance(value, Mapping) else range(len(value)):
        if isinstance(value, Mapping):
            yield MEMORY_ADDRESS.sub("", repr(key))
        yield from _describe_value(value[key], registry, roots)
    registry.opened.remove(id(value))


def _describe_object(value: Any, registry: VisitedObjects, roots: RootMethods) -> Iterator[str]:
    if isinstance(value, FunctionType):
        yield from _describe_function(value, registry)
    elif isinstance(value, MethodType):
        yield from _describe_value(value.__func__, registry)
        yield from _describe_value(value.__self__, registry, frozenset({value.__name__}))
    elif isinstance(value, partial | partialmethod):
        yield from _describe_value([value.func, value.args, value.keywords], registry, roots)
    elif isinstance(value, type):
        yield value.__qualname__
        for base in filter(_is_user_defined, value.__mro__):
            # Leave out members that Python adds
            members = {
                k: v for k, v in vars(base).items() if callable(v) or not DUNDER_NAME.fullmatch(k)
            }
            yield from _describe_value(members, registry)
    elif wrapped_values := [
        getattr(value, name) for name in WRAPPED_ATTRIBUTES if hasattr(value, name)
    ]:
        yield from _describe_value(wrapped_values, registry)
    elif hasattr(value, "named_modules"):
        yield from _describe_module(value, registry)
        yield digest_tensors(dict(value.named_parameters()))
    elif is_tokenizer(value):
        yield from _describe_tokenizer(value)
    elif type(value).__module__.startswith("transformers.") and hasattr(value, "to_dict"):
        options = value.to_dict().items()
        yield from _describe_value(
            {k: v for k, v in options if k not in ORIGIN_ATTRIBUTES}, registry
        )
        yield from _describe_value(
            [getattr(value, part, None) for part in PROCESSOR_PARTS.values()], registry
        )
    elif _is_user_defined(type(value)):
        yield from _describe_value(type(value), registry)
        yield from _describe_value(*_object_options(value, registry, roots))
    else:
        yield from _describe_package_object(value, registry, roots)


def _object_options(
    value: Any, registry: VisitedObjects, roots: RootMethods
) -> tuple[dict[str, Any], VisitedObjects, RootMethods]:
    """Return the three arguments with which the attributes of an object are described: the
    attributes by name without the state of the methods ``roots``, the registry, and the names in
    the code of these methods."""
    state, names = attributes_set_by_methods(value.__class__, roots)
    state = state.union(name for owner, name in registry.state if owner == id(value))
    return (
        {k: v for k, v in _contained_objects(value).items() if k not in state},
        registry,
        names | CALL_METHOD,
    )


def _contained_objects(value: Any) -> dict[str, Any]:
    slots = [name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ())]
    slot_values = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**slot_values, **getattr(value, "__dict__", {})}


def _describe_package_object(
    value: Any, registry: VisitedObjects, roots: RootMethods
) -> Iterator[str]:
    """Yield the words of an object of an installed package: its text without memory addresses.

    If the class has no text of its own and a method in ``roots`` runs, also yield the words of the
    plain options, tensors and functions of the object.
    """
    kind = value.__class__
    is_bare = kind.__repr__ is object.__repr__
    yield MEMORY_ADDRESS.sub("", str(value) if is_bare else repr(value))
    if is_bare and any(callable(getattr(kind, name, None)) for name in roots):
        options = _object_options(value, registry, roots)[0]
        plain_types = (*PLAIN_VALUE_TYPES, list, tuple, dict, np.ndarray)
        functions = (FunctionType, MethodType, partial)
        members = {k: v for k, v in _contained_objects(value).items() if isinstance(v, functions)}
        members |= {
            k: v for k, v in options.items() if isinstance(v, plain_types) or hasattr(v, "detach")
        }
        yield from _describe_value(members, registry)


def _describe_function(function: FunctionType, registry: VisitedObjects) -> Iterator[str]:
    """Yield the name of a function, and the words of the values that the function holds: closure,
    defaults and attributes, except variables that the function assigns or fills.

    For a user function, also yield the code, and the globals and modules that the code names. For
    another function, also yield the name of its module.
    """
    yield function.__qualname__
    codes = list(codes_in(function.__code__))
    names = frozenset(name for code in codes for name in code.co_names)
    written_paths = paths_written(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):  # an empty cell
            yield from _describe_variable(name, cell.cell_contents, written_paths, registry, names)
    yield from _describe_value(
        [function.__defaults__, function.__kwdefaults__], registry, names | CALL_METHOD
    )
    own_attributes = {
        path[1] for path in written_paths if path[0] == function.__name__ and len(path) > 1
    }
    options = {
        k: v for k, v in vars(function).items() if k != "__wrapped__" and k not in own_attributes
    }
    yield from _describe_value(options, registry)
    if not _is_user_defined(function):
        yield str(function.__module__)
        return
    yield from _describe_value(function.__code__, registry)
    steps = [step for code in codes for step in dis.get_instructions(code)]
    for name in sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"}):
        value = function.__globals__.get(name)
        yield from _describe_variable(name, value, written_paths, registry, names)
    for name in sorted({step.argval for step in steps if step.opname == "IMPORT_NAME"}):
        yield from _describe_variable(name, sys.modules.get(name), written_paths, registry, names)


def _describe_variable(
    name: str,
    value: Any,
    written_paths: frozenset[tuple[str, ...]],
    registry: VisitedObjects,
    names: RootMethods,
) -> Iterator[str]:
    """Yield the words of a variable of a function: only the type for a variable that the function
    or a hook assigns or fills; otherwise the value, without attributes that the function assigns or
    fills.

    ``written_paths``: the assigned and filled variables, ("x",), and attributes, ("x", "y") for
    ``x.y``. ``names``: the names in the code of the function. Of a user module, only members with
    these names count.
    """
    if (name,) in written_paths or (id(value), "") in registry.state:
        yield type(value).__qualname__
        return
    if isinstance(value, ModuleType) and _is_user_defined(value):
        members = {part: vars(value)[part] for part in sorted(names & vars(value).keys())}
        yield from _describe_value(members, registry, names | CALL_METHOD)
    if attributes := {path[1] for path in written_paths if path[0] == name}:
        options, *_ = _object_options(value, registry, names | CALL_METHOD)
        options = {k: v for k, v in options.items() if k not in attributes}
        yield from _describe_value([type(value), options], registry, names | CALL_METHOD)
    else:
        yield from _describe_value(value, registry, names | CALL_METHOD)


def _is_user_defined(value: Any) -> bool:
    """Return whether a function, class or module comes neither from Python nor from an installed
    package."""
    name = getattr(value, "__module__", None) or getattr(value, "__name__", "")
    package = str(name).partition(".")[0]
    if package == "__main__":
        return True
    if package in sys.stdlib_module_names or package == __name__.partition(".")[0]:
        return False
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return not (file and PACKAGE_FOLDERS & set(Path(file).parts))


def _describe_tokenizer(tokenizer: Any) -> Iterator[str]:
    """Yield one JSON text with the vocabulary and the rules of a tokenizer. The present settings of
    padding and truncation do not count."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = (
        {"vocabulary": tokenizer.get_vocab()} if backend is None else json.loads(backend.to_str())
    )
    rules |= {"padding": None, "truncation": None, "special": str(tokenizer.special_tokens_map)}
    yield json.dumps(rules, sort_keys=True)


def model_facts(module: Any, processor: Any = None) -> dict[str, Any]:
    """Return the facts of a PyTorch module for JSON: class, number of parameters, dtype, device,
    versions of packages, fingerprints.

    ``processor``: the tokenizer, processor or function that makes a batch of samples, or None.
    ``sha256`` covers the names and values of the weights; the other fingerprints cover everything
    besides the weights that changes the features.
    """
    weights = dict(module.state_dict())
    parameters = list(module.parameters())
    versions = {
        package: str(getattr(sys.modules[package], "__version__", "unknown"))
        for package in (
            "torch",
            "transformers",
            "timm",
            "torchvision",
            "torch_geometric",
            "onnxruntime",
        )
        if package in sys.modules
    }
    return {
        "class": f"{type(module).__module__}.{type(module).__name__}",
        "parameters": sum(p.numel() for p in parameters),
        "dtype": ", ".join(sorted({str(p.dtype).removeprefix("torch.") for p in parameters})),
        "device": str(parameters[0].device) if parameters else "cpu",
        "sha256": digest_tensors(weights),
        **feature_identity(module, processor),
        "versions": versions,
    }
