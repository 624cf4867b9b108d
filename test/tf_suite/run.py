#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs TensorFlow's own tests of its XLA bridge on Braze and compares with the results that are expected.

    test/tf_suite/run.py --tf CHECKOUT [FILE…] [--timeout S] [--test-timeout S] [--keep DIR] [--stock]

CHECKOUT is a checkout of TensorFlow of the installed version; FILE are names of its test files
("where_op_test", or a path in it without .py), all of files.txt by default. Tests run on the device CPU, with every operator that can be
compiled in a cluster, so that what the tests compare with NumPy comes from the compiler. Each file runs in a process
of its own; a test that ends the process is a crash, and the file goes on behind it. Failures listed in
expected.txt, each with its cause, are expected; the exit code is 1 if there are others. Run it with the
Python of an environment that has TensorFlow and the glue (`./dev tf-tests` does).
"""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("tensorflow/compiler/tests", "tensorflow/python/eager/polymorphic_function")
FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=1"
MAX_CRASHES = 12  # of one file


def read(path):
    """Outcome by test, and the test that was running when the process ended."""
    outcome, running = {}, None
    for line in path.read_text().splitlines():
        r = json.loads(line)
        if r.get("start"):
            running = r["test"]
        else:
            outcome[r["test"]] = r
            running = None
    return outcome, running


def run_file(path, args, out):
    out.write_text("")
    skip = out.with_suffix(".skip")
    skip.write_text("")
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_XLA_FLAGS=FLAGS, TF_ENABLE_ONEDNN_OPTS="0",
               BRAZE_TF="0" if args.stock else "verbose")
    command = [sys.executable, str(HERE / "one_file.py"), args.tf, path, str(out), str(skip), str(args.test_timeout)]
    for _ in range(MAX_CRASHES):
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace",
                                  timeout=args.timeout)
            text, code = done.stderr, done.returncode
        except subprocess.TimeoutExpired as e:
            text, code = "the file took too long", -1
        if not args.stock and code == 0 and "braze: active" not in text:
            sys.exit("these tests ran without Braze: " + text[-500:])
        outcome, running = read(out)
        if code == 0:
            break
        with open(out, "a") as f:
            f.write(json.dumps({"test": running or "(file)", "outcome": "crashed", "text": text[-3000:]}) + "\n")
        if running is None or text == "the file took too long":
            break
        skip.write_text("\n".join([*outcome, running]))
    return read(out)[0]


def expected_failures():
    known = {}
    for line in (HERE / "expected.txt").read_text().splitlines():
        test, _, cause = line.partition("#")
        if test.strip():
            known[test.strip()] = cause.strip()
    return known


def listed_files():
    lines = (line.partition("#")[0].strip() for line in (HERE / "files.txt").read_text().splitlines())
    return [name for name in lines if name]


def find(checkout, name):
    if "/" in name and (pathlib.Path(checkout) / f"{name}.py").exists():
        return f"{name}.py"
    for folder in FOLDERS:
        if (pathlib.Path(checkout) / folder / f"{name}.py").exists():
            return f"{folder}/{name}.py"
    sys.exit(f"{checkout} has no {name}.py in {' or '.join(FOLDERS)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*")
    p.add_argument("--tf", required=True)
    p.add_argument("--stock", action="store_true", help="XLA:CPU instead of Braze")
    p.add_argument("--timeout", type=int, default=1200, help="seconds for a file")
    p.add_argument("--test-timeout", type=int, default=180, help="seconds for a test")
    p.add_argument("--keep", help="folder for the results of each file")
    args = p.parse_args()
    keep = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="braze-tf-"))
    keep.mkdir(parents=True, exist_ok=True)
    known = expected_failures()
    total = {"passed": 0, "failed": 0, "crashed": 0, "skipped": 0}
    unexpected = 0
    for name in args.files or listed_files():
        results = run_file(find(args.tf, name), args, keep / f"{name.replace('/', '.')}.jsonl")
        count = {k: sum(r["outcome"] == k for r in results.values()) for k in total}
        total = {k: n + count[k] for k, n in total.items()}
        print(f"{name}: " + ", ".join(f"{n} {k}" for k, n in count.items()), flush=True)
        for test, r in results.items():
            if r["outcome"] not in ("failed", "crashed"):
                continue
            full = f"{name}::{test}"
            cause = next((c for pattern, c in known.items() if fnmatch.fnmatchcase(full, pattern)), None)
            if cause:
                print(f"  expected: {full}: {cause}", flush=True)
            else:
                unexpected += 1
                print(f"  {r['outcome'].upper()} {full} {(r['text'].strip().splitlines() or [''])[-1][:200]}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in total.items()) + f"; {unexpected} not expected")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
