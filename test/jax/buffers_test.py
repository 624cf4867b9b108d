# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out: zero copy, donation, deletion, devices, memories, layouts, dlpack, pickling."""
from on_braze import OnBraze, braze_device, xla_device

import gc
import pickle
import warnings

import jax
import jax.numpy as jnp
import numpy as np


class Buffers(OnBraze):
    def test_result_is_not_copied_out(self):
        x = jnp.arange(10000.0) + 1
        self.assertEqual(np.asarray(x).ctypes.data, x.unsafe_buffer_pointer())

    def test_view_outlives_the_array(self):
        x = jnp.arange(50000.0) + 1
        view = np.asarray(x)
        del x
        gc.collect()
        filler = [jnp.zeros(50000) for _ in range(4)]
        np.testing.assert_array_equal(view, np.arange(50000, dtype=np.float32) + 1)
        del filler

    def test_strided_and_unaligned_input(self):
        a = np.arange(1000, dtype=np.float32).reshape(20, 50)
        for part in (a.T, a[::2, ::-3], a[1:, 1:], a[:, 3]):
            np.testing.assert_array_equal(np.asarray(jnp.asarray(part)), part)
        raw = np.zeros(4001, np.uint8)[1:].view(np.float32)
        raw[:] = 3
        self.assertEqual(float(jnp.sum(raw)), 3000)

    def test_array_copies_its_input(self):
        a = np.ones(20000, np.float32)
        x = jnp.array(a)
        a[:] = 7
        self.assertEqual(float(x.sum()), 20000)

    def test_donation(self):
        f = jax.jit(lambda a, b: a * 2 + b, donate_argnums=0)
        x, y = jnp.ones(4096), jnp.ones(4096)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            z = f(x, y)
        self.assertTrue(x.is_deleted())
        self.assertFalse(y.is_deleted())
        self.assertEqual(float(z[0]), 3)
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            np.asarray(x)

    def test_donation_leaves_views_alone(self):
        x = jnp.arange(4096.0)
        view = np.asarray(x)
        jax.jit(lambda a: a * 0 - 1, donate_argnums=0)(x).block_until_ready()
        np.testing.assert_array_equal(view, np.arange(4096, dtype=np.float32))

    def test_donation_of_a_state_in_a_loop(self):
        step = jax.jit(lambda p, m, g: (p - 0.1 * (0.9 * m + g), 0.9 * m + g), donate_argnums=(0, 1))
        p, m = jnp.ones(3000), jnp.zeros(3000)
        wp, wm = np.ones(3000), np.zeros(3000)
        for i in range(10):
            g = np.full(3000, i, np.float32)
            p, m = step(p, m, g)
            wm = 0.9 * wm + g
            wp = wp - 0.1 * wm
        np.testing.assert_allclose(np.asarray(p), wp, rtol=1e-5)

    def test_same_buffer_donated_twice(self):
        f = jax.jit(lambda a, b: a + b, donate_argnums=(0, 1))
        x = jnp.ones(16)
        with self.assertRaisesRegex(Exception, "donate"):
            f(x, x).block_until_ready()

    def test_deleted_argument(self):
        x = jnp.ones(3)
        x.delete()
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            jax.jit(lambda a: a + 1)(x)

    def test_several_devices(self):
        self.assertEqual(len(jax.devices()), 4)
        x = jax.device_put(jnp.arange(8.0), braze_device(3))
        y = jax.jit(lambda a: a * 2)(x)
        self.assertEqual(y.devices(), {braze_device(3)})
        z = jax.device_put(y, braze_device(1))
        self.assertEqual(z.devices(), {braze_device(1)})
        np.testing.assert_array_equal(np.asarray(z), np.arange(8) * 2)

    def test_to_xla_and_back(self):
        x = jax.device_put(jnp.arange(6.0), xla_device())
        y = jax.device_put(x + 1, braze_device())
        np.testing.assert_array_equal(np.asarray(y), np.arange(6) + 1)

    def test_memory_kinds(self):
        kinds = [m.kind for m in braze_device().addressable_memories()]
        self.assertEqual(kinds, [m.kind for m in xla_device().addressable_memories()])
        s = jax.sharding.SingleDeviceSharding(braze_device(), memory_kind="pinned_host")
        x = jax.device_put(jnp.arange(3.0), s)
        self.assertEqual(x.sharding.memory_kind, "pinned_host")
        np.testing.assert_array_equal(np.asarray(x), np.arange(3))
        y = jax.jit(lambda a: a + 1, out_shardings=s)(jnp.arange(3.0))
        self.assertEqual(y.sharding.memory_kind, "pinned_host")

    def test_layouts(self):
        from jax.experimental.layout import Format, Layout
        x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
        one = jax.sharding.SingleDeviceSharding(braze_device())
        columns = Format(Layout(major_to_minor=(1, 0)), one)
        y = jax.jit(lambda a: a * 2, out_shardings=columns)(x)
        self.assertEqual(y.format.layout.major_to_minor, (1, 0))
        np.testing.assert_array_equal(np.asarray(y), x * 2)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda a: a + 1)(y)), x * 2 + 1)

    def test_dlpack(self):
        x = jnp.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
        a = np.arange(5001, dtype=np.float32)[1:]
        np.testing.assert_array_equal(np.asarray(jnp.from_dlpack(a)), a)

    def test_dlpack_copies(self):
        for n in (7, 100_000):
            a = np.arange(n, dtype=np.float32)
            x = jnp.from_dlpack(a, copy=True)
            a[:] = -1
            np.testing.assert_array_equal(np.asarray(x), np.arange(n))

    def test_pickle(self):
        x = jnp.arange(5)
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(x))), np.arange(5))

    def test_memory_stats(self):
        gc.collect()
        before = braze_device().memory_stats()
        x = jnp.zeros(1 << 20).block_until_ready()
        after = braze_device().memory_stats()
        self.assertGreaterEqual(after["bytes_in_use"] - before["bytes_in_use"], (4 << 20) - 4096)
        del x
