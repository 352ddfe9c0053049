"""The parts of a layer around the attention rule: heads, value matrices, normalization, feed-forward; checked once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardmax.attention.dense import overflow
from hardmax.attention.rules import FeedForward, Head, NamedFunction
from hardmax.attention.ties import EPS
from hardmax.cloud.metric import Metric, metric
from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput

NORMALIZATIONS = ("rescale", "none", "sphere")


@dataclass(frozen=True, eq=False)
class Parts:
    """One layer but for its attention rule: z -> feed_forward(normalize(z, mean_h V_h m^h)).

    Attributes:
        metrics: the matrix A of each head.
        values: the value matrix V of each head; None for the identity.
        mixed: W = mean_h V_h, or None if every V is the identity.
    """

    alpha: float
    metrics: tuple[Metric, ...]
    values: tuple[Floats | None, ...]
    mixed: Floats | None
    normalization: str
    feed_forward: FeedForward | NamedFunction | None

    @property
    def averages(self) -> bool:
        """Whether each new token is a convex combination of old ones, with positive weight on itself."""
        return self.normalization == "rescale" and self.mixed is None and self.feed_forward is None

    def pull(self, means: list[Floats]) -> Floats:
        """mean_h V_h m_i^h for every row; `means` holds one array for each head."""
        pulls = [m if V is None else m @ V.T for m, V in zip(means, self.values, strict=True)]
        return pulls[0] if len(pulls) == 1 else sum(pulls[1:], pulls[0]) / len(pulls)

    def step(self, z: Floats, pull: Floats, layer: int, names: Any) -> Floats:
        """The tokens after attention and normalization. Implements [AFZ24, eq. (1.1a)] for "rescale" with V = I.

        rescale: z' = (I + alpha W)^{-1} (z + alpha pull), so that a cloud in one point stays there;
        none: z' = z + alpha pull;   sphere: the same, divided by its Euclidean length.

        Args:
            names: the token index of each row, for error messages.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            moved = z + self.alpha * pull
            if self.normalization == "rescale":
                if self.mixed is None:
                    # Who is pulled to where it stands must stay there to the last bit, whatever the rounding.
                    moved = np.where(pull == z, z, moved / (1.0 + self.alpha))
                else:
                    moved = np.asarray(
                        np.linalg.solve(np.eye(z.shape[1]) + self.alpha * self.mixed, moved.T).T, np.float64
                    )
        check_range(moved, layer + 1, names)
        if self.normalization == "sphere":
            moved = on_sphere(moved, names, f"after layer {layer}")
        return moved

    def feed(self, tokens: Floats, layer: int) -> Floats:
        """The tokens after the feed-forward sublayer: x -> eta x + W relu(U x + b), or the caller's function."""
        if self.feed_forward is None:
            return tokens
        if isinstance(self.feed_forward, FeedForward):
            ff = self.feed_forward
            with np.errstate(over="ignore", invalid="ignore"):
                result = ff.eta * tokens + np.maximum(tokens @ ff.U.T + ff.b, 0.0) @ ff.W.T
            check_range(result, layer + 1, range(len(tokens)))
            return result
        returned = self.feed_forward(tokens.copy())
        try:
            result = np.array(returned, dtype=np.float64, order="C")
        except (TypeError, ValueError) as error:
            raise BadInput(f"feed_forward returned {returned!r} at layer {layer}; expected an array") from error
        if result.shape != tokens.shape:
            raise BadInput(f"feed_forward returned shape {result.shape} at layer {layer}; expected {tokens.shape}")
        if not np.isfinite(result).all():
            i, k = np.argwhere(~np.isfinite(result))[0]
            raise BadInput(
                f"feed_forward returned {result[i, k]} for token {i}, coordinate {k}, at layer {layer}",
                fix="return finite numbers",
            )
        check_range(result, layer + 1, range(len(tokens)))
        return result

    @cached_property
    def _gain(self) -> float:
        """A bound on how much a layer enlarges a difference of tokens while all follow the same as before."""
        if self.averages:
            return 1.0
        sizes = [1.0 if V is None else _norm(V) for V in self.values]
        gain = 1.0 + self.alpha * sum(sizes) / len(sizes)
        if self.normalization == "rescale":
            W = np.eye(1) if self.mixed is None else self.mixed
            gain *= _norm(np.linalg.inv(np.eye(len(W)) + self.alpha * W))
        if isinstance(self.feed_forward, FeedForward):
            gain *= abs(self.feed_forward.eta) + _norm(self.feed_forward.W) * _norm(self.feed_forward.U)
        return gain

    def error_after(self, error: float, z: Floats, pull: Floats, moved: Floats) -> float:
        """A bound on the error of the tokens after a layer, from the one before.

        Averaging does not enlarge errors and adds 5 eps |z| at most: the bound of `hardmax.attention.ties`.
        Other layers enlarge it by their norm, and their matrix products add more. Departs from a proof there: a
        feed-forward that is a Python function counts as harmless, because nothing is known about it.
        """
        size = max(float(np.linalg.norm(z, axis=1).max()), float(np.linalg.norm(moved, axis=1).max()))
        if self.averages:
            return error + 5 * EPS * size
        gain = self._gain
        if self.normalization == "sphere":
            gain /= float(np.linalg.norm(z + self.alpha * pull, axis=1).min())
        terms = z.shape[1] + (len(self.feed_forward.b) if isinstance(self.feed_forward, FeedForward) else 0)
        return min(gain * (error + 2 * EPS * terms * size), 1e300)


def check_parts(
    dim: int, alpha: float, *, A: Any, V: Any, heads: Any, normalization: Any, feed_forward: Any, definite: bool
) -> Parts:
    """Check heads, value matrices, normalization and feed-forward against the dimension of the tokens.

    Raises:
        BadInput: the message names the argument and repeats its value.
    """
    if normalization not in NORMALIZATIONS:
        raise BadInput(f"normalization is {normalization!r}; expected one of {', '.join(map(repr, NORMALIZATIONS))}")
    every = named_heads(A, V, heads)
    metrics = tuple(metric(head.A, dim, definite, f"{name}A") for name, head in every.items())
    values = tuple(_value_matrix(head.V, dim, f"{name}V") for name, head in every.items())
    mixed = None
    if any(V is not None for V in values):
        mixed = sum((np.eye(dim) if V is None else V for V in values), np.zeros((dim, dim))) / len(values)
        if normalization == "rescale":
            _check_invertible(np.eye(dim) + alpha * mixed, alpha)
    return Parts(alpha, metrics, values, mixed, normalization, _sublayer(feed_forward, dim))


def named_heads(A: Any, V: Any, heads: Any) -> dict[str, Head]:
    """The heads by the beginning of their names in messages: "" for one head of A and V, else "heads[0]." and so on.

    Raises:
        BadInput: heads are given together with A or V, or they are not a list of heads.
    """
    if heads is None:
        return {"": Head(A, V)}
    if A is not None or V is not None:
        raise BadInput(
            f"heads and {'A' if A is not None else 'V'} were both given; each head brings its own A and V",
            fix="give heads=[hardmax.Head(A, V), ...] alone",
        )
    if not isinstance(heads, (list, tuple, np.ndarray)) or len(heads) == 0:
        raise BadInput(f"heads is {heads!r}; expected a list of at least one hardmax.Head(A, V) or matrix A")
    return {f"heads[{h}].": head if isinstance(head, Head) else Head(head) for h, head in enumerate(heads)}


def check_range(tokens: Floats, layer: int, names: Any) -> None:
    """Refuse tokens whose squares would overflow."""
    bad = ~(np.abs(tokens) < 1e150).all(axis=1)
    if bad.any():
        raise overflow(layer, int(names[int(np.argmax(bad))]))


def on_sphere(tokens: Floats, names: Any, when: str) -> Floats:
    """z / |z|; a zero token has no direction."""
    # Dividing by the largest coordinate first keeps the squares of tiny and huge tokens in range.
    largest = np.abs(tokens).max(axis=1, keepdims=True)
    if not largest.all():
        raise BadInput(
            f"token {int(names[int(np.argmin(largest))])} is zero {when}; it cannot be put on the sphere",
            fix='remove it, or use normalization="rescale"',
        )
    scaled = tokens / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def _norm(matrix: Any) -> float:
    return float(np.linalg.norm(matrix, 2))


def _value_matrix(V: Any, dim: int, name: str) -> Floats | None:
    if V is None:
        return None
    matrix = _array(V, name, (dim, dim))
    return None if np.array_equal(matrix, np.eye(dim)) else matrix


def _check_invertible(matrix: Floats, alpha: float) -> None:
    singular_values = np.linalg.svd(matrix, compute_uv=False)
    if singular_values[-1] <= 1e-12 * singular_values[0]:
        raise BadInput(
            f"I + alpha V is singular for alpha = {alpha:g}: its smallest singular value is {singular_values[-1]:g}",
            fix='choose another alpha, or normalization="none"',
        )


def _sublayer(feed_forward: Any, dim: int) -> FeedForward | NamedFunction | None:
    if feed_forward is None:
        return None
    if isinstance(feed_forward, FeedForward):
        U = _array(feed_forward.U, "feed_forward.U", (None, dim))
        width = U.shape[0]
        return FeedForward(
            W=_array(feed_forward.W, "feed_forward.W", (dim, width)),
            U=U,
            b=_array(feed_forward.b, "feed_forward.b", (width,)),
            eta=float(_array(feed_forward.eta, "feed_forward.eta", ())),
        )
    if callable(feed_forward):
        return NamedFunction.of(feed_forward)
    raise BadInput(
        f"feed_forward is {feed_forward!r}; expected hardmax.FeedForward(W, U, b, eta) or a function of (n, d) arrays"
    )


def _array(value: Any, name: str, shape: tuple[int | None, ...]) -> Floats:
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{name} is {value!r}, which is not an array of numbers") from error
    wanted = "(" + ", ".join("width" if s is None else str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"
    if array.ndim != len(shape) or any(s not in (None, got) for s, got in zip(shape, array.shape, strict=True)):
        raise BadInput(f"{name} has shape {array.shape}; expected {wanted}")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} holds {array[~np.isfinite(array)].flat[0]}; it must be finite")
    return array
