# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer on eight devices, a data x model mesh, twice, and once on one device.

    python examples/jax/sharded_transformer.py

Prints both losses of each step, how far the parameters are apart in the end, and whether the second run on eight
devices gave the same bits as the first. Stock JAX; nothing here knows of Braze.
"""
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np

VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 32, 16, 4, 32, 2


def numbers(seed, *shape):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.3).astype(np.float32)


def parameters():
    layers = [dict(qkv=numbers(10 + k, WIDTH, 3, WIDTH), out=numbers(20 + k, WIDTH, WIDTH),
                   up=numbers(30 + k, WIDTH, INNER), down=numbers(40 + k, INNER, WIDTH)) for k in range(LAYERS)]
    return dict(embed=numbers(1, VOCABULARY, WIDTH), layers=layers, head=numbers(2, WIDTH, VOCABULARY))


def tokens():
    return (np.arange(8 * 9).reshape(8, 9) * 7 % VOCABULARY).astype(np.int32)


def norm(v):
    return v * lax.rsqrt(jnp.mean(v * v, -1, keepdims=True) + 1e-5)


def logits(params, tokens):
    x = params["embed"][tokens]
    for layer in params["layers"]:
        b, t, _ = x.shape
        q, k, v = jnp.einsum("btw,wcd->cbtd", norm(x), layer["qkv"]).reshape(3, b, t, HEADS, WIDTH // HEADS)
        score = jnp.einsum("bthd,bshd->bhts", q, k) / 2
        score = jnp.where(jnp.tril(jnp.ones((t, t), bool)), score, -1e9)
        mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(score), v).reshape(x.shape)
        x = x + mixed @ layer["out"]
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    return norm(x) @ params["head"]


def loss(params, tokens):
    logp = jax.nn.log_softmax(logits(params, tokens[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(logp, tokens[:, 1:, None], -1))


def descend(params, gradient):
    return jax.tree.map(lambda p, g: p - 0.3 * g, params, gradient)


def step(params, tokens):
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    return descend(params, gradient), value


def shardings(mesh):
    """Of the parameters: the width of heads and of inner layers is cut along "model"."""
    s = lambda *spec: NamedSharding(mesh, P(*spec))
    layer = dict(qkv=s(None, None, "model"), out=s("model", None), up=s(None, "model"), down=s("model", None))
    return dict(embed=s(None, "model"), layers=[layer] * LAYERS, head=s(None, "model"))


def train(step, params, tokens, steps=5):
    """The losses and the parameters after some steps, in NumPy."""
    losses = []
    for _ in range(steps):
        params, value = step(params, tokens)
        losses.append(np.asarray(value))
    return np.array(losses), jax.tree.map(np.asarray, params)


def train_on_mesh(mesh):
    where = shardings(mesh)
    return train(jax.jit(step, donate_argnums=0, out_shardings=(where, None)), jax.device_put(parameters(), where),
                 jax.device_put(tokens(), NamedSharding(mesh, P("data"))))


def train_on_one(device):
    return train(jax.jit(step), jax.device_put(parameters(), device), jax.device_put(tokens(), device))


def main():
    devices = jax.devices()
    print(f"{len(devices)} devices: {devices[0]} …")
    mesh = Mesh(np.array(devices[:8]).reshape(2, 4), ("data", "model"))
    first, second, one = train_on_mesh(mesh), train_on_mesh(mesh), train_on_one(devices[0])
    for k, (many, single) in enumerate(zip(first[0], one[0])):
        print(f"step {k}  loss on eight devices {many:.7f}  on one {single:.7f}")
    apart = max(np.abs(a - b).max() for a, b in zip(jax.tree.leaves(first[1]), jax.tree.leaves(one[1])))
    same = all(a.tobytes() == b.tobytes() for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second)))
    print(f"parameters at most {apart:.1e} apart; the second run on eight devices: {'same bits' if same else 'OTHER BITS'}")


if __name__ == "__main__":
    main()
