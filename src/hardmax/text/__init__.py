"""From text to numbers: words and their positions, n-grams, vocabularies, and data sets of labeled texts."""
