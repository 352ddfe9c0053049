"""Run a stack of blocks on a ragged batch.

Blocks in a row that do not disturb each other are one block: if x -> x + W1 relu(U1 x + b1) writes no coordinate that
x -> x + W2 relu(U2 x + b2) reads, both in a row are x -> x + W1 relu(U1 x + b1) + W2 relu(U2 x + b2), the same function
of real numbers in one wide layer that a table evaluates in O(log w). A staircase of a thousand narrow blocks becomes
one bisection. Blocks in a row without attention are a chain, which needs to run on distinct rows only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from hardmax.cloud.distinct import distinct_rows
from hardmax.cloud.ragged import Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput
from hardmax.transformer.blocks import WIDE, AttentionLayer, Block, FeedForwardLayer, combine

# Chains from this length on are run on distinct rows.
LONG = 8


@dataclass(frozen=True, eq=False)
class State:
    """The tokens of a batch somewhere in the stack.

    Equal tokens stay equal forever [N2], so once attention has made all tokens of a sequence equal one row stands for
    the whole sequence.
    """

    rows: Floats  # (T, d), or (N, d) if per_sequence
    per_sequence: bool
    batch: Sequences

    def tokens(self) -> Floats:
        """(T, d) one row per token."""
        return self.rows[self.batch.owner] if self.per_sequence else self.rows


def forward(
    blocks: Sequence[Block],
    batch: Sequences,
    *,
    dense: bool = False,
    temperature: float | None = None,
    watch: Callable[[int, str, State], None] | None = None,
) -> State:
    """Run a stack of blocks on every sequence. Implements the composition of FF and SA layers of [AFZ25].

    Args:
        dense: evaluate every unit, instead of bisection in wide layers that read one scalar.
        temperature: softmax with scores / temperature instead of hardmax.
        watch: called with (block, "ff" or "sa", state) after every layer.
    """
    if temperature is not None and not (isinstance(temperature, Real) and 0 < temperature < np.inf):
        raise BadInput(f"temperature is {temperature!r}; expected a finite number > 0", fix="None means hardmax")
    state = State(batch.values, False, batch)
    if not dense and watch is None:
        return forward_chains(blocks, state, temperature)
    for i, block in enumerate(blocks):
        state = State(block.ff.apply(state.rows, fast=not dense), state.per_sequence, batch)
        if watch:
            watch(i, "ff", state)
        state = _attend(block.sa, state, temperature, fast=not dense)
        if watch:
            watch(i, "sa", state)
    return state


def forward_chains(blocks: Sequence[Block], state: State, temperature: float | None) -> State:
    """What `forward` computes, from any state on; long chains run on distinct rows of the coordinates they touch."""
    for chain in chains(blocks):
        rows = _on_distinct_rows(chain, state.rows) if len(chain) >= LONG else _one_by_one(chain, state.rows)
        state = _attend(chain[-1].sa, State(rows, state.per_sequence, state.batch), temperature, fast=True)
    return state


def _attend(sa: AttentionLayer, state: State, temperature: float | None, fast: bool) -> State:
    if sa.is_identity:
        return state
    if sa.is_uniform and sa.rho == 0.0 and not state.per_sequence:
        means = state.batch.mean_in_order(combine(sa.right, state.rows))
        return State(combine(sa.left, means), True, state.batch)
    return State(sa.apply(state.tokens(), state.batch, temperature, fast), False, state.batch)


def fused(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The same function of real numbers in as few blocks as this allows; blocks of different stages are kept apart."""
    result: list[Block] = []
    group: list[Block] = []
    written: set[int] = set()
    for block in blocks:
        fits = bool(group) and group[-1].sa.is_identity and group[0].ff.eta == block.ff.eta == 1.0
        if fits and block.stage == group[0].stage and not written & set(block.ff.reads.tolist()):
            group.append(block)
        else:
            result.extend(_joined(group))
            group, written = [block], set()
        written |= set(block.ff.writes.tolist())
    result.extend(_joined(group))
    return tuple(result)


def _joined(group: list[Block]) -> list[Block]:
    return group if len(group) < 2 else [Block(side_by_side(group), group[-1].sa, group[-1].stage)]


def side_by_side(blocks: Sequence[Block]) -> FeedForwardLayer:
    """The layer (eta = 1) with the units of all blocks, one block after another."""
    layers = [block.ff for block in blocks]
    reads = np.unique(np.concatenate([ff.reads for ff in layers]))
    writes = np.unique(np.concatenate([ff.writes for ff in layers]))
    width = sum(ff.width for ff in layers)
    U, W = np.zeros((width, len(reads))), np.zeros((len(writes), width))
    first = 0
    for ff in layers:
        units = slice(first, first + ff.width)
        U[units, np.searchsorted(reads, ff.reads)] = ff.U
        W[np.searchsorted(writes, ff.writes), units] = ff.W
        first += ff.width
    return FeedForwardLayer(U, np.concatenate([ff.b for ff in layers]), W, reads, writes, 1.0)


def chains(blocks: Sequence[Block]) -> list[list[Block]]:
    """The stack in runs: narrow blocks in a row with eta = 1 and no attention, and every other block alone."""
    result: list[list[Block]] = []
    open_chain = False
    for block in blocks:
        plain = block.ff.eta == 1.0 and block.sa.is_identity and block.ff.width <= WIDE
        if plain and open_chain:
            result[-1].append(block)
        else:
            result.append([block])
        open_chain = plain
    return result


def touched(chain: Sequence[Block]) -> Ints:
    """The coordinates that a chain reads or writes; it neither needs nor changes the others."""
    return np.unique(np.concatenate([part for block in chain for part in (block.ff.reads, block.ff.writes)]))


def _one_by_one(chain: Sequence[Block], rows: Floats) -> Floats:
    for block in chain:
        rows = block.ff.apply(rows, fast=True)
    return rows


def _on_distinct_rows(chain: Sequence[Block], rows: Floats) -> Floats:
    columns = touched(chain)
    part = rows[:, columns] + 0.0
    first, where = distinct_rows(part)
    few = np.zeros((len(first), rows.shape[1]))
    few[:, columns] = part[first]
    result = rows.copy()
    result[:, columns] = _one_by_one(chain, few)[where][:, columns]
    return result
