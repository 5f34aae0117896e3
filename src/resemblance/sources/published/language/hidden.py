"""Hidden states and outputs of trained language models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from .models import Network
from .tokens import TokenRows, batch_of, by_length

ROWS = 32  # texts that go through a network at once
POOLINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "cls": lambda states, mask: states[:, 0],
    "mean": lambda states, mask: (states * mask[:, :, None]).sum(dim=1) / mask.sum(1, keepdim=True),
    "last": lambda states, mask: states[range(len(states)), mask.sum(dim=1) - 1],
}


class HiddenStates(NamedTuple):
    """Outputs (n, outputs) of texts, and an array (n, width) by pooling and layer."""

    outputs: np.ndarray
    layers: dict[str, dict[str, np.ndarray]]


def hidden_states(
    network: Network, tokens: TokenRows, poolings: tuple[str, ...], device: Any
) -> HiddenStates:
    """Return the outputs of a model of transformers for texts and, pooled, its hidden states.

    Poolings: "cls", the first token; "mean", over all real tokens with [CLS] and [SEP]; "last", the
    last real token. Layers: "embedding", the input of the first block, and "block1" onwards, the
    last one of SmolLM2 after its final normalisation. The first token, and the last one of a
    prompt, are the same in all texts, and so is their "embedding"; the authors include it too. The
    outputs of a model that continues texts are those of the answers, after the last token.

    Texts go through the network in batches of similar lengths, padded to the longest. The authors
    pad one text at a time to 128 tokens and leave the padding out: the same but for rounding.
    """
    torch = need("torch")
    order = list(by_length(tokens.lengths, ROWS))
    parts = [_of_batch(torch, network, tokens, rows, poolings, device) for rows in order]
    places = np.argsort(np.concatenate(order))
    layers: dict[str, dict[str, np.ndarray]] = {}
    for pooling in poolings:
        layers[pooling] = {}
        for name in parts[0].layers[pooling]:
            rows = np.concatenate([part.layers[pooling][name] for part in parts])
            layers[pooling][name] = rows[places]
    return HiddenStates(np.concatenate([part.outputs for part in parts])[places], layers)


def _of_batch(
    torch: Any,
    network: Network,
    tokens: TokenRows,
    rows: np.ndarray,
    poolings: tuple[str, ...],
    device: Any,
) -> HiddenStates:
    batch = batch_of(torch, tokens, rows, device)
    with torch.no_grad():
        result = network.model(**batch, output_hidden_states=True)
    names = ["embedding", *(f"block{i}" for i in range(1, len(result.hidden_states)))]
    mask = batch["attention_mask"]
    layers = {
        pooling: {
            name: POOLINGS[pooling](states, mask).float().cpu().numpy()
            for name, states in zip(names, result.hidden_states)
        }
        for pooling in poolings
    }
    logits = result.logits
    if network.answers is not None:
        logits = POOLINGS["last"](logits, mask)[:, list(network.answers)]
    return HiddenStates(logits.float().cpu().numpy(), layers)
