"""Leave-one-out forms: the values of measures without each sample, at about the cost of one value.

A file here has the forms of the measures in the file of the same name; ``alignment.py`` also has
those of NBS and Bures, on which Procrustes builds. A measure imports its form and declares it as
``leave_one_out``. A form imports no measure.
"""
