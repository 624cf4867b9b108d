#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder, with stock TensorFlow on Braze.

    test/tf/run.py [FILE…]

Run it with the Python of an environment that has tensorflow-cpu and scikit-learn; a folder with
tensorflow-plugins/libbraze_tf.so must be on PYTHONPATH and BRAZE_LIBRARY name the plugin (`./dev test` sees to
both). Prints failures in full; the last line is "N passed, N failed, N skipped".
"""
import ast
import pathlib
import subprocess
import sys

import compared

HERE = pathlib.Path(__file__).resolve().parent
COMPARED = ("programs", "rare", "edges", "training", "clusters", "rare_clusters")
TIMEOUT = 900


def environment(name):
    """Variables that the file wants: its FLAGS are TF_XLA_FLAGS."""
    for node in ast.parse((HERE / f"{name}.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "FLAGS":
            return {"TF_XLA_FLAGS": ast.literal_eval(node.value)}
    return {}


def unit_tests(path):
    """A file of unit tests that ends with a line of counts."""
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT)
    words = (done.stdout.strip().splitlines() or [""])[-1].replace(",", "").split()
    if len(words) != 6:
        words = "0 passed 1 failed 0 skipped".split()
    if words[2] != "0":
        print(done.stdout + done.stderr)
    return [int(words[k]) for k in (0, 2, 4)]


def main():
    total = [0, 0, 0]
    names = sys.argv[1:] or [*sorted(p.stem for p in HERE.glob("*_test.py")), *COMPARED]
    for name in names:
        path = HERE / f"{name}.py"
        if name.endswith("_test"):
            counts = unit_tests(path)
        else:
            counts = [*compared.compare(str(path), env=environment(name)), 0]
        print(f"{name}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", flush=True)
        total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(int(total[1] > 0))


if __name__ == "__main__":
    main()
