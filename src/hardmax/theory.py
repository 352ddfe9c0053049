"""Laws of hardmax attention in numbers: how many tokens of a random cloud lead, exactly and for many tokens.

A token z_i of a cloud leads at layer 0 if <A z_i, z_j> < <A z_i, z_i> for all j != i. Let the n tokens be independent
with one distribution. Given z_i, the other n - 1 scores are independent, so that the expected number of leaders is
n E[F(z)^{n-1}], F(z) = P(<A z, y> < <A z, z>) for one further token y. For normal tokens F is explicit, and:

* **Law 1.** Standard normal tokens, A = I: n E[Phi(chi_d)^{n-1}] = c_d E[max(M_n, 0)^{d-1}], where M_n is the largest
  of n standard normal numbers and c_d = sqrt(2 pi) 2^{1-d/2} / Gamma(d/2): 2, sqrt(2 pi), 2 for d = 1, 2, 3. For many
  tokens this is (2 sqrt(pi) / Gamma(d/2)) (ln n)^{(d-1)/2} (1 + o(1)).
* **Law 2.** Tokens with covariance S and any matrix A: the pair enters only through H = S^{1/2} A S^{1/2}, as
  n E[Phi(<H g, g> / |H g|)^{n-1}] with g standard normal. <H g, g> <= |H g| |g|: no matrix gives more leaders than
  A = S^{-1}, for which the number is that of Law 1.
* **Law 3.** Uniform in a ball: n E[F(R)^{n-1}] with R^d uniform and F the distribution of one coordinate, of order
  n^{(d-1)/(d+1)}. On a sphere every token leads.

Proofs are in docs/paper.md, section 3.

Example:
    >>> import hardmax as hx
    >>> round(hx.theory.expected_leaders(50, 2), 3)
    5.638
"""

from functools import partial
from math import acos, exp, expm1, gamma, inf, lgamma, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, whole

__all__ = ["expected_leaders", "leader_asymptotics", "leader_variance"]

Floats = NDArray[np.float64]
CLOUDS = ("normal", "ball", "sphere")
MOST = 10**100  # tokens: the quadrature is right up to there
ACCURACY = 1e-3  # of a variance, as two quadratures tell
DIRECTIONS = 1 << 13  # quasi-random directions where A and S leave no formula in one dimension


def expected_leaders(n: int, d: int, *, cloud: str = "normal", A: Any = None, covariance: Any = None) -> float:
    """The expected number of leaders at layer 0 of n independent tokens in dimension d.

    Args:
        cloud: "normal", or uniform in the unit "ball" or on the unit "sphere" (A = I).
        A: the matrix of the scores, any real matrix; None is the identity. Normal tokens only.
        covariance: of normal tokens; None is the identity.

    Returns:
        n E[Phi(chi_d)^{n-1}] and its relatives, see the top of the module, by quadrature to about ten digits; with A or
        a covariance in dimension 3 and more to about three digits (a mean over quasi-random directions).

    Raises:
        BadInput: n or d is below 1, the cloud is unknown, or a matrix cannot be used.

    Example:
        >>> round(expected_leaders(100, 5), 2), expected_leaders(7, 3, cloud="sphere")
        (31.43, 7.0)
        >>> round(expected_leaders(100, 2, A=[[4, 0], [0, 1]]) / expected_leaders(100, 2), 3)
        0.615
    """
    n, d = _check(n, d, cloud, A is not None or covariance is not None)
    if cloud == "sphere":
        return float(n)
    if cloud == "ball":
        return n * d * _one_dimensional(partial(_log_in_ball, n - 1, d), 0, _reach_in_ball(n - 1, d))
    if A is None and covariance is None:
        return n * _chi_mean(n - 1, d, 1.0)
    H = _reduced(d, A, covariance)
    slopes = np.einsum("ki,ki->k", U := _directions(d), V := U @ H.T) / np.linalg.norm(V, axis=1)
    grid = np.linspace(slopes.min(), slopes.max(), 65)
    values = np.array([_chi_mean(n - 1, d, c) for c in grid])
    return n * float(np.interp(slopes, grid, values).mean())


def leader_asymptotics(n: int, d: int, *, cloud: str = "normal") -> float:
    """The leading term of `expected_leaders` for many tokens: the ratio of the two tends to 1.

    (2 sqrt(pi) / Gamma(d/2)) (ln n)^{(d-1)/2} for normal tokens, d Gamma((d+3)/(d+1)) C^{-2/(d+1)} n^{(d-1)/(d+1)} in
    the ball, C = 2^{(d+1)/2} / ((d+1) B(1/2, (d+1)/2)).

    Example:
        >>> round(leader_asymptotics(10**6, 2) / expected_leaders(10**6, 2), 2)
        1.08
    """
    n, d = _check(n, d, cloud, False)
    if cloud == "sphere":
        return float(n)
    if cloud == "ball":
        beta = exp(lgamma(0.5) + lgamma((d + 1) / 2) - lgamma(d / 2 + 1))
        C = 2 ** ((d + 1) / 2) / ((d + 1) * beta)
        return d * gamma((d + 3) / (d + 1)) * C ** (-2 / (d + 1)) * float(n) ** ((d - 1) / (d + 1))
    if d > 343:  # Gamma(d/2) is beyond the range of float64
        return exp(log(2 * sqrt(pi)) - lgamma(d / 2) + (d - 1) / 2 * log(log(n))) if n > 1 else 0.0
    return 2 * sqrt(pi) / gamma(d / 2) * log(n) ** ((d - 1) / 2)


def leader_variance(n: int, d: int) -> float:
    """The variance of the number of leaders at layer 0 of n standard normal tokens in dimension d >= 2, A = I.

    Two tokens of norms r, s at the angle t lead together if cos t < min(r/s, s/r) and no other token beats either:
    Var = n p + n (n-1) q - n^2 p^2 with n p = `expected_leaders` and q = E[Phi_2(r, s; cos t)^{n-2}; cos t < min(r/s,
    s/r)], Phi_2 the bivariate normal distribution with correlation cos t; r and s are chi_d, t has density sin^{d-2}.

    Example:
        >>> round(leader_variance(50, 2), 2)
        1.29
    """
    n, d = _check(n, d, "normal", False)
    if d < 2 or n < 2:
        raise BadInput(f"the variance needs n >= 2 and d >= 2; found n = {n}, d = {d}")
    mean, before = expected_leaders(n, d), -inf
    for nodes in (48, 96, 192):
        found = mean + n * (n - 1) * _both_lead(n, d, nodes) - mean * mean
        if abs(found - before) <= ACCURACY * found:
            return float(found)
        before = found
    raise BadInput(f"the variance cannot be computed to three digits in float64 for n = {n}, d = {d}")


def _both_lead(n: int, d: int, nodes: int) -> float:
    """The probability that two given tokens lead, by quadrature where it is not less than e^-80."""
    from scipy.special import ndtri

    top, least = sqrt(d) + sqrt(2 * log(n)) + 6, max(0.0, -float(ndtri(-expm1(-80 / max(n - 2, 1)))))
    x, weight = np.polynomial.legendre.leggauss(nodes)
    density = exp(lgamma(d / 2) - lgamma((d - 1) / 2) - lgamma(0.5))  # of t is this times sin^{d-2}
    total, half = 0.0, (top - least) / 2
    for r, w in zip(least + half * (x + 1), half * weight, strict=True):
        # s = r cos(tilt) <= r: the shorter of the two, counted twice
        widest = acos(min(1.0, least / r)) / 2
        tilt, turn = widest * (x + 1), widest * weight
        t = tilt[:, None] + (pi - tilt[:, None]) * (x + 1) / 2
        angles = density * weight * (pi - tilt[:, None]) / 2 * np.sin(t) ** (d - 2)
        s = r * np.cos(tilt)
        together = np.power(_bivariate(r, s[:, None], t), n - 2) * angles
        pair = np.exp(_log_chi(np.array(r), d) + _log_chi(s, d))
        total += 2 * w * float((turn * r * np.sin(tilt) * pair * together.sum(axis=1)).sum())
    return total


def _log_chi(r: Floats, d: int) -> Floats:
    """The logarithm of the density of chi_d."""
    return np.asarray((d - 1) * np.log(r) - r * r / 2 - (d / 2 - 1) * log(2) - lgamma(d / 2))


def _bivariate(r: float, s: Floats, t: Floats) -> Floats:
    """P(X < r, Y < s) for standard normal X, Y with correlation cos t and r, s > 0, by Owen's function."""
    from scipy.special import ndtr, owens_t

    c, sine = np.cos(t), np.sin(t)
    corner = owens_t(r, (s / r - c) / sine) + owens_t(s, (r / s - c) / sine)
    return np.asarray((ndtr(r) + ndtr(s)) / 2 - corner)


def _chi_mean(power: int, d: int, slope: float) -> float:
    """E[Phi(slope chi_d)^power]."""
    from scipy.special import log_ndtr

    top = sqrt(d) + sqrt(2 * log(power + 2)) / max(abs(slope), 0.05) + 12
    return _one_dimensional(lambda r: power * log_ndtr(slope * r) + _log_chi(r, d), 0.0, min(top, 60 + 2 * sqrt(d)))


def _one_dimensional(logarithm: Any, low: float, high: float) -> float:
    """The integral of exp(logarithm) over an interval, by Gauss's rule on 64 pieces."""
    x, weight = np.polynomial.legendre.leggauss(24)
    edges = np.linspace(low, high, 65)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    points = edges[:-1, None] + half * (x + 1)
    return float((np.exp(logarithm(points)) * weight * half).sum())


def _log_in_ball(power: int, d: int, y: Floats) -> Floats:
    """log (F(r)^power r^{d-1} dr/dy) with r = 1 - y^4: for many tokens all that counts is close to the sphere.

    F(r) is the probability that one coordinate of a uniform point of the unit ball is below r.
    """
    from scipy.special import betainc

    gap = y**4  # 1 - r, and 1 - r^2 = gap (2 - gap)
    below = np.log1p(-betainc((d + 1) / 2, 0.5, gap * (2 - gap)) / 2)
    return np.asarray(power * below + (d - 1) * np.log1p(-gap) + log(4) + 3 * np.log(y))


def _reach_in_ball(power: int, d: int) -> float:
    """From where on F(r)^power is less than e^-80, to within a factor of two."""
    halvings = np.arange(1074 / 4)
    beyond = _log_in_ball(power, d, np.ldexp(1.0, -halvings[1:].astype(int))) < -80 - log(power + 2)
    return float(np.ldexp(1.0, -int(beyond.argmin()))) if power else 1.0


def _reduced(d: int, A: Any, covariance: Any) -> Floats:
    """H = S^{1/2} A S^{1/2}."""
    named = {"A": np.eye(d) if A is None else A, "covariance": np.eye(d) if covariance is None else covariance}
    matrices = {}
    for name, value in named.items():
        try:
            matrix = matrices[name] = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BadInput(f"{name} is {value!r}; expected finite numbers of shape ({d}, {d})") from error
        if matrix.shape != (d, d) or not np.isfinite(matrix).all():
            raise BadInput(f"{name} has the shape {matrix.shape}; expected finite numbers of shape ({d}, {d})")
    values, vectors = np.linalg.eigh(matrices["covariance"])
    if not np.allclose(matrices["covariance"], matrices["covariance"].T) or values[0] < -1e-12 * max(values[-1], 0):
        raise BadInput("covariance is not symmetric positive semidefinite")
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    H = root @ matrices["A"] @ root
    if np.linalg.matrix_rank(H) < d:
        raise BadInput("A and covariance are degenerate: some directions have no score", fix="use nonsingular matrices")
    return np.asarray(H)


def _directions(d: int) -> Floats:
    """Unit vectors that fill the sphere evenly: an equal grid of angles in the plane, Sobol points in general."""
    if d <= 2:
        angle = 2 * pi * (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
        return np.column_stack([np.cos(angle), np.sin(angle)]) if d == 2 else np.array([[1.0], [-1.0]])
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    g = ndtri(np.clip(Sobol(d, scramble=True, seed=0).random(DIRECTIONS), 1e-9, 1 - 1e-9))
    return np.asarray(g / np.linalg.norm(g, axis=1, keepdims=True))


def _check(n: int, d: int, cloud: str, matrices: bool) -> tuple[int, int]:
    """n and d as plain ints, once they and the others are checked."""
    sizes = whole("n", n, 1), whole("d", d, 1)
    if sizes[0] > MOST:
        raise BadInput("n is more than 1e100, the largest number for which the quadrature is accurate")
    if cloud not in CLOUDS:
        raise BadInput(f"unknown cloud {cloud!r}", fix="use " + ", ".join(CLOUDS))
    if matrices and cloud != "normal":
        raise BadInput(f"A and covariance are for normal tokens, not for cloud={cloud!r}")
    return sizes
