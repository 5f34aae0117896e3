"""The blocks of a model: the embeddings and each layer of the list that makes up its depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from .watched import watched_modules

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
    for word in (layers,) if isinstance(layers, str) else layers:
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
        name = next((e for outer in _outwards(top) if (e := _embedding(outer, modules))), None)
        if name is not None:
            yield name


def _embedding(outer: str, modules: Mapping[str, Any]) -> str | None:
    prefix = f"{outer}." if outer else ""
    has_positions = prefix + POSITIONS in modules
    names = [prefix + name for name in EMBEDDINGS if prefix + name in modules]
    is_sum = bool(names) and has_positions and names[0].endswith("embed_tokens")
    return None if is_sum or not names else names[0]


def _outwards(name: str) -> Iterator[str]:
    """Yield the names of the modules around a module, from the inside out; "" is the model."""
    while name:
        name = name.rpartition(".")[0]
        yield name
