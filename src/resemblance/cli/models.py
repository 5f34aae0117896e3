"""Commands that run models: a user's models on samples, and small networks as a demonstration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.extras import require_packages
from ..engine.memory import parse_bytes
from .choices import DRAWS, LAYOUTS
from .ending import progress_bars, report_interruption
from .executors import open_executors
from .inputs import parse_measures, read_label_file, reworded_errors
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..comparison.arrangements import DepthCurve
    from ..comparison.comparison import Comparison
    from ..engine.forecast import Forecast
    from ..models.patching import LayerPatches
    from ..report.output import Output

COMPARE_MODELS_EXAMPLES = (
    "compare-models base=hf:bert-base-uncased tuned=run/final --data text.txt --html page.html",
    "compare-models resnet=torchvision:resnet18 vit=timm:vit_small_patch16_224 --data photos/ "
    "--save run",
    'compare-models mine.py:small mine.py:large --data inputs.npy --layers "**.conv*" -m cka,rsa',
)
CLASS_LABELS_OF_DATA = "labels"  # labels that come with the data
NAMED_MODEL = re.compile(r"([\w.+-]+)=(.+)")


@output_command(
    folder="save",
    page="Write a page with heat maps to this file.",
    resumed="scores",
    layouts=LAYOUTS,
    needs=("torch",),
    can_refuse=True,
)
def compare_models_command(
    models: list[str],
    data: str,
    progress: bool,
    column: str | None = None,
    max_samples: int | None = None,
    unique: bool = False,
    reinitialized: bool = False,
    mask: str | None = None,
    layers: list[str] | None = None,
    pool: str = "mean",
    measures: list[str] | None = None,
    batch_size: int = 32,
    device: str | None = None,
    save: Path | None = None,
    within: str | None = None,
    whole_blocks: str | None = None,
    n_permutations: int = DRAWS,
    confidence_level: float = 0.95,
    seed: int = 0,
    memory: str = "half",
    jobs: int | None = None,
    scheduler: str | None = None,
    patch: bool = False,
    planned: bool = False,
) -> Forecast | Output:
    """Run two or more models on the same samples and compare all layers.

    Default measures: debiased CKA, Procrustes, RSA and mutual nearest neighbours. The first measure
    also gets chance levels, p-values and intervals. Results go to standard output, progress to
    standard error.
    """
    from ..models.two_models import compare_models, plan_models
    from ..report.of_comparison import result_from_comparison
    from ..report.of_patches import page_with_patches
    from ..report.output import Output

    if len(models) < 2:
        raise ValueError("a comparison needs two models; name another model")
    if patch and (len(models) != 2 or mask is not None or planned):
        raise ValueError("--patch is for two models, without --mask and --plan")
    parse_bytes(memory)
    entries = list(map(_parse_named_model, models))
    options: dict[str, Any] = {
        "column": column,
        "max_samples": max_samples,
        "unique": unique,
        "reinitialized": reinitialized,
        "mask": mask,
        "layers": [part.strip() for text in layers or ["blocks"] for part in text.split(",")],
        "pool": _parse_poolings(pool),
        "measures": parse_measures(measures),
        "batch_size": batch_size,
        "device": device,
        "save": save,
        "within": _read_labels(within, "--within"),
        "whole_blocks": _read_labels(whole_blocks, "--whole-blocks"),
        "n_permutations": n_permutations,
        "confidence_level": confidence_level,
        "seed": seed,
    }
    with (
        reworded_errors(_models_error_with_options),
        open_executors(jobs, scheduler) as (executor, _),
    ):
        options |= {"jobs": executor, "memory": memory, "progress": progress}
        if planned:
            return plan_models(entries, data, **options)
        comparison = compare_models(entries, data, **options)
        patches = _patch_by_options(entries, data, options) if patch else None
    page = result_from_comparison(comparison)
    lines = [comparison.provenance["inputs"], "", *page.conclusion.splitlines(), ""]
    if comparison.error_consistency is not None:
        lines += [*comparison.error_consistency.summary().splitlines(), ""]
    if patches is None:
        return Output(of=comparison, page=page, shown=lines)
    lines += [*patches.summary().splitlines(), ""]
    page = page_with_patches(page, patches)
    return Output(of=comparison, page=page, beside={"patches": patches}, shown=lines)


def _patch_by_options(models: Sequence[Any], data: str, options: Mapping[str, Any]) -> LayerPatches:
    """Return the patched layers of two models, with the first measure and the first pooling of the
    options of the command.

    ``models``: the model whose layers are replaced, then the model that the layers come from.
    ``data``: the samples as named on the command line.
    """
    from ..models.patching import patch_models

    names = [
        "layers", "column", "max_samples", "unique", "confidence_level", "batch_size", "device",
        "seed", "progress",
    ]  # fmt: skip
    chosen = {name: options[name] for name in names}
    measures, pool = options["measures"], options["pool"]
    chosen |= {"measure": measures[0]} if measures else {}
    chosen["pool"] = pool[0] if isinstance(pool, list) else pool
    receiver, donor = models
    return patch_models(receiver, donor, data, **chosen)


def _models_error_with_options(text: str) -> str:
    """Return an error message for the command line, without the names of Python functions and
    objects."""
    from ..models import loading, samples

    for objects in (loading.MODEL_OBJECT_FORMS, samples.SAMPLE_OBJECT_FORMS):
        text = text.replace(objects, "")
    text = re.sub(
        r"(compare|plan)_models: (?=(within|whole_blocks|confidence_level)\b)", "--", text
    )
    text = re.sub(r"^load_samples: ", "--data: ", text)
    text = re.sub(r"\bcolumn=", "--column ", text)
    return re.sub(
        r"^(load_model|compare_models|plan_models|patch_models|extract_features): ", "", text
    )


def _read_labels(text: str | None, option: str) -> Any:
    """Return the labels in the file ``text``; unchanged, the word for the labels that come with the
    data, and None. ``option``: the name in errors."""
    if text is None or text == CLASS_LABELS_OF_DATA:
        return text
    return read_label_file(Path(text), option)


def _parse_poolings(text: str) -> str | list[str]:
    """Return a pooling, or a list of poolings if the text has commas."""
    words = [word.strip() for word in text.split(",")]
    return words if len(words) > 1 else words[0]


def _parse_named_model(text: str) -> Any:
    """Return the pair (name, model) for NAME=MODEL; the text unchanged otherwise, and for an
    existing path."""
    match = None if Path(text).exists() else NAMED_MODEL.fullmatch(text)
    return match.groups() if match else text


# Settings of the demonstration, by --small.
DEMO_SIZES: Mapping[bool, Mapping[str, int]] = {
    False: {},
    True: {"seeds": 2, "epochs": 12, "images": 200},
}
DEMO_EXAMPLES = ("demo --small", "demo --small --open", "demo -o layers")
# The measure of the answer, and the prefix of networks trained on shuffled labels.
ANSWER_MEASURE, SHUFFLED_PREFIX = ("cka", "shuffled")
WITH_EACH_OTHER, WITH_SHUFFLED = "between readers", "with shuffled labels"
CHANCE_COLUMN = "chance"


def demo_command(
    output: Path = Path("layers"), small: bool = False, opened: bool = False, quiet: bool = False
) -> int:
    """Train small networks on handwritten digits, compare all layers, and write a page.

    Nothing is downloaded. The values stay in the folder, so a second run takes seconds.
    """
    from ..bench.training.vision.digits import train_on_digits
    from ..engine._compare import compare
    from ..report.output import print_tables

    require_packages("torch", "jinja2")
    output.mkdir(parents=True, exist_ok=True)
    database, page = output / "comparison.db", output / "index.html"
    try:
        with progress_bars(quiet) as progress:
            networks = train_on_digits(**DEMO_SIZES[small], progress=progress)
            report = partial(progress, "comparing") if progress else False
            comparison = compare(networks.representations, save=database, progress=report)
    except KeyboardInterrupt:
        return report_interruption(database if database.exists() else None)
    accuracies = {name: f"test accuracy {share:.1%}" for name, share in networks.accuracies.items()}
    if not quiet:
        print_tables(
            [*(f"{name}: {text}" for name, text in accuracies.items()), *demo_summary(comparison)]
        )
    write_demo_page(comparison, page, accuracies)
    if not quiet:
        print(f"Open {page.resolve()}\nAll values: {database} (resemblance.load reads it)")
    if opened:
        from ..report.page import open_page

        open_page(page)
    return 0


def demo_summary(comparison: Comparison) -> list[Any]:
    """Return the similarity of layers of equal depth, as a title, a table and sentences; [] without
    pairs."""
    from ..base.formatting import format_number
    from ..report.terminal import plain_table

    label, means = comparison.info(ANSWER_MEASURE).label, _layer_means_by_group(comparison)
    if not means:
        return []
    chance = _layer_chance(comparison)
    sentences = _describe_departure(means)
    means |= {CHANCE_COLUMN: chance} if chance else {}
    layers = list(next(iter(means.values())))
    rows = [
        (layer, *(format_number(layer_means[layer]) for layer_means in means.values()))
        for layer in layers
    ]
    title = f"\n{label} of layers of equal depth (1: equal up to rotation and scale)"
    lines = [title, plain_table(("layer", *means), rows, right=range(1, 1 + len(means)))]
    return [*lines, *sentences]


def _layer_means_by_group(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Return the mean similarity of every layer, by group, then by layer: over pairs of readers,
    and over pairs of a reader and a shuffled network.

    A group without pairs is left out.
    """
    from ..comparison.arrangements import equal_depth_curves

    curves = equal_depth_curves(comparison, ANSWER_MEASURE)
    means = {
        WITH_EACH_OTHER: _layer_means([c for c in curves if not _is_with_shuffled_network(c)]),
        WITH_SHUFFLED: _layer_means([c for c in curves if _is_with_shuffled_network(c)]),
    }
    return {heading: values for heading, values in means.items() if values}


def _is_with_shuffled_network(curve: DepthCurve) -> bool:
    return curve.model.startswith(SHUFFLED_PREFIX) or curve.other.startswith(SHUFFLED_PREFIX)


def _layer_means(curves: list[DepthCurve]) -> dict[str, float]:
    """Return the mean similarity over the pairs of networks in ``curves``, by layer of the first
    network; {} without pairs."""
    import numpy as np

    if not curves:
        return {}
    values = np.mean([curve.values for curve in curves], axis=0)
    return dict(zip(curves[0].layers, values.tolist()))


def _layer_chance(comparison: Comparison) -> dict[str, float]:
    """Return the mean chance level over all pairs of networks, by layer; {} if unknown."""
    import numpy as np

    from ..comparison.arrangements import equal_depth_curves
    from ..comparison.comparison import chance_matrix

    chance = chance_matrix(comparison, ANSWER_MEASURE)
    places = {name: i for i, name in enumerate(comparison.rows)}
    curves = equal_depth_curves(comparison, ANSWER_MEASURE)
    if not curves or not np.isfinite(chance).all():
        return {}
    means = np.mean(
        [
            [
                chance[places[f"{c.model}/{layer}"], places[f"{c.other}/{partner}"]]
                for layer, partner in zip(c.layers, c.partners)
            ]
            for c in curves
        ],
        axis=0,
    )
    return dict(zip(curves[0].layers, means.tolist()))


def _describe_departure(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return sentences: the layer at which trained readers agree most, and the layer at which the
    shuffled network departs most; [] with a single group. ``means``: mean similarities by group,
    then by layer."""
    from ..base.formatting import format_number

    if len(means) < 2:
        return []
    mutual, shuffled = means[WITH_EACH_OTHER], means[WITH_SHUFFLED]
    place = max(mutual, key=lambda layer: mutual[layer] - shuffled[layer])
    return [
        f"Networks that learned to read agree most in {max(mutual, key=mutual.__getitem__)}. The "
        f"network trained on shuffled labels differs most in {place}: "
        f"{format_number(shuffled[place])}, against {format_number(mutual[place])} between "
        "readers.",
        "",
    ]


def write_demo_page(comparison: Comparison, path: Path, accuracies: dict[str, str]) -> None:
    """Write the page of the demonstration to ``path``, with its finding and an explanation.
    ``accuracies``: facts about the networks, texts by name."""
    sentences = " ".join(_describe_departure(_layer_means_by_group(comparison)))
    introduction = (
        "Small convolutional networks learned to read handwritten digits from different random "
        "starts; one was trained on shuffled labels. How to read the maps: a dark diagonal "
        "inside the block of two networks means that the same layer of both networks represents "
        f"the images in a similar way. {sentences}"
    )
    comparison.to_html(
        path,
        title="Layers of networks that read digits",
        introduction=introduction,
        facts=accuracies,
    )


HELP: HelpTexts = {
    "models": typer.Argument(
        metavar="[NAME=]MODEL...",
        help="A model: hf:NAME, timm:NAME, torchvision:NAME, onnx:FILE, a folder of transformers, "
        "a .pt2 file of torch.export, or FILE.py:FUNCTION (the file is executed).",
    ),
    "data": typer.Option(
        help="The inputs of the models: a .txt, .csv, .tsv, .jsonl, .parquet, .npy or .npz file, a "
        "folder of images or of a graph data set, or FILE.py:FUNCTION (the file is executed)."
    ),
    "column": "The column of a table, or the array of an archive, with the samples.",
    "max_samples": typer.Option(
        min=2, help="Largest number of samples, drawn at random (set --seed)."
    ),
    "unique": "Leave out duplicates of earlier samples.",
    "reinitialized": "Also compare with a randomly re-initialised copy of the first model (set "
    "--seed).",
    "patch": "Also put each layer of the second model into the first, and count the predictions "
    "that move, with the first measure and pooling; for two classifiers of one architecture.",
    "mask": "Compare only the nodes of a graph in this mask, such as test_mask.",
    "layers": 'Names or patterns of modules, such as "encoder.layer.*", separated by commas: * '
    "matches within one level of names, ** across levels. Default: the blocks of the model; the "
    "first line of the output names the modules that are left out.",
    "pool": "How to reduce tokens and feature maps to one row per sample: mean, cls, last, max or "
    "flatten; several with commas (mean,last).",
    "batch_size": typer.Option(min=1, help="Number of samples in a batch."),
    "device": "Device that runs the models, such as cuda.",
    "save": "Folder for features and scores; repeat the command to resume an interrupted run.",
    "within": "A file with a label for each sample, or the word labels for the classes of the "
    "data: samples are permuted only within groups of equal labels.",
    "whole_blocks": "A file with a label for each sample, or the word labels: samples with the "
    "same label (such as the sentences of one document) are permuted together.",
    "demo.output": typer.Option("--output", "-o", help="Folder for the page and the values."),
    "small": "Train fewer networks on fewer images, in half a minute.",
}


commands = command_group(
    ("compare-models", compare_models_command, COMPARE_MODELS_EXAMPLES),
    ("demo", demo_command, DEMO_EXAMPLES),
    help=HELP,
)
