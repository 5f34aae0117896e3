"""The parts of the page of a comparison: the finding in words, the first figures, and the rest."""
