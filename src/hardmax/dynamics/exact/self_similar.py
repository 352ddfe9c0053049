"""Runs that repeat themselves in another size: after p layers the cloud is a linear image of itself.

**Lemma.** Let z_i^{k+p} = T z_i^k for all tokens i, where T^T A_h T = c_h A_h with c_h > 0 for every head h. Then
z_i^{k+mp+s} = T^m z_i^{k+s} for all m, s >= 0, and the follow sets repeat every p layers forever.
*Proof.* <A_h T x, T y> = <T^T A_h T x, y> = c_h <A_h x, y>: a cloud and its image under T have the same follow sets. A
layer replaces every token by the same linear combination of followed tokens in both, and T is linear, so the next
layers are images under T as well. By induction so are all later ones. ∎

The fate of the tokens then depends on the powers of T. If T^m -> 0, for which one power with Frobenius norm
below 1 is enough, all tokens go to 0. If T^T f = f, then <f, z_i^{k+mp+s}> = <f, z_i^{k+s}> for all m: a token for
which this number differs between two layers s < p **never converges**, although T may shrink all other directions and
there need not be any tie.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hardmax.dynamics.exact.linear import Objects, identity, reduced
from hardmax.dynamics.exact.numbers import IntegerCloud
from hardmax.dynamics.trajectory import Outcome

LONGEST = 24  # layers that are compared; a relabeling of the tokens is undone by repeating it
POWERS = 8  # T^2, T^4, ..., T^256 are tried for a norm below 1


def self_similar(states: Sequence[IntegerCloud], heads: Sequence[Objects | None]) -> Outcome | None:
    """The run Z^0..Z^K as a self-similar one, judged from its second half; None if that is not found.

    Args:
        heads: the matrices A_h up to positive factors; None is the identity.

    Example:
        >>> from hardmax.dynamics.exact.layers import simulate_exact
        >>> square, turn = [(1, 1), (-1, 1), (-1, -1), (1, -1)], [[0, -1], [1, 0]]
        >>> simulate_exact(square, 1, turn, 4, definite=False).outcome.kind
        'self-similar'
    """
    longest = min(LONGEST, (len(states) - 1) // 2)
    if longest < 1:
        return None
    base = len(states) - 1 - longest
    clouds = [state.fractions() for state in states[base:]]
    # Tokens of the base are combinations x B of independent ones, B; layers keep to their span. T acts as x -> x S.
    form, chosen = reduced(clouds[0].T)
    combine = form.T
    metrics = [identity(clouds[0].shape[1]) if A is None else A for A in heads]
    for p in range(1, longest + 1):
        image = clouds[p][chosen]
        if (clouds[p] != combine @ image).any():
            continue
        if not all(_proportional(image @ A @ image.T, clouds[0][chosen] @ A @ clouds[0][chosen].T) for A in metrics):
            continue
        places = [_coordinates(cloud, clouds[0][chosen]) for cloud in clouds[: p + 1]]
        return Outcome("self-similar", p, base, _fate(places, places[p][chosen]))
    return None


def _fate(places: Sequence[Objects], S: Objects) -> str:
    """The fate of the tokens under the powers of T, here x -> x S."""
    p = len(places) - 1
    layers = f"every {p} layers" if p > 1 else "every layer"
    opening = f"{layers} the cloud is a linear image of itself that keeps all follow sets"
    power = S
    for _ in range(POWERS):
        if sum(x * x for x in power.flat) < 1:
            return f"{opening}; it shrinks to 0"
        power = power @ power
    form, pivots = reduced(S - identity(len(S)))
    free = [j for j in range(len(S)) if j not in pivots]
    fixed = np.zeros((len(S), len(free)), dtype=object)  # columns f with S f = f
    for column, j in enumerate(free):
        fixed[j, column] = Fraction(1)
        for row, pivot in enumerate(pivots):
            fixed[pivot, column] = -form[row, j]
    away = [((place - places[0]) @ fixed != 0).any(axis=1) for place in places[:p]]
    never = np.flatnonzero(np.any(away, axis=0)).tolist()
    if not never:
        return f"{opening}; whether all tokens converge is not decided"
    tokens = f"token{'s' * (len(never) > 1)} {', '.join(map(str, never))}"
    return f"{opening}; {tokens} never converge{'s' * (len(never) == 1)}"


def _proportional(one: Objects, other: Objects) -> bool:
    """Whether one = c other with c > 0."""
    place = next((place for place, x in np.ndenumerate(other) if x), None)
    if place is None:
        return not (one != 0).any()
    c = one[place] / other[place]
    return bool(c > 0 and (one == c * other).all())


def _coordinates(cloud: Objects, B: Objects) -> Objects:
    """x with x B = cloud, for independent rows B whose span holds the cloud."""
    form, _ = reduced(np.concatenate([B.T, cloud.T], axis=1))
    return form[: len(B), len(B) :].T
