"""Two ways to read reviews: as the paper does, and as rows of known words; and which reviews are drawn."""

import numpy as np
import pytest

from corpus import reviews as made_up
from hardmax.errors import BadInput
from hardmax.experiments.reviews import LENGTH, PADDING, Rows, draw_reviews, log_odds, paper_words, prepare


@pytest.fixture(scope="module")
def reviews():
    texts, labels = made_up(120, seed=4)
    return prepare(texts, [int(label == "pos") for label in labels])


def test_words_are_read_as_the_paper_reads_them():
    assert paper_words("Not good, <br /><br />not GOOD at all; it's 10/10", {"not", "at", "all"}) == [
        "Not", "good", "GOOD", "it's",
    ]  # fmt: skip
    assert len(paper_words("word " * 500, set())) == LENGTH
    assert paper_words("<script>alert</script> a < b", set()) == ["alert", "a", "b"]


def test_a_review_is_its_first_words_and_padding_up_to_128(reviews):
    assert reviews.words[0] == PADDING
    for t in range(len(reviews.labels)):
        here = slice(reviews.offsets[t], reviews.offsets[t + 1])
        assert reviews.counts[here].sum() == LENGTH
        assert len(set(reviews.ids[here].tolist())) == here.stop - here.start
    assert reviews.truncated == 0
    long = prepare(["good film " * 200] * 10, [0, 1] * 5)
    assert long.truncated == 1
    assert long.ids.tolist() == [1, 2] * 10 or long.ids.tolist() == [2, 1] * 10


def test_the_split_is_70_to_30_and_covers_everything(reviews):
    assert (len(reviews.learn), len(reviews.aside)) == (84, 36)
    assert sorted([*reviews.learn, *reviews.aside]) == list(range(120))
    part = prepare(reviews.texts, reviews.labels, most=50)
    assert len(part.texts) == 50
    assert set(part.texts) <= set(reviews.texts)


def test_too_few_texts_and_other_labels_are_refused():
    with pytest.raises(BadInput, match="3 texts"):
        prepare(["a", "b", "c"], [0, 1, 0])
    with pytest.raises(BadInput, match="label 0 or 1"):
        prepare(["a"] * 12, [0, 1, 2] * 4)


def test_log_odds_are_counted_by_hand():
    got = log_odds(Rows(np.array([[0, 1], [1, -1]]), np.array([0, 1])), 2, smoothing=1.0)
    assert got[1].tolist() == [1, 2]
    expected = [np.log((0 + 1) / 3) - np.log((1 + 1) / 4), np.log((1 + 1) / 3) - np.log((1 + 1) / 4)]
    assert np.allclose(got[0], expected)


def test_reviews_held_out_are_the_same_for_all_seeds_and_never_learned_from():
    labels = np.repeat([0, 1], 100)
    draws = [draw_reviews(labels, 50, 12, seed) for seed in (0, (0, 1))]
    for learn, aside in draws:
        assert (len(learn), len(aside)) == (50, 12)
        assert not set(learn) & set(aside)
        np.testing.assert_array_equal(aside, draws[0][1])
    assert draws[0][0].tolist() != draws[1][0].tolist()
