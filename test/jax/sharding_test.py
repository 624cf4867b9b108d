# SPDX-License-Identifier: Apache-2.0
"""Programs over eight devices: jit over a mesh, shard_map, pmap, collectives; against NumPy or one device."""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

from on_braze import OnBraze

from functools import partial
import pathlib
import sys
import unittest

import jax
from jax import lax
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/jax"))
import sharded_transformer as transformer


def numbers(seed, *shape):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.3).astype(np.float32)


class Sharding(OnBraze):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("x", "y"))

    def put(self, a, *spec, mesh=None):
        return jax.device_put(a, NamedSharding(mesh or self.mesh, P(*spec)))

    def mapped(self, f, in_specs, out_specs, **kw):
        return jax.jit(jax.shard_map(f, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, **kw))

    def twice(self, f, *args):
        """f's value, the same bits in every shard of a second run."""
        first, again = f(*args), f(*args)
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again)):
            for s, t in zip(a.addressable_shards, b.addressable_shards):
                self.assertEqual(np.asarray(s.data).tobytes(), np.asarray(t.data).tobytes())
        return first

    def near(self, got, want, rtol=1e-5, atol=1e-5):
        np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=atol)


class Jit(Sharding):
    def test_elementwise_keeps_its_sharding(self):
        a = numbers(0, 8, 12)
        y = self.twice(jax.jit(lambda x: jnp.sin(x) + 1), self.put(a, "x", "y"))
        self.near(y, np.sin(a) + 1)
        self.assertEqual(y.sharding.spec, P("x", "y"))
        self.assertEqual(y.addressable_shards[0].data.shape, (4, 3))

    def test_matmul_and_out_shardings(self):
        a, b = numbers(0, 8, 12), numbers(1, 12, 16)
        y = jax.jit(jnp.matmul)(self.put(a, "x", None), self.put(b, None, "y"))
        self.near(y, a @ b)
        self.assertEqual(y.sharding.spec, P("x", "y"))
        # The contracted dimension is cut too.
        out = NamedSharding(self.mesh, P("y"))
        y = jax.jit(jnp.matmul, out_shardings=out)(self.put(a, "x", "y"), self.put(b, "y", None))
        self.near(y, a @ b)
        self.assertEqual(y.sharding, out)

    def test_constraint(self):
        a = numbers(0, 8, 12)
        f = jax.jit(lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(self.mesh, P(None, "x"))))
        y = self.twice(f, self.put(a, "y"))
        self.near(y, a * 2)
        self.assertEqual(y.sharding.spec, P(None, "x"))

    def test_several_axes_of_one_dimension(self):
        a = numbers(0, 16, 3)
        y = jax.jit(lambda x: x - 1)(self.put(a, ("y", "x")))
        self.near(y, a - 1)
        for s in y.addressable_shards:
            self.near(s.data, (a - 1)[s.index])

    def test_other_order_of_devices(self):
        devices = np.array(jax.devices()[:8])[[3, 1, 7, 0, 2, 6, 5, 4]].reshape(4, 2)
        mesh = Mesh(devices, ("a", "b"))
        a = numbers(0, 8, 4)
        x = self.put(a, "a", "b", mesh=mesh)
        y = self.twice(jax.jit(lambda x: x * x, out_shardings=NamedSharding(mesh, P("b", "a"))), x)
        self.near(y, a * a)
        for s in y.addressable_shards:
            self.near(s.data, (a * a)[s.index])
        z = jax.jit(jax.shard_map(lambda x: x + lax.axis_index("a") * 10 + lax.axis_index("b"), mesh=mesh,
                                  in_specs=P("a", "b"), out_specs=P("a", "b")))(x)
        self.near(z, a + np.repeat(np.arange(4), 2)[:, None] * 10 + np.repeat(np.arange(2), 2)[None])

    def test_few_of_the_devices(self):
        mesh = Mesh(np.array(jax.devices()[2:5]), ("a",))
        a = numbers(0, 6, 2)
        y = jax.jit(lambda x: x.sum(0))(self.put(a, "a", mesh=mesh))
        self.near(y, a.sum(0))
        self.assertEqual({d.id for d in y.devices()}, {2, 3, 4})

    def test_donation(self):
        a = numbers(0, 8, 8)
        x = self.put(a, "x", "y")
        y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
        self.assertTrue(x.is_deleted())
        self.near(y, a + 1)

    def test_results_in_different_parts(self):
        a = numbers(0, 8, 8)
        out = [NamedSharding(self.mesh, P(*s)) for s in (("x", "y"), ("y",), (None, "x"), ())]

        def f(x):
            k = lax.broadcasted_iota(jnp.int32, (8, 8), 1) * 3 + jnp.arange(8)[:, None]
            return x + 1, x * 1 + 2, (k + x) * 1, x + k

        got = self.twice(jax.jit(f, out_shardings=tuple(out)), self.put(a, "x", "y"))
        for g, want in zip(got, f(a)):
            self.near(g, np.asarray(want))
            for s in g.addressable_shards:
                self.near(s.data, np.asarray(want)[s.index])

    def test_replicated_results_are_one_value(self):
        y = jax.jit(lambda x: (x.sum(), x.mean(0)))(self.put(numbers(0, 8, 8), "x", "y"))
        for part in y:
            values = {np.asarray(s.data).tobytes() for s in part.addressable_shards}
            self.assertTrue(part.is_fully_replicated or len(values) > 1)
        self.assertEqual(len({np.asarray(s.data).tobytes() for s in y[0].addressable_shards}), 1)

    def test_scan_gather_scatter_sort(self):
        a = numbers(0, 16, 8)

        def f(x):
            y, _ = lax.scan(lambda c, r: (c + jnp.tanh(r), None), jnp.zeros(8), x)
            return y, jnp.sort(x, 0), x[jnp.array([3, 1])], x.at[2].set(0)

        for got, want in zip(self.twice(jax.jit(f), self.put(a, "x", "y")), f(jnp.asarray(a))):
            self.near(got, np.asarray(want))

    def test_random_numbers_do_not_depend_on_devices(self):
        f = lambda k: jax.random.normal(k, (8, 8))
        y = jax.jit(f, out_shardings=NamedSharding(self.mesh, P("x", "y")))(jax.random.key(1))
        self.assertEqual(np.asarray(y).tobytes(), np.asarray(jax.jit(f)(jax.random.key(1))).tobytes())

    def test_serialized(self):
        from jax.experimental import serialize_executable as se
        a = numbers(0, 8, 8)
        x = self.put(a, "x", "y")
        compiled = jax.jit(lambda x: x * 3).lower(x).compile()
        again = se.deserialize_and_load(*se.serialize(compiled), execution_devices=list(self.mesh.devices.flat))
        self.near(again(x), a * 3)


class Collectives(Sharding):
    def setUp(self):
        self.a = np.arange(64, dtype=np.float32).reshape(8, 8) / 7 - 3
        self.x = self.put(self.a, "x", "y")
        self.tiles = self.a.reshape(2, 4, 4, 2).transpose(0, 2, 1, 3)  # [x, y, 4, 2]

    def both(self, f, **kw):
        return self.twice(self.mapped(f, P("x", "y"), P("x", "y"), **kw), self.x)

    def whole(self, tiles):
        n, m = tiles.shape[2:]
        return tiles.transpose(0, 2, 1, 3).reshape(2 * n, 4 * m)

    def test_psum_pmax_pmean(self):
        t = self.tiles
        spread = lambda v: np.broadcast_to(v, t.shape)
        self.near(self.both(lambda x: x * 0 + lax.psum(x, "y")), self.whole(spread(t.sum(1, keepdims=True))))
        self.near(self.both(lambda x: x * 0 + lax.pmax(x, "x")), self.whole(spread(t.max(0, keepdims=True))))
        self.near(self.both(lambda x: x * 0 + lax.pmin(x, ("x", "y"))),
                  self.whole(spread(t.min((0, 1), keepdims=True))))
        self.near(self.both(lambda x: x - lax.pmean(x, ("x", "y"))),
                  self.whole(t - t.mean((0, 1), keepdims=True)))

    def test_sums_run_by_device_number(self):
        a = np.array([1e8, 1, -1e8, 1, 1, 1, 1, 1], np.float32)
        y = self.twice(self.mapped(lambda x: lax.psum(x, ("x", "y")), P(("x", "y")), P()), a)
        want = np.float32(0)
        for v in a:
            want = np.float32(want + v)
        self.assertEqual(float(y[0]), float(want))

    def test_all_gather_and_reduce_scatter(self):
        y = self.mapped(lambda x: lax.all_gather(x, "y", axis=1, tiled=True).sum(1, keepdims=True) * jnp.ones((1, 2)),
                        P("x", "y"), P("x", "y"))(self.x)
        self.near(y, np.broadcast_to(self.a.sum(1, keepdims=True), (8, 8)))
        y = self.twice(self.mapped(lambda x: lax.psum_scatter(x, "y", scatter_dimension=0, tiled=True),
                                   P("x", "y"), P(("x", "y"))), self.x)
        self.near(y, self.tiles.sum(1).reshape(8, 2))

    def test_permute(self):
        ring = [(i, (i + 1) % 4) for i in range(4)]
        self.near(self.both(lambda x: lax.ppermute(x, "y", ring)), self.whole(np.roll(self.tiles, 1, axis=1)))
        # Who gets nothing gets zeros.
        want = np.zeros_like(self.tiles)
        want[:, 3] = self.tiles[:, 1]
        self.near(self.both(lambda x: lax.ppermute(x, "y", [(1, 3)])), self.whole(want))

    def test_all_to_all(self):
        y = self.mapped(lambda x: lax.all_to_all(x, "y", 0, 1, tiled=True), P("x", "y"), P("x", "y"))(self.x)
        # Device (x, y) holds row y of each tile of its row of tiles.
        want = np.stack([np.stack([np.concatenate([self.tiles[i, k][j:j + 1] for k in range(4)], 1)
                                   for j in range(4)]) for i in range(2)])
        self.near(y, self.whole(want))

    def test_unreduced(self):
        mesh = jax.make_mesh((4,), ("x",), devices=jax.devices()[:4])
        a, b = numbers(0, 3, 8), numbers(1, 8, 5)
        with jax.set_mesh(mesh):
            x, y = jax.device_put(a, P(None, "x")), jax.device_put(b, P("x", None))
            f = jax.jit(lambda x, y: jnp.einsum("ab,bc->ac", x, y, out_sharding=P(None, None, unreduced={"x"})))
            z = self.twice(f, x, y)
            for k, s in enumerate(z.addressable_shards):
                self.near(s.data, a[:, 2 * k:2 * k + 2] @ b[2 * k:2 * k + 2])
            self.near(jax.reshard(z, P(None, None)), a @ b)

    def test_axis_index_groups(self):
        y = self.mapped(lambda x: lax.psum(x, "y", axis_index_groups=[[0, 1], [2, 3]]), P("x", "y"), P("x", "y"),
                        check_vma=False)(self.x)
        pairs = self.tiles.reshape(2, 2, 2, 4, 2).sum(2, keepdims=True)
        self.near(y, self.whole(np.broadcast_to(pairs, (2, 2, 2, 4, 2)).reshape(self.tiles.shape)))

    def test_axis_index(self):
        y = self.both(lambda x: x * 0 + lax.axis_index("x") * 10 + lax.axis_index("y"))
        self.near(y, np.repeat([0, 10], 4)[:, None] + np.repeat(np.arange(4), 2)[None] + np.zeros((8, 8)))

    def test_loop_with_collectives(self):
        """A matrix product whose blocks go round a ring."""
        a, b = numbers(0, 8, 16), numbers(1, 16, 8)
        ring = [(i, (i + 1) % 4) for i in range(4)]

        def f(a, b):  # a [8, 16], b [4, 8]: this device's rows
            me = lax.axis_index("y")

            def body(i, c):
                out, block = c
                k = (me - i) % 4
                out = out + lax.dynamic_slice(a, (0, k * 4), (8, 4)) @ block
                return out, lax.ppermute(block, "y", ring)

            return lax.fori_loop(0, 4, body, (lax.pcast(jnp.zeros((8, 8)), "y", to="varying"), b))[0][None]

        y = self.twice(self.mapped(f, (P(), P("y")), P("y")), a, self.put(b, "y"))
        for k in range(4):
            self.near(y[k], a @ b)

    def test_loops_of_different_length(self):
        def f(x):  # doubles until the sum over x exceeds 100: each y by itself
            return lax.while_loop(lambda v: lax.psum(jnp.sum(jnp.abs(v)), "x") < 100, lambda v: v * 2, x)

        want = self.tiles.copy()
        for k in range(4):
            while np.abs(want[:, k]).sum() < 100:
                want[:, k] *= 2
        self.near(self.both(f), self.whole(want))

    def test_conditionals(self):
        def f(x):
            return lax.cond(lax.axis_index("y") % 2 == 0, lambda v: lax.psum(v, "x") * jnp.ones_like(v),
                            lambda v: v * 3, x)

        want = self.tiles * 3
        want[:, ::2] = self.tiles.sum(0, keepdims=True)[:, ::2]
        self.near(self.both(f, check_vma=False), self.whole(want))
        # Uniform predicate, collectives inside.
        g = self.mapped(lambda x, p: lax.cond(p, lambda v: v - lax.pmean(v, "x"), lambda v: v, x),
                        (P("x", "y"), P()), P("x", "y"), check_vma=False)
        self.near(g(self.x, True), self.whole(self.tiles - self.tiles.mean(0, keepdims=True)))
        self.near(g(self.x, False), self.a)

    def test_partly_manual(self):
        f = jax.jit(jax.shard_map(lambda x: lax.psum(jnp.sin(x), "x"), mesh=self.mesh, in_specs=P("x"),
                                  out_specs=P(), axis_names={"x"}))
        self.near(self.twice(f, self.x), np.sin(self.a[:4]) + np.sin(self.a[4:]))

    def test_nested(self):
        def inner(x):
            return x - lax.pmean(x, "y")

        def outer(x):
            y = jax.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(x)
            return y + lax.psum(y, "x")

        with jax.set_mesh(self.mesh):
            y = jax.jit(jax.shard_map(outer, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(self.x)
        t = self.tiles - self.tiles.mean(1, keepdims=True)
        self.near(y, self.whole(t + t.sum(0, keepdims=True)))

    def test_gradient(self):
        def loss(w, x):
            y = jax.shard_map(lambda w, x: lax.pmean(jnp.sum(jnp.tanh(x @ w)), ("x", "y")), mesh=self.mesh,
                              in_specs=(P(), P(("x", "y"))), out_specs=P())(w, x)
            return y

        w, x = numbers(0, 8, 5), numbers(1, 16, 8)
        g = jax.jit(jax.grad(loss))(w, self.put(x, ("x", "y")))
        self.near(g, np.asarray(jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)) / 8)(w)))

    def test_callbacks_run_on_each_device(self):
        seen = []

        def f(x):
            io_callback(lambda k: seen.append(int(k)), None, lax.axis_index("x") * 4 + lax.axis_index("y"))
            return x + 1

        self.near(self.mapped(f, P("x", "y"), P("x", "y"))(self.x), self.a + 1)
        jax.effects_barrier()
        self.assertEqual(sorted(seen), list(range(8)))

    def test_pmap(self):
        a = numbers(0, 8, 3, 4)
        y = self.twice(jax.pmap(lambda v: lax.psum(v, "i") + lax.axis_index("i"), axis_name="i"), a)
        self.near(y, a.sum(0)[None] + np.arange(8)[:, None, None])
        with jax.disable_jit(False):
            y = jax.pmap(lambda v, s: v * s, in_axes=(0, None))(a, 2.0)
        self.near(y, a * 2)


class Training(Sharding):
    """examples/jax/sharded_transformer.py on a data x model mesh against one device."""

    def same_bits(self, a, b):
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
            self.assertEqual(x.tobytes(), y.tobytes())

    def reference(self):
        return transformer.train_on_one(jax.devices()[0])

    def test_named_sharding(self):
        mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model"))
        first = transformer.train_on_mesh(mesh)
        self.same_bits(first, transformer.train_on_mesh(mesh))
        self.assertLess(first[0][-1], first[0][0])
        self.assert_tree_close(first, self.reference(), rtol=2e-4, atol=1e-5)

    def test_shard_map(self):
        """Data parallel by hand: each device its part of the batch, gradients averaged."""
        everywhere = ("x", "y")

        def step(p, tokens):
            mine = jax.tree.map(lambda a: lax.pcast(a, everywhere, to="varying"), p)
            value, g = jax.value_and_grad(transformer.loss)(mine, tokens)
            return transformer.descend(p, lax.pmean(g, everywhere)), lax.pmean(value, everywhere)

        step = self.mapped(step, (P(), P(everywhere)), (P(), P()))

        def train():
            return transformer.train(step, self.put(transformer.parameters()), self.put(transformer.tokens(), everywhere))

        first = train()
        self.same_bits(first, train())
        self.assert_tree_close(first, self.reference(), rtol=2e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
