"""Pages: one shell, templates and style sheets; explanations, results and reports."""
