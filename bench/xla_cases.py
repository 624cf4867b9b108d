#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Braze against XLA:CPU on model folders, through JAX, both in one process, case by case.

    bench/xla_cases.py MODELS [--name GLOB] [--repeat N] [--out FILE.md]

For each full case both compile the same StableHLO file, then run it in turns on the same inputs. Prints medians of run
ms, compile ms, how much resident memory grew at most while compiling, bytes of temporaries, ratios (Braze / XLA) and
their geometric means; a case whose results are far apart fails. "Warm" is the compilation in
another process that finds the code in BRAZE_CACHE_DIR. Run it with a Python in which JAX runs on Braze.
"""
import argparse
import fnmatch
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from memory import grown, reset_peak

ROUND_SECONDS = 0.02  # of one engine, at least one run
FAR = 2e-2  # relative, in the L2 norm
PAUSE_SECONDS = 0.003  # the threads of the engine before may still spin


def backends():
    """{name: device}, both warm: each has compiled something, LAPACK's targets are registered."""
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)  # arrays keep the case's own types
    devices = {"braze": jax.devices("cpu")[0], "xla": jax.devices("xla_cpu")[0]}
    for device in devices.values():
        x = jax.device_put(jnp.eye(3) * 2, device)
        jax.jit(lambda x: jnp.linalg.cholesky(x) + jnp.sort(x) @ x)(x).block_until_ready()
    return devices


def compiled(folder, device):
    """(executable, ms, MiB by which resident memory grew at most)."""
    from jaxlib import _jax, xla_client
    program = (folder / f"{folder.name}.mlirbc").read_bytes()
    base = reset_peak()
    start = time.perf_counter()
    exe = device.client.compile_and_load(program, _jax.DeviceList((device,)), xla_client.CompileOptions())
    ms = 1e3 * (time.perf_counter() - start)
    return exe, ms, (grown(base) or 0) / 2**20


class Runner:
    """One engine with one case."""

    def __init__(self, exe, device, host, donated):
        import jax
        self.put = lambda x: jax.device_put(x, device)
        self.exe, self.host, self.donated, self.times = exe, host, donated, []
        self.kept = [None if k in donated else self.put(x) for k, x in enumerate(host)]

    def run(self):
        import numpy as np
        args = [self.put(np.array(self.host[k])) if a is None else a for k, a in enumerate(self.kept)]
        for a in args:
            a.block_until_ready()
        start = time.perf_counter()
        out = self.exe.execute_sharded(args).disassemble_into_single_device_arrays()
        for o in out:
            o[0].block_until_ready()
        return time.perf_counter() - start, out

    def round(self):
        time.sleep(PAUSE_SECONDS)
        total = 0
        while total < ROUND_SECONDS:
            seconds, _ = self.run()
            self.times.append(seconds)
            total += max(seconds, ROUND_SECONDS / 100)


def compare(ours, theirs):
    """Raises ValueError if a result of numbers is far off: `braze cases` checks them closely."""
    import numpy as np
    for k, (a, b) in enumerate(zip(ours, theirs)):
        a, b = (np.asarray(x[0]).astype(np.complex128) for x in (a, b))
        if np.issubdtype(ours[k][0].dtype, np.inexact) and np.isfinite(b).all():
            off = np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)
            if not off < FAR:
                raise ValueError(f"result {k} is {off:.2g} off")


def one(folder, repeat):
    """What main() prints of a case, by engine."""
    spec = importlib.util.spec_from_file_location("inputs", folder.parent / "inputs.py")
    inputs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(inputs)
    case = json.loads((folder / "case.json").read_text())
    host = [inputs.make(i["make"], i["shape"], i["dtype"]) for i in case["inputs"]]
    answer, runners, results = {}, {}, {}
    for name, device in backends().items():
        exe, ms, peak = compiled(folder, device)
        answer[name] = dict(compile=ms, peak=peak, temp=exe.get_compiled_memory_stats().temp_size_in_bytes)
        runners[name] = Runner(exe, device, host, set(case.get("donated_inputs", [])))
        results[name] = runners[name].run()[1]
    compare(results["braze"], results["xla"])
    del results
    for _ in range(repeat):
        for r in runners.values():
            r.round()
    for name, r in runners.items():
        answer[name]["run"] = 1e3 * statistics.median(r.times)
    return answer


def compile_all(folders):
    """{case: compile ms} on Braze alone, of those that compile as they stand."""
    import jax
    device, out = backends()["braze"], {}
    for f in folders:
        try:
            out[f.name] = compiled(f, device)[1]
        except jax.errors.JaxRuntimeError:
            pass  # sizes left open: its row will say so
    return out


def child(*words, **env):
    done = subprocess.run([sys.executable, __file__, *map(str, words)], capture_output=True, text=True, timeout=900,
                          env={**os.environ, **env})
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300])
    return json.loads(done.stdout.strip().splitlines()[-1])


def warm_times(folders):
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            times = child("--compile", *folders, BRAZE_CACHE_DIR=cache)
    return times


COLUMNS = (("run", "run ms", "{:.3f}", 0), ("compile", "compile ms", "{:.0f}", 0), ("peak", "compiler MiB", "{:.1f}", 1),
           ("temp", "temp bytes", "{:.0f}", 65536))  # key, title, form, what is added to both sides of its ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--name", default="*", help="cases, a glob")
    parser.add_argument("--repeat", type=int, default=7, help="rounds of at least 20 ms an engine")
    parser.add_argument("--out", type=pathlib.Path, help="write the table there, too")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one or a.compile:
        print(json.dumps(one(a.models[0], a.repeat) if a.one else compile_all(a.models)))
        return
    folders = [f for f in sorted(a.models[0].iterdir()) if fnmatch.fnmatch(f.name, a.name)
               and (f / f"{f.name}.mlirbc").exists() and not (f / "inputs.npz").exists()]
    if not folders:
        sys.exit("xla_cases: no full case of that name")
    warm = warm_times(folders)
    head = ["case"] + [f"{who} {title}" if who else "ratio" for _, title, _, _ in COLUMNS for who in ("Braze", "XLA", "")]
    lines = ["| " + " | ".join(head + ["warm compile ms", "of XLA's"]) + " |", "|---" * (len(head) + 2) + "|"]
    print("\n".join(lines), flush=True)
    ratios = []
    for folder in folders:
        try:
            got = child(folder, "--one", "--repeat", a.repeat)
        except (subprocess.TimeoutExpired, ValueError) as e:
            print(f"{folder.name}: {e}", file=sys.stderr, flush=True)
            continue
        pairs = [(form, got["braze"][key], got["xla"][key], more) for key, _, form, more in COLUMNS]
        ratios.append([(x + more) / (y + more) for _, x, y, more in pairs] + [warm[folder.name] / got["xla"]["compile"]])
        cells = [c for (form, x, y, _), r in zip(pairs, ratios[-1]) for c in (form.format(x), form.format(y), f"{r:.2f}")]
        lines.append("| " + " | ".join([folder.name, *cells, f"{warm[folder.name]:.1f}", f"{ratios[-1][-1]:.3f}"]) + " |")
        print(lines[-1], flush=True)
    means = [math.exp(statistics.fmean(math.log(r[i]) for r in ratios)) for i in range(len(COLUMNS) + 1)] if ratios else []
    lines.append(f"| **geomean of {len(ratios)}** | " + " | ".join(f"| | **{m:.2f}**" for m in means[:-1])
                 + f" | | **{means[-1]:.3f}** |" if means else "")
    print(lines[-1])
    if a.out:
        a.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
