#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `./dev run` shows: trains a digit classifier on Braze, then explains the seed example.

    run.py BUILD_DIRECTORY

Installs scikit-learn (for its digits) into .venv on the first run. train_step.mlir and predict.mlir
were exported from JAX by export.py, which stands beside this file.
"""
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAVE = """
import numpy, sys
from sklearn.datasets import load_digits
d = load_digits()
order = numpy.random.RandomState(0).permutation(len(d.target))  # writers in random order
numpy.savez(sys.argv[1], x=(d.data[order] / 16).astype('float32'),
            y=d.target[order].astype('int32'))
"""


def digits(path):
    """The digits as an .npz file at `path`, made once."""
    if path.exists():
        return path
    env = ROOT / ".venv"
    python = env / "bin" / "python"
    if not python.exists():
        print("braze: making .venv with scikit-learn (once)", file=sys.stderr)
        venv.create(env, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "scikit-learn"], check=True)
    subprocess.run([python, "-c", SAVE, str(path)], check=True)
    return path


def main():
    build = pathlib.Path(sys.argv[1])
    data = digits(build / "digits.npz")
    subprocess.run([build / "digits_train", data, HERE / "train_step.mlir", HERE / "predict.mlir"],
                   check=True)
    print("\nseed example: reduce_sum(x + y*z)", flush=True)
    subprocess.run([build / "braze", "explain", ROOT / "examples/seed.mlir"], check=True)


if __name__ == "__main__":
    main()
