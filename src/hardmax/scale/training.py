"""One run of a sweep over training settings: train on some texts, measure on others."""

from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from hardmax.errors import BadInput

COLUMNS = ("accuracy", "log_loss", "leaders", "parameters", "training_seconds")
HELD_OUT = 0.2  # of the data, if no test file is given
Rows = dict[str, list[Any]]


@lru_cache(maxsize=2)
def _texts(data: str) -> tuple[list[str], list[Any]]:
    from hardmax.text.datasets import read

    found = read(data)
    if found.labels is None:
        raise BadInput(f"{data} has no labels")
    return list(found.texts), list(found.labels)


def run_training(settings: dict[str, Any], seeds: range) -> Rows:
    """Columns of the runs of one point; errors are recorded."""
    rows: Rows = {name: [] for name in (*COLUMNS, "error")}
    for seed in seeds:
        try:
            row = _one(settings, seed)
        except Exception as error:  # a run that fails must not end the others
            row = {"error": f"{type(error).__name__}: {error}"}
        for name, column in rows.items():
            column.append(row.get(name))
    return rows


def _one(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    from hardmax.sentiment.estimator import HardmaxClassifier

    texts, labels = _texts(settings["data"])
    if settings["test"] is not None:
        tests, answers = _texts(settings["test"])
    else:
        order = np.random.default_rng(0).permutation(len(texts)).tolist()  # the same split for every run
        cut = round(HELD_OUT * len(texts))
        tests, answers = [texts[i] for i in order[:cut]], [labels[i] for i in order[:cut]]
        texts, labels = [texts[i] for i in order[cut:]], [labels[i] for i in order[cut:]]
    if settings["texts"] is not None:
        texts, labels = texts[: settings["texts"]], labels[: settings["texts"]]
    names = ("dim", "layers", "min_df", "alpha", "epochs", "batch_size", "learning_rate", "dropout")
    given = {name: settings[name] for name in names if settings[name] is not None}
    if settings["ngrams"] is not None:
        given["ngram_range"] = (1, settings["ngrams"])
    began = perf_counter()
    clf = HardmaxClassifier(**given, random_state=seed).fit(texts, labels)
    seconds = perf_counter() - began
    sure = clf.predict_proba(tests)
    place = {label: k for k, label in enumerate(clf.classes_.tolist())}
    right = np.array([place[a] for a in answers])
    model = clf.model_
    leaders = model.run(model.vocabulary.bags(tests))[1]
    return {
        "accuracy": float((sure.argmax(axis=1) == right).mean()),
        "log_loss": float(-np.log(np.maximum(sure[np.arange(len(right)), right], 1e-300)).mean()),
        "leaders": float(leaders.mean()),
        "parameters": model.parameters,
        "training_seconds": seconds,
    }
