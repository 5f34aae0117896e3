"""Influences on the results of a model besides its own code: hooks, and PyTorch modes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from .samples import digest_arrays

SPARSE_LAYOUT_PARTS = {  # component tensors of a sparse tensor, by layout
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}
AUTOCAST_DEVICES = ("cpu", "cuda", "mps", "xpu")
HOOK_KINDS = ("forward_pre_hooks", "forward_hooks")
HOOK_FLAGS = ("with_kwargs", "always_called")


def list_model_hooks(module: Any) -> list[tuple[str, Any]]:
    """Return pairs (kind, hook) of the forward hooks of a module itself, in call order.

    The kind has the flags of the hook, such as "forward_hooks with_kwargs". Hooks of this package
    are left out. If ``module`` is None, return the global hooks of all modules.
    """
    if module is None:
        attributes, prefix = vars(sys.modules["torch.nn.modules.module"]), "_global_"
    else:
        attributes, prefix = vars(module), "_"
    named_hooks = []
    for hooks in HOOK_KINDS:
        for key, hook in dict(attributes.get(f"{prefix}{hooks}") or {}).items():
            flags = [f for f in HOOK_FLAGS if key in (attributes.get(f"{prefix}{hooks}_{f}") or ())]
            if not _is_package_hook(hook):
                named_hooks.append((" ".join([hooks, *flags]), hook))
    return named_hooks


def format_hook_names(module: Any) -> list[str]:
    """Return the hooks of all modules of a model, and the global hooks, as words "module: hook"."""
    parts = [*module.named_modules(), ("all modules", None)]
    return [
        f"{name or 'the model'}: {_hook_name(hook)}"
        for name, part in parts
        for _, hook in list_model_hooks(part)
    ]


def _hook_name(hook: Any) -> str:
    while hasattr(hook, "func"):  # a partial function
        hook = hook.func
    return str(getattr(hook, "__qualname__", type(hook).__qualname__)).rpartition("<locals>.")[2]


def _is_package_hook(hook: Any) -> bool:
    name = str(getattr(hook, "__module__", ""))
    return name.partition(".")[0] == __name__.partition(".")[0]


def active_torch_modes() -> dict[str, Any]:
    """Return the active PyTorch modes that change the results of a model: autocast, a default dtype
    other than float32, and modes that replace PyTorch functions. {} without such modes.

    The value of a name is the dtype in words, or the list of the modes.
    """
    torch = sys.modules["torch"]
    modes: dict[str, Any] = {}
    for device in AUTOCAST_DEVICES:
        if torch.is_autocast_enabled(device):
            modes[f"autocast of {device}"] = str(torch.get_autocast_dtype(device))
    if torch.get_default_dtype() != torch.float32:
        modes["default dtype"] = str(torch.get_default_dtype())
    stacks = {
        "torch.overrides": "_get_current_function_mode_stack",
        "torch.utils._python_dispatch": "_get_current_dispatch_mode_stack",
    }
    for name, function in stacks.items():
        stack: list[Any] = getattr(sys.modules.get(name), function, list)()
        if stack:
            modes[" and ".join(type(mode).__name__ for mode in stack)] = list(stack)
    return modes


def uncompiled_function(value: Any) -> Any:
    """Return the original function of a compiled function; other values are returned unchanged."""
    return getattr(value, "_torchdynamo_orig_callable", value)


def digest_tensors(values: Mapping[str, Any]) -> str:
    """Return the fingerprint of tensors by name, in any layout, including tensors in packed
    weights, as a hexadecimal SHA-256. Values other than tensors do not count."""
    return digest_arrays(
        part for name, value in values.items() for part in _plain_tensors(name, value)
    )


def _plain_tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield pairs (name, plain tensor) that represent a value: the value itself, the parts of a
    sparse or nested tensor, or the tensors of packed weights; nothing for a value that is no
    tensor."""
    if isinstance(value, tuple | list):  # the packed weights and bias of a quantised layer
        for number, part in enumerate(value):
            yield from _plain_tensors(f"{name}.{number}", part)
        return
    if not hasattr(value, "detach"):
        return
    value = value.detach()
    if getattr(value, "is_quantized", False):
        yield name, value.dequantize()
    elif value.layout in (
        parts := {_torch_layout(word): names for word, names in SPARSE_LAYOUT_PARTS.items()}
    ):
        coalesced = value.coalesce() if value.is_sparse else value
        for part in parts[value.layout]:
            yield f"{name}.{part}", getattr(coalesced, part)()
    elif getattr(value, "is_nested", False):
        yield from ((f"{name}.{i}", part) for i, part in enumerate(value.unbind()))
    else:
        yield name, value.to_dense() if getattr(value, "is_mkldnn", False) else value


def _torch_layout(name: str) -> Any:
    torch: ModuleType = sys.modules["torch"]
    return getattr(torch, name.partition(".")[2])
