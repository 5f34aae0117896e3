"""The measures, in one file per family, formulas first.

The catalogue lists every measure that a file here defines; ``leave_one_out`` holds the
leave-one-out values.
"""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..contracts._measure import Measure as _Measure

if _TYPE_CHECKING:
    from .alignment import *
    from .cca import *
    from .covariances import *
    from .descriptive import *
    from .distances import *
    from .kernel_alignment import *
    from .matching import *
    from .neighbor_kernels import *
    from .neighbor_lists import *
    from .neighbors import *
    from .outputs import *
    from .regression import *
    from .similarity_analysis import *
    from .stochastic_shapes import *
    from .topology import *

__all__: list[str] = []
for _file in _iter_modules(__path__):
    for _name, _value in vars(_import_module(f"{__name__}.{_file.name}")).items():
        if isinstance(_value, _Measure) and _value.name == _name:
            globals()[_name] = _value
            __all__.append(_name)
__all__ = sorted(set(__all__))
