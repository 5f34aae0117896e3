"""Optimal transport between the units of two representations (leaves the array API)."""

from __future__ import annotations

from typing import Any

import numpy as np


def transport_plan(cost: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and masses of a plan of least total cost between d units of mass 1/d and e
    units of mass 1/e.

    Exact. For d = e a plan of least cost is a permutation, which the assignment problem finds;
    otherwise the linear program has a solution in whole numbers when every row supplies e and every
    column takes d, so rounding the solver's answer removes its error.
    """
    # SciPy's optimize takes longer to import than all the rest.
    from scipy.optimize import linear_sum_assignment

    d, e = cost.shape
    if d == e:
        rows, columns = linear_sum_assignment(cost)
        return rows, columns, np.full(d, 1 / d)
    flow = _flow(cost / (cost.max() or 1.0))
    rows, columns = np.nonzero(flow)
    return rows, columns, flow[rows, columns] / (d * e)


def _flow(cost: np.ndarray) -> np.ndarray:
    """Cheapest flow of whole numbers that leaves every row with e and reaches every column with d,
    shape (d, e)."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    d, e = cost.shape
    leaving, reaching = kron(eye_array(d), np.ones((1, e))), kron(np.ones((1, d)), eye_array(e))
    sums: Any = vstack([leaving, reaching], format="csc")  # the type stubs know dense matrices only
    totals = np.repeat([float(e), float(d)], [d, e])
    options: Any = {"dual_feasibility_tolerance": 1e-10}
    flow: Any = linprog(cost.ravel(), A_eq=sums, b_eq=totals, method="highs-ds", options=options).x
    return np.asarray(np.rint(flow)).reshape(d, e)
