"""Pictures and movies of explanations."""

import pytest
from PIL import Image

from hardmax.sentiment.explain import explain
from tiny_models import HOSTILE, three_classes, two_classes


@pytest.mark.parametrize("name", ["script", "emoji", "surrogate", "empty", "dollar", "wide"])
def test_hostile_texts_give_pictures(name, tmp_path):
    with Image.open(explain(two_classes(), HOSTILE[name]).save(tmp_path / "x.png")) as picture:
        assert picture.width > picture.height > 300


def test_a_movie_has_all_layers_and_the_same_bytes(tmp_path):
    ex = explain(two_classes(layers=2), "great film, dull plot")
    path = ex.save(tmp_path / "x.gif")
    with Image.open(path) as film:
        assert film.n_frames == 2 * 4 + 1
    first = path.read_bytes()
    assert ex.save(path).read_bytes() == first


@pytest.mark.slow
@pytest.mark.parametrize("model", [two_classes(layers=0), two_classes(dim=1), two_classes(dim=4), three_classes()])
def test_any_model_can_be_drawn(model, tmp_path):
    ex = explain(model, "great film, dull plot")
    assert ex.save(tmp_path / "x.png").stat().st_size > 5000
    assert ex.save(tmp_path / "x.gif").stat().st_size > 3000
