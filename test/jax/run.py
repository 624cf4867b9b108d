#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder, each file in a process of its own, with stock JAX on Braze.

    test/jax/run.py [FILE…]

Run it with the Python of an environment that has JAX; python/ must be importable and BRAZE_LIBRARY name the
plugin (`./dev test` sees to both). Prints failures in full; the last line is
"N passed, N failed, N skipped".
"""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 900


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def run_here(name):
    """All tests of one file, in this process."""
    sys.path.insert(0, str(HERE))
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TextTestRunner(resultclass=Result, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped", flush=True)
    return int(failed > 0)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--here":
        sys.exit(run_here(sys.argv[2]))
    total = [0, 0, 0]
    for name in sys.argv[1:] or sorted(p.stem for p in HERE.glob("*_test.py")):
        try:
            done = subprocess.run([sys.executable, __file__, "--here", name], capture_output=True,
                                  text=True, errors="replace", timeout=TIMEOUT, env=dict(os.environ))
            out, code = done.stdout + done.stderr, done.returncode
            last = done.stdout.strip().splitlines()[-1:] or [""]
        except subprocess.TimeoutExpired:
            out, code, last = "timed out", 124, [""]
        words = last[0].replace(",", "").split()
        if len(words) == 6 and words[1] == "passed":
            counts = [int(words[i]) for i in (0, 2, 4)]
        else:
            counts = [0, 1, 0]  # it crashed
        print(f"{name}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", flush=True)
        if counts[1] or code:
            print(out[-8000:], flush=True)
        total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(int(total[1] > 0))


if __name__ == "__main__":
    main()
