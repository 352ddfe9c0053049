"""Parts that are held out."""

from itertools import product

import numpy as np

from hardmax.text.held_out import at_random, by_blocks


def test_blocks_keep_neighbors_together():
    labels = np.array([0] * 1000 + [1] * 1000)
    learn, aside = by_blocks(labels, part=0.1, blocks=10)
    assert len(aside) == 200
    assert set(learn) | set(aside) == set(range(2000))
    assert np.count_nonzero(np.diff(aside) > 1) == 19
    assert labels[aside].mean() == 0.5


def test_small_classes_are_held_out_in_the_same_part_as_large_ones():
    for count, part in product((1, 2, 10, 15, 40, 55, 64, 123), (0.1, 0.5, 0.9)):
        learn, aside = by_blocks([0] * count + [1] * count, part)
        assert len(aside) == 2 * round(count * part)
        assert len(learn) + len(aside) == 2 * count
    learn, aside = by_blocks([0] * 4 + [1] * 40, part=0.1)
    assert aside.min() >= 4  # a class of four texts has none to spare


def test_the_random_split_is_seventy_to_thirty_and_repeats():
    learn, aside = at_random(50_000, seed=3)
    assert (len(learn), len(aside)) == (35_000, 15_000)
    assert not set(learn) & set(aside)
    assert (at_random(50_000, seed=3)[1] == aside).all()
