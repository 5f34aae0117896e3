"""Language models of the ReSi paper on SST-2 and MNLI."""
