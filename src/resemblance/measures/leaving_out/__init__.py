"""Values of measures without each sample, all of them at the cost of a few values.

Each function here is the claim ``left_out`` of some measures: a function of what they are functions
of, which returns the (n,) values that the measure has on the other n - 1 samples, in float64. Where
the measure centres its rows :math:`p_j`, a = n / (n - 1): centring what is left of them once more
adds :math:`p_i / (n - 1)` to each, so sums of products of rows lose :math:`a\\, p_i q_i^\\top`.
Values of Spearman's RSA and of CKA with a kernel of the distance are approximations.

Where there is no value without some sample, and where subtraction would leave too few digits of it,
``Undefined`` is raised: recompute the values, or leave out groups of samples.
"""
