"""Sensitivity and specificity: does a measure respond to changes that affect function, and to
nothing else? The tests of Ding et al. 2021.

Operators change a representation by a known amount. Probes measure the lost functionality. Rank
correlations compare measured distances with differences in functionality, with intervals and
p-values.
"""

from resemblance.significance import attainable, bootstrap_counts, exchanges

from .operators import Deletion, Depth, delete_principal_components, deletions, depth, normalize
from .probing import probe
from .procedure import Agreement, agreement, one_sided, reference_of
from .resampling import Resampled, bootstrap, permutation_test

__all__ = [
    "Agreement",
    "Deletion",
    "Depth",
    "Resampled",
    "agreement",
    "attainable",
    "bootstrap",
    "bootstrap_counts",
    "delete_principal_components",
    "deletions",
    "depth",
    "exchanges",
    "normalize",
    "one_sided",
    "permutation_test",
    "probe",
    "reference_of",
]
