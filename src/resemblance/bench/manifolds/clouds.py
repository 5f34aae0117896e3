"""The point clouds of the manifold suite: references and variants, at every size of the suite.

Islam et al. 2025, Section 5 and its appendix: a Swiss roll against S-curves, rings and clusters
that merge (Barannikov et al. 2022), Gaussian spots with noise and without correspondence, and a
pair of uniform spots with one spot moving away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..point_clouds import clusters, gaussian_spots, rings, swiss_roll_s_curve, uniform_spots

SWEEP_NEIGHBORS = (5, 10, 15, 25, 50, 100, 150, 200, 250, 300, 400, 450)
ROLL_SWEEP_NEIGHBORS = (*SWEEP_NEIGHBORS, 600, 800)
CLUSTER_COUNTS = tuple(range(2, 13))
SPOT_NOISE = 0.5


class ManifoldSize(NamedTuple):
    """The size of the suite.

    ``roll``, ``rs``: samples and positions of the Swiss roll. ``spots``: numbers of samples at
    ``spots_d`` features. ``d_spots``: numbers of features at the largest number of samples.
    ``seeds``: number of seeds for spots. ``cubes``: samples per cube. ``d_cubes``: numbers of
    features for cubes. ``moves``: distances by which a cube moves. ``ks``: numbers of neighbours.
    ``sweep_d``: numbers of features for sweeps over neighbours. ``slow``: the largest number of
    samples for a slow measure.
    """

    roll: int
    rs: tuple[float, ...]
    spots: tuple[int, ...]
    spots_d: int
    d_spots: tuple[int, ...]
    seeds: int
    cubes: tuple[int, ...]
    d_cubes: tuple[int, ...]
    moves: tuple[float, ...]
    sweep_d: tuple[int, int]
    ks: tuple[int, ...] = SWEEP_NEIGHBORS
    slow: int = 500


class CloudCase(NamedTuple):
    """A reference cloud, and the clouds to compare with the reference.

    ``shape``: "swiss_roll", "rings", "clusters", "spots" or "cubes". ``n``, ``d``: samples and
    features. ``at``: for every cloud r, the number of rings or clusters, or the distance moved; for
    spots the noise. ``over_k``: compare with several numbers of neighbours instead of the measure's
    own number.
    """

    shape: str
    n: int
    d: int
    seed: int
    at: tuple[float, ...]
    over_k: bool = False

    @property
    def variants(self) -> int:
        """The number of clouds that are compared with the reference."""
        return 2 if self.shape == "spots" else len(self.at)


class Variant(NamedTuple):
    """A cloud (n, d) to compare with the reference of a case: the name of its experiment, and its
    position ``at``, as in :class:`Measurement`."""

    experiment: str
    at: float
    array: np.ndarray


def cloud_cases(size: ManifoldSize) -> tuple[CloudCase, ...]:
    """Return all comparisons of the suite, without repetition, smaller comparisons first within an
    experiment."""
    min_d, max_d = size.sweep_d
    max_points, max_samples, seeds = size.spots[-1], 2 * size.cubes[-1], range(size.seeds)
    flags = (False, True)
    plan = [
        CloudCase("swiss_roll", size.roll, 2, 0, size.rs),
        CloudCase("swiss_roll", size.roll, 2, 0, (0.5,), True),
        *(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5), over_k) for over_k in flags),
        *(CloudCase("clusters", 300, 2, 7, CLUSTER_COUNTS, over_k) for over_k in flags),
        *(CloudCase("spots", n, size.spots_d, s, (SPOT_NOISE,)) for n in size.spots for s in seeds),
        *(CloudCase("spots", max_points, d, s, (SPOT_NOISE,)) for d in size.d_spots for s in seeds),
        *(CloudCase("spots", max_points, d, 0, (SPOT_NOISE,), True) for d in (min_d, max_d)),
        *(CloudCase("cubes", 2 * n, max_d, 0, size.moves) for n in size.cubes),
        *(CloudCase("cubes", max_samples, d, 0, size.moves) for d in size.d_cubes),
        *(CloudCase("cubes", max_samples, d, 0, size.moves[-1:], True) for d in (min_d, max_d)),
    ]
    return tuple(dict.fromkeys(plan))


def sample_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    """Return the reference (n, d) of a case, and the clouds to compare with the reference, one
    :class:`Variant` each, in the order of ``case.at``; for spots, the spot with noise and the
    independent spot."""
    return {
        "swiss_roll": _roll_clouds,
        "rings": _ring_clouds,
        "clusters": _cluster_clouds,
        "spots": _spot_clouds,
        "cubes": _cube_clouds,
    }[case.shape](case)


def _roll_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    pairs = [swiss_roll_s_curve(r, n=case.n) for r in case.at]
    return pairs[0].first, [Variant("swiss_roll", r, p.second) for r, p in zip(case.at, pairs)]


def _ring_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    return rings(1), [Variant("rings", count, rings(int(count))) for count in case.at]


def _cluster_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    split = [Variant("clusters", c, clusters(int(c), seed=case.seed)) for c in case.at]
    return clusters(1, seed=case.seed), split


def _spot_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    (noise,) = case.at
    spots = gaussian_spots(case.n, case.d, noise=noise, seed=case.seed)
    lost_variant = Variant("lost", 0.0, spots.lost)
    return spots.reference, [Variant("perturbed", noise, spots.perturbed), lost_variant]


def _cube_clouds(case: CloudCase) -> tuple[np.ndarray, list[Variant]]:
    n = case.n // 2
    variants = [Variant("moved", t, uniform_spots(n, case.d, t, seed=case.seed)) for t in case.at]
    return uniform_spots(n, case.d, 0.0, seed=case.seed), variants
