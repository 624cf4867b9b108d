# SPDX-License-Identifier: Apache-2.0
"""PyTorch as it comes, two threads."""
import os

import numpy as np
import torch

import torch_workloads
from engines.job import Skip, leaves

torch.set_num_threads(len(os.sched_getaffinity(0)))
torch.set_num_interop_threads(1)


def versions():
    return {"torch": torch.__version__}


def tensor(x):
    x = np.array(x)
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def array(t):
    if t is None:
        return None
    t = t.detach()
    return t.float().numpy() if t.dtype == torch.bfloat16 else t.numpy()


def case_of(job):
    make = torch_workloads.load().get(job.name)
    if make is None:
        raise Skip("no PyTorch version")
    return make(*job.arguments(tensor))


class Engine:
    def __init__(self, job, setting):
        self.case = case_of(job)

    def compile(self):
        pass

    def run(self):
        with torch.set_grad_enabled(self.case.trains):
            self.out = self.case.run()

    def results(self):
        return [array(t) for t in leaves(self.case.finish(self.out))]

    def temporary(self):
        return None
