"""Small models that are trained on data of the package, one package for each domain."""
