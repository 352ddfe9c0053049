"""Compile everything once, so that no later command or call has to wait for it."""

from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any

import numpy as np

from hardmax.jit.ways import COMPILED, forced


def warm_up(say: Callable[[str], None] = print, only: Container[str] | None = None) -> None:
    """Run small examples through all compiled code, which Numba stores on disk.

    Args:
        say: called with the name of each example before it runs.
        only: the names of the examples to run; None: all.

    Example:
        >>> warm_up(say=lambda what: None)  # doctest: +SKIP
    """
    with forced(COMPILED):
        for what, run in _examples():
            if only is None or what in only:
                say(what)
                run()


def _examples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is compiled, and a call that needs it."""
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.simulate import simulate

    few = np.random.default_rng(0).standard_normal((40, 2))
    yield "small clouds", lambda: (simulate(few, layers=3), limit([few, few[:5]]), limit(few).certificate.verify(few))
    for dim in (1, 2, 3, 8):
        yield f"large clouds in dimension {dim}", partial(_large, dim)
    yield "texts", _texts


def _large(dim: int) -> None:
    """Clouds without ties and with."""
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.simulate import simulate

    cloud = np.random.default_rng(0).standard_normal((6000, dim))
    limit(cloud)
    simulate(np.round(cloud, 2 if dim == 2 else 1), layers=1)
    if dim == 3:
        tied = np.round(cloud, 1)
        limit(tied).certificate.verify(tied)


def _texts() -> None:
    """Train a tiny classifier, label some texts and explain one."""
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.sentiment.layers_numpy import Compiled

    texts = ["a good film", "a great and good play", "a bad film", "a poor and bad play"] * 5
    classifier = HardmaxClassifier(dim=2, layers=2, min_df=1, epochs=1).fit(texts, [1, 1, 0, 0] * 5)
    before, Compiled.ready = Compiled.ready, True
    try:
        classifier.predict(texts)
        classifier.explain(texts[0])
    finally:
        Compiled.ready = before
