"""Best and second best score of many queries at once: the innermost loop of the fused kernel, in vector instructions.

One vector lane is one query. A tile of `LANES` queries stays in registers while the keys pass by one at a time, each
coordinate broadcast to all lanes:

    s = <q, z_j>;    second = max(second, min(best, s));    index = j if s > best else index;    best = max(best, s)

No horizontal reduction is needed at the end, the keys need no padding, and the index costs one blend. LLVM does not
vectorize such a loop from Numba code (a running maximum is a branch to it), so it is written out as LLVM IR; vector
types are split by LLVM to what the machine has, so the same code runs on AVX2, AVX-512 and NEON.

Scores are float64 throughout and are what decides; `hardmax.attention.ties.rounding_bound` holds for any order of
summation, with or without fused multiply-add.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 8  # float64 lanes of one vector
VECTORS = 2  # vectors of a tile: enough independent chains to hide the latency of max
LANES = WIDTH * VECTORS

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_INDEX = ir.IntType(64)


_STATE = ("best", "second", "which")


def _make_top2(dim: int | None) -> Any:
    """The search for one dimension, coordinates unrolled; for any dimension if `dim` is None."""

    @intrinsic
    def top2(typingctx: Any, tile: Any, keys: Any, count: Any, out: Any) -> Any:
        """top2(tile, keys, count, out): for the queries `tile` (d, LANES) and the keys `keys[:count]` (count, d).

        Fills out (3, LANES): the best score, the second best score (-inf if there is one key), the index of the best.
        """
        signature = types.void(tile, keys, types.int64, out)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [context.make_array(signature.args[a])(context, builder, args[a]) for a in (0, 1, 3)]
            queries, points, results = (array.data for array in arrays)
            d = cgutils.unpack_tuple(builder, arrays[1].shape)[1]
            search = _Search(builder, queries, points, d, dim)
            state = search.start()
            done, zero = args[2], _index(0)
            if dim is None:
                # Two keys at a time share the loads of the queries; an odd last key goes alone.
                done = builder.and_(done, _index(-2))
                state = search.keys(zero, done, 2, state)
                state = search.keys(done, args[2], 1, state)
            else:
                state = search.keys(zero, done, 1, state)
            for r, name in enumerate(_STATE):
                for v in range(VECTORS):
                    at = search.vector(results, _index(r * LANES + v * WIDTH))
                    builder.store(state[name][v], at, align=8)
            return context.get_dummy_value()

        return signature, codegen

    return top2


def _index(value: int) -> Any:
    return ir.Constant(_INDEX, value)


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * WIDTH)


class _Search:
    """Writes the loops over keys and coordinates as LLVM IR."""

    def __init__(self, builder: Any, queries: Any, points: Any, d: Any, dim: int | None) -> None:
        self.builder, self.queries, self.points, self.dim = builder, queries, points, dim
        self.d = d if dim is None else _index(dim)
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        self.fmuladd = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64")

    def start(self) -> dict[str, list[Any]]:
        """No key seen yet."""
        lowest = _constant(float("-inf"))
        return {"best": [lowest] * VECTORS, "second": [lowest] * VECTORS, "which": [_constant(0.0)] * VECTORS}

    def splat(self, scalar: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None))

    def vector(self, pointer: Any, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), _VECTOR.as_pointer())

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
        for phi, value, result in zip(carried, values, results, strict=True):
            phi.add_incoming(value, before)
            phi.add_incoming(result, last)
        builder.cbranch(builder.icmp_signed("<", following, end), inside, after)
        builder.position_at_end(after)
        final = [builder.phi(value.type) for value in values]
        for phi, value, result in zip(final, values, results, strict=True):
            phi.add_incoming(value, before)
            phi.add_incoming(result, last)
        return final

    def scores(self, j: Any, group: int) -> list[Any]:
        """<q, z_j>, ..., <q, z_{j+group-1}> for all lanes: group * VECTORS vectors, key by key."""
        builder = self.builder
        rows = [builder.mul(builder.add(j, _index(g)), self.d) for g in range(group)]

        def add_coordinate(c: Any, sums: list[Any]) -> list[Any]:
            base = builder.mul(c, _index(LANES))
            tile = [
                builder.load(self.vector(self.queries, builder.add(base, _index(v * WIDTH))), align=8)
                for v in range(VECTORS)
            ]
            added = []
            for g, row in enumerate(rows):
                coordinate = self.splat(builder.load(builder.gep(self.points, [builder.add(row, c)])))
                for v in range(VECTORS):
                    added.append(builder.call(self.fmuladd, [tile[v], coordinate, sums[g * VECTORS + v]]))
            return added

        sums = [_constant(0.0)] * (group * VECTORS)
        if self.dim is None:
            return self.loop(_index(0), self.d, 1, sums, add_coordinate)
        for c in range(self.dim):
            sums = add_coordinate(_index(c), sums)
        return sums

    def keys(self, begin: Any, end: Any, group: int, state: dict[str, list[Any]]) -> dict[str, list[Any]]:
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

        start = self.splat(builder.sitofp(begin, _DOUBLE))
        values = self.loop(begin, end, group, [*(x for name in _STATE for x in state[name]), start], show)
        return {name: values[r * VECTORS : (r + 1) * VECTORS] for r, name in enumerate(_STATE)}


top2_1, top2_2, top2_3, top2_4 = (_make_top2(dim) for dim in (1, 2, 3, 4))
top2_any = _make_top2(None)
