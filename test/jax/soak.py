#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soak: threads compile and run random programs for some minutes, with exceptions in callbacks, deleted and
donated arrays, copies between devices; every result is compared with NumPy's or with an earlier run.

    test/jax/soak.py [--minutes 30] [--threads 3] [--seed 0]

Prints memory as it goes; the exit code is 1 if a result was wrong or memory grew by more than 20 % over
the second half.
"""
import argparse
import gc
import os
import random
import sys
import threading
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np

STEPS = [
    (jnp.sin, np.sin), (jnp.tanh, np.tanh), (lambda x: x * 2 + 1, lambda x: x * 2 + 1),
    (lambda x: x - x.mean(), lambda x: x - x.mean(dtype=np.float32)),
    (lambda x: jnp.cumsum(x, -1), lambda x: np.cumsum(x, -1, dtype=np.float32)),
    (lambda x: x[::-1], lambda x: x[::-1]), (lambda x: x.T, lambda x: x.T),
    (lambda x: jnp.sort(x, -1), lambda x: np.sort(x, -1)),
    (lambda x: x @ x.T / x.shape[1], lambda x: x @ x.T / x.shape[1]),
    (lambda x: jnp.where(x > 0, x, -x), np.abs), (lambda x: x.reshape(-1)[:, None], lambda x: x.reshape(-1)[:, None]),
    (lambda x: jax.lax.fori_loop(0, 3, lambda _, v: v * 0.5, x), lambda x: x * 0.125),
]


class Soak:
    def __init__(self, seed):
        self.random = random.Random(seed)
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
        want = x
        for _, g in steps:
            want = g(want)
        device = jax.devices()[self.random.randrange(2)]
        got = np.asarray(jax.jit(ours)(jax.device_put(x, device)))
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=1e-3):
            self.wrong.append(("program", float(np.abs(got - want).max())))

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

    def run(self, until):
        kinds = [self.program] * 6 + [self.failing_callback, self.donation, self.deletion]
        while time.time() < until and not self.wrong:
            self.random.choice(kinds)()
            self.count += 1


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--threads", type=int, default=3)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    import logging
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    start = time.time()
    until = start + a.minutes * 60
    soaks = [Soak(a.seed + k) for k in range(a.threads)]
    threads = [threading.Thread(target=s.run, args=(until,)) for s in soaks]
    for t in threads:
        t.start()
    memory = []
    while any(t.is_alive() for t in threads):
        time.sleep(min(10, a.minutes * 6))
        jax.clear_caches()
        gc.collect()
        memory.append(resident())
        print(f"{time.time() - start:5.0f} s  {sum(s.count for s in soaks):6d} rounds  {memory[-1]:7.0f} MiB",
              flush=True)
    wrong = [w for s in soaks for w in s.wrong]
    half = memory[len(memory) // 2:] or [0]
    grown = half[-1] / max(half[0], 1) - 1
    print(f"{len(wrong)} wrong {wrong[:3]}; memory grew by {grown:.1%} over the second half")
    sys.exit(int(bool(wrong) or grown > 0.2))


if __name__ == "__main__":
    main()
