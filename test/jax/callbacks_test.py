# SPDX-License-Identifier: Apache-2.0
"""Python in programs, foreign functions, asynchronous dispatch, and errors of both."""
from on_braze import OnBraze

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


class Callbacks(OnBraze):
    def test_pure_callback(self):
        f = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2)
        x = np.linspace(0, 1, 5, dtype=np.float32)
        np.testing.assert_allclose(np.asarray(f(x)), np.sin(x) * 2, rtol=1e-6)

    def test_callback_types(self):
        for t in (np.bool_, np.int8, np.uint32, np.float16, jnp.bfloat16, np.complex64, jnp.int4):
            x = np.array([0, 1, 1], dtype=t)
            f = jax.jit(lambda a: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(a.shape, a.dtype), a))
            np.testing.assert_array_equal(np.asarray(f(x)), x)

    def test_result_with_strides(self):
        f = jax.jit(lambda a: jax.pure_callback(lambda v: np.asarray(v).T,
                                                jax.ShapeDtypeStruct((3, 2), np.float32), a))
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(np.asarray(f(x)), x.T)

    def test_ordered_effects(self):
        seen = []
        def f(x):
            for k in range(3):
                io_callback(lambda v, k=k: seen.append((k, int(v))), None, x, ordered=True)
            return x
        jax.jit(f)(jnp.int32(5))
        jax.jit(f)(jnp.int32(6))
        jax.effects_barrier()
        self.assertEqual(seen, [(k, v) for v in (5, 6) for k in range(3)])

    def test_callback_in_a_loop(self):
        seen = []
        def body(i, x):
            jax.debug.callback(lambda v: seen.append(int(v)), i)
            return x + i
        self.assertEqual(int(jax.jit(lambda: jax.lax.fori_loop(0, 4, body, 0))()), 6)
        jax.effects_barrier()
        self.assertEqual(sorted(seen), [0, 1, 2, 3])

    def test_callback_that_runs_jax(self):
        def inner(v):
            return np.asarray(jax.jit(lambda a: a * 3)(np.asarray(v)))
        f = jax.jit(lambda x: jax.pure_callback(inner, jax.ShapeDtypeStruct((), np.float32), x))
        self.assertEqual(float(f(2.0)), 6.0)

    def test_exception(self):
        def bad(_):
            raise ValueError("no luck today")
        f = jax.jit(lambda x: jax.pure_callback(bad, jax.ShapeDtypeStruct((), np.float32), x))
        with self.assertRaisesRegex(Exception, "no luck today"):
            f(1.0).block_until_ready()
        self.assertEqual(float(jax.jit(lambda x: x + 1)(1.0)), 2.0)  # and life goes on
        jax._src.dispatch.runtime_tokens.clear()

    def test_error_reaches_dependents(self):
        def bad(_):
            raise ValueError("first cause")
        def f(x):
            return jax.pure_callback(bad, jax.ShapeDtypeStruct((), np.float32), x)
        with self.assertRaisesRegex(Exception, "first cause"):
            jax.jit(lambda y: y + 1)(jax.jit(f)(1.0)).block_until_ready()
        jax._src.dispatch.runtime_tokens.clear()

    def test_host_goes_on_while_a_program_runs(self):
        release = threading.Event()
        def wait(v):
            release.wait(20)
            return v
        f = jax.jit(lambda x: jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), x))
        y = f(4.0)           # returns before the callback has
        z = jax.jit(lambda a: a + 1)(y)
        self.assertFalse(y.is_ready())
        release.set()
        self.assertEqual(float(z), 5.0)

    def test_checkify_and_debug_nans(self):
        from jax.experimental import checkify
        def f(x):
            checkify.check(x > 0, "must be positive")
            return jnp.log(x)
        error, _ = checkify.checkify(jax.jit(f))(-1.0)
        self.assertIn("must be positive", error.get())
        with jax.debug_nans(True), self.assertRaises(FloatingPointError):
            jax.jit(lambda x: x / x)(jnp.float32(0))

    def test_unknown_target(self):
        call = jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((3,), np.float32))
        with self.assertRaisesRegex(Exception, "no_such_target"):
            jax.jit(call)(jnp.ones(3))

    def test_threads(self):
        f = jax.jit(lambda x, k: jnp.sin(x) * k + x @ x)
        x = np.eye(16, dtype=np.float32)
        want = [np.asarray(f(x, k)) for k in range(4)]
        wrong = []
        def work(k):
            for _ in range(50):
                if not np.array_equal(np.asarray(f(x, k)), want[k]):
                    wrong.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])
