"""Intermediates: what can be computed from one representation, or from a pair, and is shared by the
measures."""
