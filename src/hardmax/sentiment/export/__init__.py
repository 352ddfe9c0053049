"""Models in other languages and formats, with the same numbers."""
