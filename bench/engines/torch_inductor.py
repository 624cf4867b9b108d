# SPDX-License-Identifier: Apache-2.0
"""PyTorch through torch.compile; inference with frozen weights."""
import torch
import torch._inductor.config

from engines import torch_eager
from engines.job import Skip
from engines.torch_eager import versions  # noqa: F401
from torch_workloads import Repeat


class Engine(torch_eager.Engine):
    def __init__(self, job, setting):
        super().__init__(job, setting)
        if isinstance(self.case, Repeat) and self.case.times > 1000:
            raise Skip("the compiler would unroll the loop")

    def compile(self):
        """It compiles in the first run; what that run changes is put back."""
        if not self.case.trains:
            torch._inductor.config.freezing = True
        keep = [t.clone() for t in self.case.state()]
        self.case.compile(lambda f: torch.compile(f, dynamic=False))
        self.run()
        for t, k in zip(self.case.state(), keep):
            t.copy_(k)
