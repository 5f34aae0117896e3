"""ResNet, VGG and ViT as the ReSi paper trains the networks, with the layers recorded by the
authors' hooks.

The weights have the names of the authors' files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from resemblance.base.extras import import_optional
from resemblance.models.published_files import (
    PRETRAINED_CONFIG_FILE,
    DatasetOrigin,
    find_dataset_folder,
    require_dataset_folder,
)
from resemblance.models.transformer_files import read_pretrained_model, read_pretrained_part

from ..loop import TrainingEnvironment

# Kernel size and channel multiplier of every convolution in a block
BASIC_BLOCK, BOTTLENECK_BLOCK = ((3, 1), (3, 1)), ((1, 1), (3, 1), (1, 4))
RESNET_BLOCKS: Mapping[str, tuple[tuple[tuple[int, int], ...], tuple[int, ...]]] = {
    "resnet18": (BASIC_BLOCK, (2, 2, 2, 2)),
    "resnet34": (BASIC_BLOCK, (3, 4, 6, 3)),
    "resnet101": (BOTTLENECK_BLOCK, (3, 4, 23, 3)),
}
VGG_CONVOLUTIONS: Mapping[str, tuple[int, ...]] = {  # convolutions of each stage
    "vgg11": (1, 1, 2, 2, 2),
    "vgg19": (2, 2, 4, 4, 4),
}
VIT_NAMES = ("vit-b32", "vit-l32")
IMAGE_POOLING = {
    name: "cls" if name in VIT_NAMES else "mean"
    for name in (*RESNET_BLOCKS, *VGG_CONVOLUTIONS, *VIT_NAMES)
}
VGG_MAP_SIDE = 7  # the side to which larger maps are pooled
MAX_VGG_WIDENING = 8  # the largest factor on the width of VGG's first stage


def build_image_network(architecture: str, options: Mapping[str, Any], config: Any = None) -> Any:
    """Return a freshly initialised PyTorch module.

    ``options``: for convolutional networks ``width`` of the first stage, ``depths`` of all stages
    and ``classes``; for ResNet also ``early`` (whether the stem and the first stage halve the
    image) and ``pool``. ``config``: the configuration of a vision transformer; None for other
    networks.

    ResNet (He et al., CVPR 2016) has a 3 x 3 stem without max-pooling, the last ReLU after every
    block, last batch normalisations initialised at zero, and a final average over ``pool x pool``
    positions: for images of 224 pixels, the top left 5 x 5 of 8 x 8 positions. VGG (Simonyan and
    Zisserman, ICLR 2015) has batch normalisation and one linear layer after an average over all
    positions. The networks follow the authors' code.
    """
    if architecture in VIT_NAMES:
        config.num_labels = options["classes"]
        model = import_optional("transformers").ViTForImageClassification(config)
        # A new head has the default initialisation of PyTorch.
        model.classifier = import_optional("torch").nn.Linear(config.hidden_size, config.num_labels)
        return model
    return (_build_resnet if architecture in RESNET_BLOCKS else _build_vgg)(architecture, options)


def run_image_network(
    architecture: str, model: Any, x: Any, layers: Collection[str] | None = ()
) -> dict[str, Any]:
    """Return the outputs of the requested layers for images (n, 3, height, width), and the
    "logits".

    ``layers``: None for all layers recorded by the authors' hooks. ResNet: the "stem" after batch
    normalisation, "block1" ... before the last ReLU, and the average, "pool". VGG: "conv1" ...
    before normalisation and ReLU, and the input of the classifier, "pool". ViT: "block1" ..., and
    the input of the classifier, "norm".

    Outputs of convolutions are maps (n, channels, height, width); larger maps are averaged to 7 x 7
    positions. The average of ResNet is a map of one position. All other outputs are vectors; for
    ViT, the vectors of the CLS token.
    """
    if architecture in VIT_NAMES:
        run = _run_hugging_face_vit
    elif architecture in VGG_CONVOLUTIONS:
        run = _run_full_vgg
    else:
        run = _run_full_resnet
    outputs = {}
    for name, values in run(model, x):
        if layers is None or name in layers or name == "logits":
            is_large = values.ndim == 4 and values.shape[2] > VGG_MAP_SIDE
            pool = import_optional("torch").nn.functional.adaptive_avg_pool2d
            outputs[name] = pool(values, VGG_MAP_SIDE) if is_large else values
    return outputs


LayerStream = Iterator[tuple[str, Any]]  # layers by name, in order, with "logits" last


# ------------------------------------------------------------------------------------------- ResNet


def _build_resnet(architecture: str, options: Mapping[str, Any]) -> Any:
    nn = import_optional("torch").nn
    kind, is_early, n_inputs = RESNET_BLOCKS[architecture][0], options["early"], options["width"]
    parts = {
        "conv0": nn.Conv2d(3, n_inputs, 3, 2 if is_early else 1, 3 if is_early else 1, bias=False),
        "bn0": nn.BatchNorm2d(n_inputs),
    }
    for stage, depth in enumerate(options["depths"]):
        width, blocks = options["width"] * 2**stage, {}
        for i in range(depth):
            stride = 2 if i == 0 and (stage or is_early) else 1
            # In the authors' files, odd numbers belong to ReLUs.
            blocks[str(2 * i)] = _residual_block(kind, n_inputs, width, stride)
            n_inputs = width * kind[-1][1]
        parts[f"layer{stage + 1}"] = nn.ModuleDict(blocks)
    parts["avgpool"] = nn.AvgPool2d(options["pool"])
    parts["linear"] = nn.Linear(n_inputs, options["classes"])
    return nn.ModuleDict({"module": nn.ModuleDict({"module": nn.ModuleDict(parts)})})


def _residual_block(
    kind: tuple[tuple[int, int], ...], n_inputs: int, width: int, stride: int
) -> Any:
    nn = import_optional("torch").nn
    parts, n_channels, halving = {}, n_inputs, kind.index((3, 1))
    for i, (size, widening) in enumerate(kind):
        n_outputs, step = width * widening, stride if i == halving else 1
        parts[f"conv{i + 1}"] = nn.Conv2d(n_channels, n_outputs, size, step, size // 2, bias=False)
        parts[f"bn{i + 1}"] = nn.BatchNorm2d(n_outputs)
        n_channels = n_outputs
    nn.init.zeros_(parts[f"bn{len(kind)}"].weight)
    if stride != 1 or n_inputs != n_channels:
        projection = nn.Conv2d(n_inputs, n_channels, 1, stride, bias=False)
        parts["downsample"] = nn.Sequential(projection, nn.BatchNorm2d(n_channels))
    return nn.ModuleDict(parts)


def _run_full_resnet(model: Any, x: Any) -> LayerStream:
    parts = model["module"]["module"]
    x = parts["bn0"](parts["conv0"](x))
    yield "stem", x
    blocks = [block for stage in range(1, 5) for block in parts[f"layer{stage}"].values()]
    for number, block in enumerate(blocks, 1):
        x = y = x.relu()
        n_convolutions = sum(name.startswith("conv") for name in block)
        for i in range(1, n_convolutions + 1):
            y = block[f"bn{i}"](block[f"conv{i}"](y))
            y = y if i == n_convolutions else y.relu()
        x = y + (block["downsample"](x) if "downsample" in block else x)
        yield f"block{number}", x
    x = parts["avgpool"](x.relu())
    yield "pool", x
    yield "logits", parts["linear"](x.flatten(1))


# ---------------------------------------------------------------------------------------------- VGG


def _build_vgg(architecture: str, options: Mapping[str, Any]) -> Any:
    nn = import_optional("torch").nn
    layers, n_inputs = [], 3
    for stage, depth in enumerate(options["depths"]):
        width = options["width"] * min(2**stage, MAX_VGG_WIDENING)
        for _ in range(depth):
            layers += [nn.Conv2d(n_inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            n_inputs = width
        layers.append(nn.MaxPool2d(2, 2))
    features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1))
    return nn.ModuleDict(
        {"features": features, "classifier": nn.Linear(n_inputs, options["classes"])}
    )


def _run_full_vgg(model: Any, x: Any) -> LayerStream:
    count = 0
    for layer in model["features"]:
        x = layer(x)
        if isinstance(layer, import_optional("torch").nn.Conv2d):
            count += 1
            yield f"conv{count}", x
    x = x.flatten(1)
    yield "pool", x
    yield "logits", model["classifier"](x)


# ---------------------------------------------------------------------------------------------- ViT


def _run_hugging_face_vit(model: Any, x: Any) -> LayerStream:
    vit = model.vit
    tokens = vit.embeddings(x)
    # Before version 5 of transformers, the blocks are vit.encoder.layer.
    blocks = vit.layers if hasattr(vit, "layers") else vit.encoder.layer
    for number, block in enumerate(blocks, 1):
        result = block(tokens)
        tokens = result[0] if isinstance(result, tuple) else result
        yield f"block{number}", tokens[:, 0]
    tokens = vit.layernorm(tokens)
    yield "norm", tokens[:, 0]
    yield "logits", model.classifier(tokens[:, 0])


VIT_FOLDERS = {"vit-b32": "vit-base-patch32-224-in21k", "vit-l32": "vit-large-patch32-224-in21k"}
VIT_WEIGHTS = {
    name: DatasetOrigin(
        word,
        f"https://huggingface.co/google/{word}",
        (f"vision/models/{word}",),
        PRETRAINED_CONFIG_FILE,
    )
    for name, word in VIT_FOLDERS.items()
}
# The names of the size options in the configuration of a vision transformer
VIT_CONFIG_NAMES = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "patch": "patch_size",
    "size": "image_size",
}


def vit_configuration(
    architecture: str, options: Mapping[str, Any], resources: TrainingEnvironment
) -> Any:
    """Return the configuration of a vision transformer, from the sizes in ``options``; from the
    folder of the pretrained weights if ``options["hidden"]`` is None."""
    transformers = import_optional("transformers")
    if options["hidden"] is not None:
        return transformers.ViTConfig(
            **{VIT_CONFIG_NAMES[name]: options[name] for name in VIT_CONFIG_NAMES}
        )
    folder, remedy = _weights_folder(architecture, resources)
    return read_pretrained_part(transformers.ViTConfig, folder, remedy, local_files_only=True)


def load_pretrained_weights(model: Any, architecture: str, resources: TrainingEnvironment) -> Any:
    """Load pretrained weights into a model, in place, except into the classifier, and return the
    model.

    The weights come from ``vision/models/vit-base-patch32-224-in21k`` in the data folder
    (``vit-large-...`` for ViT-L/32), in the format of ``save_pretrained`` of transformers. If
    allowed, transformers downloads missing weights.

    Raises ``ValueError`` with the name of a folder that is missing, damaged, or of another size.
    Reference: Dosovitskiy et al. (ICLR 2021).
    """
    folder, remedy = _weights_folder(architecture, resources)
    body, _ = read_pretrained_model(
        import_optional("transformers").ViTModel,
        folder,
        remedy,
        lambda name: False,
        add_pooling_layer=False,
        local_files_only=True,
    )
    for option, name in VIT_CONFIG_NAMES.items():
        expected, value = getattr(model.config, name), getattr(body.config, name)
        if expected != value:
            raise ValueError(
                f"{folder} is not {VIT_FOLDERS[architecture]}: expected {option} {expected}, got "
                f"{value}; {remedy}"
            )
    model.vit.load_state_dict(body.state_dict())
    return model


def _weights_folder(architecture: str, resources: TrainingEnvironment) -> tuple[Path, str]:
    """Return two values: the folder with the pretrained weights, and the sentence about the remedy
    for damaged weights. If allowed, download missing weights first."""
    origin, data = VIT_WEIGHTS[architecture], resources.data
    if resources.download and find_dataset_folder(data, origin) is None:
        model = import_optional("transformers").ViTModel.from_pretrained(f"google/{origin.title}")
        model.save_pretrained(data / origin.folders[0])
    return require_dataset_folder(data, origin), f"get it from {origin.url}"
