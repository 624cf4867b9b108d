#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single operations of JAX on Braze and on XLA:CPU in turn, in one process, at sizes where schedules matter.

    bench/jax_ops.py [--rounds N] [GLOB…]

Prints medians in milliseconds, the ratio Braze / XLA, `slower` beside ratios over 1.05, and the geometric mean. Results that
differ are told and make the exit code 1. Run it with a Python in which JAX runs on Braze.
"""
import argparse
import fnmatch
import math
import statistics
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax
import numpy as np

PAUSE_SECONDS = 0.003  # the threads of the engine before may still spin
SLOT_SECONDS = 0.02


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def whole(high, *shape):
    return np.random.default_rng(high).integers(0, high, shape).astype(np.int32)


def conv(x, k, stride=1, layout="NHWC", groups=1):
    dims = (layout, "HWIO" if layout == "NHWC" else "OIHW", layout)
    return lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=dims, feature_group_count=groups)


def pool(x, init, op, size, stride, padding="VALID"):
    return lax.reduce_window(x, init, op, (1, size, size, 1), (1, stride, stride, 1), padding)


def key(words):
    return jax.random.wrap_key_data(words)


def movement():
    a, b, v, q = numbers(1024, 1024), numbers(1024, 1000).repeat(2, 1)[:, :1024], numbers(1 << 20), numbers(8, 12, 128, 64)
    nhwc, nchw, points = numbers(8, 56, 56, 64), numbers(8, 64, 56, 56), numbers(100000, 3)
    index, many = whole(1024, 1024), whole(1000, 1 << 20)
    yield from {
        "transpose": (lambda x: x.T, a), "transpose_add": (lambda x, y: x.T + y, a, b),
        "transpose_bf16": (lambda x: x.T, a.astype(jnp.bfloat16)), "transpose_s8": (lambda x: x.T, (a * 50).astype(np.int8)),
        "transpose_odd": (lambda x: x.T, numbers(1000, 1031)), "nchw_to_nhwc": (lambda x: x.transpose(0, 2, 3, 1), nchw),
        "nhwc_to_nchw": (lambda x: x.transpose(0, 3, 1, 2), nhwc),
        "channels_last_u8": (lambda x: x.transpose(0, 2, 3, 1), whole(256, 8, 3, 224, 224).astype(np.uint8)), "heads": (lambda x: x.transpose(0, 2, 1, 3), q),
        "heads_last": (lambda x: x.transpose(0, 1, 3, 2), q), "reverse": (lambda x: x[::-1, ::-1], a), "reverse_1d": (lambda x: x[::-1], v),
        "concatenate_rows": (lambda x, y: jnp.concatenate([x, y], 0), a, b),
        "concatenate_columns": (lambda x, y: jnp.concatenate([x, y], 1), a, b),
        "concatenate_1d": (lambda x: jnp.concatenate([x, x, x]), v), "stack_2": (lambda x, y: jnp.stack([x, y], -1), a, b),
        "stack_3": (lambda x, y: jnp.stack([x, y, x], -1), a, b),
        "stack_8": (lambda x: jnp.stack([x * k for k in range(8)], -1), v[: 1 << 17]), "pad": (lambda x: jnp.pad(x, 1), a),
        "pad_1d": (lambda x: jnp.pad(x, (0, 1 << 20)), v), "pad_reflect": (lambda x: jnp.pad(x, 3, mode="reflect"), a),
        "pad_wrap": (lambda x: jnp.pad(x, 3, mode="wrap"), a), "roll_rows": (lambda x: jnp.roll(x, 3, 0), a),
        "roll_columns": (lambda x: jnp.roll(x, 3, 1), a), "tile": (lambda x: jnp.tile(x, (2, 2)), a),
        "repeat": (lambda x: jnp.repeat(x, 3), v), "repeat_columns": (lambda x: jnp.repeat(x, 2, 1), a),
        "every_second": (lambda x: x[::2, ::2], a), "every_third": (lambda x: x[::3], v), "even_times_odd": (lambda x: x[::2] * x[1::2], v),
        "rotary_halves": (lambda x: jnp.concatenate([-x[..., 32:], x[..., :32]], -1) * 2 + x, q),
        "rotary_pairs": (lambda x: jnp.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape), q),
        "rot90": (jnp.rot90, a), "kron": (lambda x: jnp.kron(x[:32, :32], x[:32, :32]), a), "cross": (lambda x: jnp.cross(x, x[::-1]), points),
        "tril": (jnp.tril, a), "times_eye": (lambda x: x * jnp.eye(1024), a), "diagonal": (jnp.diag, a),
        "take_rows": (lambda x, i: x[i], a, index), "take_columns": (lambda x, i: x[:, i], a, index), "gather_1d": (lambda x, i: x[i], v, many),
        "take_along": (lambda x: jnp.take_along_axis(x, (jnp.abs(x) * 100).astype(jnp.int32) % 1024, 1), a),
        "scatter_add": (lambda x, i: x.at[i].add(1.0), v, many), "scatter_rows": (lambda x, i: x.at[i].set(0.0), a, index),
        "update_slice": (lambda x, y: lax.dynamic_update_slice(x, y[:10], (5, 0)), a, b),
        "dynamic_slice": (lambda x: lax.dynamic_slice(x, (5, 7), (500, 500)), a), "one_hot": (lambda i: jax.nn.one_hot(i, 1000), many[:4096]),
        "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 1000), v, many), "nonzero": (lambda x: jnp.nonzero(x > 1, size=1000)[0], v),
        "patches": (lambda x: lax.conv_general_dilated_patches(x[:2], (3, 3), (1, 1), "SAME"), nchw),
    }.items()


def reductions():
    a, v, nhwc = numbers(1024, 1024), numbers(1 << 20), numbers(8, 56, 56, 64)
    normal = lambda x, axes, **kw: (x - x.mean(axes, keepdims=True)) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)
    yield from {
        "sum": (jnp.sum, v), "sum_rows": (lambda x: x.sum(1), a), "sum_columns": (lambda x: x.sum(0), a),
        "sum_middle": (lambda x: x.sum((1, 2)), nhwc), "sum_planes": (lambda x: x.sum((2, 3)), numbers(8, 64, 56, 56)),
        "max_columns": (lambda x: x.max(0), a), "argmax_columns": (lambda x: x.argmax(0), a), "argmax_rows": (lambda x: x.argmax(1), a),
        "var_rows": (lambda x: x.var(1), a), "var_columns": (lambda x: x.var(0), a), "prod": (jnp.prod, v), "any": (lambda x: (x > 3).any(), v),
        "count": (lambda x: (x > 0).sum(), v), "mean_bf16": (lambda x: x.mean(1), a.astype(jnp.bfloat16)),
        "sum_s8": (lambda x: x.astype(jnp.int32).sum(1), (a * 50).astype(np.int8)), "trace": (jnp.trace, a),
        "logsumexp": (lambda x: jax.nn.logsumexp(x, 1), a), "softmax_rows": (lambda x: jax.nn.softmax(x, 1), a),
        "softmax_columns": (lambda x: jax.nn.softmax(x, 0), a), "norm_rows": (lambda x: jnp.linalg.norm(x, axis=1), a),
        "median": (lambda x: jnp.median(x, 1), a[:256]), "quantile": (lambda x: jnp.quantile(x, 0.3, axis=1), a[:256]),
        "batchnorm": (lambda x: normal(x, (0, 1, 2)), nhwc), "layernorm": (lambda x: normal(x, -1), a),
        "groupnorm": (lambda x: normal(x.reshape(8, 56, 56, 8, 8), (1, 2, 4)).reshape(x.shape), nhwc), "covariance": (lambda x: jnp.cov(x[:256]), a),
        "distances": (lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)), numbers(512, 3)),
        "cumsum_rows": (lambda x: jnp.cumsum(x, 1), a), "cumsum_columns": (lambda x: jnp.cumsum(x, 0), a),
        "cumprod": (lambda x: jnp.cumprod(x, 1), a * 0.01 + 1), "cummax": (lambda x: lax.cummax(x, axis=1), a),
        "cummax_columns": (lambda x: lax.cummax(x, axis=0), a), "softmax_short": (lambda x: jax.nn.softmax(x, 1), numbers(2048, 128)),
        "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), v), "histogram": (lambda x: jnp.histogram(x, 64)[0], v),
        "bincount": (lambda x: jnp.bincount(x, length=1000), whole(1000, 1 << 20)), "max_pool": (lambda x: pool(x, -jnp.inf, lax.max, 2, 2), nhwc),
        "average_pool": (lambda x: pool(x, 0.0, lax.add, 3, 1, "SAME"), nhwc),
        "max_pool_gradient": (jax.grad(lambda x: pool(x, -jnp.inf, lax.max, 2, 2).sum()), nhwc),
    }.items()


def elementwise():
    v, i, c = numbers(1 << 20), whole(1000, 1 << 20), (numbers(512, 512) + 1j * numbers(512, 513)[:, 1:]).astype(np.complex64)
    on = lambda f: (lambda x: f(jnp.abs(x) + 0.1))
    one = {"exp": jnp.exp, "log": on(jnp.log), "sin": jnp.sin, "tanh": jnp.tanh, "erf": lax.erf, "gelu": jax.nn.gelu, "sqrt": on(jnp.sqrt),
           "rsqrt": on(lax.rsqrt), "power": on(lambda x: x ** 1.7), "atan2": lambda x: jnp.arctan2(x, x + 1), "remainder": lambda x: x % 0.7,
           "floor_divide": lambda x: x // 0.7, "lgamma": on(lax.lgamma), "digamma": on(lax.digamma), "erf_inv": lambda x: lax.erf_inv(jnp.tanh(x)),
           "clip": lambda x: jnp.clip(x, -1, 1), "where": lambda x: jnp.where(x > 0, x, 0.1 * x), "round": jnp.round,
           "to_s8": lambda x: (x * 10).astype(jnp.int8), "to_bf16": lambda x: x.astype(jnp.bfloat16), "to_f16": lambda x: x.astype(jnp.float16),
           "polynomial": lambda x: jnp.polyval(jnp.arange(8.0), x), "mesh": lambda x: jnp.meshgrid(x[:1000], x[:1000])[0] + 1,
           "interpolate": lambda x: jnp.interp(x[: 1 << 18], jnp.linspace(-3, 3, 100), jnp.arange(100.0))}
    yield from {n: (f, v) for n, f in one.items()}.items()
    yield from {"exp_f64": (jnp.exp, v.astype(np.float64)), "exp_bf16": (jnp.exp, v.astype(jnp.bfloat16)), "divide_s32": (lambda x: x // 7, i),
                "remainder_s32": (lambda x: x % (x + 3), i), "popcount": (lax.population_count, i), "s32_to_f32": (lambda x: x.astype(jnp.float32), i),
                "complex_abs": (jnp.abs, c), "complex_square": (lambda x: x * x, c), "complex_exp": (jnp.exp, c)}.items()


def products():
    a, b, q, nhwc, nchw = numbers(1024, 1024), numbers(1024, 1025)[:, 1:], numbers(8, 12, 128, 64), numbers(8, 56, 56, 64), numbers(8, 64, 56, 56)
    c, bf, s8 = (a[:512, :512] + 1j * b[:512, :512]).astype(np.complex64), a.astype(jnp.bfloat16), (a * 50).astype(np.int8)
    k = numbers(3, 3, 64, 64)
    yield from {
        "dot": (jnp.dot, a, b), "dot_rhs_transposed": (lambda x, y: x @ y.T, a, b), "dot_lhs_transposed": (lambda x, y: x.T @ y, a, b),
        "dot_f64": (jnp.dot, a.astype(np.float64), b.astype(np.float64)), "dot_bf16": (jnp.dot, bf, bf), "dot_complex": (jnp.dot, c, c),
        "dot_s8": (lambda x: lax.dot(x, x, preferred_element_type=jnp.int32), s8), "matrix_vector": (lambda x, y: x @ y[0], a, b),
        "vector_matrix": (lambda x, y: y[0] @ x, a, b), "outer": (lambda x, y: jnp.outer(x[0], y[0]), a, b),
        "batched_transposed": (lambda x: jnp.einsum("bhqd,bhkd->bhqk", x, x), q), "batched_reordered": (lambda x: jnp.einsum("bhqd,bhkd->bqhk", x, x), q),
        "few_terms": (lambda x, y: x[:, :4] @ y[:4], a, b), "few_rows": (lambda x, y: x.T[:4] @ y, a, b), "few_columns": (lambda x, y: x @ y[:, :7], a, b),
        "attention": (lambda x: jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", x, x) / 8) @ x, q),
        "mlp_gradient": (jax.grad(lambda x, y: (jnp.tanh(x @ y) @ y).sum()), a, b), "conv3x3": (conv, nhwc, k),
        "conv3x3_nchw": (lambda x, k: conv(x, k, layout="NCHW"), nchw, numbers(64, 64, 3, 3)), "conv1x1": (conv, nhwc, numbers(1, 1, 64, 128)),
        "conv3x3_stride2": (lambda x, k: conv(x, k, 2), nhwc, k), "depthwise": (lambda x, k: conv(x, k, groups=64), nhwc, numbers(3, 3, 1, 64)),
        "depthwise_nchw": (lambda x, k: conv(x, k, layout="NCHW", groups=64), nchw, numbers(64, 1, 3, 3)),
        "grouped": (lambda x, k: conv(x, k, groups=4), nhwc, numbers(3, 3, 16, 64)),
        "conv1x1_nchw": (lambda x, k: conv(x, k, layout="NCHW"), nchw, numbers(128, 64, 1, 1)),
        "conv_to_rgb_nchw": (lambda x, k: conv(x, k, layout="NCHW"), nchw, numbers(3, 64, 3, 3)),
        "grouped_nchw": (lambda x, k: conv(x, k, layout="NCHW", groups=8), nchw, numbers(64, 8, 3, 3)),
        "heads_first": (lambda x, w: jnp.einsum("bse,hed->bhsd", x, w), numbers(8, 128, 512), numbers(8, 512, 64)),
        "heads_joined": (lambda x, w: jnp.einsum("bshd,ehd->bse", x, w), numbers(8, 128, 8, 64), numbers(512, 8, 64)),
        "grouped_queries": (lambda x, y: jnp.einsum("bghst,btgd->bsghd", jax.nn.softmax(jnp.einsum("bsghd,btgd->bghst", x, y)), y),
                            numbers(2, 256, 2, 4, 64), numbers(2, 256, 2, 64)),
        "column_dots": (lambda x: jnp.einsum("ij,ij->j", x, x), a),
        "stacked_layers": (lambda w, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0], numbers(24, 256, 256) * 0.05, numbers(4, 256)),
        "conv_transposed": (lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), nhwc, numbers(3, 3, 64, 32)),
        "class_scores": (lambda x, w: x @ w, numbers(65536, 64), numbers(64, 3)), "conv_to_rgb": (conv, nhwc, numbers(3, 3, 64, 3)),
        "depthwise_gradient": (jax.grad(lambda k, x: (conv(x, k, groups=64) ** 2).sum()), numbers(3, 3, 1, 64), nhwc),
        "depthwise_gradient_nchw": (jax.grad(lambda k, x: (conv(x, k, layout="NCHW", groups=64) ** 2).sum()), numbers(64, 1, 3, 3), nchw),
        "conv_gradient_nchw": (jax.grad(lambda k, x: (conv(x, k, layout="NCHW") ** 2).sum()), numbers(64, 64, 3, 3), nchw),
        "conv_gradient": (jax.grad(lambda k, x: (conv(x, k) ** 2).sum()), k, nhwc), "convolve_1d": (lambda x: jnp.convolve(x[0], x[1, :64]), numbers(2, 1 << 16)),
        "resize": (lambda x: jax.image.resize(x, (8, 112, 112, 64), "bilinear"), nhwc),
    }.items()


def other():
    a, v, words = numbers(1024, 1024), numbers(1 << 20), np.array([0, 1], np.uint32)
    near_eye = lambda x, n: x[..., :n, :n] * 0.1 + 3 * jnp.eye(n)
    yield from {
        "sort": (jnp.sort, v), "sort_rows": (lambda x: jnp.sort(x, 1), a), "sort_columns": (lambda x: jnp.sort(x, 0), a),
        "argsort_rows": (lambda x: jnp.argsort(x, 1), a), "top_k": (lambda x: lax.top_k(x, 8), a),
        "searchsorted": (lambda x, y: jnp.searchsorted(jnp.sort(y[0]), x), v[: 1 << 17], a), "fft": (jnp.fft.fft, v), "rfft2": (jnp.fft.rfft2, a),
        "fft_rows": (lambda x: jnp.fft.fft(x, axis=1), a), "fft_columns": (lambda x: jnp.fft.fft(x, axis=0), a),
        "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 1000 * jnp.eye(512)), a[:512, :512]), "inverse": (lambda x: jnp.linalg.inv(near_eye(x, 256)), a),
        "solve_batch": (lambda x: jnp.linalg.solve(near_eye(x, 16), x), numbers(500, 16, 16)), "eigh": (lambda x: jnp.linalg.eigh(x + x.T)[0], a[:128, :128]),
        "svd": (lambda x: jnp.linalg.svd(x)[1], a[:128, :128]), "qr": (lambda x: jnp.abs(jnp.linalg.qr(x)[1]), a[:256, :256]),
        "determinant_batch": (lambda x: jnp.linalg.det(near_eye(x, 8)), numbers(2000, 8, 8)),
        "uniform": (lambda k: jax.random.uniform(key(k), (1 << 20,)), words), "normal": (lambda k: jax.random.normal(key(k), (1 << 20,)), words),
        "bernoulli": (lambda k: jax.random.bernoulli(key(k), 0.3, (1 << 20,)), words), "permutation": (lambda k: jax.random.permutation(key(k), 1 << 17), words),
        "gamma": (lambda k: jax.random.gamma(key(k), 2.0, (1 << 14,)), words), "choice": (lambda k: jax.random.choice(key(k), 1000, (10000,)), words),
        "loop_1000": (lambda x: lax.fori_loop(0, 1000, lambda _, y: y * 0.99 + 1, x[:1000]), v),
        "scan_rows": (lambda x: lax.scan(lambda c, y: (jnp.tanh(c + y), c.sum()), x[0], x)[0], a),
        "while_scalar": (lambda x: lax.while_loop(lambda s: s[0] < 100000, lambda s: (s[0] + 1, s[1] * 0.999), (0, x[0]))[1], v),
        "map_of_sorts": (lambda x: lax.map(lambda y: jnp.sort(y)[:3], x[:200]), a),
        "vmap_of_cond": (lambda x: jax.vmap(lambda y: lax.cond(y.sum() > 0, lambda z: z * 2, lambda z: z - 1, y))(x), a),
    }.items()


FAMILIES = (movement, reductions, elementwise, products, other)


def operations(globs=()):
    for family in FAMILIES:
        for name, (f, *args) in family():
            if not globs or any(fnmatch.fnmatch(name, g) for g in globs):
                yield name, f, args


class Run:
    """One operation on one device, run once."""

    def __init__(self, f, args, device):
        self.f, self.args, self.times = jax.jit(f), [jax.device_put(x, device) for x in args], []
        self.out = jax.block_until_ready(self.f(*self.args))

    def slot(self):
        time.sleep(PAUSE_SECONDS)
        until = time.perf_counter() + SLOT_SECONDS
        while True:
            start = time.perf_counter()
            jax.block_until_ready(self.f(*self.args))
            self.times.append(time.perf_counter() - start)
            if time.perf_counter() > until:
                return


def difference(ours, theirs):
    """None if the results agree, else a word on the first that does not: errors are measured in the L2 norm."""
    for k, (a, b) in enumerate(zip(jax.tree.leaves(ours), jax.tree.leaves(theirs))):
        x, y = np.asarray(a).astype(np.complex128), np.asarray(b).astype(np.complex128)
        room = 2e-2 if a.dtype in (jnp.bfloat16, jnp.float16) else 1e-3
        off = np.linalg.norm(x - y) / max(np.linalg.norm(y), 1e-30)
        if x.shape != y.shape or not off <= room:
            return f"result {k} is {off:.2g} off"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("globs", nargs="*", metavar="GLOB", help="operations (all)")
    p.add_argument("--rounds", type=int, default=3, help="of 20 ms an engine (3)")
    a = p.parse_args()
    jax.config.update("jax_enable_x64", True)
    ratios, wrong = [], 0
    print(f"{'operation':22s} {'Braze ms':>9s} {'XLA ms':>9s} {'ratio':>6s}")
    for name, f, args in operations(a.globs):
        runs = [Run(f, args, jax.devices(d)[0]) for d in ("cpu", "xla_cpu")]
        for _ in range(a.rounds):
            for r in runs:
                r.slot()
        ours, theirs = (1e3 * statistics.median(r.times) for r in runs)
        ratios.append(ours / theirs)
        off = difference(runs[0].out, runs[1].out)
        wrong += off is not None
        print(f"{name:22s} {ours:9.3f} {theirs:9.3f} {ratios[-1]:6.2f}" + ("  slower" if ratios[-1] > 1.05 else "") + (f"  DIFFERS: {off}" if off else ""),
              flush=True)
    if not ratios:
        sys.exit("jax_ops: no operation of that name")
    print(f"geometric mean of {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
