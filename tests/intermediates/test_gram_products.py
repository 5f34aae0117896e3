"""Linear Gram matrices too large to store: all pairs are compared block by block, together."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from resemblance.data.representation import force_large_arrays
from resemblance.engine.intermediate_sizes import intermediates_used
from resemblance.intermediates import gram_products
from resemblance.intermediates.rectangles import force_blockwise

DEBIASED = "cka[estimator=debiased]"
WIDTHS = {"half": 330, "full": 600, "narrow": 40, "wider": 700, "third": 210}


@pytest.fixture
def small_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram_products, "BLOCK_SIDE", 256)


def layers(dtype: str = "float64") -> dict[str, np.ndarray]:
    """Layers of 600 samples, three blocks of rows, with a mean far from zero."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((600, 20))
    return {
        name: (shared @ rng.standard_normal((20, d)) + rng.standard_normal((600, d)) + 9).astype(
            dtype
        )
        for name, d in WIDTHS.items()
    }


def plain_debiased(x: np.ndarray, y: np.ndarray) -> float:
    """Debiased CKA from U-centred Gram matrices (Song et al. 2012, Székely and Rizzo 2014)."""
    n, grams = len(x), []
    for points in (x - x.mean(axis=0), y - y.mean(axis=0)):
        gram = points @ points.T
        np.fill_diagonal(gram, 0)
        sums = gram.sum(axis=1)
        gram -= (sums[:, None] + sums) / (n - 2) - sums.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(gram, 0)
        grams.append(gram)
    squares = [np.vdot(gram, gram) for gram in grams]
    return float(np.vdot(*grams) / np.sqrt(np.prod(squares)))


@pytest.mark.usefixtures("small_squares")
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_blocks_of_all_layers_give_the_value_of_whole_gram_matrices(dtype, large):
    data = layers(dtype)
    with force_blockwise(True), force_large_arrays(large):
        scores = rs.compare(data, measures=[DEBIASED, "cka", "ensd"], progress=False)
    arrays = [x.astype(float) for x in data.values()]
    expected = [[plain_debiased(x, y) for y in arrays] for x in arrays]
    np.testing.assert_allclose(scores[DEBIASED], expected, rtol=1e-11, atol=1e-13)
    stored = rs.compare(data, measures=["cka", "ensd"], progress=False)
    for name in ("cka", "ensd"):
        np.testing.assert_allclose(scores[name], stored[name], rtol=1e-12)


@pytest.mark.usefixtures("small_squares")
def test_a_score_depends_neither_on_the_other_layers_nor_on_the_other_measures():
    data = layers()
    names = list(data)
    with force_blockwise(True):
        square = rs.compare(data, measures=DEBIASED, progress=False)[DEBIASED]
        rows, columns = ({n: data[n] for n in half} for half in (names[:2], names[2:]))
        rectangle = rs.compare(rows, columns, measures=DEBIASED, progress=False)[DEBIASED]
        among = rs.compare(data, measures=["ensd", DEBIASED, "procrustes"], progress=False)
        alone = rs.cka(data["half"], data["full"], estimator="debiased")
    assert np.array_equal(rectangle, square[:2, 2:])
    assert np.array_equal(among[DEBIASED], square)
    assert alone == square[0, 1]


def test_the_plan_of_a_language_model_holds_no_gram_matrix():
    forecast = intermediates_used(rs.get_measure(DEBIASED), 10_000, 4096)
    assert sum(forecast.values()) < 1e7  # a Gram matrix takes 8e8 bytes, a layer 3e8


@pytest.mark.usefixtures("small_squares")
def test_the_progress_bar_moves_while_all_pairs_are_computed_together():
    steps: list[tuple[int, int]] = []
    with force_blockwise(True):
        rs.compare(layers(), measures=DEBIASED, progress=lambda *step: steps.append(step))
    done = [step for step, _ in steps]
    assert done == sorted(done)
    assert done[-1] == 15
    assert len(set(done)) > 3
