"""The figures and tables of the papers beside ours: `hardmax reproduce` makes them and writes a report."""
