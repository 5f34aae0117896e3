"""Leave-one-out forms: the values of measures without each sample, at about the cost of one value.

A file here has the forms of the measures in the file of the same name. The measures import them
and declare them as ``leave_one_out``; a form imports no measure.
"""
