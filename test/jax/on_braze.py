# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: they run on four Braze devices, with XLA:CPU beside as the oracle."""
import os
import unittest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax
import numpy as np


def braze_device(k=0):
    return jax.devices("cpu")[k]


def xla_device():
    return jax.devices("xla_cpu")[0]


class OnBraze(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        version = jax.devices()[0].client.platform_version
        if "braze" not in version:
            raise RuntimeError(f"these tests run on Braze, not on {version!r}")

    def assert_tree_close(self, a, b, rtol=1e-5, atol=1e-6):
        leaves_a, tree_a = jax.tree.flatten(a)
        leaves_b, tree_b = jax.tree.flatten(b)
        self.assertEqual(tree_a, tree_b)
        for x, y in zip(leaves_a, leaves_b):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=atol)

    def agree(self, f, *args, rtol=1e-5, atol=1e-6):
        """f jitted on Braze gives what it gives on XLA:CPU."""
        ours = jax.jit(f)(*jax.device_put(args, braze_device()))
        theirs = jax.jit(f)(*jax.device_put(args, xla_device()))
        self.assert_tree_close(ours, theirs, rtol, atol)
        return ours
