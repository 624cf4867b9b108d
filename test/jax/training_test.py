# SPDX-License-Identifier: Apache-2.0
"""Training of five kinds of models on Braze and on XLA:CPU in one process: the same losses."""
from on_braze import OnBraze, braze_device, xla_device

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 8


def numbers(seed, *shape):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.3).astype(np.float32)


def sgd(grad, state, params):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grad), state


def adam(grad, state, params):
    m, v, t = state
    t = t + 1
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grad)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grad)
    def update(p, a, b):
        return p - 0.01 * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8)
    return jax.tree.map(update, params, m, v), (m, v, t)


def train(loss, params, data, optimizer, device):
    zeros = jax.tree.map(np.zeros_like, params)
    state = (zeros, jax.tree.map(np.copy, zeros), np.float32(0))
    params, state, data = jax.device_put((params, state, data), device)

    def step(params, state, data):
        value, grad = jax.value_and_grad(loss)(params, data)
        params, state = optimizer(grad, state, params)
        return params, state, value

    step = jax.jit(step, donate_argnums=(0, 1))
    losses = []
    for _ in range(STEPS):
        params, state, value = step(params, state, data)
        losses.append(float(value))
    return losses


class Training(OnBraze):
    def compare(self, loss, params, data, optimizer=adam, rtol=2e-4):
        ours = train(loss, params, data, optimizer, braze_device())
        theirs = train(loss, params, data, optimizer, xla_device())
        np.testing.assert_allclose(ours, theirs, rtol=rtol)
        self.assertLess(ours[-1], ours[0])

    def test_classifier(self):
        params = {"w1": numbers(0, 8, 16), "b1": np.zeros(16, np.float32), "w2": numbers(1, 16, 3)}
        x, y = numbers(2, 32, 8), np.arange(32) % 3

        def loss(p, data):
            x, y = data
            logits = jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"]
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))
        self.compare(loss, params, (x, y), sgd)

    def test_convolutional_network(self):
        params = {"k": numbers(0, 3, 3, 1, 4), "w": numbers(1, 4 * 4 * 4, 2)}
        x, y = numbers(2, 8, 8, 8, 1), np.arange(8) % 2

        def loss(p, data):
            x, y = data
            h = jax.lax.conv_general_dilated(x, p["k"], (1, 1), "SAME",
                                             dimension_numbers=("NHWC", "HWIO", "NHWC"))
            h = jax.lax.reduce_window(jax.nn.gelu(h), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                      "VALID")
            logits = h.reshape(8, -1) @ p["w"]
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))
        self.compare(loss, params, (x, y))

    def test_transformer(self):
        d, vocabulary = 8, 11
        params = {"e": numbers(0, vocabulary, d), "q": numbers(1, d, d), "k": numbers(2, d, d),
                  "v": numbers(3, d, d), "f": numbers(4, d, 4 * d), "g": numbers(5, 4 * d, d)}
        tokens = np.random.default_rng(6).integers(0, vocabulary, (4, 9))

        def norm(x):
            return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

        def loss(p, tokens):
            x = p["e"][tokens[:, :-1]]
            h = norm(x)
            scores = jnp.einsum("btd,bsd->bts", h @ p["q"], h @ p["k"]) / d ** 0.5
            scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), scores, -1e9)
            x = x + jax.nn.softmax(scores) @ (h @ p["v"])
            x = x + jax.nn.gelu(norm(x) @ p["f"]) @ p["g"]
            logits = jax.nn.log_softmax(norm(x) @ p["e"].T)
            return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], 2))
        self.compare(loss, params, tokens)

    def test_recurrent_network(self):
        params = {"u": numbers(0, 4, 12), "w": numbers(1, 6, 12), "o": numbers(2, 6, 1)}
        x = numbers(3, 10, 5, 4)
        y = x.sum((0, 2))[:, None]

        def loss(p, data):
            x, y = data

            def cell(h, xt):
                z, n = jnp.split(xt @ p["u"] + h @ p["w"], 2, -1)
                z = jax.nn.sigmoid(z)
                h = (1 - z) * h + z * jnp.tanh(n)
                return h, None
            h, _ = jax.lax.scan(cell, jnp.zeros((5, 6)), x)
            return jnp.mean((h @ p["o"] - y) ** 2)
        self.compare(loss, params, (x, y))

    def test_variational_autoencoder(self):
        params = {"e": numbers(0, 10, 6), "d": numbers(1, 3, 10)}
        x = np.abs(numbers(2, 16, 10))
        key = np.array([0, 7], np.uint32)

        def loss(p, data):
            x, key = data
            mean, log_var = jnp.split(jnp.tanh(x @ p["e"]), 2, -1)
            z = mean + jnp.exp(log_var / 2) * jax.random.normal(key, mean.shape)
            divergence = -0.5 * jnp.mean(1 + log_var - mean ** 2 - jnp.exp(log_var))
            return jnp.mean((jax.nn.softplus(z @ p["d"]) - x) ** 2) + 0.1 * divergence
        self.compare(loss, params, (x, key))
