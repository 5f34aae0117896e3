"""Values of measures for many pairs together, with nothing of shape (n, n) in memory.

Each function here is the claim ``all_pairs`` of some measures: a function of the representations of
the rows, those of the columns, and the parameters. It visits small rectangles of the matrices of
all pairs of samples. Of each rectangle it computes the entries once for every representation, and
then what every pair needs of them, so besides numbers for each sample it takes a rectangle per
representation, for any number of samples. Fixed tables come on top: up to 268 MB each for the bins
of Kendall's correlation, and for the Lanczos vectors of spectral norms.
"""
