"""Models and samples by one word: a folder, a name of a hub, a file, or an object of Python."""

from .loading import LoadedModel, load_model
from .modules import block_names
from .sample_sources import first_batch, load_samples
from .samples import Samples

__all__ = ["LoadedModel", "Samples", "block_names", "first_batch", "load_model", "load_samples"]
