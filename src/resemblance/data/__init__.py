"""Arrays with names, ids and labels, and arrays that become representations."""
