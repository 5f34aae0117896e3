"""Models inside wrappers that keep the results: wrappers for several devices, for compilation, or
for adapters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PARALLEL_WRAPPERS = ("DataParallel", "DistributedDataParallel")
# Wrappers that average weights during training
AVERAGING_WRAPPERS = ("AveragedModel", "ModelEma", "ModelEmaV2", "ModelEmaV3")
INNER_MODULE_NAMES = {  # name of the inner module, by the class of the wrapper
    **dict.fromkeys((*PARALLEL_WRAPPERS, *AVERAGING_WRAPPERS, "DeepSpeedEngine"), "module"),
    "OptimizedModule": "_orig_mod",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}
ADAPTER_MODEL_PATH = "base_model.model"  # where PEFT keeps the model
WRAPPER_PREFIXES = ("module.", "_orig_mod.", f"{ADAPTER_MODEL_PATH}.")
# Submodules that make or observe the weights and activations of the parent module
BOOKKEEPING_PARTS = (
    "parametrizations",
    "_packed_params",
    "weight_fake_quant",
    "activation_post_process",
)
# PyTorch attention uses the weights of out_proj without a call
ATTENTION_TYPE, UNCALLED_PART = "MultiheadAttention", "out_proj"
ADAPTED_LAYER = "base_layer"  # the adapted layer inside a PEFT layer


def unwrap_model(model: Any) -> Any:
    """Return the model inside wrappers for several devices and compilers; stop at a wrapper with
    hooks of its own."""
    while type(model).__name__ in (*PARALLEL_WRAPPERS, "OptimizedModule"):
        if model._forward_hooks or model._forward_pre_hooks:
            break
        model = getattr(model, INNER_MODULE_NAMES[type(model).__name__])
    return model


def list_model_modules(model: Any) -> dict[str, Any]:
    """Return the modules of a model by name; the model itself is "".

    Names omit wrappers. Modules that only make the weights of a module are left out.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    wrapper_names = {
        name for name, module in modules.items() if type(module).__name__ in INNER_MODULE_NAMES
    }
    has_adapter = "peft_config" in vars(model) and ADAPTER_MODEL_PATH in modules
    named_modules: dict[str, Any] = {}
    for name, module in modules.items():
        parts = name.split(".") if name else []
        if any(part in BOOKKEEPING_PARTS for part in parts):
            continue
        paths = [".".join(parts[:i]) for i in range(len(parts))]
        inner_names = [
            INNER_MODULE_NAMES.get(type(modules[s]).__name__) if s in wrapper_names else ""
            for s in paths
        ]
        segments = [part for part, inner_name in zip(parts, inner_names) if part != inner_name]
        if has_adapter and segments[:2] == ADAPTER_MODEL_PATH.split("."):
            segments = segments[2:]
        title = ".".join(segments)
        if title or not name:
            named_modules[title] = module
    return named_modules


def without_wrappers(pattern: str) -> str:
    """Return a layer name or pattern without the wrapper names at the beginning."""
    while prefix := next((p for p in WRAPPER_PREFIXES if pattern.startswith(p)), ""):
        pattern = pattern.removeprefix(prefix)
    return pattern


def callable_parts(module: Any) -> list[tuple[str, Any]]:
    """Return the direct children of a module that take part in the forward pass, as pairs (name,
    child).

    A child without a forward pass, and without a part with a forward pass, is left out. A list of
    layers is kept. Children that only store or observe weights (``BOOKKEEPING_PARTS``) are left
    out. The value is [] for a PEFT layer. For a PyTorch attention module, the child ``out_proj`` is
    left out, because PyTorch uses the weights of ``out_proj`` without a call.
    """
    children = list(module.named_children())
    if any(name == ADAPTED_LAYER for name, _ in children):
        return []
    if type(module).__name__ == ATTENTION_TYPE:
        children = [(name, part) for name, part in children if name != UNCALLED_PART]
    return [
        (n, part) for n, part in children if n not in BOOKKEEPING_PARTS and _is_called_part(part)
    ]


def _is_called_part(module: Any) -> bool:
    base = sys.modules["torch.nn"].Module
    return any(
        type(part).forward is not base.forward or "forward" in vars(part)
        for part in module.modules()
    )


def check_watchable(model: Any, name: str) -> None:
    """Raise ``ValueError``, with the words ``name`` for the model, if hooks cannot watch layers of
    the module ``model``: a model with a part in TorchScript, or a flat program of
    ``torch.export``."""
    torch = sys.modules["torch"]
    if isinstance(model, torch.nn.Module) and "eval" in vars(model):  # a flat program has one mode
        raise ValueError(
            f"the layers of {name} cannot be read: the model is a program of torch.export without "
            "layers; pass torch.export.unflatten(program) in place of program.module()"
        )
    for part, inner in model.named_modules():
        if isinstance(inner, torch.jit.ScriptModule):
            subject = f"its part {part!r}" if part else "it"
            raise ValueError(
                f"the layers of {name} cannot be read: {subject} is TorchScript, which does not "
                "show what its layers return; pass the model before torch.jit.script or "
                "torch.jit.trace, or save it by torch.export"
            )


@contextmanager
def run_uncompiled() -> Iterator[None]:
    """Let compiled parts of models run without compilation inside a ``with`` block."""
    if "torch._dynamo" not in sys.modules:  # nothing can be compiled
        yield
        return
    stance = getattr(sys.modules["torch"].compiler, "set_stance", None)  # from PyTorch 2.6 on
    if stance is None:
        yield
        return
    with stance("force_eager"):
        yield
