# SPDX-License-Identifier: Apache-2.0
"""Whole networks, inference: see workloads/networks.py."""
import torch
import torch.nn.functional as F

from engines.job import map_tree
from torch_workloads import Net, Plain, version
from torch_workloads.tensors import nchw, oihw


def norm_fixed(x, p):
    return F.batch_norm(x, p["m"], p["v"], p["g"], p["b"], False, 0.0, 1e-5)


def channels_last(tree):
    return map_tree(lambda w: oihw(w) if w.dim() == 4 else w, tree)


def resnet(p, x, norm):
    strides = [2 if i == 0 and s > 0 else 1 for s, n in enumerate((3, 4, 6, 3)) for i in range(n)]
    x = F.max_pool2d(F.relu(norm(F.conv2d(x, p["stem"], None, 2, 3), p["bn"])), 3, 2, 1)
    for b, s in zip(p["blocks"], strides):
        skip = norm(F.conv2d(x, b["pw"], None, s), b["pbn"]) if "pw" in b else x
        y = F.relu(norm(F.conv2d(x, b["w"][0]), b["bn"][0]))
        y = F.relu(norm(F.conv2d(y, b["w"][1], None, s, 1), b["bn"][1]))
        x = F.relu(norm(F.conv2d(y, b["w"][2]), b["bn"][2]) + skip)
    return x.mean((2, 3)) @ p["fc"] + p["fb"]


@version("resnet50_infer_bs1")
def resnet50_infer(p, x):
    return Net(channels_last(p), lambda p, x: resnet(p, x, norm_fixed), (nchw(x),))


MOBILE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def same(x, w, stride, groups=1):
    """JAX's "SAME" for kernels of 3: stride 2 pads behind only."""
    if stride == 1:
        return F.conv2d(x, w, None, 1, w.shape[-1] // 2, 1, groups)
    return F.conv2d(F.pad(x, (0, 1, 0, 1)), w, None, 2, 0, 1, groups)


@version("mobilenetv2_infer_bs1")
def mobilenetv2(p, x):
    plan, cin = [], 32
    for _, c, n, s in MOBILE:
        for i in range(n):
            plan.append((s if i == 0 else 1, cin == c and (s == 1 or i > 0)))
            cin = c

    def f(p, x):
        x = F.relu6(norm_fixed(same(x, p["stem"], 2), p["bn"]))
        for b, (s, skip) in zip(p["blocks"], plan):
            y = F.relu6(norm_fixed(F.conv2d(x, b["ex"]), b["ebn"])) if "ex" in b else x
            y = F.relu6(norm_fixed(same(y, b["dw"], s, y.shape[1]), b["dbn"]))
            y = norm_fixed(F.conv2d(y, b["pj"]), b["pbn"])
            x = x + y if skip else y
        x = F.relu6(norm_fixed(F.conv2d(x, p["last"]), p["lbn"]))
        return torch.softmax(x.mean((2, 3)) @ p["fc"] + p["fb"], -1)
    return Net(channels_last(p), f, (nchw(x),))


# ------------------------------------------------------------------ transformers


def layernorm(x, g, b, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), g, b, eps)


def attend(x, p, n, mask=None, causal=False):
    q, k, v = (t.view(t.shape[0], t.shape[1], n, -1).transpose(1, 2) for t in (x @ p["qkv"] + p["qb"]).chunk(3, -1))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return out.transpose(1, 2).reshape(x.shape) @ p["o"] + p["ob"], k, v


def bert(p, ids, kinds, attention, n):
    x = F.embedding(ids, p["tok"]) + p["pos"][:ids.shape[1]] + F.embedding(kinds, p["typ"])
    x = layernorm(x, p["eg"], p["eb"], 1e-12)
    mask = (attention > 0)[:, None, None, :]
    for q in p["layers"]:
        x = layernorm(x + attend(x, q, n, mask)[0], q["l1g"], q["l1b"], 1e-12)
        x = layernorm(x + F.gelu(x @ q["w1"] + q["b1"]) @ q["w2"] + q["b2"], q["l2g"], q["l2b"], 1e-12)
    return x


@version("bert_base_infer_bs1")
def bert_base(p, *words):
    def f(p, ids, kinds, attention):
        x = bert(p, ids, kinds, attention, 12)
        return x, torch.tanh(x[:, 0] @ p["pool"] + p["pb"])
    return Net(p, f, words)


def gpt2_mlp(x, q):
    return x + F.gelu(layernorm(x, q["l2g"], q["l2b"]) @ q["w1"] + q["b1"], approximate="tanh") @ q["w2"] + q["b2"]


@version("gpt2_prefill_s128")
def gpt2_prefill(p, ids):
    def f(p, ids):
        x = F.embedding(ids, p["tok"]) + p["pos"][:128]
        keys, values = [], []
        for q in p["layers"]:
            y, k, v = attend(layernorm(x, q["l1g"], q["l1b"]), q, 12, None, True)
            keys.append(k)
            values.append(v)
            x = gpt2_mlp(x + y, q)
        return layernorm(x[:, -1], p["lg"], p["lb"]) @ p["tok"].T, torch.stack(keys), torch.stack(values)
    return Net(p, f, (ids,))


def decode(p, token, at, write):
    """One token; write(layer, k, v) gives that layer's keys and values with the new ones in place."""
    x = F.embedding(token, p["tok"]) + F.embedding(at, p["pos"])
    mask = (torch.arange(512) <= at)[None, None, None]
    for i, q in enumerate(p["layers"]):
        query, k, v = (t.view(1, 12, 1, 64) for t in (layernorm(x, q["l1g"], q["l1b"]) @ q["qkv"] + q["qb"]).chunk(3, -1))
        keys, values = write(i, k, v)
        y = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        x = gpt2_mlp(x + y.reshape(1, 768) @ q["o"] + q["ob"], q)
    logits = layernorm(x, p["lg"], p["lb"]) @ p["tok"].T
    return logits, logits.argmax(-1)


@version("gpt2_decode")
def gpt2_decode(p, keys, values, token, at):
    """The cache is written in place; exported graphs (see `functional`) give a new one."""
    k_at, v_at = [keys[i] for i in range(12)], [values[i] for i in range(12)]

    def f(p, token, at, *cache):
        def write(i, k, v):
            cache[i].index_copy_(2, at, k)
            cache[12 + i].index_copy_(2, at, v)
            return cache[i], cache[12 + i]
        return decode(p, token, at, write)

    def functional(p, token, at, keys, values):
        hit, new_keys, new_values = (torch.arange(512) == at)[None, None, :, None], [], []

        def write(i, k, v):
            new_keys.append(torch.where(hit, k, keys[i]))
            new_values.append(torch.where(hit, v, values[i]))
            return new_keys[-1], new_values[-1]
        out = decode(p, token, at, write)
        return torch.stack(new_keys), torch.stack(new_values), *out
    token, at = token.long(), at.long().reshape(1)
    case = Net(p, f, (token, at, *k_at, *v_at), lambda out: (keys, values, *out))
    case.state = lambda: [keys, values]
    case.exported = lambda: Net(p, functional, (token, at, keys, values))
    return case
