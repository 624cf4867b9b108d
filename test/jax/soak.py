#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soak: threads compile and run random programs for some minutes or rounds, with exceptions in callbacks, deleted
and donated arrays, copies between devices; every result is compared with NumPy's or with an earlier run.

    test/jax/soak.py [--minutes 30 | --rounds N] [--threads 3] [--seed 0] [--corpus DIR] [--only-corpus] [--maps]

DIR holds programs as JAX emits them and index.tsv; these run twice on made-up arguments and must give the
same bits. With --only-corpus nothing is traced, so that JAX's own memory does not grow. Memory is printed after every
--every rounds, when all threads rest; with BRAZE_DISABLE=1 the same rounds run on XLA:CPU. The exit code is 1 if a
result was wrong or memory grew by more than 5 % over the second half (and by more than 16 MiB).
"""
import argparse
import ctypes
import gc
import os
import pathlib
import random
import re
import sys
import threading
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

STEPS = [
    (jnp.sin, np.sin), (jnp.tanh, np.tanh), (lambda x: x * 2 + 1, lambda x: x * 2 + 1),
    (lambda x: x - x.mean(), lambda x: x - x.mean(dtype=x.dtype)),
    (lambda x: jnp.cumsum(x, -1), lambda x: np.cumsum(x, -1, dtype=x.dtype)),
    (lambda x: x[::-1], lambda x: x[::-1]), (lambda x: x.T, lambda x: x.T),
    (lambda x: jnp.sort(x, -1), lambda x: np.sort(x, -1)),
    (lambda x: x @ x.T / x.shape[1], lambda x: x @ x.T / x.shape[1]),
    (lambda x: jnp.where(x > 0, x, -x), np.abs), (lambda x: x.reshape(-1)[:, None], lambda x: x.reshape(-1)[:, None]),
    (lambda x: jax.lax.fori_loop(0, 3, lambda _, v: v * 0.5, x), lambda x: x * 0.125),
]


# Calls of what only the process that made a program has, or of what stands for a collective.
HOST_CALLS = ("callback", "Sharding", "Partitioning", "Placement", "annotate", "barrier", "infeed", "outfeed")


# XLA:CPU crashes on some calls whose operands this file makes up.
STOCK = os.environ.get("BRAZE_DISABLE", "0") not in ("", "0")


def corpus_files(folder):
    """Programs of one device that end on any arguments: those without loops."""
    files = []
    with open(folder / "index.tsv") as index:
        next(index)
        for line in index:
            name, size, devices, _, _, _, ops, calls = (line.rstrip("\n").split("\t") + [""] * 8)[:8]
            path = folder / name
            if STOCK and calls or any(c in calls for c in HOST_CALLS):
                continue
            if devices == "1" and int(size) < 40000 and "stablehlo.while" not in ops and path.exists():
                files.append(path)
    return files


def made(kind, rng):
    """An argument of an MLIR type; None if NumPy has no such array."""
    kind = ir.RankedTensorType(kind)
    dtype = DTYPES.get(str(kind.element_type))
    if dtype is None:
        return None
    if dtype.kind in "iub" or "int" in dtype.name:
        return rng.integers(0, 2, kind.shape).astype(dtype)
    x = rng.standard_normal(kind.shape)
    return (x + 1j * rng.standard_normal(kind.shape) if dtype.kind == "c" else x).astype(dtype)


DTYPES = {"f64": np.dtype("float64"), "f32": np.dtype("float32"), "f16": np.dtype("float16"), "bf16": np.dtype(jnp.bfloat16),
          "i1": np.dtype(bool), "complex<f32>": np.dtype("complex64"), "complex<f64>": np.dtype("complex128"),
          **{f"{p}i{n}": np.dtype(f"{'u' if p else ''}int{n}") for p in ("", "u") for n in (8, 16, 32, 64)}}


class Soak:
    def __init__(self, seed, corpus, only_corpus):
        self.random = random.Random(seed)
        self.corpus, self.only_corpus = corpus, only_corpus
        self.ran = self.refused = 0
        self.count = 0
        self.wrong = []

    def program(self):
        steps = self.random.choices(STEPS, k=self.random.randint(1, 6))
        if sum(s is STEPS[8] or s is STEPS[10] for s in steps) > 2:
            steps = steps[:2]
        x = np.random.default_rng(self.random.getrandbits(32)).standard_normal(
            (self.random.randint(1, 40), self.random.randint(1, 40))).astype(np.float32)

        def ours(v):
            for f, _ in steps:
                v = f(v)
            return v
        want, exact = x, x.astype(np.float64)
        for _, g in steps:
            want, exact = g(want), g(exact)
        device = jax.devices()[self.random.randrange(2)]
        got = np.asarray(jax.jit(ours)(jax.device_put(x, device)))
        # Sums of sums, or the sine of a large number: as far off as NumPy's f32 is from its f64.
        room = 1e-3 + 4 * float(np.abs(want - exact).max())
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=room):
            self.wrong.append(("program", [STEPS.index(s) for s in steps], float(np.abs(got - want).max())))

    def failing_callback(self):
        def bad(_):
            raise ValueError("expected")
        shape = jax.ShapeDtypeStruct((3,), np.float32)
        try:
            jax.block_until_ready(jax.jit(lambda v: jax.pure_callback(bad, shape, v) + 1)(jnp.ones(3)))
            self.wrong.append(("callback", "no exception"))
        except Exception as e:
            if "expected" not in str(e):
                self.wrong.append(("callback", str(e)))
        jax._src.dispatch.runtime_tokens.clear()

    def donation(self):
        step = jax.jit(lambda p, g: p - 0.1 * g, donate_argnums=0)
        p = jnp.zeros(5000)
        for _ in range(20):
            p = step(p, jnp.ones(5000))
        if not np.allclose(np.asarray(p), -2, rtol=1e-4):
            self.wrong.append(("donation", np.asarray(p)[:3]))

    def deletion(self):
        x = jax.device_put(jnp.arange(3000.0), jax.devices()[1])
        y = jax.device_put(x, jax.devices()[0])
        view = np.asarray(y)
        x.delete()
        y.delete()
        if view[-1] != 2999:
            self.wrong.append(("deletion", view[-1]))

    def corpus_program(self):
        path = self.random.choice(self.corpus)
        device = jax.devices()[self.random.randrange(2)]
        with mlir.make_ir_context(), ir.Location.unknown():
            module = stablehlo.deserialize_portable_artifact(ir.Context.current, path.read_bytes())
            main_function = next(f for f in module.body.operations if "sym_name" in f.attributes and
                                 ir.StringAttr(f.attributes["sym_name"]).value == "main")
            kinds = ir.FunctionType(ir.TypeAttr(main_function.attributes["function_type"]).value).inputs
            rng = np.random.default_rng(self.random.getrandbits(32))
            values = [made(k, rng) for k in kinds if str(k).startswith("tensor")]
            if len(values) != len(kinds) or any(v is None for v in values):
                return
            options = compiler.get_compile_options(1, 1, np.array([[device.id]]), backend=device.client)
            try:
                run = device.client.compile_and_load(module, executable_devices=xla_client.DeviceList((device,)),
                                                     compile_options=options)
            except jax.errors.JaxRuntimeError:
                self.refused += 1
                return
        def call():
            with jax.enable_x64(True):
                out = run.execute_sharded([jax.device_put(v, device) for v in values])
                return [np.asarray(a[0]).tobytes() for a in out.disassemble_into_single_device_arrays()]
        try:
            first = call()
        except jax.errors.JaxRuntimeError:
            self.refused += 1
            return
        self.ran += 1
        if first != call():
            self.wrong.append(("corpus", path.name))

    def run(self, rounds, rest):
        kinds = [self.program] * 6 + [self.failing_callback, self.donation, self.deletion]
        if self.corpus:
            kinds = (not self.only_corpus) * kinds + [self.corpus_program] * 6
        while True:
            for _ in range(rounds):
                try:
                    self.random.choice(kinds)()
                except Exception as e:  # pylint: disable=broad-except
                    self.wrong.append(("exception", repr(e)[:500]))
                self.count += 1
            rest.wait()  # the main thread looks at memory
            rest.wait()
            if rest.done:
                return


class MallInfo(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                               "uordblks", "fordblks", "keepcost")]


def memory():
    """MiB: resident, in use of malloc (with mmapped blocks), free within malloc."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = MallInfo
    m = libc.mallinfo2()
    with open("/proc/self/statm") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return [x / 2**20 for x in (resident, m.uordblks + m.hblkhd, m.fordblks)]


def resident_by_kind():
    """MiB of resident memory by kind of mapping."""
    kinds = {}
    with open("/proc/self/smaps") as f:
        for line in f:
            if m := re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)", line):
                start, end, mode, inode, name = int(m[1], 16), int(m[2], 16), m[3], m[4], m[5]
                if name.startswith("["):
                    kind = name
                elif inode != "0":
                    kind = "files"
                elif "x" in mode or mode.startswith("r--"):
                    kind = "code"
                elif start % (64 << 20) == 0 and end - start <= 64 << 20:
                    kind = "arenas"
                else:
                    kind = "anonymous"
            elif line.startswith("Rss:"):
                kinds[kind] = kinds.get(kind, 0) + int(line.split()[1]) / 1024
    return {k: round(v, 1) for k, v in sorted(kinds.items()) if v >= 0.1}


class Rest(threading.Barrier):
    done = False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--rounds", type=int, help="of all threads together, instead of minutes")
    p.add_argument("--every", type=int, default=300, help="rounds between looks at memory")
    p.add_argument("--threads", type=int, default=3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--corpus", type=pathlib.Path)
    p.add_argument("--only-corpus", action="store_true", help="no programs that JAX would have to trace")
    p.add_argument("--maps", action="store_true", help="print memory by kind of mapping, too")
    a = p.parse_args()
    import logging
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    corpus = corpus_files(a.corpus) if a.corpus and (a.corpus / "index.tsv").exists() else []
    if a.corpus and not corpus:
        print(f"no programs in {a.corpus}: only made-up ones run")
    start = time.time()
    rest = Rest(a.threads + 1)
    soaks = [Soak(a.seed + k, corpus, a.only_corpus) for k in range(a.threads)]
    threads = [threading.Thread(target=s.run, args=(max(a.every // a.threads, 1), rest), daemon=True) for s in soaks]
    for t in threads:
        t.start()
    looks = []
    while not rest.done:
        rest.wait()
        jax.clear_caches()
        gc.collect()
        looks.append(memory())
        count, seconds = sum(s.count for s in soaks), time.time() - start
        rest.done = count >= a.rounds if a.rounds else seconds >= a.minutes * 60
        rest.done |= any(s.wrong for s in soaks)
        print(f"{seconds:5.0f} s  {count:6d} rounds  resident {looks[-1][0]:6.0f} MiB  malloc: in use {looks[-1][1]:6.1f}"
              f"  free {looks[-1][2]:6.1f}", flush=True)
        if a.maps:
            print("   ", resident_by_kind(), flush=True)
        rest.wait()
    wrong = [w for s in soaks for w in s.wrong]
    half = [m[0] for m in looks[len(looks) // 2:]]
    grown = half[-1] / half[0] - 1
    print(f"{sum(s.ran for s in soaks)} programs of the corpus ran, {sum(s.refused for s in soaks)} were refused; "
          f"{len(wrong)} wrong {wrong[:3]}; memory grew by {grown:.1%} over the second half", flush=True)
    os._exit(int(bool(wrong) or grown > 0.05 and half[-1] - half[0] > 16))


if __name__ == "__main__":
    main()
