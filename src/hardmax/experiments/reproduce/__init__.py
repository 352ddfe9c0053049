"""The figures and tables of the papers, drawn again beside ours: one module for each, a runner, a report."""
