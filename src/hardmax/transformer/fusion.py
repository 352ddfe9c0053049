"""Blocks in a row that do not disturb each other are one block; blocks in a row without attention are a chain.

If x -> x + W1 relu(U1 x + b1) writes no coordinate that x -> x + W2 relu(U2 x + b2) reads, both in a row are
x -> x + W1 relu(U1 x + b1) + W2 relu(U2 x + b2): the same function of real numbers, in one wide layer that a table
evaluates in O(log w). A staircase of a thousand narrow blocks becomes one bisection.
"""

from collections.abc import Sequence

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.blocks import WIDE, Block, FeedForwardLayer, State, attend

# Chains from this length on are run on distinct rows.
LONG = 8


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
    if len(group) < 2:
        return group
    layers = [block.ff for block in group]
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
    joined = FeedForwardLayer(U, np.concatenate([ff.b for ff in layers]), W, reads, writes, 1.0)
    return [Block(joined, group[-1].sa, group[-1].stage)]


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


def forward_chains(blocks: Sequence[Block], state: State, temperature: float | None) -> State:
    """What `hardmax.transformer.forward` computes, long chains on the distinct rows of the coordinates they touch."""
    for chain in chains(blocks):
        rows = _on_distinct_rows(chain, state.rows) if len(chain) >= LONG else _one_by_one(chain, state.rows)
        state = State(rows, state.per_sequence, state.batch)
        if not chain[-1].sa.is_identity:
            state = attend(chain[-1].sa, state, temperature, fast=True)
    return state


def _one_by_one(chain: Sequence[Block], rows: Floats) -> Floats:
    for block in chain:
        rows = block.ff.apply(rows, fast=True)
    return rows


def _on_distinct_rows(chain: Sequence[Block], rows: Floats) -> Floats:
    from hardmax.cloud.distinct import distinct_rows

    columns = touched(chain)
    part = rows[:, columns] + 0.0
    first, where = distinct_rows(part)
    few = np.zeros((len(first), rows.shape[1]))
    few[:, columns] = part[first]
    result = rows.copy()
    result[:, columns] = _one_by_one(chain, few)[where][:, columns]
    return result
