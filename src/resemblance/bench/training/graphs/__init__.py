"""Graph neural networks, trained on data of the package or on real data."""
