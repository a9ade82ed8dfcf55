"""The report as objects. Their fields are the keys of the published JSON, in its order.

`tiebreak.report.schema` makes a JSON schema of these classes, with their docstrings as descriptions. A
field that is None has no key. A number that is NaN is written as null.
"""
