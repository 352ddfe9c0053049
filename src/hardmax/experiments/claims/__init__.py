"""The claims of the papers: statements with a generator of cases and a check, in a few modules by subject.

What is checked comes from the package; what it is checked against (`definition`) is written here a second time, from
the definition, and shares no code with the package.
"""
