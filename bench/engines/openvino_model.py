# SPDX-License-Identifier: Apache-2.0
"""OpenVINO on the CPU, for latency, in float32."""
import os

import numpy as np
import openvino

from engines.onnx_graph import Graph


def versions():
    return {"openvino": openvino.__version__.split("-")[0]}


class Engine:
    def __init__(self, job, setting):
        self.graph = Graph(job)

    def compile(self):
        core = openvino.Core()
        self.model = core.compile_model(core.read_model(self.graph.path), "CPU", {
            "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)), "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"})
        self.request = self.model.create_infer_request()
        for i, x in enumerate(self.graph.args):
            self.request.set_input_tensor(i, openvino.Tensor(np.ascontiguousarray(x), shared_memory=True))

    def run(self):
        self.request.infer()

    def results(self):
        return self.graph.results([np.array(self.request.get_output_tensor(i).data)
                                   for i in range(len(self.model.outputs))])

    def temporary(self):
        return None
