# SPDX-License-Identifier: Apache-2.0
"""The engines: Braze, XLA:CPU and the peers. One file each; an engine module gives

  versions()            {what: version}
  Engine(job, setting)  `job`: an engines.job.Job; puts the arguments where the engine wants them
    .compile()          all that has to be done once
    .run()              one run, done when it returns; donated arguments take the results of the run before
    .results()          of the last run, NumPy arrays in the order of the program's results; None: not comparable
    .temporary()        bytes of temporaries by the engine's own account, or None
  A workload that the engine cannot express raises engines.job.Skip(why).
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Entry:
    title: str
    module: str
    setting: str = ""
    python: str = "bench"  # which environment: "jax" or "bench"
    environment: tuple = ()


ENGINES = {
    "braze": Entry("Braze", "pjrt", "braze", "jax"),
    "xla": Entry("XLA:CPU", "pjrt", "", "jax", (("BRAZE_DISABLE", "1"),)),
    "xla512": Entry("XLA, 512-bit vectors", "pjrt", "", "jax",
                    (("BRAZE_DISABLE", "1"), ("XLA_FLAGS", "--xla_cpu_prefer_vector_width=512"))),
    "xla_noynn": Entry("XLA, no YNNPACK", "pjrt", "", "jax",
                       (("BRAZE_DISABLE", "1"), ("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type="))),
    "torch": Entry("PyTorch eager", "torch_eager"),
    "inductor": Entry("PyTorch Inductor", "torch_inductor"),
    "ort": Entry("ONNX Runtime", "onnxruntime_session"),
    "openvino": Entry("OpenVINO", "openvino_model"),
    "iree": Entry("IREE", "iree_module"),
}
