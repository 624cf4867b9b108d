# SPDX-License-Identifier: Apache-2.0
"""IREE's CPU compiler on the same program, code for this machine: O3 and data tiling, or less where that fails."""
import os
import pathlib
import re
import subprocess
import sys
from importlib.metadata import version

import iree.runtime as runtime
import numpy as np

from engines.job import Skip

FLAGS = ["--iree-input-type=stablehlo", "--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
MORE = (["--iree-opt-level=O3", "--iree-opt-data-tiling"], ["--iree-opt-data-tiling"], [])


def versions():
    return {"iree": version("iree-base-compiler")}


class Engine:
    def __init__(self, job, setting):
        if "bfloat16" in job.meta["types"]:
            raise Skip("no bfloat16 arrays")
        text = (job.folder / "prog.mlir").read_text()
        text = re.sub(r" attributes \{mhlo[^}]*\}", "", text)  # donation and names have no place in its input
        text = re.sub(r"\s*\{tf\.aliasing_output = \d+ : i32\}", "", text)
        text = re.sub(r'\s*\{jax\.result_info = "(?:[^"\\]|\\.)*"\}', "", text)
        self.source, self.binary = job.folder / "iree.mlir", job.folder / "iree.vmfb"
        self.source.write_text(text)
        self.job = job

    def build(self):
        """The first setting that compiles; the first error if none does, or the end of patience."""
        tool, first = pathlib.Path(sys.executable).parent / "iree-compile", None
        for more in MORE:
            try:
                done = subprocess.run([tool, self.source, "-o", self.binary, *FLAGS, *more], capture_output=True,
                                      text=True, timeout=60)
            except subprocess.TimeoutExpired:
                raise RuntimeError("iree-compile took more than 60 s") from None
            if done.returncode == 0:
                return
            why = re.search(r"error: (.*)", done.stderr)
            first = first or "iree-compile: " + (why[1] if why else done.stderr)[:300]
        raise RuntimeError(first)

    def compile(self):
        self.build()
        runtime.flags.parse_flags(f"--task_topology_group_count={len(os.sched_getaffinity(0))}")
        device = runtime.get_driver("local-task").create_default_device()
        context = runtime.SystemContext(config=runtime.Config(device=device))
        module = runtime.VmModule.mmap(context.instance, str(self.binary))
        context.add_vm_module(module)
        self.context, self.main = context, context.modules[module.name]["main"]
        self.args = [runtime.asdevicearray(device, x) for x in self.job.inputs()]

    def run(self):
        out = self.main(*self.args)
        self.out = list(out) if isinstance(out, (tuple, list)) else [out]
        for argument, result in self.job.alias.items():
            self.args[argument] = self.out[result]

    def results(self):
        return [np.asarray(x.to_host()) for x in self.out]

    def temporary(self):
        return None
