"""The modules of a model: those asked for by name or pattern, its blocks, or all its parts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any, NoReturn

WHOLE = "model"  # the name of a model without parts, which its own list of modules calls ""

SHOWN, ALIKE = 8, 0.6  # names of layers in an error, and how alike they are at least
Layers = Sequence[str] | None  # names and patterns


def watched_modules(model: Any, layers: Layers) -> dict[str, Any]:
    """Return the modules of layers by name, by default all without parts and graph convolutions.

    A module with several names goes by the first that was asked for. Raises ``ValueError`` for a
    layer that does not exist.
    """
    if not hasattr(model, "named_modules"):
        raise ValueError(f"the model must be a torch.nn.Module; got {type(model).__name__}")
    modules = dict(model.named_modules(remove_duplicate=False))
    modules = {name: module for name, module in modules.items() if name} or {WHOLE: model}
    if layers is None:
        modules = {WHOLE: model} if _passes_messages(model) else modules
        names = [name for name, module in modules.items() if _is_whole(name, module, modules)]
    else:
        names = []
        for pattern in layers:
            names += _matching(pattern, modules) or _no_layer(pattern, modules)
    if not names:
        raise ValueError(
            "layers is empty; name at least one, or leave it out for all modules without parts"
        )
    first: dict[int, str] = {}
    for name in names:
        first.setdefault(id(modules[name]), name)
    return {name: modules[name] for name in first.values()}


def check_called(
    layers: Layers, poolings: Iterable[str], modules: Iterable[str], called: Iterable[str]
) -> None:
    """Raise ``ValueError`` for a layer asked for, or with a pooling of its own, that is not called.

    ``modules`` are the names of the watched modules, ``called`` those of the layers that were
    called, such as "relu" or "relu#2".
    """
    names = {name.partition("#")[0] for name in called}
    for pattern in layers or ():
        check_any_called(pattern, _matching(pattern, modules), names)
    unknown = sorted(set(poolings) - names - set(called))
    if unknown:
        raise ValueError(
            f"pool names {unknown[0]!r}, which is not among the layers {', '.join(called)}"
        )


def check_any_called(asked: str, modules: Sequence[str], called: Set[str]) -> None:
    """Raise ``ValueError`` if there are modules of what was asked for, and none was called."""
    if modules and not called & set(modules):
        why = "the model uses its weights without calling it, or does not use it"
        raise ValueError(f"layer {asked!r} was never called: {why}; choose a module around it")


def _is_whole(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Return whether a module has no parts, or is a graph convolution, but not inside another."""
    outer = (name[:i] for i, letter in enumerate(name) if letter == ".")
    if any(_passes_messages(modules[outer_name]) for outer_name in outer):
        return False
    return _passes_messages(module) or not any(module.children())


def _passes_messages(module: Any) -> bool:
    return hasattr(module, "propagate") and hasattr(module, "message")


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    names = list(names)
    if pattern in names:
        return [pattern]
    expression = _expression(pattern)
    return [name for name in names if expression.fullmatch(name)]


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern: ``*`` and ``?`` stay between dots, ``**`` does
    not, and ``[12]`` is one of these letters."""
    parts = re.split(r"(\*\*|\*|\?|\[[^\[\]]+\])", pattern)
    wild = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    pieces = (
        (wild.get(part) or _letters(part)) if i % 2 else re.escape(part)
        for i, part in enumerate(parts)
    )
    try:
        return re.compile("".join(pieces))
    except re.error as error:
        raise ValueError(f"layers: {pattern!r} is no pattern: {error}") from None


def _letters(part: str) -> str:
    """Return the expression of a choice of letters such as ``[0-3]`` or ``[!0]``."""
    inside = part[1:-1].replace("\\", "\\\\")
    return f"[^{inside[1:]}]" if inside[0] == "!" and len(inside) > 1 else f"[{inside}]"


def _no_layer(pattern: str, layers: Iterable[str]) -> NoReturn:
    names = list(layers)
    if "*" in pattern:  # those of blocks that differ in their numbers only
        names = list(dict.fromkeys(re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name) for name in names))
    ends = [name for name in names if name.endswith(f".{pattern}")]  # the number of a block
    close = ends or get_close_matches(pattern, names, n=SHOWN, cutoff=ALIKE)
    hint = f", did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join([*dict.fromkeys((*close, *names))][:SHOWN])
    listed += ", ..." if len(names) > SHOWN else ""
    raise ValueError(f"the model has no layer {pattern!r}{hint} it has {listed}")


LISTS = ("ModuleList", "Sequential", "ModuleDict")
EXPORTED = "InterpreterModule"  # any module of an exported program
SHARE = 0.5  # of all modules that are inside the blocks, at least
EMBEDDINGS = (  # what returns the first hidden state of a model of transformers; the first that is
    "embedding_hidden_mapping_in", "embeddings_project", "pre_layrnorm", "layernorm_embedding",
    "embeddings", "embedder", "emb_dropout", "word_embeddings_layernorm", "drop", "embed_dropout",
    "embed_tokens", "word_embeddings",
)  # fmt: skip
POSITIONS = "embed_positions"  # added later to the tokens, so no module returns the sum


def block_names(module: Any) -> tuple[str, ...]:
    """Return the names of the blocks of a model, in the order in which it lists them.

    Blocks are the modules with parts of their own that are listed together, such as
    ``encoder.layer.0``, nearest to the top and holding at least half of all modules. A model of
    transformers has its embeddings before them, so that the blocks return what it calls its hidden
    states; only the last of these may be normalised once more. A model that is a plain sequence has
    its parts for blocks. Other models have all modules without parts.
    """
    modules = dict(module.named_modules())
    names = _listed(modules)
    if names:
        return tuple(dict.fromkeys((*_embeddings(module, modules, names), *names)))
    if type(module).__name__ == "Sequential":
        return tuple(name for name, _ in module.named_children())
    return tuple(watched_modules(module, None))


def with_blocks(module: Any, layers: Any) -> tuple[str, ...] | None:
    """Return names and patterns of layers as a tuple, with the blocks for the word "blocks"."""
    if layers is None:
        return None
    names: list[str] = []
    words = [layers] if isinstance(layers, str) or not isinstance(layers, Iterable) else [*layers]
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise ValueError(
            "layers are names of model.named_modules(), or patterns; got "
            f"{type(wrong[0]).__name__}: {str(wrong[0])[:40]}"
        )
    for word in words:
        names += block_names(module) if word == "blocks" else [word]
    return tuple(dict.fromkeys(names))


def _listed(modules: Mapping[str, Any]) -> list[str]:
    """Return the modules in lists nearest to the top that hold most of all modules."""
    by_depth: dict[int, list[str]] = defaultdict(list)
    for name, module in modules.items():
        if name and _is_block(name, module, modules):
            by_depth[name.count(".")].append(name)
    for depth in sorted(by_depth):
        prefixes = tuple(f"{name}." for name in by_depth[depth])
        inside = sum(f"{name}.".startswith(prefixes) for name in modules)
        if inside >= SHARE * (len(modules) - 1):
            return by_depth[depth]
    return []


def _is_block(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Return whether a module stands in a list, has parts, and is no list of larger parts."""
    around = modules[name.rpartition(".")[0]]
    if not _is_list(around) or not any(module.children()):
        return False
    return not _is_list(module) or not any(any(part.children()) for part in module.children())


def _is_list(module: Any) -> bool:
    """Return whether a module only lists others, as an exported program does by their numbers."""
    if type(module).__name__ != EXPORTED:
        return type(module).__name__ in LISTS
    return all(name.isdecimal() for name, _ in module.named_children())


def _embeddings(module: Any, modules: Mapping[str, Any], blocks: list[str]) -> Iterator[str]:
    """Yield the embeddings of a model of transformers, one for each list of blocks."""
    if not hasattr(module, "config"):
        return
    for top in dict.fromkeys(name.rpartition(".")[0] for name in blocks):
        while top:  # from the inside out; "" is the model
            top = top.rpartition(".")[0]
            prefix = f"{top}." if top else ""
            names = [prefix + name for name in EMBEDDINGS if prefix + name in modules]
            is_sum = prefix + POSITIONS in modules and "".join(names[:1]).endswith("embed_tokens")
            if names and not is_sum:
                yield names[0]
                break
