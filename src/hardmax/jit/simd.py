"""The innermost loops in vector instructions, written as LLVM IR.

LLVM does not vectorize a running maximum by itself (it is a branch to it). It splits vectors to what the machine has:
the same code runs on AVX2, AVX-512 and NEON. `hardmax.jit.plain` has the same functions without llvmlite, and
`hardmax.jit.vectors` chooses.

* `reached`, float32: do 4 queries reach their thresholds on a block of keys? 4 queries x 2 vectors of keys stay in
  registers, one fused multiply-add per product, one maximum per score. It only filters; float64 decides.
* `seek`, float32, for the checkers of certificates, which share no search with the engine: the next keys that any of a
  tile of queries reaches. One vector lane is one query, and each coordinate of a key is broadcast to all lanes. It also
  only filters.
* `top2_*`, float64: best and second best score of many queries. One vector lane is one query; a tile of queries stays
  in registers while the keys pass by one at a time, each coordinate broadcast to all lanes:

      s = <q, z_j>;    second = max(second, min(best, s));    index = j if s > best else index;    best = max(best, s)

  No horizontal reduction is needed at the end, the keys need no padding, and the index costs one blend. These scores
  decide: they are sequential sums without fused operations, the same bits as in NumPy and on every machine.
"""

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

QUERIES = 4  # queries in a tile
BLOCK = 128  # keys in a block
LANES = 16 if llvm.get_host_cpu_features().get("avx512f", False) else 8  # float32 numbers in a vector

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """The vector with `value` in every lane."""
    undefined, word = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(undefined, value, ir.Constant(word, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(word, vector.count), None))


@intrinsic
def reached(typingctx, tiles, tile, keys, block, thresholds, maxima):  # type: ignore[no-untyped-def]
    """reached(tiles, tile, keys, block, thresholds, maxima) -> bit i is set if query i has a score >= thresholds[i].

    tiles: (tiles, d, 4) float32 queries, keys: (blocks, d, 128) float32, thresholds: (4,) float32. The running maxima
    of the lanes go to maxima, (4, LANES) float32, whether reached or not. All arrays C-contiguous, no NaN.
    """
    signature = types.int64(tiles, types.int64, keys, types.int64, thresholds, maxima)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        arrays = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2, 4, 5)]
        tiles_at, keys_at, thresholds_at, maxima_at = (array.data for array in arrays)
        dim = builder.extract_value(arrays[1].shape, 1)
        word = dim.type

        def number(value: int) -> Any:
            return ir.Constant(word, value)

        tile_at = builder.gep(tiles_at, [builder.mul(builder.mul(args[1], dim), number(QUERIES))])
        block_at = builder.gep(keys_at, [builder.mul(builder.mul(args[3], dim), number(BLOCK))])

        def load_vector(pointer: Any) -> Any:
            return builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()), align=4)

        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{LANES}f32"
        )
        lowest = ir.Constant(_VECTOR, [float("-inf")] * LANES)
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        highest = [cgutils.alloca_once(builder, _VECTOR) for _ in range(QUERIES)]
        sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in range(2)] for _ in range(QUERIES)]
        for place in highest:
            builder.store(lowest, place)
        with cgutils.for_range(builder, number(BLOCK // (2 * LANES)), intp=word) as group:
            first_key = builder.gep(block_at, [builder.mul(group.index, number(2 * LANES))])
            for pair in sums:
                for place in pair:
                    builder.store(zero, place)
            with cgutils.for_range(builder, dim, intp=word) as coordinate:
                row = builder.gep(first_key, [builder.mul(coordinate.index, number(BLOCK))])
                key = [load_vector(row), load_vector(builder.gep(row, [number(LANES)]))]
                query_at = builder.gep(tile_at, [builder.mul(coordinate.index, number(QUERIES))])
                for i in range(QUERIES):
                    q = _splat(builder, builder.load(builder.gep(query_at, [number(i)])), _VECTOR)
                    for half in range(2):
                        total = builder.call(fma, [q, key[half], builder.load(sums[i][half])])
                        builder.store(total, sums[i][half])
            for i in range(QUERIES):
                for half in range(2):
                    total, top = builder.load(sums[i][half]), builder.load(highest[i])
                    builder.store(builder.select(builder.fcmp_ordered(">", total, top), total, top), highest[i])
        mask = number(0)
        bits = ir.IntType(LANES)
        for i in range(QUERIES):
            top = builder.load(highest[i])
            out = builder.gep(maxima_at, [number(i * LANES)])
            builder.store(top, builder.bitcast(out, _VECTOR.as_pointer()), align=4)
            bar = _splat(builder, builder.load(builder.gep(thresholds_at, [number(i)])), _VECTOR)
            hit = builder.bitcast(builder.fcmp_ordered(">=", top, bar), bits)
            some = builder.zext(builder.icmp_unsigned("!=", hit, ir.Constant(bits, 0)), word)
            mask = builder.or_(mask, builder.shl(some, number(i)))
        return mask

    return signature, codegen


SEEKERS = 2 * LANES  # queries in a tile of `seek`
GROUP = 4  # keys that `seek` compares at once


@intrinsic
def seek(typingctx, tile, keys, start, stop, bars, excess):  # type: ignore[no-untyped-def]
    """seek(tile, keys, start, stop, bars, excess) -> the first of the next GROUP keys that some query reaches.

    tile: (d, SEEKERS) float32 queries, keys: (m, d) float32, bars: (SEEKERS,) float32. Keys start, start + 1, ... below
    stop are taken GROUP at a time, and m must be large enough for the last group. For the first group in which
    <q_i, x_j> - bars_i >= 0 for any query i and key j, these differences go to excess, (GROUP, SEEKERS) float32, and
    the place of the group is returned; `stop` if there is none. All arrays C-contiguous, no NaN.
    """
    signature = types.int64(tile, keys, types.int64, types.int64, bars, excess)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        arrays = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 1, 4, 5)]
        tile_at, keys_at, bars_at, excess_at = (array.data for array in arrays)
        dim, start, stop = builder.extract_value(arrays[1].shape, 1), args[2], args[3]
        halves = range(SEEKERS // LANES)

        def vector_at(pointer: Any, *offset: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, list(offset)), _VECTOR.as_pointer())

        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{LANES}f32"
        )
        zero, bits = ir.Constant(_VECTOR, [0.0] * LANES), ir.IntType(LANES)
        below = [builder.fsub(zero, builder.load(vector_at(bars_at, _index(h * LANES)), align=4)) for h in halves]
        sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in halves] for _ in range(GROUP)]
        found = cgutils.alloca_once_value(builder, stop)
        groups = builder.sdiv(builder.add(builder.sub(stop, start), _index(GROUP - 1)), _index(GROUP))
        with cgutils.for_range(builder, groups, intp=dim.type) as group:
            first = builder.add(start, builder.mul(group.index, _index(GROUP)))
            rows = [builder.gep(keys_at, [builder.mul(builder.add(first, _index(g)), dim)]) for g in range(GROUP)]
            for places in sums:
                for h in halves:
                    builder.store(below[h], places[h])
            with cgutils.for_range(builder, dim, intp=dim.type) as coordinate:
                row = builder.mul(coordinate.index, _index(SEEKERS))
                queries = [
                    builder.load(vector_at(tile_at, builder.add(row, _index(h * LANES))), align=4) for h in halves
                ]
                for g in range(GROUP):
                    key = _splat(builder, builder.load(builder.gep(rows[g], [coordinate.index])), _VECTOR)
                    for h in halves:
                        total = builder.call(fma, [queries[h], key, builder.load(sums[g][h])])
                        builder.store(total, sums[g][h])
            totals = [builder.load(place) for places in sums for place in places]
            highest = totals[0]
            for total in totals[1:]:
                highest = builder.select(builder.fcmp_ordered(">", total, highest), total, highest)
            some = builder.bitcast(builder.fcmp_ordered(">=", highest, zero), bits)
            with builder.if_then(builder.icmp_unsigned("!=", some, ir.Constant(bits, 0)), likely=False):
                for k, total in enumerate(totals):
                    builder.store(total, vector_at(excess_at, _index(k * LANES)), align=4)
                builder.store(first, found)
                group.do_break()
        return builder.load(found)

    return signature, codegen


WIDTH = 8  # float64 lanes of one vector
VECTORS = 2  # vectors of a tile: enough independent chains to hide the latency of max
TILE = WIDTH * VECTORS

_DOUBLE = ir.DoubleType()
_DOUBLES = ir.VectorType(_DOUBLE, WIDTH)
_INDEX = ir.IntType(64)


def _make_top2(dim: int | None) -> Any:
    """The search for one dimension, coordinates unrolled; for any dimension if `dim` is None."""

    @intrinsic
    def top2(typingctx: Any, tile: Any, keys: Any, count: Any, out: Any) -> Any:
        """top2(tile, keys, count, out): for the queries `tile` (d, TILE) and the keys `keys[:count]` (count, d).

        Fills out (3, TILE): the best score, the second best score (-inf if there is one key), the index of the best.
        """
        signature = types.void(tile, keys, types.int64, out)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [context.make_array(signature.args[a])(context, builder, args[a]) for a in (0, 1, 3)]
            queries, points, results = (array.data for array in arrays)
            d = cgutils.unpack_tuple(builder, arrays[1].shape)[1]
            search = _Search(builder, queries, points, d, dim)
            # The vectors of `out` row by row: best, second, which; no key has been seen yet.
            state = [_constant(float("-inf"))] * (2 * VECTORS) + [_constant(0.0)] * VECTORS
            done, zero = args[2], _index(0)
            if dim is None:
                # Two keys at a time share the loads of the queries; an odd last key goes alone.
                done = builder.and_(done, _index(-2))
                state = search.keys(zero, done, 2, state)
                state = search.keys(done, args[2], 1, state)
            else:
                state = search.keys(zero, done, 1, state)
            for k, values in enumerate(state):
                builder.store(values, search.vector(results, _index(k * WIDTH)), align=8)
            return context.get_dummy_value()

        return signature, codegen

    return top2


def _index(value: int) -> Any:
    return ir.Constant(_INDEX, value)


def _constant(value: float) -> Any:
    return ir.Constant(_DOUBLES, [value] * WIDTH)


class _Search:
    """Writes the loops over keys and coordinates as LLVM IR."""

    def __init__(self, builder: Any, queries: Any, points: Any, d: Any, dim: int | None) -> None:
        self.builder, self.queries, self.points, self.dim = builder, queries, points, dim
        self.d = d if dim is None else _index(dim)

    def vector(self, pointer: Any, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), _DOUBLES.as_pointer())

    def loop(self, begin: Any, end: Any, step: int, values: list[Any], body: Any) -> list[Any]:
        """for i in range(begin, end, step): values = body(i, values)."""
        builder = self.builder
        before = builder.block
        inside, after = builder.append_basic_block("inside"), builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed("<", begin, end), inside, after)
        builder.position_at_end(inside)
        i = builder.phi(_INDEX)
        i.add_incoming(begin, before)
        carried = [builder.phi(value.type) for value in values]
        results = body(i, carried)
        following = builder.add(i, _index(step))
        last = builder.block
        i.add_incoming(following, last)
        builder.cbranch(builder.icmp_signed("<", following, end), inside, after)
        builder.position_at_end(after)
        final = [builder.phi(value.type) for value in values]
        for phi, value, result in zip(carried + final, values * 2, results * 2, strict=True):
            phi.add_incoming(value, before)
            phi.add_incoming(result, last)
        return final

    def scores(self, j: Any, group: int) -> list[Any]:
        """<q, z_j>, ..., <q, z_{j+group-1}> for all lanes: group * VECTORS vectors, key by key."""
        builder = self.builder
        rows = [builder.mul(builder.add(j, _index(g)), self.d) for g in range(group)]

        def add_coordinate(c: Any, sums: list[Any]) -> list[Any]:
            base = builder.mul(c, _index(TILE))
            tile = [
                builder.load(self.vector(self.queries, builder.add(base, _index(v * WIDTH))), align=8)
                for v in range(VECTORS)
            ]
            added = []
            for g, row in enumerate(rows):
                coordinate = _splat(builder, builder.load(builder.gep(self.points, [builder.add(row, c)])), _DOUBLES)
                for v in range(VECTORS):
                    product = builder.fmul(tile[v], coordinate)
                    added.append(builder.fadd(sums[g * VECTORS + v], product))
            return added

        sums = [_constant(0.0)] * (group * VECTORS)
        if self.dim is None:
            return self.loop(_index(0), self.d, 1, sums, add_coordinate)
        for c in range(self.dim):
            sums = add_coordinate(_index(c), sums)
        return sums

    def keys(self, begin: Any, end: Any, group: int, state: list[Any]) -> list[Any]:
        """Show the keys begin..end-1 to all lanes, `group` at a time."""
        builder = self.builder

        def show(j: Any, values: list[Any]) -> list[Any]:
            scores = self.scores(j, group)
            best, second, which = (list(values[r * VECTORS : (r + 1) * VECTORS]) for r in range(3))
            number = values[-1]  # j in every lane
            for g in range(group):
                for v in range(VECTORS):
                    s = scores[g * VECTORS + v]
                    wins = builder.fcmp_ordered(">", s, best[v])
                    loser = builder.select(builder.fcmp_ordered("<", s, best[v]), s, best[v])
                    second[v] = builder.select(builder.fcmp_ordered(">", loser, second[v]), loser, second[v])
                    which[v] = builder.select(wins, number, which[v])
                    best[v] = builder.select(wins, s, best[v])
                number = builder.fadd(number, _constant(1.0))
            return [*best, *second, *which, number]

        start = _splat(builder, builder.sitofp(begin, _DOUBLE), _DOUBLES)
        return self.loop(begin, end, group, [*state, start], show)[:-1]


top2_1, top2_2, top2_3, top2_4 = (_make_top2(dim) for dim in (1, 2, 3, 4))
top2_any = _make_top2(None)
