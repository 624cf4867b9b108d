# SPDX-License-Identifier: Apache-2.0
"""Loops of small bodies, stencils, a recurrent cell, and long unrolled programs (compile time)."""
import jax
import jax.numpy as jnp
import numpy as np

from workloads import workload


@workload("while_1e5", "train", lambda g: [np.float32(1)], dict(steps=100_000, cycles=4))
def while_1e5(x):
    return jax.lax.while_loop(lambda s: s[0] < 100_000, lambda s: (s[0] + 1, s[1] * 0.999 + 0.25), (0, x))[1]


@workload("scan_3x3_1e4", "train", lambda g: [g.uniform(3, 3), g.uniform(10_000, 3, 3)],
          dict(steps=10_000, cycles=40))
def scan_3x3(c, m):
    return jax.lax.scan(lambda c, m: (jnp.tanh(c @ m + 0.1), None), c, m)[0]


@workload("dots500_4x4", "train", lambda g: [g.uniform(4, 4), g.uniform(8, 4, 4)], dict(steps=500, cycles=50))
def dots500(x, w):
    for i in range(500):
        x = jnp.tanh(x @ w[i % 8])
    return x


@workload("ops1000_scalar", "train", lambda g: [g.uniform(3), g.uniform(1000, lo=0.5, hi=0.75)],
          dict(steps=1000, cycles=4), reference="numpy")
def ops1000(x, a):
    for i in range(500):
        x = x * a[i] + a[i + 500]
    return x


@workload("ops10000_chain", "train", lambda g: [np.float32(1), np.float32(0.9995), np.float32(0.25)],
          dict(steps=10_000, cycles=4), reference="numpy")
def ops10000(x, a, b):
    """10,000 dependent operations on a scalar, unrolled: for the compile time per operation."""
    for _ in range(5000):
        x = x * a + b
    return x


@workload("lstm_t128", "net",
          lambda g: [dict(w=g.weights(512, 2048), u=g.weights(512, 2048), b=g.uniform(2048, lo=-0.1, hi=0.1)),
                     g.uniform(128, 32, 512)],
          dict(flops=8 * 32 * 512 * 1024 * 128))
def lstm(p, xs):
    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ p["w"] + h @ p["u"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((32, 512), xs.dtype)
    return jax.lax.scan(cell, (zero, zero), xs)


@workload("heat3d_192x50", "net", lambda g: [g.uniform(192, 192, 192)],
          dict(bytes=50 * 8 * 192**3, ws=8 * 192**3, writes=True))
def heat3d(u):
    """50 steps of the heat equation with a fixed border, 7-point stencil."""
    def step(_, u):
        c = u[1:-1, 1:-1, 1:-1]
        around = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
                  + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2])
        return u.at[1:-1, 1:-1, 1:-1].set(c + 0.125 * (around - 6 * c))
    return jax.lax.fori_loop(0, 50, step, u)


@workload("wave2d_1024x100", "net", lambda g: [g.uniform(1024, 1024), g.uniform(1024, 1024)],
          dict(bytes=100 * 12 << 20, ws=12 << 20, writes=True))
def wave2d(u, before):
    """100 steps of the wave equation on a torus, 5-point stencil."""
    def step(_, state):
        u, before = state
        lap = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
        return 2 * u - before + 0.1 * lap, u
    return jax.lax.fori_loop(0, 100, step, (u, before))
