"""Islam et al. 2025, "Manifold Approximation leads to Robust Kernel Alignment"."""
