# SPDX-License-Identifier: Apache-2.0
"""Foreign functions of users (jax.ffi), compiled here against jaxlib's headers."""
from on_braze import OnBraze

import ctypes
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import jax
import jax.numpy as jnp
import numpy as np

SOURCE = pathlib.Path(__file__).parent / "ffi_handlers.cc"


@unittest.skipUnless(shutil.which("g++"), "needs a C++ compiler")
class Ffi(OnBraze):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.folder.name) / "handlers.so"
        subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}",
                        "-o", str(path), str(SOURCE)], check=True)
        cls.library = ctypes.CDLL(str(path))
        for name in ("axpy", "memory", "increment"):
            jax.ffi.register_ffi_target(f"test_{name}", jax.ffi.pycapsule(getattr(cls.library, name)),
                                        platform="cpu")

    def axpy(self, x, y, mode="go"):
        out = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), np.int32))
        return jax.ffi.ffi_call("test_axpy", out)(x, y, a=np.float32(2), shift=3, mode=mode,
                                                  extra=np.array([10, 20], np.int64))

    def test_attributes_and_results(self):
        x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        z, n = jax.jit(self.axpy)(x, y)
        np.testing.assert_array_equal(np.asarray(z), 2 * x + y + 33)
        self.assertEqual(int(n), 4)

    def test_error(self):
        with self.assertRaisesRegex(Exception, "asked to fail"):
            jax.block_until_ready(jax.jit(lambda x: self.axpy(x, x, "fail"))(np.ones(2, np.float32)))

    def test_an_error_that_jaxlib_frees(self):
        from jax.experimental import buffer_callback
        seen = []

        def callback(ctx, out, arg):
            for _ in range(100):
                try:
                    ctx.stream
                except jax.errors.JaxRuntimeError as e:
                    seen.append(str(e))
            np.asarray(out)[...] = np.asarray(arg) + 1

        f = jax.jit(buffer_callback.buffer_callback(callback, jax.ShapeDtypeStruct((3,), np.float32)))
        np.testing.assert_array_equal(np.asarray(f(np.ones(3, np.float32))), np.full(3, 2))
        self.assertEqual(len(seen), 100)
        self.assertTrue(all("GPU context is not available" in s for s in seen), seen[0])

    def test_in_a_loop(self):
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, v: self.axpy(v, v)[0], x))
        want = np.ones(2, np.float32)
        for _ in range(3):
            want = 3 * want + 33
        np.testing.assert_array_equal(np.asarray(f(np.ones(2, np.float32))), want)

    def test_layouts(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        call = jax.ffi.ffi_call("test_memory", jax.ShapeDtypeStruct((6,), np.float32),
                                input_layouts=[(1, 0)])
        np.testing.assert_array_equal(np.asarray(jax.jit(call)(x)), x.T.reshape(-1))
        call = jax.ffi.ffi_call("test_memory", jax.ShapeDtypeStruct((2, 3), np.float32),
                                output_layouts=(1, 0))
        got = np.asarray(jax.jit(lambda v: call(v))(np.arange(6, dtype=np.float32)))
        np.testing.assert_array_equal(got, np.arange(6).reshape(3, 2).T)

    def test_alias(self):
        call = jax.ffi.ffi_call("test_increment", jax.ShapeDtypeStruct((3,), np.float32),
                                input_output_aliases={0: 0})
        x = jnp.zeros(3)
        np.testing.assert_array_equal(np.asarray(jax.jit(call)(x)), np.ones(3))
        np.testing.assert_array_equal(np.asarray(x), np.zeros(3))

    def test_state_of_a_call_site(self):
        pointer = ctypes.pythonapi.PyCapsule_New
        pointer.restype, pointer.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.library.counter_type_id.restype = ctypes.c_void_p
        self.library.counter_type_info.restype = ctypes.c_void_p
        jax.ffi.register_ffi_type(
            "test_counter", {"type_id": pointer(self.library.counter_type_id(), None, None),
                             "type_info": pointer(self.library.counter_type_info(), None, None)},
            platform="cpu")
        jax.ffi.register_ffi_target("test_count", {
            "instantiate": jax.ffi.pycapsule(self.library.make_counter),
            "execute": jax.ffi.pycapsule(self.library.count)}, platform="cpu")
        call = jax.ffi.ffi_call("test_count", jax.ShapeDtypeStruct((1,), np.float32), has_side_effect=True)
        f = jax.jit(lambda: call())
        self.assertEqual([float(f()[0]) for _ in range(3)], [1, 2, 3])
