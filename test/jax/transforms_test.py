# SPDX-License-Identifier: Apache-2.0
"""grad, vmap, scan, while, cond, random numbers, linear algebra: agreement with XLA:CPU."""
from on_braze import OnBraze

import jax
import jax.numpy as jnp
import numpy as np


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Transforms(OnBraze):
    def test_elementwise_and_dot(self):
        self.agree(lambda x, w: jnp.tanh(x @ w) + jnp.exp(-x[:, :3]), numbers(5, 7), numbers(7, 3))

    def test_gradient(self):
        def loss(w, x):
            return jnp.mean(jax.nn.softmax(x @ w) ** 2)
        self.agree(jax.value_and_grad(loss), numbers(6, 4), numbers(8, 6))

    def test_jacobians_and_hessian(self):
        f = lambda x: jnp.sin(x) * jnp.cumsum(x)
        self.agree(lambda x: (jax.jacfwd(f)(x), jax.jacrev(f)(x)), numbers(5))
        self.agree(jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 3)), numbers(4))

    def test_vmap(self):
        self.agree(jax.vmap(lambda m, v: jnp.linalg.norm(m @ v)), numbers(9, 3, 4), numbers(9, 4))

    def test_scan_while_cond_switch(self):
        def step(carry, x):
            carry = jax.lax.cond(x > 0, lambda c: c * 0.5 + x, lambda c: c - x, carry)
            return carry, carry * 2
        self.agree(lambda xs: jax.lax.scan(step, 0.0, xs), numbers(20))
        self.agree(lambda n: jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5),
                                                (0, 1.0)), 7)
        branches = [jnp.sin, jnp.cos, jnp.tan]
        self.agree(lambda i, x: jax.lax.switch(i, branches, x), 2, numbers(3))

    def test_sort_gather_scatter(self):
        x = numbers(6, 5)
        self.agree(lambda a: (jnp.sort(a, 0), jnp.argsort(a, 1), jax.lax.top_k(a, 2)), x)
        self.agree(lambda a, i: a.at[i].add(2.0)[::-1], x, np.array([1, 1, 3]))

    def test_convolution_and_pooling(self):
        self.agree(lambda x, k: jax.lax.reduce_window(
            jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
            numbers(2, 8, 8, 3), numbers(3, 3, 3, 4), rtol=1e-4, atol=1e-5)

    def test_random_bits_are_the_same(self):
        for implementation in ("threefry2x32", "rbg"):
            key = jax.random.key(3, impl=implementation)
            with jax.default_device(jax.devices("xla_cpu")[0]):
                theirs = np.asarray(jax.random.bits(jax.random.key(3, impl=implementation), (50,)))
            np.testing.assert_array_equal(np.asarray(jax.random.bits(key, (50,))), theirs)

    def test_random_distributions(self):
        key = np.array([1, 2], np.uint32)
        self.agree(lambda k: (jax.random.normal(k, (9,)), jax.random.gamma(k, 2.0, (5,)),
                              jax.random.permutation(k, 10), jax.random.categorical(k, jnp.ones(4), shape=(6,))),
                   key)

    def test_linear_algebra(self):
        a = numbers(4, 4)
        spd = a @ a.T + 4 * np.eye(4, dtype=np.float32)
        self.agree(lambda m: (jnp.linalg.cholesky(m), jnp.linalg.inv(m), jnp.linalg.det(m)), spd, rtol=1e-4)
        self.agree(lambda m: jnp.abs(jnp.linalg.qr(m)[1]), a, rtol=1e-4)
        self.agree(lambda m: jnp.linalg.svd(m, compute_uv=False), a, rtol=1e-4)
        self.agree(lambda m: jnp.linalg.eigh(m)[0], spd, rtol=1e-4)
        self.agree(jnp.linalg.solve, spd, numbers(4, 2), rtol=1e-4)

    def test_fft(self):
        self.agree(lambda x: (jnp.fft.fft(x), jnp.fft.irfft(jnp.fft.rfft(x))), numbers(3, 16), rtol=1e-4)

    def test_element_types(self):
        for t in ("bfloat16", "float16", "int8", "uint16", "int32", "complex64", "bool", "int4",
                  "float8_e4m3fn"):
            x = jnp.array([0, 1, 1, 0]).astype(t)
            np.testing.assert_array_equal(np.asarray(x).astype(np.float32), [0, 1, 1, 0], t)

    def test_double_precision(self):
        with jax.enable_x64(True):
            x = np.linspace(0, 1, 7)
            y = jax.jit(lambda v: jnp.exp(v) * v.sum())(x)
            self.assertEqual(y.dtype, np.float64)
            np.testing.assert_allclose(np.asarray(y), np.exp(x) * x.sum(), rtol=1e-14)

    def test_empty_and_scalar(self):
        self.assertEqual(np.asarray(jax.jit(lambda x: x + 1)(np.zeros((0, 3), np.float32))).shape, (0, 3))
        self.assertEqual(float(jax.jit(lambda x: x * 2)(3.0)), 6.0)

    def test_checkpoint_and_custom_rules(self):
        self.agree(jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))))), numbers(5))

        @jax.custom_vjp
        def clip(x):
            return x
        clip.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
        np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(clip(x) * 5))(jnp.ones(3)), np.ones(3))
