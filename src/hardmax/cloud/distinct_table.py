"""The distinct rows of an array in linear time, compiled: a hash table of rows."""

from secrets import randbits

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import njit

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

# A fresh key per process: no input can be prepared so that all its rows fall into one slot. The result does not depend
# on the key, because rows are compared bit by bit and points are numbered in order of first appearance.
KEY = np.uint64(randbits(64) | 1)


@njit()
def _same(bits: Words, i: int, j: int) -> bool:
    c, d = 0, bits.shape[1]
    while c < d and bits[i, c] == bits[j, c]:
        c += 1
    return c == d


@njit()
def by_table(bits: Words, key: np.uint64) -> tuple[Ints, Ints]:
    n = bits.shape[0]
    first, point_of = np.empty(n, np.int64), np.empty(n, np.int64)
    m = number_points(bits, key, np.empty(table_size(n), np.uint64), first, point_of)
    return first[:m].copy() if m < n else point_of, point_of  # they are equal if all rows are distinct


@njit()
def table_size(n: int) -> int:
    """The number of slots that `number_points` needs for n rows: a power of two, at most half full.

    Small tables are kept emptier: they fit into the cache anyway, and a collision costs a mispredicted branch.
    """
    size = 64
    while size < (4 * n if n < 4096 else 2 * n):
        size *= 2
    return size


@njit()
def number_points(bits: Words, key: np.uint64, slots: Words, first: Ints, point_of: Ints) -> int:
    """Fill `first` and `point_of` (both of length n or more) and return the number of points.

    Open addressing with linear probing in `slots`, of which `table_size(n)` are used. A slot holds the upper half of
    the hash and the point + 1 in one word, so a probe that meets another point almost never has to fetch that point's
    row: one cache miss per row instead of two.
    """
    n, d = bits.shape
    size = table_size(n)
    for at in range(size):
        slots[at] = np.uint64(0)
    mask = np.uint64(size - 1)
    low = np.uint64(0xFFFFFFFF)
    high = np.uint64(0xFFFFFFFF00000000)
    block = np.empty(min(n, 256), np.uint64)
    m = 0
    for start in range(0, n, 256):
        stop = min(start + 256, n)
        # Hashing a block first leaves the probes below free to overlap their cache misses. The hash is the sum of
        # x_c * odd_c mod 2^64, odd_c a keyed sequence of odd numbers: the products do not wait for one another. Simple
        # numbers (integers, dyadic fractions) have only high bits, hence the fold of x_c before and the mixing after.
        for i in range(start, stop):
            h, odd = np.uint64(0), key
            for c in range(d):
                odd = odd * np.uint64(0x5851F42D4C957F2D) + np.uint64(0x14057B7EF767814E)
                h += (bits[i, c] ^ (bits[i, c] >> np.uint64(32))) * odd
            block[i - start] = _mix(h)
        for i in range(start, stop):
            h = block[i - start]
            tag = h & high
            probe = h & mask
            while True:
                slot = slots[probe]
                if slot == np.uint64(0):
                    slots[probe] = tag | np.uint64(m + 1)
                    first[m] = i
                    point_of[i] = m
                    m += 1
                    break
                if (slot & high) == tag:
                    p = np.int64(slot & low) - 1
                    if _same(bits, i, first[p]):
                        point_of[i] = p
                        break
                probe = (probe + np.uint64(1)) & mask
    return m


@njit(inline="always")
def _mix(h: np.uint64) -> np.uint64:
    """A bijection of 64-bit words in which every input bit reaches every output bit (the finalizer of splitmix64)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))
