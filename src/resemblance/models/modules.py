"""The modules of a model: requested names or patterns, the blocks, or all modules without
submodules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any, NoReturn

from ..base.formatting import list_names
from .wrappers import callable_parts, list_model_modules, without_wrappers

WHOLE_MODEL = "model"  # the name of a model without submodules; named_modules() gives ""

# Layer names in an error, and the smallest similarity of a suggestion
MAX_SUGGESTIONS, MIN_NAME_SIMILARITY = 8, 0.6
LayerPatterns = Sequence[str] | None  # names and patterns


def watched_modules(model: Any, layers: LayerPatterns) -> dict[str, Any]:
    """Return the modules of layers by name.

    ``layers``: names and patterns; None for all modules without submodules and all graph
    convolutions. Names omit wrappers. A module with several names keeps the first requested name.
    Raises ``ValueError`` for an unknown layer, and if ``layers`` is empty.
    """
    if not hasattr(model, "named_modules"):
        raise ValueError(f"the model must be a torch.nn.Module; got {type(model).__name__}")
    modules = list_model_modules(model)
    modules = {name: module for name, module in modules.items() if name} or {WHOLE_MODEL: model}
    if layers is None:
        modules = {WHOLE_MODEL: model} if _is_one_layer(model) else modules
        names = [
            name for name, module in modules.items() if _is_default_layer(name, module, modules)
        ]
    else:
        names = []
        for pattern in layers:
            names += match_module_names(pattern, modules) or _no_layer_error(pattern, modules)
    if not names:
        raise ValueError("layers is empty; name at least one, or leave it out for the default")
    name_by_id: dict[int, str] = {}
    for name in names:
        name_by_id.setdefault(id(modules[name]), name)
    return {name: modules[name] for name in name_by_id.values()}


def check_called(
    names_by_word: Mapping[str, Sequence[str]] | None,
    poolings: Iterable[str],
    modules: Iterable[str],
    calls: Iterable[str],
) -> None:
    """Raise ``ValueError`` for a requested word without a called layer, and for a pooling pattern
    without a called layer.

    ``names_by_word``: the names and patterns of each requested word. ``poolings``: the names and
    patterns with a pooling of their own. ``modules``: the names of the watched modules. ``calls``:
    the names of the called layers, such as "relu" or "relu#2".
    """
    names = {name.partition("#")[0] for name in calls}
    for word, patterns in (names_by_word or {}).items():
        matches = [name for pattern in patterns for name in match_module_names(pattern, modules)]
        check_any_called(word, matches, names)
    unknown_patterns = [
        pattern for pattern in poolings if not match_module_names(pattern, {*names, *calls})
    ]
    if unknown_patterns:
        raise ValueError(
            f"pool names {unknown_patterns[0]!r}, which is not among the layers {', '.join(calls)}"
        )


def poolings_by_module(pool: Mapping[str, str], modules: Iterable[str]) -> dict[str, str]:
    """Return the pooling word of each module by name; raise ``ValueError`` for a pattern in
    ``pool`` that matches no module.

    ``pool``: words by name or pattern of modules; other modules have "mean". ``modules``: the
    names.
    """
    names = list(modules)
    for pattern in pool:
        if not match_module_names(pattern, names):
            raise ValueError(
                f"pool names {pattern!r}, which is not among the layers "
                f"{list_names(names, MAX_SUGGESTIONS)}"
            )
    return {name: pooling_of_call(pool, name) for name in names}


def pooling_of_call(pool: Any, layer: str, call: int = 1) -> str:
    """Return the pooling word for a call of a layer.

    ``pool``: a word for all layers, None for "mean", or a mapping. In a mapping, the first of these
    counts: the word of "layer#call", the word of "layer", the word of the last matching pattern,
    "mean".
    """
    if not isinstance(pool, Mapping):
        return pool or "mean"
    for name in (f"{layer}#{call}", layer):
        if name in pool:
            return str(pool[name])
    poolings = [
        pooling for pattern, pooling in pool.items() if match_module_names(pattern, [layer])
    ]
    return str(poolings[-1]) if poolings else "mean"


def modules_by_patterns(patterns: str | Sequence[str], modules: Iterable[str]) -> list[str]:
    """Return the names of the modules that match ``patterns``, one or several, in the order of the
    patterns; raise ``ValueError`` for a pattern without a match. ``modules``: the names of all
    modules."""
    names = list(modules)
    pattern_list = [patterns] if isinstance(patterns, str) else patterns
    return [
        name
        for pattern in pattern_list
        for name in match_module_names(pattern, names) or _no_layer_error(pattern, names)
    ]


def check_any_called(pattern: str, modules: Sequence[str], called_modules: Set[str]) -> None:
    """Raise ``ValueError`` if none of the modules that match a pattern was called. ``modules``: the
    names of the matches; without a name, nothing is raised."""
    if modules and not called_modules & set(modules):
        reason = "the model uses its weights without calling it, or does not use it"
        raise ValueError(f"layer {pattern!r} was never called: {reason}; choose a module around it")


def _is_default_layer(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Return whether a module called ``name`` is a layer by default: the module is not inside
    another layer, and counts as one layer or has no submodules with a forward pass. ``modules``:
    all modules by name."""
    parents = [name[:i] for i, letter in enumerate(name) if letter == "."]
    if any(_is_one_layer(modules[parent]) for parent in parents if parent in modules):
        return False
    return _is_one_layer(module) or (not callable_parts(module) and _is_called_by_model(module))


def _is_one_layer(module: Any) -> bool:
    """Return whether a module with submodules counts as one layer: a graph convolution, or a called
    module with submodules that only make its weights."""
    passes_messages = hasattr(module, "propagate") and hasattr(module, "message")
    return passes_messages or (
        any(module.children()) and not callable_parts(module) and _is_called_by_model(module)
    )


def _is_called_by_model(module: Any) -> bool:
    """Return whether the class of a module can be called; lists and mappings of modules cannot."""
    return type(module).__name__ not in ("ModuleList", "ModuleDict", "ParameterList")


def match_module_names(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the name that equals a pattern, otherwise all names that match; [] without a match.

    ``*`` and ``?`` match within a level of a name, ``**`` across levels, ``[12]`` one of the
    letters. Wrappers in the pattern, such as ``module``, may be missing in the names.
    """
    names = list(names)
    for variant in dict.fromkeys((pattern, without_wrappers(pattern))):
        if variant in names:
            return [variant]
        expression = _pattern_to_regex(variant)
        if matching := [name for name in names if expression.fullmatch(name)]:
            return matching
    return []


def _pattern_to_regex(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern: ``*`` and ``?`` match within one level of names,
    ``**`` matches across levels, and ``[12]`` matches one of the letters."""
    parts = re.split(r"(\*\*|\*|\?|\[[^\[\]]+\])", pattern)
    wildcards = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    expressions = (
        (wildcards.get(part) or _letter_choice_regex(part)) if i % 2 else re.escape(part)
        for i, part in enumerate(parts)
    )
    try:
        return re.compile("".join(expressions))
    except re.error as error:
        raise ValueError(f"layers: {pattern!r} is no pattern: {error}") from None


def _letter_choice_regex(part: str) -> str:
    """Return the regular expression of a choice of letters such as ``[0-3]`` or ``[!0]``."""
    letters = part[1:-1].replace("\\", "\\\\")
    return f"[^{letters[1:]}]" if letters[0] == "!" and len(letters) > 1 else f"[{letters}]"


def _no_layer_error(pattern: str, layers: Iterable[str]) -> NoReturn:
    names = list(layers)
    if "*" in pattern:  # merge names that differ only in block numbers
        names = list(dict.fromkeys(re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name) for name in names))
    ends = [name for name in names if name.endswith(f".{pattern}")]  # such as a block number
    suggestions = ends or get_close_matches(
        pattern, names, n=MAX_SUGGESTIONS, cutoff=MIN_NAME_SIMILARITY
    )
    hint = f", did you mean {suggestions[0]!r}?" if suggestions else ";"
    layer_list = list_names(dict.fromkeys((*suggestions, *names)), MAX_SUGGESTIONS)
    raise ValueError(f"the model has no layer {pattern!r}{hint} it has {layer_list}")


MAX_SHOWN_PARTS, MIN_EVIDENT_BLOCKS = 4, 3
NON_LAYER_TYPES, ROTARY_TYPE = ("Dropout", "Identity"), "Rotary"  # rotary modules return angles
MODULE_LIST_TYPES = ("ModuleList", "Sequential", "ModuleDict")
# Modules of an exported program, and of the names in an ONNX file
EXPORTED_MODULE_TYPES = ("InterpreterModule", ONNX_SCOPE_TYPE := "OnnxScope")
CHOOSE_LAYERS_HINT = "choose with layers= (--layers)"
MIN_BLOCK_SHARE = 0.5  # smallest share of all modules inside the blocks
# Modules that return the first hidden state of a transformers model; the first match counts
EMBEDDING_MODULES = (
    "embedding_hidden_mapping_in",
    "embeddings_project",
    "pre_layrnorm",
    "layernorm_embedding",
    "embeddings",
    "embedder",
    "emb_dropout",
    "word_embeddings_layernorm",
    "drop",
    "embed_dropout",
    "embed_tokens",
    "word_embeddings",
)
POSITION_EMBEDDING = "embed_positions"  # added to tokens later; no module returns the sum


def block_names(module: Any) -> tuple[str, ...]:
    """Return the names of the blocks of a model, in the order of the model.

    Blocks are modules with submodules in a common list, such as ``encoder.layer.0``. Of all lists,
    the blocks come from the lists nearest to the top that hold at least half of all modules. In a
    transformers model the embeddings come before the blocks, so that the blocks return the hidden
    states of ``transformers``; only the last hidden state may be normalised once more. The blocks
    of a plain sequence are its children. The blocks of other models, such as convolutional
    networks, are the stages: the children with submodules. If no child has submodules, the blocks
    are all modules without submodules.
    """
    declared: tuple[str, ...] = getattr(module, "declared_blocks", ())  # of an ONNX file
    return declared or _find_blocks(module)[0]


def describe_blocks(module: Any) -> str:
    """Return a description of the default layers, with the way to choose others: the parts outside
    the blocks, or the lack of blocks. The text is "" if the blocks are the whole model."""
    if declared_note := getattr(module, "blocks_note", ""):
        return str(declared_note)
    blocks, are_stages = _find_blocks(module)
    modules = list_model_modules(module)
    if not are_stages:
        kinds = [type(m).__module__ for m in modules.values()]
        has_activations = "torch.nn.modules.activation" in kinds or len(blocks) < MIN_EVIDENT_BLOCKS
        functions = "" if has_activations else ", without activations that are functions"
        return (
            f"every module without submodules, because no blocks were found{functions}; "
            f"{CHOOSE_LAYERS_HINT}"
        )
    outside_parts = _outermost_parts_outside(modules, blocks)
    if outside_parts:
        return f"blocks, without {list_names(outside_parts, MAX_SHOWN_PARTS)}; {CHOOSE_LAYERS_HINT}"
    return ""


def _find_blocks(module: Any) -> tuple[tuple[str, ...], bool]:
    """Return two values: the names of the blocks of a model, and whether blocks were found.

    Without blocks, the names are all modules without submodules. A model without submodules is a
    block.
    """
    modules = _drop_shared_modules(list_model_modules(module))
    if names := _largest_module_lists(modules):
        return tuple(dict.fromkeys((*_embedding_names(module, modules, names), *names))), True
    if type(module).__name__ == "Sequential":
        return tuple(name for name in modules if name and "." not in name), True
    if names := _stages(modules):
        return tuple(names), True
    leaves = tuple(watched_modules(module, None))
    return leaves, leaves == (WHOLE_MODEL,)


def _drop_shared_modules(modules: Mapping[str, Any]) -> dict[str, Any]:
    """Return modules by name, with only the first name of a module with several names."""
    name_by_id: dict[int, str] = {}
    for name, module in modules.items():
        name_by_id.setdefault(id(module), name)
    return {name: modules[name] for name in name_by_id.values()}


def _stages(modules: Mapping[str, Any], root: str = "") -> list[str]:
    """Return the names of the children of a module that contain submodules. ``modules``: all
    modules of the model by name. ``root``: the name of the module, "" for the model.

    If a single child contains submodules, return the stages of that child. Return [] for children
    that are two plain lists, such as the features and the classifier of a network, and for children
    that hold less than half of all modules.
    """
    prefix = f"{root}." if root else ""
    children = [f"{prefix}{name}" for name, _ in callable_parts(modules[root])]
    stages = [n for n in children if n in modules and callable_parts(modules[n])]
    stages = [
        n for n in stages if _is_called_by_model(modules[n]) and not _is_one_layer(modules[n])
    ]
    if len(stages) == 1:
        return _stages(modules, stages[0])
    is_clear = len(stages) > 2 or sum(not _is_list(modules[name]) for name in stages) > 1
    n_inside = sum(f"{name}.".startswith(tuple(f"{n}." for n in stages)) for name in modules)
    return stages if is_clear and n_inside >= MIN_BLOCK_SHARE * (len(modules) - 1) else []


def _outermost_parts_outside(modules: Mapping[str, Any], blocks: Sequence[str]) -> list[str]:
    """Return the names of the outermost modules outside the blocks, in the order of the model.
    ``modules``: all modules by name. ``blocks``: the names of the blocks. Modules around blocks,
    dropout and rotary modules are left out."""
    parents = {name[:i] for name in blocks for i, letter in enumerate(name) if letter == "."}
    outside_parts: list[str] = []
    for name, module in modules.items():
        prefixes = tuple(f"{n}." for n in (*blocks, *outside_parts))
        is_outside = name and name not in {*blocks, *parents} and not name.startswith(prefixes)
        is_layer = (
            type(module).__name__ not in NON_LAYER_TYPES
            and ROTARY_TYPE not in type(module).__name__
        )
        if is_outside and is_layer and _is_called_by_model(module):
            outside_parts.append(name)
    return outside_parts


def expand_blocks_word(
    module: Any, layers: Any, blocks: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the layer names of each name or pattern: the names of the blocks for the word
    "blocks", and otherwise the word alone.

    ``layers``: a name or pattern, or several. ``blocks``: the blocks of a model that names its
    blocks; otherwise :func:`block_names` finds the blocks of ``module``. Raises ``ValueError`` for
    entries other than texts.
    """
    patterns = (
        [layers] if isinstance(layers, str) or not isinstance(layers, Iterable) else [*layers]
    )
    if invalid_patterns := [pattern for pattern in patterns if not isinstance(pattern, str)]:
        raise ValueError(
            "layers are names of model.named_modules(), or patterns; got "
            f"{type(invalid_patterns[0]).__name__}: {str(invalid_patterns[0])[:40]}"
        )
    return {
        pattern: tuple(blocks or block_names(module)) if pattern == "blocks" else (pattern,)
        for pattern in patterns
    }


def flatten_names(names_by_word: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of all words, without repetition, in their order. ``names_by_word``: the
    layer names by word or pattern."""
    return list(dict.fromkeys(name for names in names_by_word.values() for name in names))


def _largest_module_lists(modules: Mapping[str, Any]) -> list[str]:
    """Return the names of the blocks at the smallest depth whose blocks hold at least half of all
    modules; [] without such a depth. ``modules``: all modules by name."""
    by_depth: dict[int, list[str]] = defaultdict(list)
    for name, module in modules.items():
        if name and _is_block(name, module, modules):
            by_depth[name.count(".")].append(name)
    for depth in sorted(by_depth):
        prefixes = tuple(f"{name}." for name in by_depth[depth])
        n_inside = sum(f"{name}.".startswith(prefixes) for name in modules)
        if n_inside >= MIN_BLOCK_SHARE * (len(modules) - 1):
            return by_depth[depth]
    return []


def _is_block(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Return whether a module is in a list, has submodules, and is no list of larger modules.
    ``modules``: all modules by name."""
    parent = modules.get(name.rpartition(".")[0])
    if not _is_list(parent) or not callable_parts(module):
        return False
    return not _is_list(module) or not any(
        callable_parts(part) for _, part in callable_parts(module)
    )


def _is_list(module: Any) -> bool:
    """Return whether a module only lists modules; False for None. A module of an exported program
    is a list if all its children have numbers as names."""
    if module is None:
        return False
    if type(module).__name__ not in EXPORTED_MODULE_TYPES:
        return type(module).__name__ in MODULE_LIST_TYPES
    return all(name.isdecimal() for name, _ in module.named_children())


def _embedding_names(module: Any, modules: Mapping[str, Any], blocks: list[str]) -> Iterator[str]:
    """Yield the names of the embedding modules of a transformers model, at most one per list of
    blocks; yield nothing for other models.

    ``modules``: all modules by name. ``blocks``: the names of the blocks.
    """
    if not (hasattr(module, "config") or type(module).__name__ == ONNX_SCOPE_TYPE):
        return
    for ancestor in dict.fromkeys(name.rpartition(".")[0] for name in blocks):
        while ancestor:  # from the inside out; "" is the model
            ancestor = ancestor.rpartition(".")[0]
            prefix = f"{ancestor}." if ancestor else ""
            names = [prefix + name for name in EMBEDDING_MODULES if prefix + name in modules]
            is_sum = prefix + POSITION_EMBEDDING in modules and "".join(names[:1]).endswith(
                "embed_tokens"
            )
            if names and not is_sum:
                yield names[0]
                break
