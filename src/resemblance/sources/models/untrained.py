"""A copy of a model with weights that no training has touched."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from ...extras import need
from ...rng import generator
from .identity import facts_of
from .loading import LoadedModel

RESETS = ("reset_parameters", "_reset_parameters")  # by which parts of PyTorch draw their weights
MARK = "_is_hf_initialized"  # of transformers, on parts that it would not draw again


def untrained(loaded: LoadedModel, name: str, seed: int) -> LoadedModel:
    """Return a copy of a model, called ``name``, with weights as before any training.

    A model of timm or torchvision is made anew by its name. Of others all parts draw their weights
    again, by ``reset_parameters``, and then the whole, if it has ``init_weights``, as models of
    ``transformers`` do by their configuration.

    Raises ``ValueError`` for a model with weights that none of these draws.
    """
    torch = need("torch")
    hub, _, word = str(loaded.facts.get("source", "")).partition(":")
    with torch.random.fork_rng(), torch.no_grad():
        # Not the seed itself, by which the model may have been begun
        torch.manual_seed(int(generator(seed, "untrained").integers(2**63)))
        if hub == "timm":
            module = importlib.import_module("timm").create_model(word, pretrained=False)
        elif hub == "torchvision":
            module = importlib.import_module("torchvision.models").get_model(word, weights=None)
        else:
            module = _drawn_again(torch, loaded)
    device = next((p.device for p in loaded.module.parameters()), "cpu")
    facts = {**loaded.facts, "sha256": facts_of(module)["sha256"], "weights": f"untrained, {seed=}"}
    return loaded._replace(name=name, module=module.eval().to(device), facts=facts)


def _drawn_again(torch: Any, loaded: LoadedModel) -> Any:
    module = copy.deepcopy(loaded.module).cpu()  # where a seed draws the same on any machine
    for part in module.modules():
        vars(part).pop(MARK, None)
        for name in RESETS:
            if callable(reset := getattr(part, name, None)):
                reset()
    if callable(draw := getattr(module, "init_weights", None)):
        draw()
    trained = dict(loaded.module.named_parameters())
    for name, weights in module.named_parameters():
        is_constant = bool((weights == weights.flatten()[:1]).all())
        if not is_constant and torch.equal(weights, trained[name].cpu()):
            raise ValueError(
                f"{loaded.name} has no untrained copy: nothing draws {name} again; pass an "
                "untrained model as one more model, such as file.py:function"
            )
    return module
