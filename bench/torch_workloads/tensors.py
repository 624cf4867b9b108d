# SPDX-License-Identifier: Apache-2.0
"""Functions of a few tensors, and loops: see workloads/micro.py, rows.py, contractions.py, loops.py."""
import torch
import torch.nn.functional as F
from torch import nn

from torch_workloads import Net, Plain, Repeat, version


def plain(names, f):
    version(*names.split())(lambda *args: Plain(f, args))


plain("call_x_plus_1", lambda x: x + 1)
plain("reduce_xyz_2e14 reduce_xyz_2e20 reduce_xyz_2e24", lambda x, y, z: (x + y * z).sum())
plain("softmax_4096x1024", lambda x: torch.softmax(4 * x, -1))
plain("layernorm_fwd", lambda x, g, b: F.layer_norm(x, (768,), g, b, 1e-5))
plain("matmul_512 matmul_1024 matmul_2048 matmul_8x4096 matmul_bf16_1024 bmm_256x64", torch.matmul)
plain("attention_s128 attention_s512", lambda q, k, v: F.scaled_dot_product_attention(q, k, v))
plain("cumsum_1m", lambda x: torch.cumsum(x, 0))
plain("sort_1m", lambda x: torch.sort(x)[0])
plain("argsort_1m", lambda x: torch.argsort(x, stable=True))
plain("topk10_64x50257", lambda x: tuple(torch.topk(x, 10)))
plain("gather_65536x128", lambda table, rows: F.embedding(rows, table))
plain("fft_2e20", torch.fft.fft)


@version("ew_chain_2e22")
def ew_chain(x, y):
    def f(x, y):
        a = x * y + 0.5
        b = torch.maximum(a, -x) - 0.25 * y
        c = a * b - x * x + 1.5 * b
        d = torch.where(c > 0, c, 0.1 * c) + torch.minimum(a, y)
        e = torch.exp(-torch.abs(d) * 0.5)
        f = e * c + (1 - e) * b
        return torch.tanh(f * 0.7) * d + f - a * 0.125
    return Plain(f, (x, y))


@version("scatter_add_1m")
def scatter_add(table, at, values):
    return Plain(lambda t, i, v: t.index_add(0, i, v), (table, at.long(), values))


@version("embedding_zipf")
def embedding(table, ids, gradient):
    def f(t, i, g):
        picked = F.embedding(i, t)
        t.index_add_(0, i, g, alpha=-1)
        return t, picked
    case = Plain(f, (table, ids.long(), gradient))
    case.state = lambda: [table]
    return case


@version("layernorm_fwd_bwd")
def layernorm_fwd_bwd(x, g, b, dy):
    for t in (x, g, b):
        t.requires_grad_(True)

    class Case(Plain):
        trains = True

        def run(self):
            y = self.f(x, g, b)
            return (y, *torch.autograd.grad(y, (x, g, b), dy))
    return Case(lambda x, g, b: F.layer_norm(x, (768,), g, b, 1e-5), (x, g, b))


@version("gemm_bias_gelu")
def gemm_bias_gelu(x, w, b):
    return Net([w, b], lambda p, x: F.gelu(x @ p[0] + p[1], approximate="tanh"), (x,))


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def oihw(w):
    return w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


@version("conv3x3_c64_56", "conv3x3_c256_14", "dwconv3x3_c144_56")
def conv3x3(x, w):
    groups = x.shape[-1] // w.shape[2]
    return Net([oihw(w)], lambda p, x: F.conv2d(x, p[0], None, 1, 1, 1, groups), (nchw(x),), nhwc)


@version("nbody_4096")
def nbody(x, mass):
    def f(x, m):
        d = x[None] - x[:, None]
        r2 = (d * d).sum(-1) + 0.01
        return torch.einsum("ij,ijk->ik", m[None] * torch.rsqrt(r2) / r2, d)
    return Plain(f, (x, mass))


@version("linalg_2048x16")
def batched_solve(a, b):
    return Plain(lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a)), (a, b))


@version("while_1e5")
def while_1e5(x):
    return Repeat(lambda i, x: (x * 0.999 + 0.25,), 100_000, (x,))


@version("scan_3x3_1e4")
def scan_3x3(c, m):
    return Repeat(lambda i, c, m: (torch.tanh(c @ m[i] + 0.1), m), 10_000, (c, m), lambda out: out[0])


@version("dots500_4x4")
def dots500(x, w):
    def f(x, w):
        for i in range(500):
            x = torch.tanh(x @ w[i % 8])
        return x
    return Plain(f, (x, w))


@version("ops1000_scalar")
def ops1000(x, a):
    def f(x, a):
        for i in range(500):
            x = x * a[i] + a[i + 500]
        return x
    return Plain(f, (x, a))


@version("heat3d_192x50")
def heat3d(u):
    def f(i, u):
        c = u[1:-1, 1:-1, 1:-1]
        around = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
                  + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2])
        out = u.clone()
        out[1:-1, 1:-1, 1:-1] = c + 0.125 * (around - 6 * c)
        return (out,)
    return Repeat(f, 50, (u,))


@version("wave2d_1024x100")
def wave2d(u, before):
    def f(i, u, before):
        lap = torch.roll(u, 1, 0) + torch.roll(u, -1, 0) + torch.roll(u, 1, 1) + torch.roll(u, -1, 1) - 4 * u
        return 2 * u - before + 0.1 * lap, u
    return Repeat(f, 100, (u, before))


@version("lstm_t128")
def lstm(p, xs):
    cell = nn.LSTM(512, 512)
    with torch.no_grad():  # one is added to the forget gate; PyTorch has two biases
        cell.weight_ih_l0.copy_(p["w"].T)
        cell.weight_hh_l0.copy_(p["u"].T)
        cell.bias_ih_l0.copy_(p["b"])
        cell.bias_hh_l0.zero_()
        cell.bias_hh_l0[512:1024] = 1.0
    for q in cell.parameters():
        q.requires_grad_(False)
    return Plain(cell, (xs,), lambda out: (out[1], out[0]) if isinstance(out[1], tuple) else (out[1], out[2], out[0]))
