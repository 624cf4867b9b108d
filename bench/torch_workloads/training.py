# SPDX-License-Identifier: Apache-2.0
"""Training steps: see workloads/training.py."""
import torch
import torch.nn.functional as F

from engines.job import leaves, map_tree
from torch_workloads import Step, version
from torch_workloads.networks import bert, channels_last, layernorm, resnet
from torch_workloads.tensors import nchw


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def hwio(tree):
    """Convolution weights as JAX has them."""
    return map_tree(lambda w: w.permute(2, 3, 1, 0) if w.dim() == 4 else w, tree)


@version("mnist_mlp_train")
def mnist_mlp(p, x, y):
    def loss(p, x, y):
        for w, b in p[:-1]:
            x = F.relu(x @ w + b)
        return cross_entropy(x @ p[-1][0] + p[-1][1], y)

    def update(p, gradients):
        torch._foreach_add_(p, gradients, alpha=-0.1)
    return Step(p, loss, update, (x, y.long()), [], lambda out: (p, out[0]))


@version("mnist_cnn_train")
def mnist_cnn(p, momenta, x, y):
    p, momenta = channels_last(p), channels_last(momenta)
    m = leaves(momenta)

    def loss(p, x, y):
        z = F.relu(F.conv2d(x, p["c1"], p["b1"]))
        z = F.relu(F.conv2d(z, p["c2"], p["b2"]))
        z = F.max_pool2d(z, 2).permute(0, 2, 3, 1).reshape(x.shape[0], -1)
        return cross_entropy(F.relu(z @ p["w1"] + p["b3"]) @ p["w2"] + p["b4"], y)

    def update(p, gradients):
        torch._foreach_mul_(m, 0.9)
        torch._foreach_add_(m, gradients)
        torch._foreach_add_(p, m, alpha=-0.01)
    return Step(p, loss, update, (nchw(x), y.long()), m, lambda out: (hwio(p), hwio(momenta), out[0]))


@version("resnet50_train_bs8")
def resnet50_train(p, statistics, momenta, x, y):
    p, momenta = channels_last(p), channels_last(momenta)
    m = leaves(momenta)

    def loss(p, x, y):
        old = iter(statistics)

        def norm(x, q):
            s = next(old)
            return F.batch_norm(x, s["m"], s["v"], q["g"], q["b"], True, 0.1, 1e-5)
        return cross_entropy(resnet(p, x, norm), y)

    def update(p, gradients):
        torch._foreach_mul_(m, 0.9)
        torch._foreach_add_(m, gradients)
        torch._foreach_add_(m, p, alpha=1e-4)
        torch._foreach_add_(p, m, alpha=-0.05)

    def results(out):  # PyTorch keeps the unbiased variance
        return hwio(p), [dict(m=s["m"], v=None) for s in statistics], hwio(momenta), out[0]
    return Step(p, loss, update, (nchw(x), y.long()), m + leaves(statistics), results)


@version("bert_small_train_b8")
def bert_small_train(*args):
    return bert_train(8, *args)


@version("bert_base_train_b8")
def bert_base_train(*args):
    return bert_train(12, *args)


def bert_train(n, p, first, second, ids, kinds, attention, masked, labels):
    m, v = leaves(first), leaves(second)
    c1, c2 = 1 - 0.9**10, 1 - 0.999**10

    def loss(p, ids, kinds, attention, masked, labels):
        x = bert(p, ids, kinds, attention, n)
        x = torch.gather(x, 1, masked[:, :, None].expand(-1, -1, x.shape[-1]))
        x = layernorm(F.gelu(x @ p["mw"] + p["mb"]), p["mg"], p["mbt"])
        return cross_entropy(x @ p["tok"].T + p["vb"], labels)

    def update(p, gradients):
        norm = torch.sqrt(torch.stack(torch._foreach_norm(gradients)).square().sum())
        gradients = torch._foreach_mul(gradients, torch.clamp(1 / (norm + 1e-6), max=1.0))
        torch._foreach_lerp_(m, gradients, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, gradients, gradients, 0.001)
        below = torch._foreach_div(v, c2)
        torch._foreach_sqrt_(below)
        torch._foreach_add_(below, 1e-8)
        torch._foreach_addcdiv_(p, m, below, -1e-3 / c1)
        return norm
    batch = (ids, kinds, attention, masked.long(), labels.long())
    return Step(p, loss, update, batch, m + v, lambda out: (p, first, second, out[0], out[1]))
