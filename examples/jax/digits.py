# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier on real handwritten digits (scikit-learn's). Stock JAX; nothing here knows of Braze.

    python examples/jax/digits.py
"""
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

data = load_digits()
images = (data.data / 16).astype(np.float32)
labels = data.target.astype(np.int32)
train, test = slice(0, 1500), slice(1500, None)
BATCH = 100


def initial(key, sizes=(64, 128, 128, 10)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def logits(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(params, x)), y[:, None], 1))


@jax.jit
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


params = initial(jax.random.key(0))
for epoch in range(20):
    order = np.random.default_rng(epoch).permutation(1500)
    losses = []
    for start in range(0, 1500, BATCH):
        batch = order[start:start + BATCH]
        params, value = step(params, images[train][batch], labels[train][batch])
        losses.append(value)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  loss {np.mean(losses):.5f}")
right = np.argmax(logits(params, images[test]), -1) == labels[test]
print(f"test accuracy {100 * right.mean():.1f} %")
