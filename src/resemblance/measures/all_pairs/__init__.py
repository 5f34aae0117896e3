"""Many pairs of representations computed together."""
