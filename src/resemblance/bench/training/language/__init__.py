"""Language models, trained on data of the package or on real data."""
