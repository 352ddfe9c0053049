"""Text becomes numbers: words with their places, n-grams, a vocabulary; and the data sets to learn from."""
