"""Leave-one-out forms: values of a measure without each sample, for about the cost of one value.

A file in this folder holds the forms of the measures in the file of the same name.
``alignment.py`` also holds the forms of NBS and Bures, because Procrustes builds on NBS and Bures.
A measure imports its form and declares the form as ``leave_one_out``. A form imports no measure.
"""
