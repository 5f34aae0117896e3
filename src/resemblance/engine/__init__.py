"""The engine: scores as columns and matrices, and the one file that keeps them."""
