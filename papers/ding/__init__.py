"""Ding et al. 2021, "Grounding Representation Similarity Through Statistical Testing"."""
