"""What all trainings have in common: of small networks on data of the package, of those that are
fine-tuned, and of those of the paper, here on made data in the layout of the real ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from factories import graph_data, image_data, text_data
from pins.trainings import FEW, digest

from resemblance.bench import training
from resemblance.bench.sensitivity.models import sensitivity_recipes
from resemblance.bench.training.loop import Checkpoint, TrainingEnvironment
from resemblance.models.recipe import Recipe

DOMAINS = training.DOMAINS
VISION = {"most": 40, "batch": 16}


@pytest.fixture(scope="module")
def resources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    graph_data.write_all(folder)
    text_data.write_all(folder)
    image_data.make_cifar100(folder, train=60, test=20, classes=4)
    image_data.make_imagenet100(folder)
    for architecture in ("vit-b32", "vit-l32"):
        image_data.make_vit(folder, architecture)
    return TrainingEnvironment(folder, device="cpu")


def packaged(domain, architecture=None, setting="normal", strength=0.0):
    trainer, about = training.domain_module(domain), DOMAINS[domain]
    architecture = architecture or about.chosen
    options = trainer.OPTIONS["standard"][architecture] | FEW[domain]
    which = (domain, about.dataset, architecture, setting, strength, 0)
    return Recipe(*which, options, trainer.VERSION)


def finetuned(domain):
    return next(r for r in sensitivity_recipes("small", [domain]) if r.setting == "finetuned")


def of_paper(dataset, architecture, setting="normal", strength=0.0, **changes):
    domain = training.DATASETS[dataset].domain
    trainer = training.dataset_module(dataset, "paper")
    options = trainer.options(dataset, architecture, reduced=True) | changes
    return Recipe(domain, dataset, architecture, setting, strength, 0, options, trainer.VERSION)


SAME = [
    *(packaged(d, None, setting, 0.5) for d in DOMAINS for setting in ("augmentation", "shortcut")),
    *(of_paper("cora", a, "shortcut", 0.5) for a in ("gcn", "pgnn")),
    of_paper("sst2", "bert-small", "labels", 1.0),
    of_paper("imagenet100", "vgg11", "augmentation", 0.5, **VISION),
]


def test_a_recipe_always_gives_the_same_model(resources, subtests):
    for one in SAME:
        with subtests.test(one.name):
            first = training.fit(one, resources)
            torch.manual_seed(7)
            expected = torch.rand(3)
            torch.manual_seed(7)
            again = training.fit(one, resources)
            seen = [training.extract(one, state, resources) for state in (first, again)]
            assert torch.equal(torch.rand(3), expected)  # PyTorch is left as it was
            assert digest(first) == digest(again)
            assert np.array_equal(seen[0].outputs, seen[1].outputs)
            assert seen[0].accuracies == seen[1].accuracies
            assert digest(first) != digest(training.fit(one._replace(seed=1), resources))
    assert not torch.are_deterministic_algorithms_enabled()


SEEN = [
    *(packaged(d, a) for d, about in DOMAINS.items() for a in about.architectures),
    *(packaged(d, None, "augmentation", 1.0) for d in DOMAINS),
    *(packaged(d, None, "labels", 0.5) for d in DOMAINS),
    *(packaged(d, None, "shortcut") for d in DOMAINS),
    packaged("graphs", "gcn", "layers"),
    *(of_paper(d, a) for d, about in training.DATASETS.items() for a in about.architectures),
    *(of_paper("cora", a, "layers") for a in ("gcn", "pgnn")),
    *(of_paper(d, "sage", "augmentation", 0.25) for d in ("flickr", "ogbn-arxiv")),
    *(of_paper("imagenet100", "resnet34", s, 0.5) for s in ("labels", "shortcut", "augmentation")),
]


def numbered(name, count):
    return [f"{name}{i}" for i in range(1, count + 1)]


def layers_of(one):
    """The layers that are seen of a model, by pooling."""
    options, name = one.options, one.architecture
    if one.domain == "graphs":
        depth = options["deep" if one.setting == "layers" else "layers"] - 1
        return {"node": numbered("structure" if name == "pgnn" else "conv", depth)}
    if one.domain == "language":
        blocks, is_paper = numbered("block", options.get("layers", 2)), one.dataset != "docstrings"
        if name in ("llama", "smollm2"):
            return {"last": ["embedding"] * is_paper + blocks}
        return {"cls": ["embedding"] * is_paper + blocks, "mean": ["embedding", *blocks]}
    if one.dataset == "digits":
        count = options.get("stages", 1) * options["blocks"]
        return {
            "resnet": {"mean": ["stem", *numbered("block", count)]},
            "vgg": {"mean": [*numbered("conv", count), "pooled"]},
            "vit": {"cls": [*numbered("block", count), "norm"]},
        }[name]
    count, vits = sum(options.get("depths", [7])), "vit" in name  # the made transformers have 7
    names = [*numbered("conv" if "vgg" in name else "block", count), "norm" if vits else "pool"]
    compared = options["compared"] if one.setting == "normal" else 1
    return {"cls" if vits else "mean": names[: options["hooks"]][-compared:]}


def accuracies_of(one):
    if one.architecture == "pgnn" and one.setting == "normal":
        return {"test"}
    if one.dataset in training.DATASETS and one.domain != "vision":
        return {"test"}
    more = {"shortcut": {"leaked"}, "normal": {"augmented"}, "augmentation": {"augmented"}}
    return {"test"} | more.get(one.setting, set())


def check_seen(one, seen):
    assert {pooling: list(layers) for pooling, layers in seen.layers.items()} == layers_of(one)
    rows = len(seen.labels)
    for layers in seen.layers.values():
        for name, values in layers.items():
            assert values.shape == (rows, math.prod(seen.maps.get(name, values.shape[1:])))
            assert values.dtype == np.float32
            assert np.isfinite(values).all()
            assert name == "embedding" or np.ptp(values, axis=0).max() > 0
    assert seen.outputs.shape[0] == rows
    assert seen.outputs.shape[1] > seen.labels.max()
    share = (seen.outputs.argmax(axis=1) == seen.labels).mean()
    assert seen.accuracies["test"] == share
    assert all(0 <= value <= 1 for value in seen.accuracies.values())


def test_what_is_seen_of_every_model(resources, subtests):
    for one in SEEN:
        with subtests.test(one.name):
            seen = training.extract(one, training.fit(one, resources), resources)
            check_seen(one, seen)
            assert set(seen.accuracies) == accuracies_of(one)


CONTINUED = [
    of_paper("cora", "gcn", "augmentation", 0.25, epochs=4),
    of_paper("cora", "pgnn", "shortcut", 0.5, epochs=4),
    of_paper("sst2", "bert", epochs=1, train=64, evaluate=3, rate=1e-2),
    of_paper("sst2", "minilm", epochs=1, train=64, evaluate=2, rate=1e-2),
    of_paper("cifar100", "resnet18", epochs=2, **VISION),
    of_paper("imagenet100", "vit-b32", "augmentation", 0.5, epochs=2, batch=4, accumulate=4)
    ._replace(seed=2),
]  # fmt: skip


def test_an_interrupted_training_goes_on_to_the_same_weights(resources, tmp_path, subtests):
    for k, one in enumerate(CONTINUED):
        with subtests.test(one.name), pytest.MonkeyPatch.context() as patch:
            expected = training.fit(one, resources)
            stored = resources._replace(checkpoints=tmp_path / str(k), every=0.0)
            save, steps = Checkpoint.save, []

            def stop(self, state, save=save, steps=steps):
                save(self, state)
                steps.append(state["step"])
                if len(steps) in (1, 3):
                    raise KeyboardInterrupt

            patch.setattr(Checkpoint, "save", stop)
            for _ in range(2):
                with pytest.raises(KeyboardInterrupt):
                    training.fit(one, stored)
                assert len(list(stored.checkpoints.glob("*.pt"))) == 1
            assert digest(training.fit(one, stored)) == digest(expected)
            assert steps == list(range(1, len(steps) + 1))  # none was repeated
            assert len(steps) > 3
            assert not list(stored.checkpoints.glob("*.pt"))


def test_a_state_of_another_recipe_or_precision_is_not_continued(resources, tmp_path):
    one, stored = of_paper("cora", "gcn"), resources._replace(checkpoints=tmp_path)
    Checkpoint(one, stored).save({"epoch": 1})
    assert Checkpoint(one, stored._replace(precision="bfloat16")).load() is None
    assert Checkpoint(one._replace(seed=7), stored).load() is None
    assert Checkpoint(one, stored).load() == {"epoch": 1}
    next(tmp_path.glob("*.pt")).write_bytes(b"damaged")
    assert Checkpoint(one, stored).load() is None


LACKING = [
    *((packaged(d), ("epochs", "layers")) for d in ("graphs", "language")),
    (packaged("vision"), ("batch", "blocks")),
    *((finetuned(d), ("epochs", "shots")) for d in DOMAINS),
    (of_paper("cifar100", "resnet18"), ("dot", "lr")),
]


def test_missing_options_are_named(resources, subtests):
    for one, names in LACKING:
        options = {name: one.options[name] for name in one.options if name not in names}
        lacking, message = one._replace(options=options), f"lack {', '.join(names)}; start from"
        with subtests.test(one.name):
            with pytest.raises(ValueError, match=message):
                training.fit(lacking, resources)
            with pytest.raises(ValueError, match=message):
                training.extract(lacking, {}, resources)


WRONG = [
    ({"setting": "noise"}, "setting must be one of"),
    ({"architecture": "alexnet"}, "architecture must be one of '"),
    ({"dataset": "cifar"}, "dataset must be '"),
    ({"domain": "audio"}, "domain must be one of 'graphs', 'language', 'vision'; got 'audio'"),
    ({"strength": 1.5}, "strength (must be between 0 and 1|0; got 1.5)"),
]
UNFIT = {  # options of small models
    "graphs": [
        ({"train": 2800}, "at most 2800 together"),
        ({"train": 2000, "test": 801}, "at most 2800 together"),
        ({"test": 0}, "must be positive"),
    ],
    "language": [
        ({"packages": 1}, "packages must be between 2 and 10"),
        ({"train": 10_000}, "train and test must add up to at most 1800"),
        ({"test": 0}, "train and test must add up"),
        ({"vocabulary": 14}, "vocabulary of more than 14"),
    ],
    "vision": [
        ({"optimizer": "lion"}, "'sgd' or 'adamw'"),
        ({"stages": 4}, "at most 3 stages"),
        ({"train": 1790}, "between 1 and the 1737 images"),
        ({"train": 0}, "between 1 and"),
        ({"test": 5000}, "between 1 and"),
    ],
}
UNFIT_TO_TUNE = [
    ({"shots": 0}, "shots must be between 1 and"),
    ({"shots": 10_000}, "shots must be between 1 and"),
    ({"test": 0}, "test must be between 1 and"),
    ({"test": 100_000}, "test must be between 1 and"),
    ({"classes": 2}, "classes must be"),
    ({"pretraining": {"test": 40}}, "lack"),
]
REFUSED = [
    (packaged("graphs", "pgnn", "augmentation", 1.0), "use another setting"),
    (of_paper("cora", "pgnn", "augmentation"), "pgnn sees distances"),
    (of_paper("cora", "gcn", "augmentation", 0.3), "strengths 0.25, 0.5, 0.75, 1.0; got 0.3"),
    (of_paper("cora", "gcn", "finetuned"), "setting must be one of"),
    (of_paper("cora", "gcn", strict=True), "another SHA256"),
    (of_paper("cifar100", "vgg11", "layers"), "setting must be one of normal, labels"),
    (of_paper("cifar100", "vgg11", "labels", 2.0), "a strength from 0 to 1"),
    *((finetuned(d)._replace(pretrain=None), "a finetuned recipe needs a seed") for d in DOMAINS),
    *((finetuned(d)._replace(architecture="pgnn"), "architecture must be one") for d in DOMAINS),
]
for domain in DOMAINS:
    small, tuned = packaged(domain), finetuned(domain)
    REFUSED += [(one._replace(**change), why) for one in (small, tuned) for change, why in WRONG]
    for one, rows in ((small, UNFIT[domain]), (tuned, UNFIT_TO_TUNE)):
        REFUSED += [(one._replace(options={**one.options, **more}), why) for more, why in rows]


def test_recipes_that_cannot_be_are_refused(resources, subtests):
    starts = {domain: training.fit(finetuned(domain).parent) for domain in DOMAINS}
    for one, why in REFUSED:
        with subtests.test(f"{one.name} {why}"), pytest.raises(ValueError, match=why):
            training.fit(one, resources, start=starts.get(one.domain))


@pytest.mark.parametrize(
    ("which", "problem"),
    [
        (("flickr", "pgnn"), "no architecture 'pgnn' is trained on 'flickr'"),
        (("sst2", "gcn"), "no architecture 'gcn' is trained on 'sst2'"),
        (("cora", "gcn", "text"), "hyperparameters must be 'resi-code' or 'paper'; got 'text'"),
        (("mnli", "bert", "text"), "hyperparameters must be 'resi-code' or 'paper'; got 'text'"),
        (("cifar100", "vgg11", "mine"), "must be 'resi-code' or 'paper'; got 'mine'"),
    ],
)
def test_options_of_models_that_there_are_not(which, problem):
    with pytest.raises(ValueError, match=problem):
        training.dataset_module(which[0], "paper").options(*which)


@pytest.mark.parametrize("dataset", training.DATASETS)
def test_data_that_are_not_there(tmp_path, dataset):
    one = of_paper(dataset, next(iter(training.DATASETS[dataset].architectures)))
    where = TrainingEnvironment(tmp_path, device="cpu")
    with pytest.raises(ValueError, match=r"is missing: .* get it from http"):
        training.fit(one, where)
    if one.domain == "vision":
        with pytest.raises(ValueError, match="nothing here can download it"):
            training.fit(one, where._replace(download=True))
    with pytest.raises(ValueError, match="resources must say where they are"):
        training.fit(one)


@pytest.mark.parametrize("architecture", ["gcn", "bert", "vgg11"])
def test_weights_of_another_network_are_refused(resources, architecture):
    dataset = {"gcn": "cora", "bert": "sst2", "vgg11": "cifar100"}[architecture]
    with pytest.raises(ValueError, match="weights are of another network"):
        training.extract(of_paper(dataset, architecture), {"bias": np.zeros(9)}, resources)
