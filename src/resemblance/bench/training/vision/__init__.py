"""Vision models, trained and fine-tuned on data of the package."""
