# SPDX-License-Identifier: Apache-2.0
"""Whole networks, inference: ResNet-50, MobileNetV2, BERT base, GPT-2 (prefill and one decoding step).

Weights are arguments. The forward functions here also serve training.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

from workloads import workload
from workloads.contractions import conv
from workloads.rows import layernorm

# ------------------------------------------------------------------ convolution networks

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, width, stride of the first


def norm_parameters(g, c, gain=1.0):
    return dict(g=g.uniform(c, lo=0.75 * gain, hi=1.25 * gain), b=g.uniform(c, lo=-0.1, hi=0.1),
                m=g.uniform(c, lo=-0.1, hi=0.1), v=g.uniform(c, lo=0.5, hi=1.5))


def norm_fixed(x, p):
    return (x - p["m"]) * (jax.lax.rsqrt(p["v"] + 1e-5) * p["g"]) + p["b"]


def resnet_parameters(g):
    blocks, cin = [], 64
    for count, width, _ in STAGES:
        for i in range(count):
            b = dict(w=[g.weights(1, 1, cin, width, gain=6), g.weights(3, 3, width, width, gain=6),
                        g.weights(1, 1, width, 4 * width, gain=6)],
                     bn=[norm_parameters(g, width), norm_parameters(g, width), norm_parameters(g, 4 * width, 0.5)])
            if i == 0:
                b |= dict(pw=g.weights(1, 1, cin, 4 * width), pbn=norm_parameters(g, 4 * width))
            blocks.append(b)
            cin = 4 * width
    return dict(stem=g.weights(7, 7, 3, 64, gain=6), bn=norm_parameters(g, 64), blocks=blocks,
                fc=g.weights(2048, 1000), fb=g.uniform(1000, lo=-0.05, hi=0.05))


def resnet(p, x, norm):
    relu = jax.nn.relu
    x = relu(norm(conv(x, p["stem"], 2, ((3, 3), (3, 3))), p["bn"]))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    strides = [s if i == 0 else 1 for n, _, s in STAGES for i in range(n)]
    for b, s in zip(p["blocks"], strides):
        skip = norm(conv(x, b["pw"], s), b["pbn"]) if "pw" in b else x
        y = relu(norm(conv(x, b["w"][0]), b["bn"][0]))
        y = relu(norm(conv(y, b["w"][1], s, ((1, 1), (1, 1))), b["bn"][1]))
        x = relu(norm(conv(y, b["w"][2]), b["bn"][2]) + skip)
    return jnp.mean(x, (1, 2)) @ p["fc"] + p["fb"]


@workload("resnet50_infer_bs1", "net", lambda g: [resnet_parameters(g), g.uniform(1, 224, 224, 3)], dict(flops=8.2e9))
def resnet50_infer(p, x):
    return resnet(p, x, norm_fixed)


MOBILE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_plan():
    """(expansion, in, out, stride) of each block."""
    cin = 32
    for t, c, n, s in MOBILE:
        for i in range(n):
            yield t, cin, c, s if i == 0 else 1
            cin = c


def mobilenet_parameters(g):
    blocks = []
    for t, cin, c, _ in mobilenet_plan():
        mid = t * cin
        b = dict(dw=g.weights(3, 3, 1, mid, gain=6), dbn=norm_parameters(g, mid), pj=g.weights(1, 1, mid, c),
                 pbn=norm_parameters(g, c, 0.5))
        if t > 1:
            b |= dict(ex=g.weights(1, 1, cin, mid, gain=6), ebn=norm_parameters(g, mid))
        blocks.append(b)
    return dict(stem=g.weights(3, 3, 3, 32, gain=6), bn=norm_parameters(g, 32), blocks=blocks,
                last=g.weights(1, 1, 320, 1280, gain=6), lbn=norm_parameters(g, 1280),
                fc=g.weights(1280, 1000), fb=g.uniform(1000, lo=-0.05, hi=0.05))


@workload("mobilenetv2_infer_bs1", "net", lambda g: [mobilenet_parameters(g), g.uniform(1, 224, 224, 3)],
          dict(flops=6e8))
def mobilenetv2(p, x):
    relu6 = jax.nn.relu6
    x = relu6(norm_fixed(conv(x, p["stem"], 2), p["bn"]))
    for b, (t, cin, c, s) in zip(p["blocks"], mobilenet_plan()):
        y = relu6(norm_fixed(conv(x, b["ex"]), b["ebn"])) if t > 1 else x
        y = relu6(norm_fixed(conv(y, b["dw"], s, groups=y.shape[-1]), b["dbn"]))
        y = norm_fixed(conv(y, b["pj"]), b["pbn"])
        x = x + y if s == 1 and cin == c else y
    x = relu6(norm_fixed(conv(x, p["last"]), p["lbn"]))
    return jax.nn.softmax(jnp.mean(x, (1, 2)) @ p["fc"] + p["fb"], -1)


# ------------------------------------------------------------------ transformers


def layer_parameters(g, h):
    def gain():
        return g.uniform(h, lo=0.75, hi=1.25)

    def bias(n):
        return g.uniform(n, lo=-0.05, hi=0.05)
    return dict(qkv=g.weights(h, 3 * h), qb=bias(3 * h), o=g.weights(h, h), ob=bias(h), l1g=gain(), l1b=bias(h),
                w1=g.weights(h, 4 * h), b1=bias(4 * h), w2=g.weights(4 * h, h), b2=bias(h), l2g=gain(), l2b=bias(h))


def heads(x, n):
    b, s, h = x.shape
    return x.reshape(b, s, n, h // n).swapaxes(1, 2)


def attend(x, p, n, mask):
    """Attention with n heads; also gives keys and values. `mask`: where scores count."""
    q, k, v = (heads(t, n) for t in jnp.split(x @ p["qkv"] + p["qb"], 3, -1))
    scores = jnp.where(mask, q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, -1e9)
    out = (jax.nn.softmax(scores, -1) @ v).swapaxes(1, 2).reshape(x.shape)
    return out @ p["o"] + p["ob"], k, v


def bert_parameters(g, layers, h, positions):
    return dict(tok=g.uniform(30522, h, lo=-0.5, hi=0.5), pos=g.uniform(positions, h, lo=-0.25, hi=0.25),
                typ=g.uniform(2, h, lo=-0.25, hi=0.25), eg=g.uniform(h, lo=0.75, hi=1.25),
                eb=g.uniform(h, lo=-0.05, hi=0.05), layers=[layer_parameters(g, h) for _ in range(layers)])


def bert(p, ids, kinds, attention, n):
    x = p["tok"][ids] + p["pos"][:ids.shape[1]] + p["typ"][kinds]
    x = layernorm(x, p["eg"], p["eb"], 1e-12)
    mask = (attention > 0)[:, None, None, :]
    for q in p["layers"]:
        x = layernorm(x + attend(x, q, n, mask)[0], q["l1g"], q["l1b"], 1e-12)
        y = jax.nn.gelu(x @ q["w1"] + q["b1"], approximate=False) @ q["w2"] + q["b2"]
        x = layernorm(x + y, q["l2g"], q["l2b"], 1e-12)
    return x


def _bert_inputs(g):
    p = bert_parameters(g, 12, 768, 512) | dict(pool=g.weights(768, 768), pb=g.uniform(768, lo=-0.05, hi=0.05))
    return [p, g.integers(1, 128, below=30522), np.zeros((1, 128), np.int32), np.ones((1, 128), np.int32)]


@workload("bert_base_infer_bs1", "net", _bert_inputs, dict(flops=22.3e9, bytes=340e6))
def bert_base(p, ids, kinds, attention):
    x = bert(p, ids, kinds, attention, 12)
    return x, jnp.tanh(x[:, 0] @ p["pool"] + p["pb"])


def gpt2_parameters(g):
    return dict(tok=g.uniform(50257, 768, lo=-0.25, hi=0.25), pos=g.uniform(1024, 768, lo=-0.1, hi=0.1),
                layers=[layer_parameters(g, 768) for _ in range(12)],
                lg=g.uniform(768, lo=0.75, hi=1.25), lb=g.uniform(768, lo=-0.05, hi=0.05))


def gpt2_mlp(x, q):
    return x + jax.nn.gelu(layernorm(x, q["l2g"], q["l2b"]) @ q["w1"] + q["b1"]) @ q["w2"] + q["b2"]


@workload("gpt2_prefill_s128", "net", lambda g: [gpt2_parameters(g), g.integers(1, 128, below=50257)],
          dict(flops=22.4e9, bytes=498e6))
def gpt2_prefill(p, ids):
    x = p["tok"][ids] + p["pos"][:128]
    mask = jnp.tril(jnp.ones((128, 128), bool))
    keys, values = [], []
    for q in p["layers"]:
        y, k, v = attend(layernorm(x, q["l1g"], q["l1b"]), q, 12, mask)
        keys.append(k)
        values.append(v)
        x = gpt2_mlp(x + y, q)
    return layernorm(x[:, -1], p["lg"], p["lb"]) @ p["tok"].T, jnp.stack(keys), jnp.stack(values)


def _decode_inputs(g):
    return [gpt2_parameters(g), g.uniform(12, 1, 12, 512, 64), g.uniform(12, 1, 12, 512, 64),
            np.array([1234], np.int32), np.int32(400)]


@workload("gpt2_decode", "net", _decode_inputs, dict(bytes=520e6), donate=(1, 2))
def gpt2_decode(p, keys, values, token, at):
    """One token at position `at` of a cache of 512, updated in place."""
    x = p["tok"][token] + p["pos"][at]
    zero = np.int32(0)
    mask = (jnp.arange(512) <= at)[None, None, None]
    for i, q in enumerate(p["layers"]):
        parts = jnp.split(layernorm(x, q["l1g"], q["l1b"]) @ q["qkv"] + q["qb"], 3, -1)
        query, k, v = (t.reshape(1, 12, 1, 64) for t in parts)
        where = (np.int32(i), zero, zero, at, zero)
        keys = jax.lax.dynamic_update_slice(keys, k[None], where)
        values = jax.lax.dynamic_update_slice(values, v[None], where)
        scores = jnp.where(mask, query @ keys[i].swapaxes(-1, -2) * 0.125, -1e9)
        y = (jax.nn.softmax(scores, -1) @ values[i]).reshape(1, 768)
        x = gpt2_mlp(x + y @ q["o"] + q["ob"], q)
    logits = layernorm(x, p["lg"], p["lb"]) @ p["tok"].T
    return keys, values, logits, jnp.argmax(logits, -1).astype(jnp.int32)
