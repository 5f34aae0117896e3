"""Load a model, ready to run on samples, with recorded facts."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ..base.extras import import_optional
from ..base.json_files import checksum
from ..base.rng import generator
from . import hub, onnx_model, scripts
from .identity import model_facts
from .modules import block_names, describe_blocks
from .preparing import find_batch_preparation
from .samples import Samples
from .scripts import call_function_spec, is_function_spec
from .wrappers import check_watchable, unwrap_model

MODEL_OBJECT_FORMS = ", a torch.nn.Module, or a pair (module, processor)"
MODEL_FORMS = (
    "a folder with config.json or hf:NAME (transformers), timm:NAME, torchvision:NAME, "
    "onnx:FILE, a .pt2 file of torch.export, file.py:function" + MODEL_OBJECT_FORMS
)
# A file of PEFT, and an entry of the file
ADAPTER_CONFIG_FILE, BASE_MODEL_KEY = "adapter_config.json", "base_model_name_or_path"
DEFAULT_LAYERS_KEY = "layers of the model"  # a description of the default layers
READERS: Mapping[str, Callable[[str, str | None], tuple[Any, Any, dict[str, Any]]]] = {
    "hf": hub.read_hub_model,
    "timm": hub.load_timm_model,
    "torchvision": hub.load_torchvision_model,
    "onnx": onnx_model.read_onnx_model,
}
PrepareFunction = Callable[[Any], Any]


class LoadedModel(NamedTuple):
    """A model ready to run.

    ``module`` is in evaluation mode, unless you passed the module as an object; a passed module is
    not changed. ``prepare`` makes a model batch from samples; None if batches are ready.
    ``blocks``: the default layers. ``facts``: the source of the model and the preparation of
    samples, for JSON.
    """

    name: str
    module: Any
    prepare: PrepareFunction | None
    blocks: tuple[str, ...]
    facts: Mapping[str, Any]


ModelParts = tuple[str, Any, Any, dict[str, Any]]  # name, module, processor of samples, and facts


def load_model(
    model: Any, *, name: str = "", device: Any = None, samples: Samples | None = None
) -> LoadedModel:
    """Return a model, ready to run on samples, from a folder, a name, a file or an object.

    Python files are executed; from other files, nothing is read that may run code while unpickling.
    Models from names and files run on the GPU, if available; a passed module stays on its device.

    Parameters
    ----------
    model : a folder with ``config.json``, or ``hf:NAME``: a model of ``transformers``, with the
        tokenizer, image processor or audio processor for the samples. An encoder-decoder model
        gives the encoder; a model of texts and images gives the part for the samples. ``timm:NAME``
        or ``torchvision:NAME``: a pretrained model, with the transforms of its weights.
        ``onnx:FILE``: a graph that onnxruntime runs on the CPU, with the tokenizer or processor in
        the folder of the file. A ``.pt2`` file of ``torch.export``. ``file.py:function``: the
        function returns a module, a pair (module, prepare), or a ``LoadedModel``. Or a
        ``torch.nn.Module``, or a pair of a module and the tokenizer or processor of its inputs, or
        a function that makes a batch from a list of samples; a pair may begin with ``"onnx:FILE"``
        in place of the module. Any of these forms in a pair ``("name", model)``.
    name : by default the last part of the path or name, or the name of the function.
    device : the device of the model, such as ``"cpu"`` or ``"cuda:1"``.
    samples : the samples for the model. The samples decide the tokenizer or processor, and a
        mismatch raises an error here.

    Raises ``ValueError``, with the remedy, for a model of another form, an unreadable model, a
    model without weights, a folder without the tokenizer of its model, samples that the model
    cannot prepare, and a missing device. Warns if the tokenizer does not know most tokens.
    """
    given_name, model = split_model_name(model)
    name = name or given_name
    if isinstance(model, LoadedModel):
        return _refresh_model_facts(model)._replace(name=name or model.name)
    torch = import_optional("torch")
    kind = None if samples is None else samples.kind
    model_parts = _find_model_parts(model, kind)
    if isinstance(model_parts, LoadedModel):
        return model_parts._replace(name=name or model_parts.name)
    title, module, processor, source_facts = model_parts
    if not isinstance(module, torch.nn.Module):
        raise ValueError(
            f"load_model: {title} is a {type(module).__name__}, not a torch.nn.Module; model "
            f"may be {MODEL_FORMS}"
        )
    check_watchable(module, f"load_model: {title}")
    module = unwrap_model(module)
    if any(weights.is_meta for weights in module.parameters()):
        raise ValueError(
            f"load_model: {title} has no weights: they are on the device 'meta'; read them first, "
            "such as by module.load_state_dict(weights, assign=True)"
        )
    has_weights = any(True for _ in module.parameters())
    if device is not None or (isinstance(model, str | Path) and has_weights):
        default = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            module = module.to(torch.device(device or default))
        except (RuntimeError, AssertionError) as error:  # raised by PyTorch for a missing device
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"load_model: {title} cannot be moved to device={device or default!r} "
                f"({reason}); choose another, such as 'cpu'"
            ) from error
    prepare, preparation_facts = find_batch_preparation(module, processor, samples, name or title)
    facts = {
        **model_facts(module, processor),
        **source_facts,
        **preparation_facts,
        DEFAULT_LAYERS_KEY: describe_blocks(module),
    }
    return LoadedModel(name or title, module, prepare, block_names(module), facts)


def split_model_name(model: Any) -> tuple[str, Any]:
    """Return the name and the model of a pair ("name", model). For any other model, and for a model
    with its processor such as ("onnx:FILE", tokenizer), return "" and the model unchanged."""
    is_named = isinstance(model, tuple | list) and len(model) == 2 and isinstance(model[0], str)
    if is_named and (isinstance(model[1], str | Path) or model[0].partition(":")[0] not in READERS):
        return model[0], model[1]
    return "", model


def _refresh_model_facts(model: LoadedModel) -> LoadedModel:
    """Return an already loaded model, with facts of its present weights, options and hooks. A model
    without recorded ``definition`` is returned unchanged."""
    if "definition" not in model.facts:
        return model
    kept_facts = {k: v for k, v in model.facts.items() if k not in ("hooks", "context")}
    return model._replace(facts={**kept_facts, **model_facts(model.module)})


def _find_model_parts(model: Any, kind: str | None) -> ModelParts | LoadedModel:
    if isinstance(model, str | Path):
        return _load_parts_by_spec(str(model), kind)
    pair = model if isinstance(model, tuple | list) else (model, None)
    if len(pair) != 2:
        raise ValueError(
            f"load_model: {len(pair)} objects are no model; pass a pair (module, processor)"
        )
    module, processor = pair
    if isinstance(module, str | Path):
        parts = _load_parts_by_spec(str(module), kind)
        if isinstance(parts, LoadedModel):
            return parts
        title, loaded_module, _, source_facts = parts
        return title, loaded_module, processor, source_facts
    return type(module).__name__, module, processor, {"source": "an object"}


def _load_parts_by_spec(spec: str, kind: str | None) -> ModelParts | LoadedModel:
    if is_function_spec(spec):
        model, function = call_function_spec(spec, "load_model")
        digest = checksum(Path(spec.rpartition(":")[0]))
        if isinstance(model, LoadedModel):  # the code of the model is unknown
            source_facts = {"source": spec, "file sha256": digest}
            return model._replace(facts={**model.facts, **source_facts})
        if isinstance(model, str | Path):
            raise ValueError(f"load_model: {spec} returns {model!r}; name that as the model")
        parts = _find_model_parts(model, kind)
        assert not isinstance(parts, LoadedModel)
        if hasattr(parts[1], "eval"):
            parts[1].eval()
        return function, parts[1], parts[2], {"source": spec, "sha256 of the code": digest}
    prefix, _, name = spec.partition(":")
    path = Path(name if prefix == "onnx" else spec)
    if prefix in READERS and name:
        reader = READERS[prefix]
    elif (path / "config.json").is_file():
        reader, name = READERS["hf"], str(path)
    elif path.suffix in scripts.MODEL_FILE_SUFFIXES and path.is_file():
        reader, name = scripts.read_exported, str(path)
    else:
        raise ValueError(
            f"load_model: {spec!r} is no model{_near_folder_hint(path)}; model may be {MODEL_FORMS}"
        )
    module, processor, facts = reader(name, kind)
    title = path.resolve().name if name == spec and path.is_dir() else name.rpartition("/")[2]
    if path.is_file():
        title, facts["file sha256"] = path.stem, checksum(path)
    return title, module.eval(), processor, {"source": spec, **facts}


def _near_folder_hint(path: Path) -> str:
    """Return the end of an error message: why an existing path is no model, or a similar path for a
    missing path; "" for a missing path without a similar path."""
    if (path / ADAPTER_CONFIG_FILE).is_file():
        base = "its base"
        with suppress(ValueError, AttributeError):  # no JSON, or no object
            base = json.loads((path / ADAPTER_CONFIG_FILE).read_bytes()).get(BASE_MODEL_KEY) or base
        return (
            f": it holds an adapter of PEFT for {base}, not a model. Merge both once, and name the "
            f"new folder: model = AutoModel.from_pretrained({base!r}); model = PeftModel."
            f"from_pretrained(model, {str(path)!r}).merge_and_unload(); model.save_pretrained("
            f"'merged'); AutoTokenizer.from_pretrained({base!r}).save_pretrained('merged')"
        )
    if path.is_dir():
        config_files = sorted(path.glob("*/config.json"))
        note = f", but {config_files[0].parent} does" if config_files else ""
        return f": it holds no config.json{note}"
    if path.suffix == ".onnx":
        return f"; write onnx:{path}"
    if path.is_file():
        return ": it is a file of another kind"
    parent = next((folder for folder in path.parents if folder.is_dir()), Path())
    missing_name, *remaining_names = path.relative_to(parent).parts or ("",)
    matches = get_close_matches(missing_name, [entry.name for entry in parent.iterdir()], n=1)
    if matches:
        return f": there is none; did you mean {parent.joinpath(*matches, *remaining_names)}?"
    return ""


# Methods with which PyTorch modules draw their weights
RESET_METHODS = ("reset_parameters", "_reset_parameters")
# transformers does not re-initialize modules with this mark
HF_INITIALIZED_MARK = "_is_hf_initialized"


def make_untrained_copy(model: LoadedModel, name: str, seed: int) -> LoadedModel:
    """Return a re-initialized copy of a model, called ``name``, in evaluation mode on the same
    device.

    ``seed`` decides the fresh random weights. A model of timm or torchvision is created again from
    its name. Other models draw the weights of all parts again, with ``reset_parameters``; then
    ``init_weights`` runs for the whole model, if present, as in models of ``transformers``. Raises
    ``ValueError`` for a model without weights, and for a model with weights that none of the
    methods re-initializes.
    """
    torch = import_optional("torch")
    if not any(True for _ in model.module.parameters()):
        raise ValueError(
            f"{model.name} has no re-initialized copy: it has no weights in PyTorch; pass an "
            "untrained model as one more model, such as file.py:function"
        )
    hub, _, model_name = str(model.facts.get("source", "")).partition(":")
    with torch.random.fork_rng(), torch.no_grad():
        # Not the seed itself, because the model may have started from the same seed
        torch.manual_seed(int(generator(seed, "untrained").integers(2**63)))
        if hub == "timm":
            module = importlib.import_module("timm").create_model(model_name, pretrained=False)
        elif hub == "torchvision":
            module = importlib.import_module("torchvision.models").get_model(
                model_name, weights=None
            )
        else:
            module = _reinitialize_weights(torch, model)
    device = next((p.device for p in model.module.parameters()), "cpu")
    facts = {
        **model.facts,
        "sha256": model_facts(module)["sha256"],
        "weights": f"untrained, {seed=}",
    }
    return model._replace(name=name, module=module.eval().to(device), facts=facts)


def _reinitialize_weights(torch: Any, model: LoadedModel) -> Any:
    module = copy.deepcopy(model.module).cpu()  # CPU draws are equal on all machines
    for part in module.modules():
        vars(part).pop(HF_INITIALIZED_MARK, None)
        for name in RESET_METHODS:
            if callable(reset := getattr(part, name, None)):
                reset()
    if callable(draw := getattr(module, "init_weights", None)):
        draw()
    trained = dict(model.module.named_parameters())
    for name, weights in module.named_parameters():
        is_constant = bool((weights == weights.flatten()[:1]).all())
        if not is_constant and torch.equal(weights, trained[name].cpu()):
            raise ValueError(
                f"{model.name} cannot be re-initialised: no method initialises {name}; pass an "
                "untrained model as an additional model, such as file.py:function"
            )
    return module
