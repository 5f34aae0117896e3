"""What is done to sentences and their labels so that models learn something else from them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from ....rng import generator
from ....subject import Recipe
from ...trained.language.augment import Synonyms, eda, load_synonyms
from .data import Examples


def corrupted(
    recipe: Recipe, examples: Examples, split: str, classes: int, synonyms: Synonyms | None
) -> Examples:
    """Return the examples of a split ("train" or "validation") as the models of a recipe get them.

    With ``options["drawn"][setting]`` "once", all models of a group share what was drawn, as in the
    authors' code (seed 0); with "by-model", it varies with the seed.

    Raises ``ValueError`` for another setting.
    """
    setting, options = recipe.setting, recipe.options
    if setting == "normal":
        return examples
    if setting not in options["drawn"]:
        known = ", ".join(["normal", *options["drawn"]])
        raise ValueError(f"{recipe.name}: setting must be one of {known}; got {setting!r}")
    seed = 0 if options["drawn"][setting] == "once" else recipe.seed
    random = generator(seed, "published", recipe.dataset, setting, f"{recipe.strength:g}", split)
    if setting == "labels":
        labels = new_labels(
            examples.labels, recipe.strength, classes, options["new_classes"], random
        )
        return examples._replace(labels=labels)
    if setting == "shortcut":
        return examples._replace(hints=hints(examples.labels, recipe.strength, classes, random))
    return augmented(examples, recipe.strength, random, synonyms)


def synonyms_of(recipe: Recipe, folder: Path) -> Synonyms | None:
    """Return the synonyms that augmentation needs, from ``folder/language/wordnet``; None without.

    Raises ``ValueError`` when ``options["synonyms"]`` asks for them and they are not there.
    """
    if recipe.setting != "augmentation" or not recipe.options["synonyms"]:
        return None
    place = folder / "language" / "wordnet"
    if not place.is_dir():
        raise ValueError(
            f"{place} does not exist: put data.noun, data.verb, data.adj and data.adv of WordNet "
            "3.0 there, from https://wordnet.princeton.edu or the package wordnet-base of Debian"
        )
    return load_synonyms(place)


def shown(recipe: Recipe, examples: Examples, classes: int) -> Examples:
    """Return the validation examples as representations are taken of them.

    Those of models with shortcuts have one each, right at the rate ``options["shown"]``, at which
    they say next to nothing about the class; it is drawn once for all models. The authors' code
    adds them only for the first model that is loaded in a process; here they are always there.
    """
    if recipe.setting != "shortcut":
        return examples
    random = generator(0, "published", recipe.dataset, "shown shortcuts")
    return examples._replace(hints=hints(examples.labels, recipe.options["shown"], classes, random))


def new_labels(
    labels: np.ndarray, share: float, classes: int, new: int, random: np.random.Generator
) -> np.ndarray:
    """Return labels of which exactly ``int(share * n)``, drawn without replacement, are one of
    ``new`` classes that the data set does not have, uniformly."""
    result = labels.copy()
    rows = random.permutation(len(labels))[: int(share * len(labels))]
    result[rows] = classes + random.integers(new, size=len(rows))
    return result


def hints(labels: np.ndarray, rate: float, classes: int, random: np.random.Generator) -> np.ndarray:
    """Return the class that each shortcut names: the true one with probability ``rate``, otherwise
    one of the wrong ones, uniformly."""
    is_right = random.random(len(labels)) < rate
    wrong = (labels + random.integers(1, classes, len(labels))) % classes
    return np.where(is_right, labels, wrong)


def augmented(
    examples: Examples, share: float, random: np.random.Generator, synonyms: Synonyms | None
) -> Examples:
    """Return examples whose (first) sentences each underwent one operation of EDA, once.

    See :func:`...trained.language.augment.eda`. The authors use TextAttack, which draws the result
    of one of the same four operations. There a word is never deleted at random but a fixed number
    of words is, and inserted words are always synonyms. Without ``synonyms`` no word is replaced,
    and inserted words come from other sentences. Reference: Wei and Zou (EMNLP 2019).
    """
    words = [text.split() for text in examples.texts]
    others = [word for sentence in words for word in sentence] if synonyms is None else []
    change = partial(eda, share=share, random=random, others=others, synonyms=synonyms)
    return examples._replace(texts=[" ".join(change(sentence)) for sentence in words])
