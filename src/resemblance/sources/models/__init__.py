"""Models and samples by one word: a folder, a name of a hub, a file, or an object of Python."""

from ..blocks import block_names
from .loading import LoadedModel, load_model
from .samples import Samples, load_samples

__all__ = ["LoadedModel", "Samples", "block_names", "load_model", "load_samples"]
