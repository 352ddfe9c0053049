"""The layer loop for everything beyond the paper's system: any rule, matrix, value matrix, heads, mask, sublayer.

One layer, in float64 and from the definition, dense: O(n^2 d) time and a few blocks of memory. The paper's own system
has a much faster engine (`hardmax.dynamics.engine`); both follow the same tie rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hardmax.attention.dense import Scene, attend, supports
from hardmax.attention.rules import Hardmax, Head, Localmax, Rule, as_rule, is_random
from hardmax.attention.ties import EPS
from hardmax.cloud.metric import Metric
from hardmax.cloud.parameters import layer_count, step_size
from hardmax.cloud.tokens import Floats, Ints, Numbers, cloud
from hardmax.dynamics.follow_sets import FollowSets, LayerSets
from hardmax.dynamics.history import TokenHistory
from hardmax.dynamics.layer_parts import Parts, check_parts, on_sphere
from hardmax.dynamics.locks import Locks
from hardmax.dynamics.outcome import detect
from hardmax.dynamics.trajectory import Problem, Trajectory
from hardmax.errors import whole
from hardmax.io.progress import Report


def simulate_variant(
    Z: Any, alpha: Any, layers: Any, *, A: Any = None, rule: Rule, normalization: str = "rescale", V: Any = None,
    heads: Any = None, causal: bool = False, feed_forward: Any = None, definite: bool = True, keep: str = "all",
    report: Report | None = None,
) -> Trajectory:  # fmt: skip
    """Run layers of a variant of the hardmax dynamics.

    With scores <A_h z_i, z_j>, the weights w^h of the rule, m_i^h = sum_j w_ij^h z_j and W = mean_h V_h, one layer is

        rescale:  z_i' = (I + alpha W)^{-1} (z_i + alpha mean_h V_h m_i^h)
        none:     z_i' = z_i + alpha mean_h V_h m_i^h
        sphere:   the same divided by its Euclidean length; the tokens are put on the unit sphere first

    followed by the feed-forward sublayer. One head, V = I, "rescale" and Hardmax give the paper's system.

    Implements [AFZ24, eq. (1.1a)] and [AFZ24, eq. (1.1b)].
    Departs: ties within `hardmax.attention.ties`; where layers average, tokens that certainly lead, and those that
    certainly follow leaders forever, are not compared again (`hardmax.dynamics.locks`).

    The arguments are those of `hardmax.simulate`.

    Returns:
        A Trajectory. `leader_since` names tokens that follow nothing but themselves (Hardmax: and their copies).
        `undecided` counts comparisons of distinct tokens that rounding may have turned: a rigorous bound for layers
        that average; elsewhere the errors of earlier layers are carried along with `Parts.error_after`.

    Raises:
        BadInput: an argument cannot be used, or a token overflows; the message names the layer and the token.

    Example:
        >>> simulate_variant([[1.0], [-1.0], [0.5]], 1.0, 1, rule=Hardmax(), normalization="none").tokens[1].ravel()
        array([ 2. , -2. ,  1.5])
    """
    start = cloud(Z)
    alpha, layers, rule = step_size(alpha), layer_count(layers), as_rule(rule)
    parts = check_parts(
        start.dim, alpha, A=A, V=V, heads=heads, normalization=normalization, feed_forward=feed_forward,
        definite=definite,
    )  # fmt: skip
    tokens = TokenHistory(layers, start.n, start.dim, keep)
    tokens[0] = start.tokens if normalization != "sphere" else on_sphere(start.tokens, range(start.n), "in Z")
    origin = start.point_of if normalization != "sphere" else cloud(tokens[0]).point_of
    # Lock-in is a fact about layers that average; a tolerance is a rule of its own, under which it fails.
    lockable = isinstance(rule, Hardmax) and rule.tie_tolerance == 0 and parts.averages
    attention = _Attention(
        tokens, origin, rule, bool(causal), parts.metrics,
        draws=_draws(rule, layers, len(parts.metrics), start.n),
        locks=Locks(start.n, start.dim, alpha) if lockable else None,
        errors=[0.0 if normalization != "sphere" else 2 * EPS] + [0.0] * layers,
    )  # fmt: skip
    run = _Run(parts, attention)
    for layer in range(layers):
        run.advance(layer, run.look(layer))
        if report is not None:
            report(layer + 1, layers)
    run.look(layers)
    heads = tuple(Head(metric.A, V) for metric, V in zip(parts.metrics, parts.values, strict=True))
    undecided = run.undecided + (attention.locks.undecided if attention.locks is not None else 0)
    return Trajectory(
        tokens=tokens.kept(),
        problem=Problem(alpha, heads, rule, normalization, bool(causal), parts.feed_forward),
        leader_since=dict(sorted(run.leader_since.items())),
        outcome=detect(
            tokens.last_layers(), normalization, alpha, 5 if is_random(rule) else 1, undecided, tokens.oldest
        ),
        sets=attention if keep == "all" else [attention.at(layers)],
        undecided=undecided,
        first_layer=tokens.first_layer,
    )


@dataclass(eq=False)
class _Attention(LayerSets):
    """Who follows whom at each layer: what is needed to compute it from the tokens, now or later."""

    tokens: TokenHistory
    origin: Numbers
    rule: Rule
    causal: bool
    metrics: tuple[Metric, ...]
    draws: Floats | None
    locks: Locks | None
    errors: list[float]

    def __len__(self) -> int:
        return len(self.tokens)

    def scene(self, layer: int) -> Scene:
        """The tokens of one layer, grouped."""
        return Scene.of(self.tokens[layer], self.origin, self.rule, self.causal, layer, self.errors[layer])

    def free(self, scene: Scene) -> Ints:
        """The tokens that look and are not locked."""
        return scene.lookers if self.locks is None else self.locks.free(scene.lookers, scene.layer)

    def heads(self, scene: Scene) -> Iterable[tuple[Metric, Floats | None, Any]]:
        """For each head its matrix, its draws, and how followers are told from their leaders (`Locks.behind`)."""
        for h, metric in enumerate(self.metrics):
            draws = None if self.draws is None else self.draws[scene.layer, h]
            yield metric, draws, None if self.locks is None else partial(self.locks.behind, scene, metric)

    def at(self, layer: int) -> FollowSets:
        """C_i at one layer, computed anew from the tokens: the groups with a positive weight in some head."""
        scene = self.scene(layer)
        rows = self.free(scene)
        groups: dict[int, Ints] = {}
        if self.locks is not None:
            locked = np.setdiff1d(scene.lookers, rows)
            groups = {int(i): scene.group_of[self.locks.followed(i)] for i in locked}
        heads = [supports(scene, metric, self.rule, rows, *rest) for metric, *rest in self.heads(scene)]
        for i, *followed in zip(rows, *heads, strict=True):
            groups[int(i)] = followed[0] if len(followed) == 1 else np.unique(np.concatenate(followed))
        if self.causal:
            return tuple(scene.visible(i, groups[i]) for i in range(len(scene.tokens)))
        known: dict[bytes, tuple[int, ...]] = {}  # many tokens follow the same set: list it once
        listed = {}
        for i, g in groups.items():
            key = g.tobytes()
            if key not in known:
                known[key] = scene.visible(i, g)
            listed[i] = known[key]
        return tuple(listed[int(i)] for i in scene.first[scene.group_of])


class _Run:
    """The state of one run: `look` finds the attention of a layer, `advance` computes the next tokens."""

    def __init__(self, parts: Parts, attention: _Attention) -> None:
        self.parts, self.attention = parts, attention
        self.rule, self.locks = attention.rule, attention.locks
        self.leader_since: dict[int, int] = {}
        self.undecided = 0

    def look(self, layer: int) -> Floats:
        """The pull mean_h V_h m_i^h on every looking token of a layer; notes leaders, locks, undecided comparisons."""
        self.scene = scene = self.attention.scene(layer)
        rows = self.attention.free(scene)
        gazes = [attend(scene, metric, self.rule, rows, *rest) for metric, *rest in self.attention.heads(scene)]
        self.undecided += sum(gaze.undecided for gaze in gazes)
        self._note_leaders(scene, rows[np.logical_and.reduce([gaze.alone for gaze in gazes])])
        if self.locks is None:
            return self.parts.pull([gaze.means for gaze in gazes])
        means = self.locks.base.copy()  # right for the locked tokens; the free ones follow
        means[rows] = self.parts.pull([gaze.means for gaze in gazes])
        self.locks.add(scene, rows, gazes, self.parts.metrics)
        return means[scene.lookers]

    def advance(self, layer: int, pull: Floats) -> None:
        """Z^{k+1} from Z^k. Copies are computed once, so that they stay equal to the last bit."""
        scene, parts = self.scene, self.parts
        tokens, errors = self.attention.tokens, self.attention.errors
        z = scene.tokens[scene.lookers]
        moved = parts.step(z, pull, layer, scene.lookers)
        if self.locks is not None:
            self.locks.place(moved, scene.lookers, layer + 1)
        if not callable(parts.feed_forward):
            moved = parts.feed(moved, layer)
        if len(moved) < len(scene.tokens):
            moved = moved[scene.group_of]
        if callable(parts.feed_forward):
            moved = parts.feed(moved, layer)
        tokens[layer + 1] = moved + 0.0  # -0.0 and 0.0 are one value
        if isinstance(self.rule, (Hardmax, Localmax)):
            errors[layer + 1] = parts.error_after(errors[layer], z, pull, tokens[layer + 1])

    def _note_leaders(self, scene: Scene, alone: Ints) -> None:
        leads = np.zeros(len(scene.tokens), bool)
        leads[alone] = True
        if not scene.causal:
            leads = leads[scene.first[scene.group_of]]
        for i in np.flatnonzero(leads):
            self.leader_since.setdefault(int(i), scene.layer)


def _draws(rule: Rule, layers: int, heads: int, n: int) -> Floats | None:
    """(layers+1, heads, n) uniform numbers for a random rule, drawn at once so that no block size can change them."""
    if not is_random(rule):
        return None
    seed = whole(f"the seed of {type(rule).__name__}", rule.seed, 0)  # type: ignore[union-attr]
    return np.random.default_rng(seed).random((layers + 1, heads, n))
