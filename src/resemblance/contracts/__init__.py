"""Functions of representations with declared properties."""
