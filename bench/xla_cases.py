#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Braze against XLA:CPU on model folders, case by case in one run.

    bench/xla_cases.py BRAZE MODELS [--name GLOB] [--repeat N] [--out FILE.md]

Needs jax==0.10.2 in the Python that runs it. For each full case XLA:CPU and Braze compile the same
StableHLO file, run it on the same inputs N times (median), one after the other. Prints run ms, compile
ms and bytes of temporaries with ratios (Braze / XLA), and their geometric means.
"""
import argparse
import fnmatch
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

os.environ["BRAZE_DISABLE"] = "1"  # JAX's own XLA:CPU, also where Braze is installed


def xla(folder, repeat):
    """Median run ms, compile ms, temporary bytes of one case on XLA:CPU."""
    import numpy as np
    import jax
    from jax._src import xla_bridge
    from jaxlib import _jax, xla_client

    jax.config.update("jax_enable_x64", True)  # arrays keep the case's own types
    spec = importlib.util.spec_from_file_location("inputs", folder.parent / "inputs.py")
    inputs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(inputs)
    case = json.loads((folder / "case.json").read_text())
    backend = xla_bridge.get_backend("cpu")
    device = backend.devices()[0]
    start = time.perf_counter()
    exe = backend.compile_and_load((folder / f"{folder.name}.mlirbc").read_bytes(),
                                   _jax.DeviceList((device,)), xla_client.CompileOptions())
    compile_ms = 1e3 * (time.perf_counter() - start)
    host = [inputs.make(i["make"], i["shape"], i["dtype"]) for i in case["inputs"]]
    donated = set(case.get("donated_inputs", []))
    times = []
    kept = {k: jax.device_put(np.array(x), device) for k, x in enumerate(host) if k not in donated}
    for _ in range(repeat + 1):
        args = [kept[k] if k in kept else jax.device_put(np.array(x), device) for k, x in enumerate(host)]
        for a in args:
            a.block_until_ready()
        start = time.perf_counter()
        out = exe.execute_sharded(args).disassemble_into_single_device_arrays()
        for o in out:
            o[0].block_until_ready()
        times.append(1e3 * (time.perf_counter() - start))
    temp = exe.get_compiled_memory_stats().temp_size_in_bytes
    return statistics.median(times[1:]), compile_ms, temp


def braze(tool, folder, repeat):
    out = subprocess.run([tool, "cases", str(folder.parent), "--size", "full", "--name", folder.name,
                          "--repeat", str(repeat)], capture_output=True, text=True, timeout=300).stdout
    for line in out.splitlines():
        words = line.split()
        if words and words[0] == folder.name:
            return float(words[1]), float(words[2]), int(words[5]), "library" if int(words[4]) else ""
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--name", default="*")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        print(json.dumps(xla(a.models, a.repeat)))
        return
    rows, ratios = [], []
    for folder in sorted(a.models.iterdir()):
        if not fnmatch.fnmatch(folder.name, a.name) or (folder / "inputs.npz").exists():
            continue
        if not (folder / f"{folder.name}.mlirbc").exists():
            continue
        try:
            done = subprocess.run([sys.executable, __file__, a.tool, str(folder), "--one", "--repeat",
                                   str(a.repeat)], capture_output=True, text=True, timeout=300)
            other = json.loads(done.stdout.strip().splitlines()[-1])
            mine = braze(a.tool, folder, a.repeat)
        except (subprocess.TimeoutExpired, IndexError, ValueError) as e:
            print(f"{folder.name}: {type(e).__name__}", file=sys.stderr)
            continue
        if mine is None:
            rows.append(f"| {folder.name} | failed | {other[0]:.3f} | | | {other[1]:.0f} | | | {other[2]} | |")
        else:
            r, c = mine[0] / other[0], mine[1] / other[1]
            ratios.append((r, c, (mine[2] + 65536) / (other[2] + 65536)))
            rows.append(f"| {folder.name} | {mine[0]:.3f} | {other[0]:.3f} | {r:.2f} | {mine[1]:.0f} | "
                        f"{other[1]:.0f} | {c:.2f} | {mine[2]} | {other[2]} | {mine[3]} |")
        print(rows[-1], flush=True)
    head = ["| case | Braze ms | XLA ms | ratio | Braze compile ms | XLA compile ms | ratio | Braze temp bytes "
            "| XLA temp bytes | note |", "|---|---|---|---|---|---|---|---|---|---|"]
    if ratios:
        mean = [math.exp(statistics.fmean(math.log(r[i]) for r in ratios)) for i in range(3)]
        rows.append(f"| **geomean of {len(ratios)}** | | | **{mean[0]:.2f}** | | | **{mean[1]:.2f}** | | "
                    f"**{mean[2]:.2f}** | |")
        print(rows[-1])
    if a.out:
        a.out.write_text("\n".join(head + rows) + "\n")


if __name__ == "__main__":
    main()
