"""Graph neural networks, trained and fine-tuned on data of the package."""
