"""What is exported, and torch on one thread: its own number of threads comes back afterwards."""

import pytest
import torch

from hardmax.transformer.export import one_thread


def _fail_inside():
    with one_thread(torch):
        assert torch.get_num_threads() == 1
        raise KeyError("inside")


def test_threads_come_back_even_after_an_error():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError):
            _fail_inside()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
