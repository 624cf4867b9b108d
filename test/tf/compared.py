# SPDX-License-Identifier: Apache-2.0
"""Cases that are run twice, on Braze and on stock XLA, and compared.

A file of cases ends with main(). Called with a path it runs its cases and pickles what they returned;
compare() calls it so in two processes, one with BRAZE_TF=0. Names after the path choose cases.
"""
import os
import pickle
import subprocess
import sys
import tempfile
import traceback

import numpy as np

CASES = {}
TIMEOUT = 1200


def case(rtol=2e-5, atol=2e-6, stock=True):
    """Without stock, the case checks its values itself: stock XLA cannot run it."""
    def add(f):
        if f.__module__ == "__main__":  # not those of a file that is imported
            CASES[f.__name__] = (f, dict(rtol=rtol, atol=atol, stock=stock))
        return f
    return add


def expect_error(kind, f):
    """The kind of error that f ends with, as text."""
    try:
        f()
    except kind as e:
        return np.array(kind.__name__)
    return np.array("no error")


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return [np.asarray(value)]


def main():
    out, names = sys.argv[1], sys.argv[2:]
    results = {}
    for name, (f, bounds) in CASES.items():
        if names and name not in names:
            continue
        if os.environ.get("BRAZE_TF") == "0" and not bounds["stock"]:
            results[name] = (None, bounds)
            continue
        try:
            results[name] = (leaves(f()), bounds)
        except BaseException:
            results[name] = (traceback.format_exc()[-3000:], bounds)
        with open(out, "wb") as file:
            pickle.dump(results, file)


def run(path, stock, names=(), env={}):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        e = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", TF_ENABLE_ONEDNN_OPTS="0", **env)
        e["BRAZE_TF"] = "0" if stock else "verbose"
        done = subprocess.run([sys.executable, path, out, *names], env=e, capture_output=True, text=True,
                              errors="replace", timeout=TIMEOUT)
        try:
            with open(out, "rb") as file:
                results = pickle.load(file)
        except OSError:
            results = {}
        if not stock and "braze: active" not in done.stderr:
            raise RuntimeError(f"{path} did not run on Braze:\n{done.stderr[-3000:]}")
        return results, f"exit code {done.returncode}\n{done.stderr[-2000:]}"


def difference(a, b, bounds):
    """Why a (Braze's) and b (stock XLA's) differ; empty if they agree."""
    if len(a) != len(b):
        return f"{len(a)} values, not {len(b)}"
    for k, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"value {k}: {x.dtype}{list(x.shape)}, not {y.dtype}{list(y.shape)}"
        if x.dtype.kind in "fc":
            if not np.allclose(x, y, rtol=bounds["rtol"], atol=bounds["atol"], equal_nan=True):
                return f"value {k}:\n{x}\nnot\n{y}\nlargest difference {np.nanmax(np.abs(x - y))}"
        elif not np.array_equal(x, y):
            return f"value {k}:\n{x}\nnot\n{y}"
    return ""


def compare(path, names=(), env={}):
    """Prints what differs; (passed, failed)."""
    stock, stock_log = run(path, True, names, env)
    ours, log = run(path, False, names, env)
    passed = failed = 0
    for name, (theirs, bounds) in {**ours, **stock}.items():
        if name not in stock:
            why = f"stock XLA's process ended before it: {stock_log}"
        elif name not in ours:
            why = f"the process ended before it: {log}"
        elif isinstance(ours[name][0], str):
            why = ours[name][0]
        elif theirs is None:
            why = ""
        elif isinstance(theirs, str):
            why = f"fails on stock XLA: {theirs}"
        else:
            why = difference(ours[name][0], theirs, bounds)
        passed += not why
        failed += bool(why)
        if why:
            print(f"FAIL {name}: {why}", flush=True)
    return passed, failed + (0 if stock or ours else 1)


if __name__ == "__main__":
    print("%d passed, %d failed, 0 skipped" % compare(sys.argv[1], sys.argv[2:]))
