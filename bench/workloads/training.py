# SPDX-License-Identifier: Apache-2.0
"""Training steps: forward, backward and the optimizer, parameters donated."""
import jax
import jax.numpy as jnp
import numpy as np

from workloads import networks, workload
from workloads.contractions import conv
from workloads.rows import layernorm


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[..., None], -1)
    return -jnp.mean(picked)


def _like(tree, fill):
    return jax.tree.map(lambda x: fill(*x.shape), tree)


def _momenta(g, p):
    return _like(p, lambda *s: g.uniform(*s, lo=-1e-3, hi=1e-3))


# ------------------------------------------------------------------ small networks


def _mlp_inputs(g):
    p = [[g.weights(a, b), g.uniform(b, lo=-0.05, hi=0.05)] for a, b in ((784, 512), (512, 512), (512, 10))]
    return [p, g.uniform(128, 784, lo=0), g.integers(128, below=10)]


@workload("mnist_mlp_train", "train", _mlp_inputs, dict(flops=410.8e6), donate=(0,))
def mnist_mlp(p, x, y):
    def loss(p):
        h = x
        for w, b in p[:-1]:
            h = jax.nn.relu(h @ w + b)
        return cross_entropy(h @ p[-1][0] + p[-1][1], y)
    value, gradient = jax.value_and_grad(loss)(p)
    return jax.tree.map(lambda a, d: a - 0.1 * d, p, gradient), value


def _cnn_inputs(g):
    p = dict(c1=g.weights(3, 3, 1, 32), c2=g.weights(3, 3, 32, 64), w1=g.weights(9216, 128), w2=g.weights(128, 10))
    p |= {f"b{i + 1}": g.uniform(n, lo=-0.1, hi=0.1) for i, n in enumerate((32, 64, 128, 10))}
    return [p, _momenta(g, p), g.uniform(128, 28, 28, 1, lo=0), g.integers(128, below=10)]


@workload("mnist_cnn_train", "train", _cnn_inputs, dict(flops=9.21e9), donate=(0, 1))
def mnist_cnn(p, m, x, y):
    def loss(p):
        h = jax.nn.relu(conv(x, p["c1"], padding="VALID") + p["b1"])
        h = jax.nn.relu(conv(h, p["c2"], padding="VALID") + p["b2"])
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").reshape(128, -1)
        return cross_entropy(jax.nn.relu(h @ p["w1"] + p["b3"]) @ p["w2"] + p["b4"], y)
    value, gradient = jax.value_and_grad(loss)(p)
    m = jax.tree.map(lambda m, d: 0.9 * m + d, m, gradient)
    return jax.tree.map(lambda a, m: a - 0.01 * m, p, m), m, value


# ------------------------------------------------------------------ ResNet-50


def _resnet_inputs(g):
    """Trained parameters; running statistics as a list in the order of use; momenta; a batch."""
    def trained(node):
        if isinstance(node, dict):
            return {k: trained(v) for k, v in node.items() if k not in ("m", "v")}
        return [trained(v) for v in node] if isinstance(node, list) else node
    p = trained(networks.resnet_parameters(g))
    widths = [64] + [w for n, c, _ in networks.STAGES for i in range(n) for w in [4 * c] * (i == 0) + [c, c, 4 * c]]
    statistics = [dict(m=g.uniform(w, lo=-0.1, hi=0.1), v=g.uniform(w, lo=0.5, hi=1.5)) for w in widths]
    return [p, statistics, _momenta(g, p), g.uniform(8, 224, 224, 3), g.integers(8, below=1000)]


@workload("resnet50_train_bs8", "train", _resnet_inputs, dict(flops=196.8e9), donate=(0, 1, 2))
def resnet50_train(p, statistics, momenta, x, y):
    def loss(p):
        updated = []

        def norm(x, q):
            old = statistics[len(updated)]
            mean = jnp.mean(x, (0, 1, 2))
            var = jnp.mean(jnp.square(x - mean), (0, 1, 2))
            updated.append(dict(m=0.9 * old["m"] + 0.1 * mean, v=0.9 * old["v"] + 0.1 * var))
            return (x - mean) * (jax.lax.rsqrt(var + 1e-5) * q["g"]) + q["b"]
        return cross_entropy(networks.resnet(p, x, norm), y), updated
    (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(p)
    momenta = jax.tree.map(lambda m, d, a: 0.9 * m + d + 1e-4 * a, momenta, gradient, p)
    return jax.tree.map(lambda a, m: a - 0.05 * m, p, momenta), statistics, momenta, value


# ------------------------------------------------------------------ BERT, masked words, Adam


def _bert(name, layers, h, n, flops):
    def inputs(g):
        p = networks.bert_parameters(g, layers, h, 128)
        p |= dict(mw=g.weights(h, h), mb=g.uniform(h, lo=-0.05, hi=0.05), mg=g.uniform(h, lo=0.75, hi=1.25),
                  mbt=g.uniform(h, lo=-0.05, hi=0.05), vb=g.uniform(30522, lo=-0.05, hi=0.05))
        second = _like(p, lambda *s: g.uniform(*s, lo=1e-6, hi=1e-5))
        return [p, _momenta(g, p), second, g.integers(8, 128, below=30522), np.zeros((8, 128), np.int32),
                np.ones((8, 128), np.int32), g.integers(8, 16, below=128), g.integers(8, 16, below=30522)]

    @workload(name, "train", inputs, dict(flops=flops), donate=(0, 1, 2))
    def bert_train(p, first, second, ids, kinds, attention, masked, labels):
        def loss(p):
            x = jnp.take_along_axis(networks.bert(p, ids, kinds, attention, n), masked[..., None], 1)
            x = layernorm(jax.nn.gelu(x @ p["mw"] + p["mb"], approximate=False), p["mg"], p["mbt"])
            return cross_entropy(x @ p["tok"].T + p["vb"], labels)
        value, gradient = jax.value_and_grad(loss)(p)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(d)) for d in jax.tree.leaves(gradient)))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        first = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * scale * d, first, gradient)
        second = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * jnp.square(scale * d), second, gradient)
        c1, c2 = 1 - 0.9**10, 1 - 0.999**10  # as in step 10
        p = jax.tree.map(lambda a, m, v: a - 1e-3 / c1 * m / (jnp.sqrt(v / c2) + 1e-8), p, first, second)
        return p, first, second, value, norm


_bert("bert_small_train_b8", 4, 512, 8, 92.5e9)
_bert("bert_base_train_b8", 12, 768, 12, 554.3e9)
