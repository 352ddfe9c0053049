"""The claims of the papers, one module each: a statement, a generator of cases, a check.

A claim module has STATEMENT, CITATION, KINDS, TRIALS, FIELDS, `generate(rng, kind) -> Case` and
`check(case) -> None or a sentence`. What is checked comes from the package; what it is checked against (`definition`,
`hull`, `blocks`) is written here a second time, from the definition, and shares no code with the package.
"""
