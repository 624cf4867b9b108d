# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/jax, unchanged, as processes of their own: on Braze and on XLA:CPU."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/jax"


def output(name, **env):
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True,
                          env={k: v for k, v in {**os.environ, **env}.items() if k != "XLA_FLAGS"})
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return done.stdout


class Examples(unittest.TestCase):
    def test_digits(self):
        ours, theirs = output("digits.py"), output("digits.py", BRAZE_DISABLE="1")
        losses = lambda text: [float(x) for x in re.findall(r"loss (\S+)", text)]
        self.assertEqual(len(losses(ours)), 4)
        for a, b in zip(losses(ours), losses(theirs)):
            self.assertAlmostEqual(a, b, delta=2e-4 * b)
        self.assertGreater(float(re.search(r"accuracy (\S+) %", ours)[1]), 85)

    def test_sharded_transformer(self):
        text = output("sharded_transformer.py")
        self.assertIn("same bits", text)
        pairs = re.findall(r"eight devices (\S+)  on one (\S+)", text)
        self.assertEqual(len(pairs), 5)
        for a, b in pairs:
            self.assertAlmostEqual(float(a), float(b), delta=1e-5)
        self.assertLess(float(re.search(r"at most (\S+) apart", text)[1]), 1e-5)


if __name__ == "__main__":
    unittest.main()
