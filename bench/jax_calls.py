#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs through JAX: Braze against XLA:CPU in one process, in turn.

    bench/jax_calls.py [--rounds N] [--out FILE.md]

Needs jax==0.10.2 and the plugin, which makes XLA:CPU reachable as jax.devices("xla_cpu"). For each row both
do the same thing in turn, round after round; the table has the medians in µs of wall time and of this
thread's CPU time, and the ratios Braze / XLA.
"""
import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np


def on(device, x):
    return jax.device_put(x, device)


def call(f, *args):
    """A row whose step calls the compiled f on arguments that lie on the device."""
    def prepare(device):
        jitted, placed = jax.jit(f), [on(device, a) for a in args]
        jitted(*placed)
        return lambda: jax.block_until_ready(jitted(*placed))
    return prepare


def donated(device):
    jitted, state = jax.jit(lambda x: x + 1, donate_argnums=0), [on(device, np.ones(1 << 16, np.float32))]

    def step():
        state[0] = jitted(state[0])
        state[0].block_until_ready()
    return step


def round_trip(n):
    x = np.ones(n, np.float32)
    return lambda device: lambda: np.asarray(on(device, x))


def compiles(device):
    """A program that no cache has seen."""
    count = [0]

    def step():
        count[0] += 1
        k = float(count[0])
        jax.jit(lambda x: jnp.sin(x) * k + x)(on(device, np.ones(8, np.float32))).block_until_ready()
    return step


def tree(device):
    """A training step of 60 small parameters."""
    params = {f"w{i}": on(device, np.ones((16, 16), np.float32)) for i in range(60)}
    step = jax.jit(lambda p: jax.tree.map(lambda w: w - 0.1 * w, p))
    step(params)
    return lambda: jax.block_until_ready(step(params))


SMALL = np.ones(3, np.float32)
ROWS = [  # name, what, calls a round
    ("f(x), 3 floats", call(lambda x: x * 2 + 1, SMALL), 500),
    ("f of 20 arguments", call(lambda *a: sum(a), *[SMALL] * 20), 200),
    ("f of 150 arguments", call(lambda *a: sum(a), *[SMALL] * 150), 50),
    ("60 parameters in and out", tree, 50),
    ("donated state, 256 KiB", donated, 200),
    ("NumPy to device and back, 12 B", round_trip(3), 200),
    ("NumPy to device and back, 4 MiB", round_trip(1 << 20), 20),
    ("trace, lower, compile and run a small program", compiles, 2),
]


def measure(step, calls):
    """Median µs of `calls` calls: wall time, CPU time of this thread."""
    wall, cpu = [], []
    for _ in range(calls):
        w, c = time.perf_counter_ns(), time.thread_time_ns()
        step()
        cpu.append(time.thread_time_ns() - c)
        wall.append(time.perf_counter_ns() - w)
    return statistics.median(wall) / 1e3, statistics.median(cpu) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", help="write the table there too")
    args = parser.parse_args()
    devices = [jax.devices("cpu")[0], jax.devices("xla_cpu")[0]]
    lines = ["| what | Braze µs | XLA µs | ratio | Braze CPU µs | XLA CPU µs | ratio |", "|" + "---|" * 7]
    print(*lines, sep="\n", flush=True)
    for name, prepare, calls in ROWS:
        steps = [prepare(d) for d in devices]
        rounds = [[measure(s, calls) for s in steps] for _ in range(args.rounds + 1)][1:]
        (bw, bc), (xw, xc) = ([statistics.median(r[k][j] for r in rounds) for j in (0, 1)] for k in (0, 1))
        lines.append(f"| {name} | {bw:.1f} | {xw:.1f} | {bw / xw:.2f} | {bc:.1f} | {xc:.1f} | {bc / xc:.2f} |")
        print(lines[-1], flush=True)
    if args.out:
        with open(args.out, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
