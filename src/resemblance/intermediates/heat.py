"""The heat trace of a representation's neighbour graph: the descriptor that IMD compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.rng import generator
from ..data.representation import Representation, cached
from .neighbor_kernels import neighbor_graph
from .neighbors import NeighborSearch

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TEMPERATURES = np.logspace(-1, 1, 256)
# Chebyshev degree: the weighted truncation error is below 1e-15 for temperatures up to 10.
CHEBYSHEV_DEGREE = 24
IDENTITY_COLUMNS_PER_BLOCK = 64  # columns of the identity propagated at a time
# Random vectors drawn at a time; another number changes the vectors.
PROBES_PER_BLOCK = 256


def neighbor_operator(x: Representation, k: int) -> csr_array:
    """Return the normalised adjacency D^-1/2 A D^-1/2, sparse (n, n), of the undirected
    k-nearest-neighbour graph (Euclidean).

    An edge has the larger of the weights in the two directions, equal to 1 unless samples tie for
    the last places.
    """
    from scipy.sparse import csr_array

    directed = neighbor_graph(x, NeighborSearch(k, "euclidean"))
    directed.sort_indices()
    edges, n = directed.maximum(directed.T).tocoo(), x.shape[0]
    weight = 1 / np.sqrt(np.bincount(edges.row, weights=edges.data, minlength=n))
    return csr_array(
        (weight[edges.row] * weight[edges.col] * edges.data, (edges.row, edges.col)), shape=(n, n)
    )


@cached("k")
def heat_trace(x: Representation, k: int) -> np.ndarray:
    """Return tr exp(-t L) / n at 256 temperatures t in [0.1, 10], shape (256,), where L = I - A is
    the normalised Laplacian of the graph of k nearest neighbours.

    The values are exact to rounding and need no eigenvalues: exp(-t(1 - a)) = sum_j c_j(t) T_j(a)
    with c_j(t) = (2 - [j = 0]) e^-t I_j(t). The traces of the Chebyshev polynomials T_j(A) come
    from products of the first half of the polynomials.
    """
    from scipy.special import ive

    a = neighbor_operator(x, k)
    # Only ties make a graph dense.
    is_dense = a.nnz > max(2 * k * a.shape[0], a.shape[0] ** 2 / 5)
    moments = _traces_of_eigenvalues(a) if is_dense else chebyshev_traces(a)
    degrees = np.arange(CHEBYSHEV_DEGREE + 1)
    coefficients = np.where(degrees == 0, 1, 2) * ive(degrees, TEMPERATURES[:, None])
    return coefficients @ moments / x.shape[0]


def chebyshev_traces(a: csr_array) -> np.ndarray:
    """Return the traces of the Chebyshev polynomials T_0(A) ... T_m(A), m = ``CHEBYSHEV_DEGREE``,
    (m + 1,), from ``T_{i+j} + T_{|i-j|} = 2 T_i T_j``."""
    n, half = a.shape[0], CHEBYSHEV_DEGREE // 2
    # Sums over columns of <T_i, T_j>, with i + j = index and i = j or i = j - 1.
    products = np.zeros(CHEBYSHEV_DEGREE + 1)
    for start in range(0, n, IDENTITY_COLUMNS_PER_BLOCK):
        previous = np.zeros((n, min(IDENTITY_COLUMNS_PER_BLOCK, n - start)))
        previous[np.arange(start, start + previous.shape[1]), np.arange(previous.shape[1])] = 1
        current = a @ previous
        products[0] += np.vdot(previous, previous)
        products[1] += np.vdot(previous, current)
        for degree in range(1, half + 1):
            products[2 * degree] += np.vdot(current, current)
            if degree < half:
                previous, current = current, 2 * (a @ current) - previous
                products[2 * degree + 1] += np.vdot(previous, current)
    traces = 2 * products
    traces[0::2] -= products[0]
    traces[1::2] -= products[1]
    return traces


def _traces_of_eigenvalues(a: csr_array) -> np.ndarray:
    """Return the traces of the Chebyshev polynomials T_0(A) ... T_m(A), m = ``CHEBYSHEV_DEGREE``,
    (m + 1,), from all eigenvalues of ``a``, which is faster for a dense matrix."""
    angles = np.arccos(np.clip(np.linalg.eigvalsh(a.toarray()), -1, 1))
    return np.array([np.cos(degree * angles).sum() for degree in range(CHEBYSHEV_DEGREE + 1)])


@cached("anew")
def stochastic_heat_traces(
    x: Representation, k: int, steps: int, probes: int, repeats: int, seed: int
) -> np.ndarray:
    """Return tr exp(-t L) / n at 256 temperatures t in [0.1, 10], by stochastic Lanczos quadrature
    with Gaussian probes, as published, shape (repeats, 256).

    ``steps``: of Lanczos. ``probes``: the number of random vectors of a repeat.
    """
    a = neighbor_operator(x, k)
    return (
        np.stack([_lanczos_trace(a, steps, probes, seed, r) for r in range(repeats)]) / x.shape[0]
    )


def _lanczos_trace(a: csr_array, steps: int, probes: int, seed: int, repeat: int) -> np.ndarray:
    """Return the estimate of tr exp(-t L), L = I - A, at 256 temperatures, (256,): n times the
    mean over ``probes`` random unit vectors v of the Gauss quadrature for v' exp(-t L) v.
    ``repeat``: the number of the repeat, which selects the vectors."""
    n = a.shape[0]
    rng = generator(seed, "imd", repeat)
    steps = min(steps, n)
    nodes, weights = [], []
    for start in range(0, probes, PROBES_PER_BLOCK):
        vectors = rng.standard_normal((n, min(PROBES_PER_BLOCK, probes - start)))
        alpha, beta = _lanczos(a, vectors / np.linalg.norm(vectors, axis=0), steps)
        tridiagonal = np.zeros((vectors.shape[1], steps, steps))
        diagonal = np.arange(steps)
        tridiagonal[:, diagonal, diagonal] = alpha.T
        tridiagonal[:, diagonal[1:], diagonal[:-1]] = tridiagonal[
            :, diagonal[:-1], diagonal[1:]
        ] = beta.T
        theta, vectors_t = np.linalg.eigh(tridiagonal)
        nodes.append(theta)
        weights.append(vectors_t[:, 0, :] ** 2)
    theta, weight = np.concatenate(nodes), np.concatenate(weights)
    decay = np.array([(weight * np.exp(-t * (1 - theta))).sum() for t in TEMPERATURES])
    return n * decay / len(theta)


def _lanczos(a: csr_array, v: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonals (steps, columns) and the off-diagonals (steps - 1, columns) of the
    tridiagonal matrices of ``steps`` Lanczos steps of A from every unit column of ``v``, fully
    reorthogonalised."""
    basis = [v]
    alpha, beta = np.zeros((steps, v.shape[1])), np.zeros((max(steps - 1, 0), v.shape[1]))
    for step in range(steps):
        w = a @ basis[-1]
        alpha[step] = np.einsum("ij,ij->j", basis[-1], w)
        if step == steps - 1:
            break
        for _ in range(2):
            for q in basis:
                w -= q * np.einsum("ij,ij->j", q, w)
        beta[step] = np.linalg.norm(w, axis=0)
        # An exhausted Krylov space continues with zeros.
        safe = np.where(beta[step] <= 1e-12, np.inf, beta[step])
        basis.append(w / safe)
    return alpha, np.where(beta <= 1e-12, 0, beta)
