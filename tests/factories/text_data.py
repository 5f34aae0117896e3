"""Made data sets of sentences and tiny pretrained folders, in the layouts of the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from resemblance.base.rng import generator

WORDS = (["dull", "flat", "weak", "stale", "slow"], ["warm", "fine", "sharp", "rich"])
OTHERS = ["the", "film", "plot", "a", "story", "is", "was", "and", "its", "actor", "with", "some"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
RELATIONS = ("entailment", "neutral", "contradiction")
VOCABULARY = [*SPECIAL, *OTHERS, *WORDS[0], *WORDS[1], *"ABCDEFGH", ":", ".", "Answer"]
TINY: dict[str, Any] = {"vocab_size": len(VOCABULARY), "max_position_embeddings": 128}
TINY |= {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 32}
TINY |= {"num_attention_heads": 2, "initializer_range": 0.1, "pad_token_id": 0}


def sentences(count: int, seed: int) -> list[tuple[str, int]]:
    """Return sentences with their classes, which two of their words give away."""
    random = generator(seed, "made sentences")
    rows = []
    for label in random.integers(2, size=count).tolist():
        words = random.choice(OTHERS, size=int(random.integers(1, 6))).tolist()
        words += random.choice(WORDS[label], size=2).tolist()
        rows.append((" ".join(random.permutation(words)), label))
    return rows


def write_sst2(folder: Path, train: int = 240, validation: int = 40) -> Path:
    """Write ``folder/language/sst2`` as GLUE has it, and return its folder."""
    place = folder / "language" / "sst2"
    place.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", train, 0), ("validation", validation, 1)):
        lines = [f"{text} \t{label}" for text, label in sentences(count, seed)]
        (place / f"{name}.tsv").write_text("\n".join(["sentence\tlabel", *lines, ""]), "utf-8")
    return place


def write_mnli(folder: Path, train: int = 240, validation: int = 40) -> Path:
    """Write ``folder/language/mnli`` with the columns of GLUE, and return its folder."""
    place = folder / "language" / "mnli"
    place.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", train, 2), ("dev_matched", validation, 3)):
        pairs = zip(sentences(count, seed), sentences(count, seed + 10))
        lines = [f"{i}\t{a}\t{b}\t{RELATIONS[i % 3]}" for i, ((a, _), (b, _)) in enumerate(pairs)]
        header = "index\tsentence1\tsentence2\tgold_label"
        (place / f"{name}.tsv").write_text("\n".join([header, *lines, ""]), "utf-8")
    return place


def save_tokenizer(folder: Path, is_enclosing: bool = True) -> None:
    """Save a tokenizer of whole words, which may put sentences between [CLS] and [SEP]."""
    ids = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if is_enclosing:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
        )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(
        folder
    )


def write_bert(folder: Path, name: str, seed: int = 0) -> Path:
    """Write a tiny BERT without head to ``folder/language/models/name``, and return its folder."""
    config = transformers.BertConfig(**TINY)
    return _write(folder, name, transformers.BertModel, config, seed)


def write_albert(folder: Path) -> Path:
    """Write a tiny ALBERT without head, and return its folder."""
    config = transformers.AlbertConfig(**TINY, embedding_size=8)
    return _write(folder, "albert-base-v2", transformers.AlbertModel, config, 0)


def write_llama(folder: Path) -> Path:
    """Write a tiny Llama that continues texts, in the place of SmolLM2, and return its folder."""
    config = transformers.LlamaConfig(**TINY, tie_word_embeddings=True)
    return _write(folder, "SmolLM2-1.7B", transformers.LlamaForCausalLM, config, 0)


def _write(folder: Path, name: str, kind: Any, config: Any, seed: int) -> Path:
    place = folder / "language" / "models" / name
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        save(kind(config), place)
    save_tokenizer(place, is_enclosing=kind is not transformers.LlamaForCausalLM)
    return place


def save(model: Any, place: Path) -> None:
    """Save a model of transformers without a progress bar."""
    transformers.logging.disable_progress_bar()
    model.save_pretrained(place)


def write_all(folder: Path, seeds: Sequence[int] = (0, 1)) -> Path:
    """Write made SST-2 and MNLI and all tiny pretrained models, and return the folder."""
    write_sst2(folder)
    write_mnli(folder)
    write_bert(folder, "all-MiniLM-L6-v2")
    for seed in seeds:
        write_bert(folder, f"multiberts-seed_{seed}", seed)
    write_albert(folder)
    write_llama(folder)
    return folder
