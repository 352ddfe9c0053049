"""One module per figure, table or claim of the papers; each has a `run` that writes its files into a folder."""
