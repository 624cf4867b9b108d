# SPDX-License-Identifier: Apache-2.0
"""The workloads in PyTorch, for the engines that come from it (eager, Inductor, ONNX).

`load()` gives {name: make}; make(*arguments as tensors) gives a case, one of

  Plain(f, args)                  f(*args)
  Net(weights, f, args)           f(weights, *args), the weights buffers of a module: constants for exporters
  Repeat(f, times, args)          args = f(*args), as often; Inductor compiles the body
  Step(p, loss, update, batch)    a training step, parameters in place (as donated ones are)

Its run() gives a tree of tensors that flattens to the program's results in their order; None: not comparable.
Images are NHWC arrays seen as channels-last NCHW tensors; `finish` turns results back.
"""
import importlib

import torch
from torch import nn

from engines.job import leaves, map_tree

_all = {}


def version(*names):
    def add(make):
        for n in names:
            _all[n] = make
        return make
    return add


def load():
    for part in ("tensors", "networks", "training"):
        importlib.import_module("torch_workloads." + part)
    return _all


class Plain:
    trains = False

    def __init__(self, f, args, finish=None):
        self.f, self.args, self.finish = f, args, finish or (lambda out: out)

    def compile(self, compiler):
        self.f = compiler(self.f)

    def run(self):
        return self.f(*self.args)

    def state(self):
        """Tensors that a run changes."""
        return []


class Module(nn.Module):
    def __init__(self, weights, f):
        super().__init__()
        self.f, self.count = f, 0
        self.tree = map_tree(self.add, weights)

    def add(self, x):
        self.count += 1
        self.register_buffer(f"w{self.count}", x.contiguous() if x.dim() != 4 else x)
        return f"w{self.count}"

    def forward(self, *args):
        return self.f(map_tree(lambda name: getattr(self, name), self.tree), *args)


class Net(Plain):
    def __init__(self, weights, f, args, finish=None):
        super().__init__(Module(weights, f).eval(), args, finish)


class Repeat(Plain):
    def __init__(self, f, times, args, pick=lambda args: args):
        super().__init__(f, args, pick)
        self.times = times

    def run(self):
        args = self.args
        for i in range(self.times):
            args = self.f(i, *args)
        return args


class Step:
    trains = True

    def __init__(self, p, loss, update, batch, others, results):
        """loss(p, *batch) -> loss or (loss, more); update(gradients) changes p's leaves and `others`; results(out)."""
        self.p, self.leaves, self.others = p, leaves(p), others
        for t in self.leaves:
            t.requires_grad_(True)
        self.loss, self.update, self.batch, self.finish = loss, update, batch, results

    def compile(self, compiler):
        self.loss, self.update = compiler(self.loss), compiler(self.update)

    def run(self):
        loss = self.loss(self.p, *self.batch)
        gradients = torch.autograd.grad(loss, self.leaves)
        with torch.no_grad():
            more = self.update([t.detach() for t in self.leaves], list(gradients))
        return loss, more

    def state(self):
        return [t.detach() for t in self.leaves] + self.others
