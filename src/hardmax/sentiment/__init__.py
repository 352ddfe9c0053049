"""The text classifier: model, layers, training, the estimator, explanations and the shipped models."""
