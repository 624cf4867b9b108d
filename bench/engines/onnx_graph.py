# SPDX-License-Identifier: Apache-2.0
"""ONNX graphs of the PyTorch versions, for ONNX Runtime and OpenVINO: inference only, weights are constants."""
import fcntl
import os

import torch
import torch.nn.functional as F
from torch import nn

from engines.job import Skip, leaves
from engines.torch_eager import array, case_of
from torch_workloads import Plain, Repeat

IN_PLACE = ("embedding_zipf",)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def attention(q, k, v, attn_mask=None, is_causal=False):
    """As model exporters write it; the runtimes find the pattern."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if is_causal:
        attn_mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, torch.tensor(-1e9))
    return torch.softmax(scores, -1) @ v


def export(f, args, path):
    F.scaled_dot_product_attention = attention
    module = f if isinstance(f, nn.Module) else Function(f)
    for buffer in module.buffers():
        buffer.data = buffer.data.contiguous()
    try:
        with torch.no_grad():
            torch.onnx.export(module.eval(), args, path, dynamo=True, external_data=True, verbose=False)
    except BaseException:
        if os.path.exists(path):
            os.remove(path)
        raise


class Graph:
    """`path` of the graph, `args` as arrays, results(arrays) in the program's order."""

    def __init__(self, job):
        case = case_of(job)
        case = case.exported() if hasattr(case, "exported") else case
        if case.trains or job.name in IN_PLACE:
            raise Skip("inference only")
        if isinstance(case, Repeat):
            raise Skip("the exporter would unroll the loop")
        args = tuple(t.contiguous() for t in case.args)
        if any(t.is_complex() or t.dtype == torch.bfloat16 for t in args):
            raise Skip("no complex numbers, no bfloat16")
        self.path = str(job.folder / f"graph-{job.meta['sha'][:8]}.onnx")
        with open(self.path + ".lock", "w") as lock:  # one engine exports, the other takes it
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(self.path):
                export(case.f, args, self.path)
        self.args, self.finish = [t.numpy() for t in args], case.finish

    def results(self, out):
        out = [torch.from_numpy(x) for x in out]
        return [array(t) for t in leaves(self.finish(out if len(out) > 1 else out[0]))]
