"""Small image classifiers (ResNet, VGG and a vision transformer) and functions that run the
networks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from resemblance.base.extras import import_optional

SMALL_IMAGE_POOLING = {"resnet": "mean", "vgg": "mean", "vit": "cls"}
N_COLOR_CHANNELS, IMAGE_SIDE, PATCH_SIDE, N_DIGITS = 3, 8, 2, 10


def build_small_network(architecture: str, options: Mapping[str, Any]) -> Any:
    """Return a freshly initialised "resnet", "vgg" or "vit", a ``ModuleDict``;
    :func:`run_small_network` runs the model.

    ``options``: integers by name. All networks need "width" and "blocks". "resnet" and "vgg" need
    "stages", "vit" needs "heads". "classes" is 10 by default.
    """
    return {"resnet": _small_resnet, "vgg": _small_vgg, "vit": _small_vit}[architecture](options)


def run_small_network(architecture: str, model: Any, x: Any) -> dict[str, Any]:
    """Return the outputs of all layers for images ``x``, a tensor (n, 3, 8, 8), in order, with
    "logits" (n, classes) last. ``model``: from :func:`build_small_network`, of the same
    ``architecture``.

    Layers of convolutional networks are maps (n, channels, height, width); layers of the
    transformer are CLS tokens (n, features).
    """
    return {"resnet": _run_small_resnet, "vgg": _run_small_vgg, "vit": _run_small_vit}[
        architecture
    ](model, x)


# ------------------------------------------------------------------------------------------- ResNet


def _small_resnet(options: Mapping[str, Any]) -> Any:
    """Return a ``ModuleDict`` with a convolution, stages of residual blocks and a linear head.

    Every stage after the first halves the image and doubles the channels. ``options``: "width", the
    channels of the first stage; "stages"; "blocks", the blocks of a stage; "classes", if not 10.
    """
    nn = import_optional("torch").nn
    width = options["width"]
    blocks = nn.ModuleList()
    n_inputs = width
    for stage in range(options["stages"]):
        for block in range(options["blocks"]):
            n_outputs, stride = width * 2**stage, 2 if stage and not block else 1
            blocks.append(_small_block(n_inputs, n_outputs, stride))
            n_inputs = n_outputs
    stem = _convolution(N_COLOR_CHANNELS, width)
    head = nn.Linear(n_inputs, options.get("classes", N_DIGITS))
    return nn.ModuleDict({"stem": stem, "blocks": blocks, "head": head})


def _small_block(n_inputs: int, n_outputs: int, stride: int) -> Any:
    nn = import_optional("torch").nn
    layers = (
        _convolution(n_inputs, n_outputs, stride),
        nn.ReLU(),
        _convolution(n_outputs, n_outputs),
    )
    branch = nn.Sequential(*layers)
    is_identity = stride == 1 and n_inputs == n_outputs
    shortcut = nn.Identity() if is_identity else _convolution(n_inputs, n_outputs, stride, size=1)
    return nn.ModuleDict({"branch": branch, "shortcut": shortcut})


def _convolution(n_inputs: int, n_outputs: int, stride: int = 1, size: int = 3) -> Any:
    nn = import_optional("torch").nn
    convolution = nn.Conv2d(n_inputs, n_outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(n_outputs))


def _run_small_resnet(model: Any, x: Any) -> dict[str, Any]:
    x = model["stem"](x).relu()
    layers = {"stem": x}
    for i, block in enumerate(model["blocks"], 1):
        x = (block["branch"](x) + block["shortcut"](x)).relu()
        layers[f"block{i}"] = x
    return layers | {"logits": model["head"](x.mean((2, 3)))}


# ---------------------------------------------------------------------------------------------- VGG


def _small_vgg(options: Mapping[str, Any]) -> Any:
    """Return a ``ModuleDict`` with stages of convolutions and a linear head.

    After every stage the image is halved and the channels double. ``options``: "width", the
    channels of the first stage; "stages"; "blocks", the convolutions of a stage; "classes", if not
    10.
    """
    nn = import_optional("torch").nn
    stages = nn.ModuleList()
    n_inputs = N_COLOR_CHANNELS
    for stage in range(options["stages"]):
        n_outputs = options["width"] * 2**stage
        sizes = [n_inputs] + [n_outputs] * options["blocks"]
        stages.append(nn.ModuleList(_convolution(a, b) for a, b in pairwise(sizes)))
        n_inputs = n_outputs
    head = nn.Linear(n_inputs, options.get("classes", N_DIGITS))
    return nn.ModuleDict({"stages": stages, "head": head})


def _run_small_vgg(model: Any, x: Any) -> dict[str, Any]:
    layers: dict[str, Any] = {}
    for stage in model["stages"]:
        for convolution in stage:
            x = convolution(x).relu()
            layers[f"conv{len(layers) + 1}"] = x
        x = import_optional("torch").nn.functional.max_pool2d(x, 2)
    return layers | {"pooled": x, "logits": model["head"](x.mean((2, 3)))}


# ------------------------------------------------------------------------------- vision transformer


def _small_vit(options: Mapping[str, Any]) -> Any:
    """Return a ``ModuleDict``: a vision transformer for images of 8 x 8 pixels.

    A patch has 2 x 2 pixels, so an image has 16 patches. The transformer adds a CLS token and
    learned positions. The blocks apply layer normalisation first. ``options``: "width", the
    features of a token; "blocks"; "heads", the attention heads of a block; "classes", if not 10.
    """
    torch = import_optional("torch")
    nn, width = torch.nn, options["width"]
    tokens = (IMAGE_SIDE // PATCH_SIDE) ** 2 + 1
    sizes = {"cls": 1, "positions": tokens}
    embeddings = {name: nn.Parameter(0.02 * torch.randn(1, n, width)) for name, n in sizes.items()}
    style = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    blocks = nn.ModuleList()
    for _ in range(options["blocks"]):
        blocks.append(nn.TransformerEncoderLayer(width, options["heads"], 4 * width, **style))
    return nn.ModuleDict(
        {
            "embedding": nn.Linear(N_COLOR_CHANNELS * PATCH_SIDE**2, width),
            "start": nn.ParameterDict(embeddings),
            "blocks": blocks,
            "norm": nn.LayerNorm(width),
            "head": nn.Linear(width, options.get("classes", N_DIGITS)),
        }
    )


def _run_small_vit(model: Any, x: Any) -> dict[str, Any]:
    torch = import_optional("torch")
    patches = torch.nn.functional.unfold(x, PATCH_SIDE, stride=PATCH_SIDE).transpose(1, 2)
    cls = model["start"]["cls"].expand(len(x), -1, -1)
    tokens = torch.cat([cls, model["embedding"](patches)], dim=1) + model["start"]["positions"]
    layers: dict[str, Any] = {}
    for i, block in enumerate(model["blocks"], 1):
        tokens = block(tokens)
        layers[f"block{i}"] = tokens[:, 0]
    normed = model["norm"](tokens[:, 0])
    return layers | {"norm": normed, "logits": model["head"](normed)}
