"""What is recorded of a model: its class, size, weights and the versions of what runs it."""

from __future__ import annotations

import sys
from typing import Any

from .contents import digest_of_arrays
from .identity import identity_of


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
