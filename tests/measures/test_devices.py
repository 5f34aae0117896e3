"""What measures copy from a device to the host: each is watched while it computes on tensors."""

from __future__ import annotations

import devices
import pytest

import resemblance as rs

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

LISTS = [
    "jaccard", "rank_similarity", "second_order_cosine", "mutual_knn", "cycle_knn", "lcs_knn",
    "edit_distance_knn", "cknna", "information_imbalance", "mka", "kcka", "imd",
]  # fmt: skip
# Of all others nothing leaves but numbers.
LEAVES = {
    **dict.fromkeys(LISTS, "lists of neighbours"),
    "hard_correlation_match": "a matrix of features by features",
    "hard_correlation_match[matching=greedy]": "a matrix of features by features",
    "permutation_procrustes": "a matrix of features by features",
    "soft_matching": "a matrix of features by features",
    "rtd": "the samples drawn",
    "rtd_lite": "the samples drawn",
    "mmd": "the array",
    "energy_stochastic_shape": "the array",
    "gaussian_stochastic_shape": "the array",
    "jaccard[search=hnsw]": "the array",
    "cka[kernel=rbf]": "a matrix of samples by samples",
    "rsa[compare=kendall]": "a matrix of samples by samples",
    "rsm_norm_difference[norm=spectral]": "a matrix of samples by samples",
}


def test_what_leaves_the_device(subtests):
    for measure in [*rs.list_measures(), *devices.variants()]:
        with subtests.test(str(measure)):
            assert devices.largest_that_leaves(measure) == LEAVES.get(measure.spec, "numbers")


def test_the_table_in_the_documentation_is_this():
    assert devices.TABLE.read_text() == devices.table()


def test_all_that_is_said_to_leave_is_of_a_measure():
    assert LEAVES.keys() <= {m.spec for m in (*rs.list_measures(), *devices.variants())}
