"""Work in parts covers everything once."""

import pytest

from hardmax.jit import threads as search_threads


@pytest.mark.parametrize("count", [0, 1, 7, 64, 1001])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_parts_cover_every_item_once(count, workers, monkeypatch):
    monkeypatch.setattr(search_threads, "threads", lambda: workers)
    seen, starts = [], []

    def kernel(start, stop):
        seen.extend(range(start, stop))
        starts.append(start)

    search_threads.over_parts(kernel, count, work=1e9, multiple=4)
    assert sorted(seen) == list(range(count))
    assert all(start % 4 == 0 for start in starts)


def test_an_error_in_a_part_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(search_threads, "threads", lambda: 2)

    def kernel(start, stop):
        raise ArithmeticError(f"{start} {stop}")

    with pytest.raises(ArithmeticError):
        search_threads.over_parts(kernel, 100, work=1e9)
