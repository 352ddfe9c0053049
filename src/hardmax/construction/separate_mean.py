"""Stage 1, pool `mean`: one averaging layer gives every sequence a number of its own (lemma L2).

Let mu_1..mu_N be distinct measures on the line. There are K <= N-1 kinks b_k and weights omega_k > 0 such that
g(s) = s + sum_k omega_k relu(s - b_k) has distinct means z_j = int g dmu_j.
*Proof.* phi_j(b) = int relu(s - b) dmu_j has second derivative mu_j, so phi_i = phi_j only if mu_i = mu_j; the
difference is piecewise linear with kinks at tokens and 0 at +inf, so two different ones differ at some token b. Start
with the partition by the mean; while two sequences share a class add a b that separates them: the number of classes
grows, so N-1 kinks suffice. z_i = z_j is then at most a hyperplane in omega, and hyperplanes do not cover an orthant.
omega > 0 makes g increasing, hence injective: g is also the key of the single token.

With Q = K = 0 all scores are equal, so hardmax and softmax are the same map, the mean, at every temperature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from hardmax.cloud.ragged import Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import Problem
from hardmax.errors import ContradictoryTargets, IllConditioned
from hardmax.transformer.blocks import ROWS, AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.exact import EPS

# z closer than NEAR rounding bounds are not apart; a kink must move a pair by more than CLEAR bounds to be of use.
NEAR, CLEAR = 16.0, 64.0
KINKS_PER_ROUND = 8


@dataclass(frozen=True, eq=False)
class Separated:
    """What the rest of a construction builds on."""

    ff: FeedForwardLayer  # the first feed-forward layer; it writes g into coordinate 0
    g: Floats  # (T,) token keys as float64 computes them
    g_error: Floats  # (T,) a bound on their distance from the real number
    z: Floats  # (N,) identifiers as float64 computes them
    z_error: Floats  # (N,) a bound on their distance from the real number
    labels: Ints  # (N,) `problem.labels` after sequences with the same measure were merged

    def front(self, dim: int, rho: float = 1.0, A: float = 1.0, into: int = 0) -> list[Block]:
        """Blocks after which a token is rho g e0 + A z e_into: SA with Q = K = 0, V = A e_into e0^T."""
        return [Block(self.ff, AttentionLayer.of(dim, rho, {(into, 0): A}), "separate")]

    def temperature(self, stack: Sequence[Block], room: float, longest: int) -> float:
        """The highest temperature at which softmax attention is proved to give the same answers: any for Q = K = 0."""
        return float(np.inf)


def separate_by_mean(problem: Problem, u: Floats, rng: np.random.Generator) -> Separated:
    """Find g and z for the direction u.

    Raises:
        ContradictoryTargets: equal measures with different targets [N1].
        IllConditioned: two sequences are closer along u than float64 resolves.
    """
    batch = problem.batch
    axes = np.flatnonzero(u)
    dot, size = project(batch.values, u, axes)
    shift = 0.125 - float(dot.min())  # s + shift >= 1/8: the first unit is active at every token
    kinks: list[float] = []
    weights: list[float] = []
    labels = problem.labels.copy()
    g = np.maximum(dot + shift, 0.0)
    while True:
        biases = np.array([shift, *(shift - b for b in kinks)])
        g_error = key_error(size, biases, weights, len(axes))
        z = batch.mean_in_order(g)
        mean_error = batch.reduce(np.add, g_error) / batch.lengths
        z_error = (mean_error + (batch.lengths + 6) * EPS * z) * 1.01  # g > 0, so mean |g| = z
        pairs, merged = _unresolved(problem, labels, z, z_error)
        if not len(pairs) and not merged:
            break
        for i, j in pairs[:: max(1, len(pairs) // KINKS_PER_ROUND)][:KINKS_PER_ROUND]:
            kinks.append(_separating_kink(batch, dot + shift, int(i), int(j), float(max(z_error[i], z_error[j]))))
            weights.append(float(rng.uniform(0.5, 2.0)))
            g = g + np.maximum(dot + (shift - kinks[-1]), 0.0) * weights[-1]
    ff = FeedForwardLayer(
        np.tile(u[axes], (len(biases), 1)), biases, np.array([[1.0, *weights]]), axes, np.array([0]), 0.0
    )
    return Separated(ff, g, g_error, z, z_error, labels)


def project(tokens: Floats, u: Floats, axes: Ints) -> tuple[Floats, Floats]:
    """<u, x> in the order in which the layer adds, and sum |u||x| for its rounding bound."""
    dot, size = np.empty(len(tokens)), np.empty(len(tokens))
    for start in range(0, len(tokens), ROWS):
        part = slice(start, start + ROWS)
        dot[part] = tokens[part, axes[0]] * u[axes[0]]
        size[part] = np.abs(dot[part])
        for k in axes[1:]:
            term = tokens[part, k] * u[k]
            dot[part] += term
            size[part] += np.abs(term, out=term)
    return dot, size


def key_error(size: Floats, biases: Floats, weights: list[float], axes: int) -> Floats:
    """A bound on the rounding of g that holds for any order of summation."""
    factor = (axes + 2 * len(weights) + 6) * EPS * (1 + sum(weights)) * 1.01
    return (size + np.abs(biases).max()) * factor


def _unresolved(problem: Problem, labels: Ints, z: Floats, z_error: Floats) -> tuple[Ints, bool]:
    """Neighbors along z that must be told apart and are not; merges those that cannot and need not be separated.

    Looking at neighbors is enough: if every change of label along z is a clear gap, all runs are apart.
    """
    order = np.argsort(z, kind="stable")
    i, j = order[:-1], order[1:]
    near = (z[j] - z[i] <= NEAR * np.maximum(z_error[i], z_error[j])) & (labels[i] != labels[j])
    open_pairs, merged = [], False
    for a, b in zip(i[near].tolist(), j[near].tolist(), strict=True):
        if labels[a] == labels[b]:
            continue  # merged a moment ago
        if measure(problem.batch, a) != measure(problem.batch, b):
            open_pairs.append((a, b))
        elif problem.target_set(a) == problem.target_set(b):
            labels[labels == labels[b]] = labels[a]
            merged = True
        else:
            raise contradiction(problem, a, b)
    return np.array(open_pairs, dtype=np.int64).reshape(-1, 2), merged


def measure(batch: Sequences, j: int) -> tuple[bytes, tuple[int, ...]]:
    """The empirical measure of a sequence: its distinct tokens and their multiplicities over the common divisor."""
    tokens = np.ascontiguousarray(batch[j])
    rows, counts = np.unique(tokens.view(np.dtype((np.void, tokens.shape[1] * 8))).ravel(), return_counts=True)
    common = gcd(*counts.tolist())
    return rows.tobytes(), tuple((counts // common).tolist())


def contradiction(problem: Problem, a: int, b: int) -> ContradictoryTargets:
    """The error for two sequences with one measure and two targets [N1]."""
    a, b = sorted((a, b))
    shown = ""
    if problem.classes is not None:
        labels = [problem.classes[problem.wanted[j][0]] for j in (a, b)]
        shown = f" ({labels[0]!r} and {labels[1]!r})"
    return ContradictoryTargets(
        f"sequences {a} and {b} hold the same tokens in the same proportions but have different targets{shown}; "
        "no transformer without positions can separate them",
        fix="correct one of the targets, or add positional vectors to the tokens",
        sequences=(a, b),
    )


def _separating_kink(batch: Sequences, s: Floats, i: int, j: int, error: float) -> float:
    """The token b at which phi_i and phi_j differ most."""
    mine = [np.sort(s[batch.offsets[k] : batch.offsets[k + 1]]) for k in (i, j)]
    candidates = np.concatenate(mine)
    difference = np.abs(_phi(mine[0], candidates) - _phi(mine[1], candidates))
    best = int(np.argmax(difference))
    if difference[best] <= CLEAR * error:
        a, b = sorted((i, j))
        raise IllConditioned(
            f"sequences {a} and {b} are closer than float64 resolves",
            found=f"their identifiers differ by at most {difference[best]:.3g}; "
            f"more than {CLEAR * error:.3g} is needed, {CLEAR:.0f} times the rounding error",
            fix="round the tokens so that equal ones are equal, or rescale them; merge the two if they are one",
        )
    return float(candidates[best])


def _phi(s: Floats, b: Floats) -> Floats:
    """phi(b) = mean relu(s - b), for s ascending."""
    above = np.searchsorted(s, b, side="right")
    tail = np.concatenate([np.cumsum(s[::-1])[::-1], [0.0]])
    return (tail[above] - b * (len(s) - above)) / len(s)
