"""Features of nodes that are mostly zero, for the networks that pass messages along links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extras import need

SPARSE = 0.05  # the largest share of entries that are not zero for which zeros are left out


def features(x: np.ndarray, device: Any) -> Any:
    """Return features as a tensor, sparse where nearly all of them are zero."""
    tensor = need("torch").from_numpy(x).to(device)
    few = np.count_nonzero(x) <= SPARSE * x.size
    return tensor.to_sparse().coalesce() if few else tensor


def first_layer_takes(model: Any, x: Any) -> Any:
    """Let the first convolution of a network take features that may be sparse, and return it.

    Sums of products have the same terms in another order. GraphSAGE projects features before it
    averages those of neighbours, which is the same since both are linear.
    """
    if not x.is_sparse:
        return model
    convolution, product = model.convs[0], need("torch").sparse.mm
    if hasattr(convolution, "lin_l"):

        def forward(x: Any, links: Any) -> Any:
            near = product(x, convolution.lin_l.weight.t())
            mean = convolution.propagate(links, x=(near, near), size=None)
            return mean + convolution.lin_l.bias + product(x, convolution.lin_r.weight.t())

        convolution.forward = forward
    else:
        convolution.lin.forward = lambda x: product(x, convolution.lin.weight.t())
    return model
