"""What `hardmax doctor --warm-up` compiles."""

import pytest

from hardmax.attention import fused, search_tree
from hardmax.demo.warm_up import _examples, warm_up
from hardmax.dynamics.check import clear, comparison
from hardmax.jit.ways import COMPILED, Job, forced


@pytest.mark.slow
def test_the_examples_run_in_compiled_code():
    examples = dict(_examples())
    with forced(COMPILED):
        examples["small clouds"]()
        examples["large clouds in dimension 1"]()
        examples["large clouds in dimension 3"]()
    assert all(kernel.signatures for kernel in (clear.clear_margin, clear.look, clear.move, comparison.compare))
    assert fused.run_clouds.signatures
    assert search_tree._find.signatures


def test_every_step_is_told_and_afterwards_jobs_choose_again(monkeypatch):
    done, told = [], []
    steps = [("one thing", lambda: done.append(Job.forced)), ("another", lambda: done.append(Job.forced))]
    monkeypatch.setattr("hardmax.demo.warm_up._examples", lambda: iter(steps))
    warm_up(say=told.append)
    assert told == ["one thing", "another"]
    assert done == [COMPILED, COMPILED]
    assert Job.forced is None
    warm_up(say=told.append, only=("another",))
    assert told[2:] == ["another"]


def test_what_the_playground_compiles_has_examples():
    from hardmax.web.jobs import CLOUDS

    assert set(CLOUDS) <= {name for name, _ in _examples()}
