"""Fine-tuning of language models on SST-2 and MNLI, and their representations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Extraction, Recipe
from ...trained.common import accuracy, seeded
from ..devices import device_of
from ..resources import Resources
from .corruptions import corrupted, shown, synonyms_of
from .data import TextTask, read
from .hidden import hidden_states
from .learning import learn
from .lessons import lesson_of
from .models import Network, network
from .settings import options

__all__ = ["VERSION", "extract", "fit", "options"]

VERSION = 1
State = Mapping[str, np.ndarray]  # the weights that training changed, by name


def fit(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Fine-tune the model of a recipe and return the weights that training changed, by name.

    - ``"normal"``: the data as they are.
    - ``"labels"``: a share ``strength`` of the examples get one of five new classes.
    - ``"shortcut"``: each example starts with a token for a class, the true one with probability
      ``strength``; in a prompt, the instruction names the answer.
    - ``"augmentation"``: each example underwent one operation of EDA, on a share ``strength`` of
      its words.

    The validation examples, which choose among the states of a training, are corrupted likewise.
    Head, order and dropout depend on the name of the model; for what was drawn of the data see
    ``drawn`` in :func:`.settings.options`. BERT of seed i starts from the i-th of the MultiBERTs,
    all ALBERT and SmolLM2 models from the same weights. Two architectures are not in the paper but
    for computers without an accelerator: MiniLM has pretrained weights, of which the upper two of
    six layers are trained; what the others return is computed once, in the folder of the
    checkpoints. BERT-small starts from random weights, with the words of its training sentences.

    Raises ``ValueError`` for data or weights that are missing or of another kind. References:
    Klabunde et al. (ICLR 2025), appendix B; Sellam et al. (MultiBERTs, ICLR 2022); Lan et al.
    (ALBERT, ICLR 2020); Ben Allal et al. (SmolLM2, 2025).
    """
    device = device_of(resources)
    task, synonyms = _task(recipe, resources), synonyms_of(recipe, resources.data)
    parts = (
        corrupted(recipe, task.train, "train", task.classes, synonyms),
        corrupted(recipe, task.validation, "validation", task.classes, synonyms),
    )
    with seeded(recipe.seed, "published", recipe.name, device=device):
        net = network(recipe, task, resources)
        net.model.to(device)
        lesson = lesson_of(recipe, net, parts, resources, device)
        return learn(recipe, net.model, lesson, resources, device)


def extract(recipe: Recipe, state: State, resources: Resources) -> Extraction:
    """Return the outputs of a fine-tuned model and of its layers for the validation examples.

    Those of models with shortcuts have one each, as :func:`.corruptions.shown` draws them. Layers
    and poolings: see :func:`.hidden.hidden_states`; "cls" and "mean" of BERT and ALBERT, "last" of
    SmolLM2. ``accuracies["test"]`` is for the true classes, whatever a model learned.
    """
    device = device_of(resources)
    task = _task(recipe, resources)
    examples = shown(recipe, task.validation, task.classes)
    with seeded(0, "published", "extract", device=device):
        net = network(recipe, task, resources, pretrained=bool(recipe.options["frozen"]))
        _put(net, state, recipe)
        net.model.to(device).eval()
        tokens = net.encode(examples, recipe.options["longest"])
        poolings = ("cls", "mean") if net.answers is None else ("last",)
        states = hidden_states(net, tokens, poolings, device)
    accuracies = {"test": accuracy(states.outputs, examples.labels)}
    return Extraction(states.layers, states.outputs, examples.labels, accuracies)


def _task(recipe: Recipe, resources: Resources) -> TextTask:
    """Return the data of a recipe, with as many training examples as it asks for."""
    options = recipe.options
    task = read(recipe.dataset, resources.data, resources.download, options["strict"])
    count, size = options["train"], len(task.train.labels)
    if count is None or count >= size:
        return task
    random = generator(0, "published", recipe.dataset, "training examples")
    return task._replace(train=task.train.take(np.sort(random.permutation(size)[:count])))


def _put(net: Network, state: State, recipe: Recipe) -> None:
    """Put the weights that training changed into a network: all of them, if no layer is frozen."""
    torch, weights = need("torch"), dict(net.model.named_parameters())
    needed = state.keys() if recipe.options["frozen"] else weights.keys()
    shapes = {name: tuple(weight.shape) for name, weight in weights.items() if name in needed}
    others = {name: np.shape(value) for name, value in state.items()}
    different = sorted(name for name, _ in shapes.items() ^ others.items())
    if different:
        raise ValueError(
            f"{recipe.name}: the trained weights do not fit its network: {different[0]} has shape "
            f"{others.get(different[0])}, expected {shapes.get(different[0])}"
        )
    with torch.no_grad():
        for name, value in state.items():
            weights[name].copy_(torch.from_numpy(np.array(value)))
