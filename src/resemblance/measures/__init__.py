"""The measures, in files by family: all that these define, which the catalogue lists."""

from ..measure import Measure as _Measure
from .alignment import *
from .cca import *
from .covariances import *
from .matching import *
from .neighbour_alignment import *
from .neighbour_kernels import *
from .neighbour_lists import *
from .neighbours import *
from .outputs import *
from .regression import *
from .similarity_matrix import *
from .statistics import *
from .topology import *

__all__ = sorted(k for k, v in list(globals().items()) if isinstance(v, _Measure) and k == v.name)
