"""Training of the upper layers alone, on what the frozen lower ones return, computed once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ....extras import need
from ....json_files import replacing
from .tokens import TokenRows, batch_of, by_length

ROWS = 64  # sentences that go through the lower layers at once


def freeze(model: Any, layers: int) -> None:
    """Exclude the embeddings and the first layers of a BERT from training."""
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
        part.requires_grad_(False)


def upper_logits(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> Callable[[np.ndarray], Any]:
    """Return the function that gives the logits for some of the texts, as the whole model does with
    its lower ``layers`` in evaluation mode.

    What these return is computed at once, and read from a file in ``folder`` if an earlier training
    with the same weights and texts left one there.
    """
    torch = need("torch")
    lengths = tokens.lengths
    ends = np.cumsum(lengths)
    states = lower_states(model, tokens, layers, folder, device)

    def logits(rows: np.ndarray) -> Any:
        longest = int(lengths[rows].max())
        block = np.zeros((len(rows), longest, states.shape[1]), dtype=np.float32)
        mask = np.zeros((len(rows), 1, 1, longest), dtype=bool)
        for place, i in enumerate(rows):
            block[place, : lengths[i]] = states[ends[i] - lengths[i] : ends[i]]
            mask[place, ..., : lengths[i]] = True
        hidden, real = torch.from_numpy(block).to(device), torch.from_numpy(mask).to(device)
        for layer in model.bert.encoder.layer[layers:]:
            hidden = layer(hidden, real)
        return model.classifier(model.dropout(model.bert.pooler(hidden)))

    return logits


def lower_states(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> np.ndarray:
    """Return the hidden states of all real tokens after the lower layers, text after text, as an
    array (tokens, width) in float32, from the file of an earlier training if there is one."""
    path = None if folder is None else folder / f"lower-{_key(model, tokens, layers)}.npy"
    shape = (int(tokens.lengths.sum()), model.config.hidden_size)
    if path is not None and path.is_file():
        try:
            states = np.load(path, mmap_mode="r")
            if states.shape == shape and states.dtype == np.float32:
                return np.asarray(states)
        except (OSError, ValueError):
            pass  # damaged: it is computed again
    result = _computed(model, tokens, layers, device)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial, partial.open("wb") as file:
            np.save(file, result)
    return result


def _computed(model: Any, tokens: TokenRows, layers: int, device: Any) -> np.ndarray:
    torch, was_training = need("torch"), model.training
    lengths = tokens.lengths
    ends = np.cumsum(lengths)
    result = np.empty((int(lengths.sum()), model.config.hidden_size), dtype=np.float32)
    model.eval()
    with torch.no_grad():
        for rows in by_length(lengths, ROWS):
            batch = batch_of(torch, tokens, rows, device)
            real = batch.pop("attention_mask")[:, None, None].bool()
            hidden = model.bert.embeddings(**batch)
            for layer in model.bert.encoder.layer[:layers]:
                hidden = layer(hidden, real)
            for i, states in zip(rows, hidden.cpu().numpy()):
                result[ends[i] - lengths[i] : ends[i]] = states[: lengths[i]]
    model.train(was_training)
    return result


def _key(model: Any, tokens: TokenRows, layers: int) -> str:
    """Return a hash of the lower weights and of the texts."""
    key = hashlib.sha256(f"{layers} {tokens.lengths.tolist()}".encode())
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
        for weight in part.parameters():
            key.update(weight.detach().cpu().numpy().tobytes())
    for arrays in (tokens.ids, tokens.segments or ()):
        for array in arrays:
            key.update(array.astype(np.int64).tobytes())
    return key.hexdigest()[:32]
