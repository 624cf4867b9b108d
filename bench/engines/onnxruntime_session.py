# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, all optimizations, inputs and outputs bound."""
import os

import onnxruntime

from engines.onnx_graph import Graph


def versions():
    return {"onnxruntime": onnxruntime.__version__}


class Engine:
    def __init__(self, job, setting):
        self.graph = Graph(job)

    def compile(self):
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = len(os.sched_getaffinity(0)), 1
        o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(self.graph.path, o, providers=["CPUExecutionProvider"])
        self.bound = self.session.io_binding()
        for i, x in zip(self.session.get_inputs(), self.graph.args, strict=True):
            self.bound.bind_cpu_input(i.name, x)
        for o in self.session.get_outputs():
            self.bound.bind_output(o.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.bound)

    def results(self):
        return self.graph.results(self.bound.copy_outputs_to_cpu())

    def temporary(self):
        return None
