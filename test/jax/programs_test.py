# SPDX-License-Identifier: Apache-2.0
"""Compiled programs as objects: text, costs, serialization, export, the persistent cache, options."""
from on_braze import OnBraze

import os
import re
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.experimental import serialize_executable


class Programs(OnBraze):
    def compiled(self):
        return jax.jit(lambda x: jnp.sin(x) @ x + 1).lower(jnp.ones((4, 4))).compile()

    def test_text(self):
        text = self.compiled().as_text()
        self.assertIn("HloModule", text)
        self.assertIn("f32[4,4]", text)

    def test_costs_and_memory(self):
        c = self.compiled()
        self.assertGreater(c.cost_analysis()["flops"], 0)
        m = c.memory_analysis()
        self.assertEqual((m.argument_size_in_bytes, m.output_size_in_bytes), (64, 64))

    def test_costs_before_compiling(self):
        x = jax.ShapeDtypeStruct((64, 32), np.float32)
        y = jax.ShapeDtypeStruct((32, 16), np.float32)
        self.assertEqual(jax.jit(jnp.dot).lower(x, y).cost_analysis()["flops"], 2 * 64 * 32 * 16)

    def test_serialize(self):
        c = self.compiled()
        again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(c),
                                                          execution_devices=jax.devices()[:1])
        x = np.random.rand(4, 4).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(again(x)), np.asarray(c(x)))

    def test_export(self):
        f = export.export(jax.jit(lambda x: x * 2 + 1))(jax.ShapeDtypeStruct((3,), np.float32))
        np.testing.assert_array_equal(np.asarray(f.call(jnp.arange(3.0))), [1, 3, 5])

    def test_export_with_symbolic_shapes(self):
        shape = jax.export.symbolic_shape("b, 3")
        f = export.export(jax.jit(lambda x: x.sum(0)))(jax.ShapeDtypeStruct(shape, np.float32))
        np.testing.assert_array_equal(np.asarray(f.call(jnp.ones((5, 3)))), [5, 5, 5])

    def test_options(self):
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        for options, text in (({"invalid_key": 1}, "No such compile option: 'invalid_key'"),
                              ({"xla_cpu_enable_fast_maths": True}, "No such compile option: 'xla_cpu_enable_fast_maths'"),
                              ({"xla_embed_ir_in_executable": "maybe"}, "is not a valid bool value")):
            with self.assertRaisesRegex(Exception, text):
                lowered.compile(compiler_options=options)
        for options in ({"xla_cpu_enable_fast_math": "true"}, {"xla_cpu_max_isa": "AVX2"},
                        {"xla_disable_hlo_passes": "fusion"}, {"xla_backend_optimization_level": 1}):
            self.assertEqual(float(lowered.compile(compiler_options=options)(1.0)), 2.0)
        reference = lowered.compile(compiler_options={"braze_backend": "reference"})
        self.assertEqual(float(reference(1.0)), 2.0)

    def test_program_over_two_devices(self):
        mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])
        x = jax.device_put(np.arange(4.0, dtype=np.float32), jax.NamedSharding(mesh, jax.P("x")))
        y = jax.jit(lambda a: a + a.sum())(x)
        np.testing.assert_array_equal(np.asarray(y), np.arange(4.0) + 6)

    def test_persistent_cache(self):
        script = ("import jax, jax.numpy as jnp\n"
                  "from jax._src import monitoring\n"
                  "hits = []\n"
                  "monitoring.register_event_listener(lambda e, **k: hits.append(e))\n"
                  "assert float(jax.jit(lambda x: jnp.cos(x) + 41)(0.0)) == 42\n"
                  "print(sum('cache_hits' in e for e in hits))\n")
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, JAX_COMPILATION_CACHE_DIR=folder,
                       JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                       JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0")
            runs = [self.run_script(script, env) for _ in range(2)]
        hits = [int(r.stdout.split()[-1]) for r in runs]
        self.assertEqual(hits[0], 0)
        self.assertGreater(hits[1], 0)
        self.assert_second_compiles_nothing(runs)

    def test_cache_of_the_compiler(self):
        script = ("import jax, jax.numpy as jnp\n"
                  "assert float(jax.jit(lambda x: jnp.cos(x) + 41)(0.0)) == 42\n")
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, BRAZE_CACHE_DIR=folder)
            runs = [self.run_script(script, env) for _ in range(2)]
            self.assertGreater(len(os.listdir(folder)), 0)
        self.assert_second_compiles_nothing(runs)

    def test_serialized_executable_holds_code(self):
        script = ("import pickle, sys, jax, jax.numpy as jnp\n"
                  "from jax.experimental import serialize_executable as s\n"
                  "if sys.argv[1:]:\n"
                  "    with open(sys.argv[1], 'rb') as f: parts = pickle.load(f)\n"
                  "    c = s.deserialize_and_load(*parts, execution_devices=jax.devices()[:1])\n"
                  "else:\n"
                  "    c = jax.jit(lambda x: jnp.cos(x) + 41).lower(jnp.zeros((5,))).compile()\n"
                  "    with open(FILE, 'wb') as f: pickle.dump(s.serialize(c), f)\n"
                  "import numpy as np\n"
                  "assert np.asarray(c(np.zeros((5,), np.float32))).tolist() == [42] * 5\n")
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "x")
            script = script.replace("FILE", repr(name))
            runs = [self.run_script(script, os.environ, *argv) for argv in ((), (name,))]
        self.assert_second_compiles_nothing(runs)

    @staticmethod
    def run_script(script, env, *argv):
        done = subprocess.run([sys.executable, "-c", script, *argv], env=dict(env, BRAZE_DEBUG="1"),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    def assert_second_compiles_nothing(self, runs):
        """Of the line that BRAZE_DEBUG=1 prints for each compilation: what was compiled, what loaded."""
        counts = [[re.search(r"\((\d+) compiled, (\d+) shared, (\d+) loaded\)", line).groups()
                   for line in r.stderr.splitlines() if " compiled in " in line] for r in runs]
        first, second = [np.sum(np.array(c, int), axis=0) for c in counts]
        self.assertGreater(first[0], 0)
        self.assertEqual(second[0], 0)
        self.assertGreater(second[2], 0)


class Registration(OnBraze):
    def ask(self, script, **env):
        done = subprocess.run([sys.executable, "-c", "import jax\n" + script], capture_output=True,
                              text=True, env={**os.environ, "XLA_FLAGS": "", **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_names(self):
        self.assertEqual(self.ask("d = jax.devices()[0]; print(repr(d), d, d.platform, jax.default_backend())"),
                         "CpuDevice(id=0) cpu:0 cpu cpu")

    def test_disable(self):
        script = "print('braze' in jax.devices()[0].client.platform_version)"
        self.assertEqual(self.ask(script), "True")
        self.assertEqual(self.ask(script, BRAZE_DISABLE="1"), "False")
        self.assertEqual(self.ask(script, JAX_PLATFORMS="cpu"), "True")

    def test_device_count(self):
        self.assertEqual(self.ask("print(len(jax.devices()))"), "1")
        self.assertEqual(self.ask("print(len(jax.devices()))",
                                  XLA_FLAGS="--xla_force_host_platform_device_count=3"), "3")
        self.assertEqual(self.ask("jax.config.update('jax_num_cpu_devices', 5)\nprint(len(jax.devices()))"),
                         "5")

    def test_broken_library_leaves_jax_alone(self):
        self.assertEqual(self.ask("print(float(jax.numpy.float32(2) + 1))", BRAZE_LIBRARY="/nonexistent.so"),
                         "3.0")


class Profiling(OnBraze):
    def test_trace_names_programs_and_kernels(self):
        f = jax.jit(lambda x: jnp.sort(jnp.tanh(x) @ x, 0))
        x = jnp.ones((64, 64))
        f(x).block_until_ready()
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                f(x).block_until_ready()
            data = b"".join(open(os.path.join(d, n), "rb").read()
                            for d, _, names in os.walk(folder) for n in names if n.endswith(".pb"))
        self.assertIn(b"/device:CUSTOM:Braze", data)
        self.assertIn(b"jit__lambda", data)
        self.assertIn(b"kernel (thread", data)


class CustomPartitioning(OnBraze):
    def test_over_several_devices(self):
        from jax.experimental.custom_partitioning import custom_partitioning

        @custom_partitioning
        def f(x):
            return x * 2 + x.sum()

        f.def_partition(infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
                        partition=lambda mesh, args, result: (mesh, lambda x: x, result.sharding,
                                                              (args[0].sharding,)),
                        sharding_rule="i -> i")
        mesh = jax.make_mesh((4,), ("x",))
        x = jax.device_put(np.arange(8, dtype=np.float32), jax.NamedSharding(mesh, jax.P("x")))
        np.testing.assert_array_equal(np.asarray(jax.jit(f)(x)), np.arange(8) * 2 + 28)
