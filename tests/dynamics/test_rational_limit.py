"""The certified limit in rational arithmetic: systems solved by hand, and the layers themselves as judge."""

from fractions import Fraction

import pytest

from hardmax.dynamics.rational import limit_exact
from systems import SYSTEMS

SQUARE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
HALF = Fraction(1, 2)


def rows(array):
    return tuple(map(tuple, array))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_hand_solved_systems_come_out_right(system):
    eq = limit_exact(system.tokens, system.alpha, system.A)
    assert rows(eq.points) == system.limits
    assert eq.leader_since == system.leaders
    assert tuple(eq.kind[c] for c in eq.cluster) == system.kinds
    assert eq.layers == system.layer
    assert rows(eq.centers[eq.cluster]) == system.limits
    assert len(set(rows(eq.centers))) == len(eq.centers) == len(eq.kind)
    assert eq.exact
    assert eq.margin > 0
