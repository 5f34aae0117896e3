"""Classification as the next word of a prompt, for models that continue texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extras import need
from .data import Examples
from .learning import Lesson
from .tokens import TokenRows, batch_of, by_length

LETTERS = "ABCDEFGH"
ROWS = 16  # validation prompts that go through a network at once
TASKS = {
    "sst2": "Is the sentiment of the sentence negative (A) or positive (B)?",
    "mnli": "Does the premise entail the hypothesis (A), say nothing about it (B) or contradict it "
    "(C)?",
}


def prompts_of(dataset: str, examples: Examples) -> list[str]:
    """Return the prompt of each example, up to the answer, which is a letter.

    A shortcut names a letter in the instruction. The authors' prompts are part of their archive,
    not of their code: these have the same parts in other words. Theirs name the answer also where
    all labels of MNLI are random; these do so for shortcuts only.
    """
    hints = [""] * len(examples.texts)
    if examples.hints is not None:
        hints = [f" The answer is {LETTERS[k]}." for k in examples.hints]
    if examples.pairs is None:
        bodies = [f"Sentence: {text}" for text in examples.texts]
    else:
        parts = zip(examples.texts, examples.pairs)
        bodies = [f"Premise: {text}\nHypothesis: {pair}" for text, pair in parts]
    instruction = f"{TASKS[dataset]} Answer with the letter."
    return [f"{instruction}{hint}\n{body}\nAnswer:" for hint, body in zip(hints, bodies)]


def prompt_encoder(tokenizer: Any, dataset: str) -> Callable[[Examples, int], TokenRows]:
    """Return the function that encodes examples as prompts without their answers.

    Prompts that are too long lose their beginning.
    """
    padding = tokenizer.pad_token_id
    filler = int(tokenizer.eos_token_id if padding is None else padding)

    def encode(examples: Examples, limit: int) -> TokenRows:
        rows = tokenizer(prompts_of(dataset, examples))["input_ids"]
        return TokenRows([np.asarray(row[-limit:], np.int64) for row in rows], None, filler)

    return encode


def answer_ids(tokenizer: Any, count: int) -> tuple[int, ...]:
    """Return the token of the letter of each class, with the blank in front of it.

    Raises ``ValueError`` for a tokenizer that has no such tokens.
    """
    tokens = [tokenizer(f" {k}", add_special_tokens=False)["input_ids"] for k in LETTERS[:count]]
    if any(len(ids) != 1 for ids in tokens) or len({ids[0] for ids in tokens}) < count:
        raise ValueError("the tokenizer must have a token for each of the answers A to H")
    return tuple(int(ids[0]) for ids in tokens)


def prompt_lesson(
    model: Any,
    prompts: tuple[TokenRows, TokenRows],
    labels: tuple[np.ndarray, np.ndarray],
    answers: Sequence[int],
    targets: str,
    device: Any,
) -> Lesson:
    """Return the lesson of a model that continues texts: cross-entropy of the next token.

    ``targets`` "text": of every token of prompt and answer, the mean over those of a batch;
    "answer": of the answer alone.
    """
    torch = need("torch")
    training, validation = (_answered(*both, answers) for both in zip(prompts, labels))

    def loss(rows: np.ndarray) -> Any:
        return _loss(torch, model, training, rows, targets, device)

    def validation_loss() -> float:
        with torch.no_grad():
            parts = [
                float(_loss(torch, model, validation, rows, targets, device)) * len(rows)
                for rows in by_length(validation.lengths, ROWS)
            ]
        return sum(parts) / len(validation.ids)

    return Lesson(loss, training.lengths, validation_loss)


def _answered(prompts: TokenRows, labels: np.ndarray, answers: Sequence[int]) -> TokenRows:
    """Return prompts with their answers."""
    ids = [np.append(row, answers[label]) for row, label in zip(prompts.ids, labels)]
    return prompts._replace(ids=ids)


def _loss(
    torch: Any, model: Any, tokens: TokenRows, rows: np.ndarray, targets: str, device: Any
) -> Any:
    batch = batch_of(torch, tokens, rows, device)
    logits = model(**batch).logits[:, :-1]
    places = torch.arange(logits.shape[1], device=device)
    ends = batch["attention_mask"].sum(dim=1, keepdim=True) - 2  # where the answer comes next
    chosen = places <= ends if targets == "text" else places == ends
    return torch.nn.functional.cross_entropy(logits[chosen], batch["input_ids"][:, 1:][chosen])
