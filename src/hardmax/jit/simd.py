"""Float32 filter in vector registers: do 4 queries reach their thresholds on a block of keys?

LLVM does not vectorize the maximum over the keys by itself, so the inner loop is written in its vector instructions:
4 queries x 2 vectors of keys stay in registers, one fused multiply-add per product, one maximum per score. The vectors
have the width of the machine; LLVM splits them where it is narrower, so the code runs everywhere.
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
_LANE = ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, LANES)


def _splat(builder: Any, value: Any) -> Any:
    """The vector with `value` in every lane."""
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_LANE, 0))
    zeros = ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), zeros)


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
                    q = _splat(builder, builder.load(builder.gep(query_at, [number(i)])))
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
            bar = _splat(builder, builder.load(builder.gep(thresholds_at, [number(i)])))
            hit = builder.bitcast(builder.fcmp_ordered(">=", top, bar), bits)
            some = builder.zext(builder.icmp_unsigned("!=", hit, ir.Constant(bits, 0)), word)
            mask = builder.or_(mask, builder.shl(some, number(i)))
        return mask

    return signature, codegen
