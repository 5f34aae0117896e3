"""Tools that know nothing of representations."""
