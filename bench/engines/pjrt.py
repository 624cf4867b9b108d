# SPDX-License-Identifier: Apache-2.0
"""Braze and XLA:CPU: the program as it stands through jaxlib's client, like with like.

Setting "braze": Braze's plugin is in the place of the CPU backend; else stock XLA (BRAZE_DISABLE=1).
"""
import os

import jax
import jaxlib
import numpy as np
from jax._src import xla_bridge
from jax._src.lax import linalg
from jaxlib import _jax, xla_client

jax.config.update("jax_enable_x64", True)  # arrays keep the types of the inputs
TINY = "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"


def versions():
    out = {"jaxlib": jaxlib.__version__}
    return out | ({"XLA_FLAGS": os.environ["XLA_FLAGS"]} if os.environ.get("XLA_FLAGS") else {})


class Engine:
    def __init__(self, job, setting):
        linalg.initialize_lapack()  # tracing would do it; XLA crashes on LAPACK's calls without
        self.backend = xla_bridge.get_backend("cpu")
        if ("braze" in self.backend.platform_version.lower()) != (setting == "braze"):
            raise RuntimeError(f"the CPU backend is {self.backend.platform_version!r}")
        self.devices = _jax.DeviceList((self.backend.devices()[0],))
        self.job, self.code = job, (job.folder / "prog.mlirbc").read_bytes()
        self.args = [jax.device_put(np.array(x, copy=True), self.devices[0]) for x in job.inputs()]
        for a in self.args:
            a.block_until_ready()
        self.build(TINY.encode())  # what a process does once is not part of a compilation

    def build(self, code):
        return self.backend.compile_and_load(code, self.devices, xla_client.CompileOptions())

    def compile(self):
        self.program = self.build(self.code)

    def run(self):
        parts = self.program.execute_sharded(self.args).disassemble_into_single_device_arrays()
        self.out = [p[0] for p in parts]
        for o in self.out:
            o.block_until_ready()
        for argument, result in self.job.alias.items():
            self.args[argument] = self.out[result]

    def results(self):
        return [np.array(x) for x in self.out]

    def temporary(self):
        return self.program.get_compiled_memory_stats().temp_size_in_bytes
