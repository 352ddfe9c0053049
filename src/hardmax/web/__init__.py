"""The playground: a server on this machine, the page it serves, links, self-contained pages and the notebook widget."""
