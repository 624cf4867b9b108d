#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One engine with one workload, driven over pipes by run.py.

    worker.py ENGINE FOLDER SLOT_SECONDS

Lines on stdin, one JSON line on stdout for each: `load` (imports, arguments), `start` (compilation, first run,
check), `slot` (runs for SLOT_SECONDS: median and number), `end`. A failure is {"error": why}, a Skip {"skip": why}.
"""
import hashlib
import importlib
import json
import os
import pathlib
import re
import resource
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from memory import grown, reset_peak

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what engines print must not mix with the answers


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def digest(results):
    """Of all bits of the results; what cannot be compared counts for nothing."""
    h = hashlib.sha256()
    for r in results:
        if r is not None:
            h.update(np.ascontiguousarray(r).tobytes())
    return h.hexdigest()


class Worker:
    def __init__(self, name, folder, slot):
        from engines import ENGINES
        self.entry, self.folder, self.slot_seconds, self.engine = ENGINES[name], folder, slot, None

    def load(self):
        from engines.job import Job
        self.job = Job(self.folder)
        self.module = importlib.import_module("engines." + self.entry.module)
        self.engine = self.module.Engine(self.job, self.entry.setting)
        return {}

    def start(self):
        if self.engine is None:
            self.load()
        e = self.engine
        base = reset_peak()
        compile_ms = 1e3 * timed(e.compile)
        compile_peak, base = grown(base), reset_peak()
        first = timed(e.run)
        run_peak = grown(base)
        results = e.results()
        good, error = self.job.error(results)
        answer = dict(digest=digest(results), versions=self.module.versions(), compile_ms=compile_ms, first_s=first, error_found=error,
                      temporary=e.temporary(), compile_peak=compile_peak, run_peak=run_peak)
        if not good:
            return answer | dict(error=f"wrong: error {error if isinstance(error, str) else format(error, '.2g')}")
        if first < 1:
            start = time.perf_counter()
            while time.perf_counter() - start < min(0.3, 5 * first + 0.02):
                e.run()
        return answer

    def slot(self):
        before, times, start = os.times(), [], time.perf_counter()
        while not times or time.perf_counter() - start < self.slot_seconds:
            times.append(timed(self.engine.run))
        after = os.times()
        return dict(median=statistics.median(times), runs=len(times), wall=time.perf_counter() - start,
                    cpu=after.user + after.system - before.user - before.system)


def cause(e):
    """The innermost exception in a line, without colours and without where files lie."""
    while e.__cause__ is not None:
        e = e.__cause__
    text = re.sub(r"\x1b\[\d*m", "", str(e))
    for folder in (sys.argv[2], str(pathlib.Path(__file__).resolve().parent.parent), sys.prefix):
        text = text.replace(folder, "")
    return f"{type(e).__name__}: " + " ".join(text.split())[:300]


def main():
    limit = int(float(os.environ.get("BENCH_MEMORY_GB", "12")) * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # a compilation that explodes fails here alone
    worker = Worker(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    for line in sys.stdin:
        if line.strip() == "end":
            break
        try:
            answer = getattr(worker, line.strip())()
        except Exception as e:
            answer = {"skip": str(e)} if type(e).__name__ == "Skip" else {"error": cause(e)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
