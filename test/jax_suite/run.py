#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs JAX's own tests on Braze and compares with the results that are expected.

    test/jax_suite/run.py --jax CHECKOUT [FILE…] [--sample N] [--x64] [--timeout S] [--keep DIR] [--stock]

CHECKOUT is a checkout of JAX of the installed version; FILE are names of its test files ("lax_test"), all
of files.txt by default. Each file runs in a process of its own; a test that ends the process is a crash,
and the file goes on behind it. Failures listed in expected.txt, each with its cause, are expected; the
exit code is 1 if there are others; names may hold * and ?. Run it with the Python of an environment that has jax, pytest,
pytest-timeout, hypothesis, absl-py and the plugin (`./dev jax-tests` does).
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
MAX_CRASHES = 20  # of one file


def environment(args):
    e = dict(os.environ)
    e.update(JAX_NUM_GENERATED_CASES="1", JAX_SKIP_SLOW_TESTS="1", BRAZE_SUITE_JAX=args.jax,
             BRAZE_SUITE_SAMPLE=str(args.sample), PYTHONFAULTHANDLER="1",
             JAX_ENABLE_X64="1" if args.x64 else "0")
    e["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [e.get("PYTHONPATH")])])
    if args.stock:
        e["BRAZE_DISABLE"] = "1"
    return e


def read(path):
    """Outcome by test, and the test that was running when the process ended."""
    outcome, running = {}, None
    for line in path.read_text().splitlines() if path.exists() else []:
        r = json.loads(line)
        if r.get("start"):
            running = r["test"]
        elif "outcome" in r:
            outcome[r["test"]] = r
            running = None
    return outcome, running


def run_file(name, args, out):
    """Runs one file to its end, over crashes."""
    out.write_text("")
    skip = out.with_suffix(".skip")
    skip.write_text("")
    env = environment(args)
    env.update(BRAZE_SUITE_OUT=str(out), BRAZE_SUITE_SKIP=str(skip))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin",
               "--no-header", "--timeout", str(args.test_timeout), f"tests/{name}.py"]
    for _ in range(MAX_CRASHES):
        try:
            done = subprocess.run(command, cwd=args.jax, env=env, capture_output=True, text=True,
                                  errors="replace", timeout=args.timeout)
            text, code = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired as e:
            text, code = "the file took too long", -1
        outcome, running = read(out)
        if code in (0, 1, 5):
            break
        if running is None:
            print(f"{name}: pytest ended with {code}\n{text[-2000:]}", flush=True)
            break
        with open(out, "a") as f:
            f.write(json.dumps({"test": running, "outcome": "crashed", "text": text[-3000:]}) + "\n")
        if text == "the file took too long":
            break
        skip.write_text("\n".join([*outcome, running]))
    return read(out)[0]


def expected_failures():
    known = {}
    path = HERE / "expected.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        test, _, cause = line.partition("#")
        if test.strip():
            known[test.strip()] = cause.strip()
    return known


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*")
    p.add_argument("--jax", required=True)
    p.add_argument("--sample", type=int, default=0)
    p.add_argument("--x64", action="store_true")
    p.add_argument("--stock", action="store_true", help="XLA:CPU instead of Braze")
    p.add_argument("--timeout", type=int, default=1800, help="seconds for a file")
    p.add_argument("--test-timeout", type=int, default=120, help="seconds for a test")
    p.add_argument("--keep", help="folder for the results of each file")
    args = p.parse_args()
    names = args.files or [l for l in (HERE / "files.txt").read_text().split() if l]
    keep = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="braze-jax-"))
    keep.mkdir(parents=True, exist_ok=True)
    known = expected_failures()
    total = {"passed": 0, "failed": 0, "crashed": 0, "skipped": 0}
    unexpected = []
    for name in names:
        results = run_file(name, args, keep / f"{name}.jsonl")
        count = {k: sum(r["outcome"] == k for r in results.values()) for k in total}
        for k in total:
            total[k] += count[k]
        print(f"{name}: " + ", ".join(f"{n} {k}" for k, n in count.items()), flush=True)
        for test, r in results.items():
            if r["outcome"] in ("failed", "crashed"):
                short = test.split("/")[-1]
                lines = [l for l in r["text"].strip().splitlines() if l.startswith("E ")] or [""]
                cause = next((c for k, c in known.items() if fnmatch.fnmatchcase(short, k)), None)
                if cause is not None:
                    print(f"  expected: {short}: {cause}", flush=True)
                else:
                    unexpected.append(short)
                    print(f"  {r['outcome'].upper()} {short} {lines[-1][:200]}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in total.items()) + f"; {len(unexpected)} not expected")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
