# SPDX-License-Identifier: Apache-2.0
"""Matrix products, convolutions, attention, pairwise forces, batched small linear algebra."""
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from workloads import workload


def conv(x, w, stride=1, padding="SAME", groups=1):
    """NHWC by HWIO. In float64 as a sum over taps of products, which stock XLA does at the speed of its
    matrix products (its own float64 convolutions take minutes for a network)."""
    if x.dtype != jnp.float64:
        return jax.lax.conv_general_dilated(x, w, (stride, stride), padding, feature_group_count=groups,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))
    kh, kw = w.shape[:2]
    pads = jax.lax.padtype_to_pads(x.shape[1:3], (kh, kw), (stride, stride), padding) \
        if isinstance(padding, str) else padding
    x = jnp.pad(x, ((0, 0), *pads, (0, 0)))
    oh, ow = (x.shape[1] - kh) // stride + 1, (x.shape[2] - kw) // stride + 1
    total = 0
    for i in range(kh):
        for j in range(kw):
            tap = x[:, i:i + (oh - 1) * stride + 1:stride, j:j + (ow - 1) * stride + 1:stride]
            total += tap * w[i, j, 0] if groups > 1 else tap @ w[i, j]
    return total


def _matmul(name, tolerance, shapes, floor, dtype=np.float32):
    @workload(name, tolerance, lambda g: [g.uniform(*s, dtype=dtype) for s in shapes], floor)
    def matmul(a, b):
        return a @ b


for _n in (512, 1024, 2048):
    _matmul(f"matmul_{_n}", "net", [(_n, _n)] * 2, dict(flops=2 * _n**3, bytes=12 * _n**2))
_matmul("matmul_8x4096", "net", [(8, 4096), (4096, 4096)], dict(flops=16 << 24, bytes=(4 << 24) + (8 << 15)))
_matmul("matmul_bf16_1024", "bf16", [(1024, 1024)] * 2, dict(flops=2 << 30), ml_dtypes.bfloat16)
_matmul("bmm_256x64", "net", [(256, 64, 64)] * 2, dict(flops=1 << 27, bytes=12 << 20))


@workload("gemm_bias_gelu", "net", lambda g: [g.uniform(512, 768), g.weights(768, 3072), g.uniform(3072, lo=-0.1, hi=0.1)],
          dict(flops=2 * 512 * 768 * 3072, exps=512 * 3072, sum=True))
def gemm_bias_gelu(x, w, b):
    return jax.nn.gelu(x @ w + b)


def _conv(name, size, channels, floor, groups=1):
    @workload(name, "net", lambda g: [g.uniform(1, size, size, channels),
                                      g.weights(3, 3, channels // groups, channels)], floor)
    def conv3x3(x, w):
        return conv(x, w, groups=groups)


_conv("conv3x3_c64_56", 56, 64, dict(flops=2 * 9 * 64 * 64 * 56**2))
_conv("conv3x3_c256_14", 14, 256, dict(flops=2 * 9 * 256 * 256 * 14**2))
_conv("dwconv3x3_c144_56", 56, 144, dict(flops=2 * 9 * 144 * 56**2, bytes=8 * 144 * 56**2), groups=144)


def _attention(s):
    @workload(f"attention_s{s}", "net", lambda g: [g.uniform(1, 12, s, 64) for _ in range(3)],
              dict(flops=4 * 12 * 64 * s * s, exps=12 * s * s, sum=True))
    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        return jax.nn.softmax(scores, -1) @ v


_attention(128)
_attention(512)


@workload("nbody_4096", "train", lambda g: [g.uniform(4096, 3), g.uniform(4096, lo=1e-4, hi=4e-4)],
          dict(flops=20 << 24))
def nbody(x, mass):
    d = x[None] - x[:, None]
    r2 = jnp.sum(d * d, -1) + 0.01
    return jnp.einsum("ij,ijk->ik", mass[None] * jax.lax.rsqrt(r2) / r2, d)


def _spd(g):
    m = g.uniform(2048, 16, 16)
    return [(m @ m.swapaxes(1, 2) + 4 * np.eye(16, dtype=np.float32)), g.uniform(2048, 16, 4)]


@workload("linalg_2048x16", "net", _spd, dict(flops=2048 * (16**3 / 3 + 4 * 2 * 16**2), bytes=2048 * 4 * 16 * 24))
def batched_solve(a, b):
    """Solves of 2048 symmetric positive 16x16 systems with 4 right sides, by Cholesky."""
    lower = jnp.linalg.cholesky(a)
    y = jax.lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)
    return jax.lax.linalg.triangular_solve(lower, y, left_side=True, lower=True, transpose_a=True)
