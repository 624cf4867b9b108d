# SPDX-License-Identifier: Apache-2.0
"""Work along rows: softmax, layer normalization forward and backward."""
import jax
import jax.numpy as jnp

from workloads import workload

ROW = 4096 * 768 * 4


def layernorm(x, g, b, eps=1e-5):
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + eps) * g + b


def _inputs(g):
    return [g.uniform(4096, 768), g.uniform(768, lo=0.5, hi=1.5), g.uniform(768)]


@workload("softmax_4096x1024", "red", lambda g: [g.uniform(4096, 1024)],
          dict(bytes=32 << 20, exps=4 << 20, writes=True))
def softmax(x):
    return jax.nn.softmax(4 * x, -1)


@workload("layernorm_fwd", "red", _inputs, dict(bytes=2 * ROW, writes=True))
def layernorm_fwd(x, g, b):
    return layernorm(x, g, b)


@workload("layernorm_fwd_bwd", "red", lambda g: _inputs(g) + [g.uniform(4096, 768)], dict(bytes=4 * ROW, writes=True))
def layernorm_fwd_bwd(x, g, b, dy):
    y, back = jax.vjp(layernorm, x, g, b)
    return y, *back(dy)
