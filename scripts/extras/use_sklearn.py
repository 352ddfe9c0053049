"""The classifier inside scikit-learn's own cross-validation."""

from sklearn.model_selection import cross_val_score

import hardmax as hx

texts, labels = ["a good film", "a bad film"] * 20, [1, 0] * 20
assert cross_val_score(hx.HardmaxClassifier(), texts, labels, cv=2).min() == 1
