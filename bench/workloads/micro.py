# SPDX-License-Identifier: Apache-2.0
"""Call overhead, elementwise work, reductions, sorting, indexing, random numbers."""
import jax
import jax.numpy as jnp
import numpy as np

from workloads import workload

MB = 1 << 20


@workload("call_x_plus_1", "ew", lambda g: [g.uniform(3)])
def call_x_plus_1(x):
    return x + 1


def _xyz(n):
    @workload(f"reduce_xyz_2e{n}", "red", lambda g: [g.uniform(1 << n, lo=-0.5) for _ in range(3)],
              dict(flops=3 << n, bytes=12 << n))
    def reduce_xyz(x, y, z):
        return jnp.sum(x + y * z)


for _n in (14, 20, 24):
    _xyz(_n)


@workload("ew_chain_2e22", "ew", lambda g: [g.uniform(1 << 22), g.uniform(1 << 22)],
          dict(flops=26 << 22, exps=2 << 22, bytes=12 << 22, writes=True))
def ew_chain(x, y):
    a = x * y + 0.5
    b = jnp.maximum(a, -x) - 0.25 * y
    c = a * b - x * x + 1.5 * b
    d = jnp.where(c > 0, c, 0.1 * c) + jnp.minimum(a, y)
    e = jnp.exp(-jnp.abs(d) * 0.5)
    f = e * c + (1 - e) * b
    return jnp.tanh(f * 0.7) * d + f - a * 0.125


@workload("cumsum_1m", "net", lambda g: [g.uniform(MB)], dict(bytes=8 * MB, writes=True))
def cumsum(x):
    return jnp.cumsum(x)


# Sorts: passes of 16 bytes an element; 3 passes sort 32-bit keys by 11 bits each.
@workload("sort_1m", "exact", lambda g: [g.uniform(1_000_000)], dict(bytes=48e6, ws=8e6, writes=True))
def sort(x):
    return jnp.sort(x)


@workload("argsort_1m", "exact", lambda g: [g.uniform(MB)], dict(bytes=96 * MB, ws=16 * MB, writes=True))
def argsort(x):
    return jnp.argsort(x)


@workload("topk10_64x50257", "exact", lambda g: [g.distinct(64, 50257)], dict(bytes=64 * 50257 * 4))
def topk(x):
    return jax.lax.top_k(x, 10)


@workload("gather_65536x128", "exact", lambda g: [g.uniform(200_000, 128), g.zipf(65536, below=200_000)],
          dict(bytes=53e6, ws=60e6, writes=True))
def gather(table, rows):
    return table[rows]


@workload("scatter_add_1m", "net", lambda g: [g.uniform(100_000), g.integers(MB, below=100_000), g.uniform(MB)],
          dict(bytes=8 * MB + 800_000))
def scatter_add(table, at, values):
    return table.at[at].add(values)


@workload("embedding_zipf", "net",
          lambda g: [g.uniform(200_000, 128), g.zipf(65536, below=200_000), g.uniform(65536, 128, lo=-1e-3, hi=1e-3)],
          dict(bytes=150e6, ws=150e6, writes=True), donate=(0,))
def embedding(table, ids, gradient):
    return table.at[ids].add(-gradient), table[ids]


@workload("fft_2e20", "net", lambda g: [g.uniform(MB, dtype=np.complex64) + 1j * g.uniform(MB)],
          dict(flops=5 * 20 * MB, bytes=32 * MB, ws=16 * MB, writes=True))
def fft(x):
    return jnp.fft.fft(x)


def _normal64(key):
    """The same bits, then float64: the 23 bits of a float32 in (-1, 1) through the inverse error function."""
    u = jax.random.uniform(key, (1 << 24,), np.float32, np.nextafter(np.float32(-1), np.float32(0)), 1.0)
    return np.sqrt(2) * jax.lax.erf_inv(u.astype(np.float64))


@workload("threefry_normal_2e24", "ew", lambda g: [np.array([7, 42], np.uint32)],
          dict(words=2 << 24, bytes=4 << 24, writes=True), reference=_normal64)
def threefry_normal(key):
    return jax.random.normal(key, (1 << 24,), np.float32)
