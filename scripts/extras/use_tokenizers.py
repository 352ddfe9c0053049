"""A classifier on the words of a Hugging Face tokenizer."""

from tokenizers import Tokenizer, models, pre_tokenizers

import hardmax as hx

tokenizer = Tokenizer(models.WordLevel({"good": 0, "bad": 1, "film": 2, "?": 3}, unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.save("tokenizer.json")
model = hx.HardmaxClassifier(tokenizer="tokenizer.json").fit(["good film", "bad film"] * 20, [1, 0] * 20)
assert list(model.predict(["good", "bad"])) == [1, 0]
