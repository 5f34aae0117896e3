"""Load models and samples: from a folder, by a name in a hub, from a file, or from a Python
object."""

from .loading import LoadedModel, load_model
from .modules import block_names
from .sample_sources import first_batch, load_samples
from .samples import Samples

__all__ = ["LoadedModel", "Samples", "block_names", "first_batch", "load_model", "load_samples"]
