"""Point clouds with known similarity: rolls, rings, clusters and spots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.rng import generator

N_RINGS = 5
N_CLUSTER_BLOCKS, POINTS_PER_CLUSTER_BLOCK = 60, 5  # 60 blocks of 5 points form the clusters
CUBE_DISTANCE = 1.1  # between the centres of the two uniform spots before one of them moves


def check_minimum_sizes(**sizes: tuple[int, int]) -> None:
    """Raise ``ValueError`` unless every size is an integer of at least the minimum. ``sizes``: by
    the name in the error, the pair (size, minimum)."""
    for name, (size, smallest) in sizes.items():
        if not isinstance(size, int | np.integer) or size < smallest:
            raise ValueError(f"{name} must be a whole number, at least {smallest}; got {size!r}")


class CloudPair(NamedTuple):
    """Two point clouds of the same samples, row by row."""

    first: np.ndarray
    second: np.ndarray


class SpotClouds(NamedTuple):
    """A Gaussian spot, the same spot with noise, and an independent spot."""

    reference: np.ndarray
    perturbed: np.ndarray
    lost: np.ndarray


def swiss_roll_s_curve(r: float, *, n: int = 1000) -> CloudPair:
    r"""Return a Swiss roll and an S-curve along the same line, both (n, 2).

    .. math:: \big(z \cos z,\; z \sin z\big),\; z = \tfrac{3 \pi}{2} (1 + 2 t) \qquad
        \big(\sin z,\; \operatorname{sgn}(z) (\cos z - 1)\big),\; z = 3 \pi (t - r)

    for n values of t from 0 to 1. The roll never crosses itself. The S-curve crosses itself only
    with r far from 1/2, where the curve winds around more than once. At r = 1/2 the S-curve keeps
    all neighbourhoods of the roll; at r = 0 and 1, points that are far apart on the roll meet.

    Raises ``ValueError`` for r outside [0, 1] or n < 2.

    Reference: Islam et al. 2025, Section 5.1; in two dimensions, as there.
    """
    check_minimum_sizes(n=(n, 2))
    if not 0 <= r <= 1:
        raise ValueError(f"r must lie between 0 and 1; got {r!r}")
    t = np.linspace(0, 1, n)
    roll, curve = 1.5 * np.pi * (1 + 2 * t), 3 * np.pi * (t - r)
    return CloudPair(
        np.stack([roll * np.cos(roll), roll * np.sin(roll)], axis=1),
        np.stack([np.sin(curve), np.sign(curve) * (np.cos(curve) - 1)], axis=1),
    )


def rings(large: int, *, points: int = 100) -> np.ndarray:
    """Return five rings, (5 * ``points``, 2), of which the first ``large`` coincide at radius 1.

    The other rings have the radii 1.25, 0.75, 1.5 and 0.5, in this order: ``rings(1)`` is five
    rings, and ``rings(5)`` is a single ring with exact duplicates of every point. The more rings
    coincide, the less similar the cloud is to ``rings(1)``.

    Raises ``ValueError`` unless ``large`` is 1 to 5.

    Reference: Barannikov et al. 2022, Section 4.1 (without noise); Islam et al. 2025, Section 5.2.
    """
    if not isinstance(large, int | np.integer) or not 1 <= large <= N_RINGS:
        raise ValueError(f"large must be a whole number from 1 to {N_RINGS}; got {large!r}")
    check_minimum_sizes(points=(points, 2))
    angle = 2 * np.pi * np.arange(points) / points
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([radius * circle for radius in ring_radii(large)])


def ring_radii(large: int) -> tuple[float, ...]:
    """Return the radii of five rings: 1 for the first ``large`` rings, then the first of 1.25,
    0.75, 1.5, 0.5."""
    return (1.0,) * large + (1.25, 0.75, 1.5, 0.5)[: N_RINGS - large]


def clusters(count: int, *, seed: int = 7) -> np.ndarray:
    """Return 300 normal points in ``count`` clusters around the origin, (300, 2).

    The points form 60 blocks of five points. Block i moves by 10 in the direction of the angle 2π
    (i mod ``count``) / ``count``; a single cluster does not move. The more clusters, the less
    similar the cloud is to ``clusters(1)``.

    The points equal the points of the original experiment, which used NumPy's legacy generator with
    seed 7. The legacy generator is frozen, so the numbers are the same on every machine.

    Raises ``ValueError`` unless ``count`` is 1 to 60.

    Reference: Barannikov et al. 2022, Section 4.1; Islam et al. 2025, Appendix.
    """
    if not isinstance(count, int | np.integer) or not 1 <= count <= N_CLUSTER_BLOCKS:
        raise ValueError(
            f"count must be a whole number from 1 to {N_CLUSTER_BLOCKS}; got {count!r}"
        )
    points = np.asarray(
        np.random.RandomState(seed).standard_normal(
            (N_CLUSTER_BLOCKS * POINTS_PER_CLUSTER_BLOCK, 2)
        )
    )
    angle = (
        2
        * np.pi
        * (np.repeat(np.arange(N_CLUSTER_BLOCKS), POINTS_PER_CLUSTER_BLOCK) % count)
        / count
    )
    centers = 10.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points if count == 1 else np.add(points, centers)


def gaussian_spots(n: int, d: int, *, noise: float = 0.5, seed: int = 0) -> SpotClouds:
    """Return a standard normal cloud, the same cloud with noise, and an independent cloud, all (n,
    d).

    The perturbed spot is the reference plus ``noise`` times another cloud, so its similarity to the
    reference depends on neither n nor d. The samples of the lost spot
    correspond to no samples of the reference, so the lost spot is not similar to the reference.

    Raises ``ValueError`` for n < 2, d < 1, or noise below 0.

    Reference: Islam et al. 2025, Section 5.3. The authors' seeds are not known.
    """
    check_minimum_sizes(n=(n, 2), d=(d, 1))
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a number from 0; got {noise!r}")

    def normal(part: str) -> np.ndarray:
        return generator(seed, "gaussian_spots", part, n, d).standard_normal((n, d))

    reference = normal("spot")
    return SpotClouds(reference, reference + noise * normal("noise"), normal("lost"))


def uniform_spots(n: int, d: int, t: float, *, seed: int = 0) -> np.ndarray:
    """Return two uniform cubes of side 1 with n points per cube, the second moved by t, (2 n, d).

    The first cube is centred on the origin, the second on (1.1 + t, 0, ...). The cubes never touch,
    so moving the second cube changes no neighbourhood as long as all neighbours are in the same
    cube.

    Raises ``ValueError`` for n < 2, d < 1, or t below 0.

    Reference: Islam et al. 2025, Section 5.3 (n = 2500). The authors' seeds are not known.
    """
    check_minimum_sizes(n=(n, 2), d=(d, 1))
    if not 0 <= t < np.inf:
        raise ValueError(f"t must be a number from 0; got {t!r}")
    points = generator(seed, "uniform_spots", n, d).uniform(-0.5, 0.5, (2 * n, d))
    points[n:, 0] += CUBE_DISTANCE + t
    return points
