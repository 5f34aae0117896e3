"""ONNX files as PyTorch modules: onnxruntime computes the layers, and hooks receive them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..base.extras import import_optional, require_packages
from ..base.formatting import list_names
from ..base.json_files import checksum
from .hub import PROCESSOR_FILES, read_sample_processor
from .modules import CHOOSE_LAYERS_HINT, block_names, describe_blocks
from .onnx_graph import (
    FLOATING_TYPES,
    OnnxInput,
    OnnxLayers,
    external_data_files,
    find_layers,
    graph_inputs,
    read_onnx_proto,
)

EXPORT_FOLDER = "onnx"  # a folder of ONNX files inside the folder of a model in a hub
QUIET_LEVEL = 3  # of onnxruntime: errors only
EXTERNAL_FOLDER_KEY = "session.model_external_initializers_file_folder_path"


def read_onnx_model(file: str, kind: str | None) -> tuple[Any, Any, dict[str, Any]]:
    """Return the model in an ONNX file as a module, the processor of samples (None if there is
    none), and recorded facts.

    ``kind``: the kind of the samples, such as "texts"; None if unknown. The processor comes from
    the folder of the file, or from the folder above a folder ``onnx``. ONNX files hold a graph of
    operators, and no code. Raises ``ValueError`` for other files, and for missing weights.
    """
    require_packages("onnx", "onnxruntime", "torch")
    path = Path(file)
    proto = read_onnx_proto(path)
    files = [path, *external_data_files(proto, path)]
    layers = find_layers(proto)
    blocks, note = _default_layers(layers)
    outputs = tuple(value.name for value in proto.graph.output)
    module = _onnx_model_class()(path, graph_inputs(proto), outputs, layers.values, blocks, note)
    digest = checksum(path)
    if len(files) > 1:
        digest = hashlib.sha256("".join(map(checksum, files)).encode()).hexdigest()
    producer = f"{proto.producer_name} {proto.producer_version}".strip()
    facts = {"file": path.name, "sha256": digest, "written by": producer or "unknown"}
    folder = path.resolve().parent
    folders = (folder, *([folder.parent] if folder.name == EXPORT_FOLDER else []))
    for candidate in folders:
        if any((candidate / name).is_file() for name in PROCESSOR_FILES.values()):
            transformers = import_optional("transformers")
            processor, notes = read_sample_processor(transformers, str(candidate), kind, module)
            return module, processor, facts | notes
    return module, None, facts


def _default_layers(layers: OnnxLayers) -> tuple[tuple[str, ...], str]:
    """Return the names of the default layers of a graph, and a description of the choice.

    The choice is the first that exists: blocks by module names, residual values, modules without
    submodules, results of nodes with weights.
    """
    tree = _add_scopes(_scope_class()(), layers.modules)
    names = block_names(tree) if layers.modules else ()
    description = describe_blocks(tree) if names else ""
    if names and not description.startswith("every module"):
        parts = description.removesuffix(f"; {CHOOSE_LAYERS_HINT}") or "blocks"
        return names, f"{parts}, by the {layers.source}; {CHOOSE_LAYERS_HINT}"
    if layers.residual:
        return layers.residual, (
            "the values that enter or leave residual connections, as the file names no blocks; "
            f"{CHOOSE_LAYERS_HINT}"
        )
    if names:
        return names, description
    choice = layers.weighted or tuple(layers.values)
    return choice, (
        "every matrix product and convolution with weights, as the file names no modules; "
        f"{CHOOSE_LAYERS_HINT}"
    )


def _add_scopes(root: Any, names: Sequence[str]) -> Any:
    """Add a module for each of ``names``, such as "encoder.layer.0", to the module ``root`` in
    place, with the modules around it; return ``root``."""
    for name in names:
        parent = root
        for part in name.split("."):
            if part not in parent._modules:
                # Not by add_module, because a layer may have the name of a method
                parent._modules[part] = _scope_class()()
            parent = parent._modules[part]
    return root


@cache
def _scope_class() -> Any:
    """Return the class of a layer of an ONNX file: a module that returns the input unchanged."""
    torch: Any = import_optional("torch")

    class OnnxScope(torch.nn.Module):  # type: ignore[misc]
        def forward(self, value: Any) -> Any:
            return value

    return OnnxScope


@cache
def _onnx_model_class() -> Any:
    """Return the torch module class that runs an ONNX file by onnxruntime. ``torch`` is imported at
    the first call."""
    torch: Any = import_optional("torch")

    class OnnxModel(torch.nn.Module):  # type: ignore[misc]
        """A graph that onnxruntime runs on the CPU; a layer with a hook is called with the
        value of the layer."""

        def __init__(
            self,
            path: Path,
            inputs: tuple[OnnxInput, ...],
            outputs: tuple[str, ...],
            values: Mapping[str, str],
            blocks: tuple[str, ...],
            note: str,
        ) -> None:
            super().__init__()
            self.name_or_path = str(path)
            self.inputs, self.outputs, self.values = inputs, outputs, dict(values)
            self.declared_blocks, self.blocks_note = blocks, note
            self.input_names = tuple(entry.name for entry in inputs)
            self.main_input_name = self.input_names[0]
            self.session: Any = None
            self.fetched: tuple[str, ...] = ()
            _add_scopes(self, tuple(values))

        def forward(self, *arguments: Any, **entries: Any) -> Any:
            title = f"the ONNX file {Path(self.name_or_path).name}"
            given = dict(zip(self.input_names, arguments)) | entries
            feeds = _onnx_feeds(title, self.inputs, given)
            watched = {name: part for name, part in self.named_modules() if part._forward_hooks}
            layers = {name: value for name, value in self.values.items() if name in watched}
            fetched = tuple(dict.fromkeys((*layers.values(), *self.outputs)))
            if self.session is None or self.fetched != fetched:
                self.session = _open_session(Path(self.name_or_path), fetched)
                self.fetched = fetched
            try:
                results = dict(zip(fetched, self.session.run(list(fetched), feeds)))
            except Exception as error:  # onnxruntime raises its own errors
                raise ValueError(f"{title} fails: {_first_line(error)}") from error
            tensors = {
                name: torch.from_numpy(result) if _is_numeric_array(result) else result
                for name, result in results.items()
            }
            for name, value in layers.items():
                watched[name](tensors[value])
            return {name: tensors[name] for name in self.outputs}

        def to(self, device: Any) -> Any:
            if torch.device(device).type != "cpu":
                raise RuntimeError("an ONNX file runs on the CPU")
            return self

    return OnnxModel


def _open_session(path: Path, fetched: Sequence[str]) -> Any:
    """Return a session of onnxruntime that gives the values named in ``fetched``."""
    onnx, runtime = import_optional("onnx"), import_optional("onnxruntime")
    proto = read_onnx_proto(path)
    outputs = {value.name for value in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=n) for n in fetched if n not in outputs)
    options = runtime.SessionOptions()
    options.log_severity_level = QUIET_LEVEL
    options.intra_op_num_threads = import_optional("torch").get_num_threads()
    options.add_session_config_entry(EXTERNAL_FOLDER_KEY, str(path.resolve().parent))
    try:
        return runtime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime raises its own errors
        raise ValueError(
            f"the ONNX file {path} cannot be run by onnxruntime {runtime.__version__}: "
            f"{_first_line(error)}"
        ) from error


def _is_numeric_array(result: Any) -> bool:
    """Return whether a result is an array of numbers; some graphs give texts or lists, too."""
    return isinstance(result, np.ndarray) and result.dtype.kind in "biuf"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _onnx_feeds(
    title: str, inputs: Sequence[OnnxInput], given: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return the inputs of a graph as arrays by name, in the declared dtypes.

    ``given``: tensors by input name. Raises ``ValueError`` for other names, types or shapes.
    """
    names = [entry.name for entry in inputs]
    if set(given) != set(names):
        expected = list_names((f"{e.name} {_shape_text(e)} of {e.dtype}" for e in inputs), 8)
        raise ValueError(
            f"{title} takes {expected}; the batch has {', '.join(given) or 'nothing'}. Pass "
            "batches with these names, such as {'" + names[0] + "': tensor}"
        )
    feeds = {}
    for entry in inputs:
        array = given[entry.name].detach().cpu().numpy()
        if (array.dtype.kind == "f") != (entry.dtype in FLOATING_TYPES.values()):
            raise ValueError(f"{title} takes {entry.name} of {entry.dtype}; got {array.dtype}")
        matches = len(array.shape) == len(entry.shape) and all(
            size in (None, given_size) for size, given_size in zip(entry.shape, array.shape)
        )
        if entry.shape and not matches:
            fixed = entry.shape[0]
            other = entry.shape[1:] == array.shape[1:] and fixed is not None
            remedy = (
                f"use batches of {fixed} (batch_size={fixed}, --batch-size {fixed}, and a multiple "
                f"of {fixed} samples), or export it with a dynamic first axis"
                if other
                else "give inputs of this shape, or export it with dynamic axes"
            )
            raise ValueError(
                f"{title} takes {entry.name} of the fixed shape {_shape_text(entry)}; got "
                f"{array.shape}; {remedy}"
            )
        feeds[entry.name] = array.astype(entry.dtype, copy=False)
    return feeds


def _shape_text(entry: OnnxInput) -> str:
    return f"({', '.join('any' if size is None else str(size) for size in entry.shape)})"
