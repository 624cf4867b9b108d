#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark: Braze and its peers on the same programs, interleaved; prints a table, writes
docs/benchmarks.md. `./dev bench` calls it; `./dev bench --help` tells what it can do.

Each engine gets a process for each workload (worker.py) that lives as long as the workload. Rounds go A B C A B C ...,
a slot of some tenths of a second each, with a canary before every slot. A slot is noisy, and does not count, if
the canary was slow or others used the processors. The time of an engine is the median of its slots' medians.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import time

import table
from engines import ENGINES
from machine import Machine, description, floor_seconds

HERE = pathlib.Path(__file__).resolve().parent
TICKS = 0.02  # seconds by which the processors' own counts may be off
PEERS = [e for e in ENGINES if e not in ("braze", "xla")]
ENVIRONMENT = {
    "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_COMPILATION_CACHE": "0", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "CUDA_VISIBLE_DEVICES": "",
    "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
    # Large results from kept memory rather than fresh pages: else they cost more than the kernels that fill them.
    "MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967295",
}


def say(*words):
    print("bench:", *words, file=sys.stderr, flush=True)


class Worker:
    def __init__(self, engine, folder, a, more=()):
        entry = ENGINES[engine]
        env = {**os.environ, **ENVIRONMENT, **dict(entry.environment), **dict(more), "BENCH_MEMORY_GB": str(a.memory)}
        for k in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            env[k] = str(len(a.cpus))
        self.log = open(folder / f"{engine}.log", "w+")
        self.process = subprocess.Popen(
            [a.jax if entry.python == "jax" else a.bench, str(HERE / "worker.py"), engine, str(folder), str(a.slot)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=env,
            start_new_session=True)

    def ask(self, line, timeout):
        """The answer to one command; {"error": ...} if the process dies or takes too long."""
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.end()
            return {"error": f"took more than {timeout} s"}
        answer = self.process.stdout.readline()
        if answer.endswith(b"\n"):
            return json.loads(answer)
        code = self.process.wait()
        self.log.seek(0)
        lines = [x for x in self.log.read().splitlines() if x.strip()]
        return {"error": f"exit code {code}: " + (lines[-1][-300:] if lines else "")}

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # compilers that it started too
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()


def same_bits(digest, folder, a):
    """Whether Braze gives these results on one thread too; None if that run failed."""
    worker = Worker("braze", folder, a, {"BRAZE_DEBUG": "threads=1"})
    answer = worker.ask("start", a.timeout)
    worker.end()
    return answer["digest"] == digest if "digest" in answer else None


def prepare(name, folder, a):
    done = subprocess.run([a.jax, str(HERE / "prepare.py"), name, str(folder)], capture_output=True, text=True,
                          env={**os.environ, **ENVIRONMENT, "BENCH_MEMORY_GB": str(2 * a.memory)})  # float64
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"exit code {done.returncode}: {last[0][:300] if last else ''}")


def rounds(workers, machine, a):
    """Interleaved slots: ({engine: [median]} of its quiet slots, or of all if too few are quiet; all had enough?;
    quiet slots, slots)."""
    quiet, every, began, done = {e: [] for e in workers}, {e: [] for e in workers}, time.monotonic(), 0
    while workers and done < 2 * a.rounds and min(len(quiet[e]) for e in workers) < a.rounds:
        if done >= 3 and time.monotonic() - began > a.budget * len(workers):
            break
        for engine, worker in list(workers.items()):
            time.sleep(0.005)  # the threads of the engine before may still spin
            c = machine.canary()
            before = machine.busy()
            r = worker.ask("slot", 120)
            if "error" in r:
                say(f"  {engine}: {r['error']}")
                workers.pop(engine).end()
                continue
            every[engine].append(r["median"])
            others = machine.busy() - before - r["cpu"]
            if c["flops"] > 0.93 and c["bytes"] > 0.8 and others < 0.06 * r["wall"] * len(a.cpus) + TICKS:
                quiet[engine].append(r["median"])
        done += 1
    enough = {e: len(quiet[e]) >= max(2, len(every[e]) / 2) for e in workers}
    return ({e: (quiet if enough[e] else every)[e] for e in workers}, all(enough.values()),
            sum(len(quiet[e]) for e in workers), sum(len(every[e]) for e in workers))


def bench(name, engines, machine, rates, a):
    folder = a.work / name
    start = time.monotonic()
    try:
        prepare(name, folder, a)
    except RuntimeError as e:
        say(f"{name}: not prepared: {e}")
        return {"failed": str(e)}
    meta = json.loads((folder / "meta.json").read_text())
    row = dict(family=meta["family"], floor_s=floor_seconds(meta["floor"], rates), engines={})
    workers = {}

    def load(engine):
        worker = Worker(engine, folder, a)
        return worker, worker.ask("load", a.timeout)
    with concurrent.futures.ThreadPoolExecutor(len(a.cpus)) as pool:
        loaded = dict(zip(engines, pool.map(load, engines)))
    for engine, (worker, answer) in loaded.items():  # one after the other: compilations are timed
        answer = answer or worker.ask("start", a.timeout)
        row["engines"][engine] = answer
        if "error" in answer or "skip" in answer:
            worker.end()
            say(f"{name}: {engine}: {answer.get('error') or 'skipped: ' + answer['skip']}")
        else:
            workers[engine] = worker
    if "digest" in (mine := row["engines"].get("braze", {})):
        row["same_bits"] = same_bits(mine["digest"], folder, a)
    times, row["quiet"], quiet, tried = rounds(workers, machine, a)
    for engine, values in times.items():
        if values:
            row["engines"][engine] |= dict(ms=1e3 * statistics.median(values), rounds_ms=[1e3 * v for v in values])
    for worker in workers.values():
        worker.end()
    took = time.monotonic() - start
    say(f"{name}: " + "  ".join(f"{e} {v['ms']:.4g}" for e, v in row["engines"].items() if "ms" in v)
        + f" ms  ({quiet} of {tried} slots quiet, {took:.0f} s)")
    return row


def arguments():
    p = argparse.ArgumentParser(prog="./dev bench", formatter_class=argparse.RawDescriptionHelpFormatter, description="""\
Braze and its peers on the same programs, interleaved in one run. Every result is checked against float64 first.
Prints a table: ms, ratio to XLA:CPU, ratio to the best peer, share of the roofline floor, compile time, memory.
A run over all workloads also writes docs/benchmarks.md (or --write).

  ./dev bench                      Braze and XLA:CPU, all workloads, about 10 minutes
  ./dev bench 'matmul*' --quick    a first impression
  ./dev bench --peers              also PyTorch, ONNX Runtime, OpenVINO, IREE, XLA's other settings; an hour
  ./dev bench --engines braze,ort  only these
  ./dev bench kernels              Google Benchmark programs of single kernels; `seed`: the seed example
""", epilog="""\
In the table: `?` few slots were quiet; `-` the engine has no version of the workload; `err` it failed, why is said
below the table. Programs, inputs and reference results are kept in build/bench/NAME (8 GB for all).""")
    p.add_argument("names", nargs="*", metavar="NAME", help="workloads, globs allowed (all)")
    p.add_argument("--list", action="store_true", help="print the workloads by family")
    p.add_argument("--peers", action="store_true", help="run the peers too (makes .venv-bench; several GB)")
    p.add_argument("--quick", action="store_true", help="3 rounds of 0.1 s instead of 7 of 0.3 s")
    p.add_argument("--engines", help="comma-separated: " + ", ".join(ENGINES))
    p.add_argument("--rounds", type=int, help="quiet slots wanted of each engine")
    p.add_argument("--slot", type=float, help="seconds of one engine in a round")
    p.add_argument("--budget", type=float, default=12, help="seconds of rounds per engine and workload (12)")
    p.add_argument("--timeout", type=float, default=180, help="seconds for one engine to start and compile (180)")
    p.add_argument("--memory", type=float, default=8, help="GiB of data one engine may take (8)")
    p.add_argument("--cpus", default="", help="processors to run on, as 0,1 (the first two)")
    p.add_argument("--resume", action="store_true", help="keep the rows of the last run that have all engines")
    p.add_argument("--write", action="store_true", help="write docs/benchmarks.md after a partial run too")
    p.add_argument("--jax", default=sys.executable, help=argparse.SUPPRESS)
    p.add_argument("--bench", default=sys.executable, help=argparse.SUPPRESS)
    p.add_argument("--work", type=pathlib.Path, default=HERE.parent / "build/bench", help=argparse.SUPPRESS)
    a = p.parse_args()
    a.rounds = a.rounds or (3 if a.quick else 7)
    a.slot = a.slot or (0.1 if a.quick else 0.3)
    a.cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))[:2]
    return a


def known(a):
    """{name: family} of all workloads, from the Python that has JAX."""
    code = "import json, workloads; print(json.dumps({w.name: w.family for w in workloads.load().values()}))"
    out = subprocess.run([a.jax, "-c", code], cwd=HERE, capture_output=True, text=True,
                         env={**os.environ, "BRAZE_DISABLE": "1"})
    if out.returncode:
        sys.exit("bench: no Python with JAX: " + out.stderr.strip()[-300:])
    return json.loads(out.stdout)


def main():
    a = arguments()
    a.work.mkdir(parents=True, exist_ok=True)
    families = known(a)
    names = [n for n in families if not a.names or any(fnmatch.fnmatch(n, g) for g in a.names)]
    if a.list:
        for f in dict.fromkeys(families.values()):
            print(f"{f}: " + " ".join(n for n in families if families[n] == f))
        return
    if not names:
        sys.exit("bench: no workload of that name; --list shows them")
    engines = a.engines.split(",") if a.engines else ["braze", "xla"] + (PEERS if a.peers else [])
    if wrong := [e for e in engines if e not in ENGINES]:
        sys.exit(f"bench: no engine {', '.join(wrong)}; there are {', '.join(ENGINES)}")
    os.sched_setaffinity(0, a.cpus)
    saved = a.work / "results.json"
    machine = Machine(a.cpus, a.work)
    say(f"{len(names)} workloads, engines {' '.join(engines)}; measuring the machine")
    result = dict(machine=description() | {"cores used": str(len(a.cpus))}, rates=machine.rates(), engines=engines,
                  rounds=a.rounds, slot=a.slot, rows={})
    machine.canary()
    if a.resume and saved.exists():
        old = json.loads(saved.read_text())
        result["rows"] = {n: r for n, r in old["rows"].items() if set(engines) <= set(r.get("engines", {}))}
    for name in names:
        if name in result["rows"]:
            continue
        result["rows"][name] = bench(name, engines, machine, result["rates"], a)
        saved.write_text(json.dumps(result, indent=1))
    result["rows"] = {n: result["rows"][n] for n in families if n in result["rows"]}
    print(table.render(result))
    if not a.names or a.write:
        table.write(HERE.parent / "docs/benchmarks.md", result)
        say("wrote docs/benchmarks.md")


if __name__ == "__main__":
    main()
