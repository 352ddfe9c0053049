"""The same blocks in other frameworks."""
