"""The graph of an ONNX file: the activations, the names of the layers, and the default layers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..base.extras import import_optional
from .batches import PADDING_ENTRY_PATTERN
from .modules import EMBEDDING_MODULES

SCOPES_KEY = "pkg.torch.onnx.name_scopes"  # where torch.onnx.export writes the modules of a node
SHAPE_OPERATORS = ("Shape", "Size", "ConstantOfShape", "Range")  # their results hold no activations
QUANTIZE_OPERATORS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
ADD_OPERATORS = (
    "Add", "Sum", "QLinearAdd", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
)  # fmt: skip
WEIGHTED_OPERATORS = (
    "MatMul", "Gemm", "Conv", "ConvTranspose", "MatMulInteger", "ConvInteger", "QLinearConv",
    "QLinearMatMul", "MatMulNBits", "Attention", "QAttention", "FusedConv", "FusedMatMul", "QGemm",
    "LSTM", "GRU", "RNN",
)  # fmt: skip
# Operators without weights at the end of a block
BLOCK_END_OPERATORS = (
    "Add", "Sum", "Relu", "Clip", "LeakyRelu", "Identity", "Dropout", *QUANTIZE_OPERATORS,
)  # fmt: skip
# Operators between a residual sum and the next block
AFTER_SUM_OPERATORS = ("Relu", "LayerNormalization", "BatchNormalization", "Gelu", "Clip")
FLOATING_TYPES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}  # of TensorProto
MIN_RESIDUAL_SUMS = 2
OUTPUT_NUMBER = re.compile(r"(_output_0|:0)$")


class OnnxNode(NamedTuple):
    """A node whose result depends on an input of the graph.

    ``value``: the first result. ``inputs``: the numbers of the nodes before, -1 for an input of the
    graph. ``constants``: the names of the other inputs. ``is_layer``: whether the value can be a
    layer, a floating tensor with two axes or more. ``ancestors``: a bit for each node on a path
    from the main input, with the node itself; the lowest bit is the main input.
    """

    operator: str
    name: str
    scope: str
    value: str
    inputs: tuple[int, ...]
    constants: tuple[str, ...]
    is_layer: bool
    ancestors: int


class OnnxInput(NamedTuple):
    """An input of a graph: the dtype as NumPy calls it, and the shape with None for a free size."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


class OnnxLayers(NamedTuple):
    """The layers of a graph.

    ``values``: the name of the value of each layer, by layer name, in the order of the graph.
    ``modules``: the layer names that are modules of the exported model. ``source``: where the file
    has the names. ``residual``: the layers at the ends of residual connections. ``weighted``: the
    layers that are results of nodes with weights.
    """

    values: Mapping[str, str]
    modules: tuple[str, ...]
    source: str
    residual: tuple[str, ...]
    weighted: tuple[str, ...]


def read_onnx_proto(path: Path) -> Any:
    """Return the ``ModelProto`` of an ONNX file, without weights in other files.

    Raises ``ValueError`` for a missing file, for another file, and for a graph without nodes or
    outputs.
    """
    onnx = import_optional("onnx")
    if not path.is_file():
        raise ValueError(f"load_model: {path} does not exist; name an ONNX file as onnx:model.onnx")
    try:
        proto = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # the reader of protobuf raises its own errors
        raise ValueError(f"load_model: {path} is not an ONNX file ({error})") from error
    if not (proto.ir_version and proto.graph.node and proto.graph.output):
        raise ValueError(f"load_model: {path} is not an ONNX file, or its graph is empty")
    return proto


def external_data_files(proto: Any, path: Path) -> list[Path]:
    """Return the files with weights beside an ONNX file ``path``; raise ``ValueError`` for a
    missing file and for a file outside the folder. ``proto``: the parsed file."""
    folder = path.resolve().parent
    locations = {
        entry.value
        for tensor in _stored_tensors(proto.graph)
        for entry in tensor.external_data
        if entry.key == "location"
    }
    files = [folder / location for location in sorted(locations)]
    for file in files:
        if not file.resolve().is_relative_to(folder):
            raise ValueError(
                f"load_model: {path} names weights outside its folder ({file}); save it again with "
                "the weights beside it"
            )
        if not file.is_file():
            raise ValueError(
                f"load_model: {path} has its weights in {file.name}, which is missing; put that "
                "file beside it"
            )
    return files


def _stored_tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    yield from _stored_tensors(inner)


def graph_inputs(proto: Any) -> tuple[OnnxInput, ...]:
    """Return the inputs of a graph that are no weights; raise ``ValueError`` for an input that is
    no tensor."""
    helper = import_optional("onnx").helper
    stored = {tensor.name for tensor in proto.graph.initializer}
    for value in proto.graph.input:
        if not value.type.tensor_type.elem_type:
            raise ValueError(
                f"load_model: the input {value.name} of the ONNX file is no tensor; export the "
                "model with tensors as inputs"
            )
    return tuple(
        OnnxInput(
            value.name,
            str(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)),
            tuple(
                size.dim_value if size.HasField("dim_value") else None
                for size in value.type.tensor_type.shape.dim
            ),
        )
        for value in proto.graph.input
        if value.name not in stored
    )


def find_layers(proto: Any) -> OnnxLayers:
    """Return the layers of a graph by name. ``proto``: the parsed ONNX file.

    A layer is a floating result of a node. Names are the names of modules, if the file has names of
    modules: in the metadata of ``torch.onnx.export``, in names of values such as
    ``/encoder/layer.0/Add``, or in names of weights such as ``encoder.layer.0.norm.weight``. A
    module is the last result of the nodes of the module. Names of weights name only modules with
    weights, and blocks: a block ends with the last sum or the last module with weights. All further
    results have the names of the values, with dots in place of slashes.
    """
    nodes = _activation_nodes(proto)
    scopes = _scopes_by_metadata(nodes) or _scopes_by_slashes(nodes)
    names_all_nodes = bool(scopes)
    scopes = scopes or _scopes_by_weights(nodes)
    modules: dict[str, int] = {}
    for number, node in enumerate(nodes):
        parts = scopes.get(number, ()) if node.is_layer else ()
        for k, part in enumerate(parts, 1):
            if names_all_nodes or _is_block_name(part) or k == len(parts):
                modules[".".join(parts[:k])] = number
    named_nodes = set(modules.values())
    layers = dict(modules)
    for number, node in enumerate(nodes):
        name = OUTPUT_NUMBER.sub("", node.value).strip("/").replace("/", ".").replace(":", "_")
        if node.is_layer and number not in named_nodes and name not in layers:
            layers[name] = number
    order = sorted(layers, key=lambda name: (layers[name], -name.count(".")))
    innermost = {layers[name]: name for name in reversed(order)}
    return OnnxLayers(
        {name: nodes[layers[name]].value for name in order},
        tuple(name for name in order if name in modules),
        "names in the file" if names_all_nodes else "names of its weights",
        tuple(innermost[number] for number in _residual_values(nodes) if number in innermost),
        tuple(innermost[number] for number in _weighted_values(nodes) if number in innermost),
    )


def _activation_nodes(proto: Any) -> list[OnnxNode]:
    """Return the nodes whose results depend on an input, in the order of the graph."""
    inputs = [entry.name for entry in graph_inputs(proto)]
    main = next((name for name in inputs if not PADDING_ENTRY_PATTERN.fullmatch(name)), "")
    types = _inferred_types(proto)
    places, nodes = dict.fromkeys(inputs, -1), list[OnnxNode]()
    for node in proto.graph.node:
        names = [name for name in (*node.input, *_captured_names(node)) if name]
        before = tuple(places[name] for name in names if name in places)
        if not before or not node.output:
            continue
        ancestors = int(main in names)
        for number in before:
            ancestors |= nodes[number].ancestors if number >= 0 else 0
        ancestors = 0 if node.op_type in SHAPE_OPERATORS else ancestors
        ancestors |= (2 << len(nodes)) if ancestors else 0
        kind, rank = types.get(node.output[0], (0, None))
        is_floating = kind in FLOATING_TYPES or (not kind and node.domain not in ("", "ai.onnx"))
        is_layer = (
            is_floating
            and (rank is None or rank > 1)
            and node.op_type not in (*QUANTIZE_OPERATORS, *SHAPE_OPERATORS)
        )
        metadata = {entry.key: entry.value for entry in node.metadata_props}
        constants = tuple(name for name in names if name not in places)
        entry = OnnxNode(
            node.op_type, node.name, metadata.get(SCOPES_KEY, ""), node.output[0], before,
            constants, is_layer, ancestors,
        )  # fmt: skip
        places |= dict.fromkeys(filter(None, node.output), len(nodes))
        nodes.append(entry)
    return nodes


def _captured_names(node: Any) -> Iterator[str]:
    """Yield the names that the inner graphs of a node read."""
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from (*inner.input, *_captured_names(inner))


def _inferred_types(proto: Any) -> dict[str, tuple[int, int | None]]:
    """Return, by name of a value, a pair: the type number of ONNX, 0 if unknown, and the number of
    axes, None if unknown. Raises ``ValueError`` for an invalid graph."""
    try:
        graph = import_optional("onnx").shape_inference.infer_shapes(proto).graph
    except Exception as error:  # onnx raises its own errors
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"load_model: the graph of the ONNX file is not valid: {reason}"
        ) from error
    types = {}
    for value in (*graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        rank = len(tensor.shape.dim) if tensor.HasField("shape") else None
        types[value.name] = (tensor.elem_type, rank)
    return types


# ------------------------------------------------------------------------------------------- names

Scopes = dict[int, tuple[str, ...]]  # the module of a node, by number, as parts of the name


def _scopes_by_metadata(nodes: Sequence[OnnxNode]) -> Scopes:
    scopes: Scopes = {}
    for number, node in enumerate(nodes):
        try:
            names = ast.literal_eval(node.scope) if node.scope else []
        except (ValueError, SyntaxError):
            continue
        if len(names) > 1 and isinstance(names[-2], str) and names[-2]:
            scopes[number] = tuple(names[-2].split("."))
    return scopes


def _scopes_by_slashes(nodes: Sequence[OnnxNode]) -> Scopes:
    """Return the module of each node, the parts of its name by number of the node, from names such
    as ``/encoder/layer.0/Add_output_0``; {} unless more than half of the nodes have such names."""
    scopes: Scopes = {}
    for number, node in enumerate(nodes):
        names = (name for name in (node.value, node.name) if "/" in name.strip("/"))
        path = next(names, "").strip("/").rpartition("/")[0]
        if path:
            scopes[number] = tuple(path.replace("/", ".").split("."))
    return scopes if len(scopes) > len(nodes) / 2 else {}


def _scopes_by_weights(nodes: Sequence[OnnxNode]) -> Scopes:
    """Return the module of each node, the parts of its name by number of the node, from the names
    of weights such as ``encoder.layer.0.norm.weight``.

    Only weights of a single node count. A sum or activation function directly after a node of a
    block belongs to the block, and can end the block. A product with a mask is no part of a block.
    """
    uses = Counter(name for node in nodes for name in node.constants)
    scopes: Scopes = {}
    latest: dict[int, int] = {}  # the last node with weights on a path to a node
    for number, node in enumerate(nodes):
        owned = (n for n in node.constants if uses[n] == 1 and "." in n and "::" not in n)
        if module := next(owned, "").rpartition(".")[0].replace("/", "."):
            scopes[number], latest[number] = tuple(module.split(".")), number
            continue
        if before := [latest[i] for i in node.inputs if i in latest]:
            latest[number] = max(before)
            block = _enclosing_block(scopes[max(before)])
            follows = any(i in scopes for i in node.inputs)
            if block and follows and node.operator in BLOCK_END_OPERATORS:
                scopes[number] = block
    return scopes


def _enclosing_block(module: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of the name of the nearest block around a module; () without a block.
    ``module``: the parts of the name of the module."""
    places = [k for k, part in enumerate(module[:-1]) if _is_block_name(part)]
    return module[: places[-1] + 1] if places else ()


def _is_block_name(part: str) -> bool:
    """Return whether a part of a name is the name of a block: a number, or embeddings."""
    return part.isdecimal() or part in EMBEDDING_MODULES


# ------------------------------------------------------------------------------------------ blocks


def _residual_values(nodes: Sequence[OnnxNode]) -> list[int]:
    """Return the numbers of the nodes at which residual connections begin, and of the end of the
    last connection; [] with fewer than two residual sums.

    A residual sum adds two activations with a common source, and weights lie between the source and
    the sum. The end is the last sum, or the result of the operators that follow each sum before.
    """
    weighted = sum(2 << number for number in _weighted_nodes(nodes))
    sources: list[int] = []
    sums: list[int] = []
    for number, node in enumerate(nodes):
        terms = [i for i in node.inputs[:2] if i >= 0 and nodes[i].ancestors]
        if node.operator not in ADD_OPERATORS or len(terms) < 2:
            continue
        common = nodes[terms[0]].ancestors & nodes[terms[1]].ancestors
        source = common.bit_length() - 2
        between = (nodes[terms[0]].ancestors | nodes[terms[1]].ancestors) & ~common
        if source >= 0 and between & weighted:
            sources.append(_floating_source(nodes, source))
            sums.append(number)
    if len(sums) < MIN_RESIDUAL_SUMS:
        return []
    return [*dict.fromkeys((*sources, _end_of_sum(nodes, sums, sources)))]


def _floating_source(nodes: Sequence[OnnxNode], number: int) -> int:
    """Return the number of the node before the quantisation of the node ``number``; a node without
    quantisation stays the same. ``nodes``: of the graph."""
    while nodes[number].operator in QUANTIZE_OPERATORS and nodes[number].inputs[0] >= 0:
        number = nodes[number].inputs[0]
    return number


def _end_of_sum(nodes: Sequence[OnnxNode], sums: Sequence[int], sources: Sequence[int]) -> int:
    """Return the number of the node that ends the last residual connection: the node after the last
    sum and the same operators, such as an activation, as at the place where the earlier connections
    begin.

    ``sums``: the numbers of the residual sums. ``sources``: the numbers of the nodes where the
    connections begin. Without such operators, return the last sum.
    """
    operators: list[str] = []
    number = sources[-1]
    while number not in sums and nodes[number].operator in AFTER_SUM_OPERATORS:
        operators.insert(0, nodes[number].operator)
        number = nodes[number].inputs[0]
    end = sums[-1]
    for operator in operators if number in sums else ():
        readers = [k for k, node in enumerate(nodes) if node.inputs[:1] == (end,)]
        end = next((k for k in readers if nodes[k].operator == operator), end)
    return end


def _weighted_nodes(nodes: Sequence[OnnxNode]) -> Iterable[int]:
    return (k for k, n in enumerate(nodes) if n.operator in WEIGHTED_OPERATORS and n.constants)


def _weighted_values(nodes: Sequence[OnnxNode]) -> list[int]:
    """Return the numbers of the nodes with weights, or of the node that adds a constant bias to the
    result."""
    values = []
    for number in _weighted_nodes(nodes):
        readers = [k for k, node in enumerate(nodes) if node.inputs == (number,)]
        bias = [k for k in readers if nodes[k].operator == "Add" and nodes[k].constants]
        values.append(bias[0] if bias else number)
    return values
