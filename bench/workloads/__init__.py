# SPDX-License-Identifier: Apache-2.0
"""The workloads: small JAX functions with their inputs, tolerance and lower bound.

`load()` gives all of them by name, in the order of the table. A workload is a function decorated with
`workload(name, tolerance, inputs, floor, ...)`:

  inputs(g)   arguments, from the generator `g`: the same bits on every machine
  floor       what no program can avoid: flops, exps, bytes moved (`ws`: working set, `writes`: part of them
              are stores), or steps * cycles of a carried chain; see machine.floor_seconds
  donate      arguments whose memory the results may take; they are fed back from run to run
  reference   another function for float64, where the same one would not see the same numbers, or "numpy": the
              same one on NumPy arrays, where stock XLA does not manage the program

The float64 reference of a workload is the same function on stock XLA with x64 on and all floats widened.
"""
import dataclasses
import importlib
import zlib

import numpy as np

from engines.job import CLASSES

FAMILIES = ("micro", "rows", "contractions", "networks", "training", "loops")

@dataclasses.dataclass
class Workload:
    name: str
    family: str
    tolerance: str
    function: object
    inputs: object
    floor: dict
    donate: tuple
    reference: object


class Generator:
    """Inputs of one workload: every call draws from a stream of its own."""

    def __init__(self, name):
        self.name, self.calls = name, 0

    def stream(self):
        self.calls += 1
        return np.random.default_rng(zlib.crc32(f"{self.name}/{self.calls}".encode()))

    def uniform(self, *shape, lo=-1.0, hi=1.0, dtype=np.float32):
        return (lo + (hi - lo) * self.stream().random(shape, np.float32)).astype(dtype)

    def weights(self, *shape, gain=3.0):
        """Uniform with variance gain / (3 * fan in); the last dimension is the output."""
        bound = (gain / np.prod(shape[:-1])) ** 0.5
        return self.uniform(*shape, lo=-bound, hi=bound)

    def integers(self, *shape, below):
        return self.stream().integers(0, below, shape, np.int32)

    def zipf(self, *shape, below):
        """Few of the numbers are frequent: probability about 1 / rank."""
        return (below ** self.stream().random(shape) - 1).astype(np.int32) * 7919 % below

    def distinct(self, *shape):
        """A permutation of equidistant numbers in [-1, 1): no ties (up to 2^24 elements)."""
        n = int(np.prod(shape))
        return (self.stream().permutation(n).astype(np.float64) / n * 2 - 1).astype(np.float32).reshape(shape)


_all = {}


def workload(name, tolerance, inputs, floor=None, donate=(), reference=None):
    assert tolerance in CLASSES

    def add(function):
        family = function.__module__.rsplit(".", 1)[-1]
        _all[name] = Workload(name, family, tolerance, function, inputs, floor or {}, donate,
                              reference or function)
        return function
    return add


def load():
    if not _all:
        for family in FAMILIES:
            importlib.import_module(f"workloads.{family}")
    return _all
