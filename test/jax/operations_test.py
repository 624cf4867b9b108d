# SPDX-License-Identifier: Apache-2.0
"""The operations that bench/jax_ops.py times, at its sizes: on Braze they give what they give on XLA:CPU."""
from on_braze import OnBraze, braze_device, xla_device

import pathlib
import sys
import unittest

import jax

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import jax_ops


class Operations(OnBraze):
    def test_all(self):
        with jax.enable_x64(True):
            for name, f, args in jax_ops.operations():
                with self.subTest(name):
                    ours, theirs = (jax_ops.Run(f, args, d).out for d in (braze_device(), xla_device()))
                    self.assertIsNone(jax_ops.difference(ours, theirs))


if __name__ == "__main__":
    unittest.main()
