# SPDX-License-Identifier: Apache-2.0
"""The programs of rare.py as ordinary functions, of which TensorFlow finds the parts to compile."""
import rare
from compared import CASES, main

FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"

if __name__ == "__main__":
    rare.JIT = False
    CASES.update({f.__name__: (f, bounds) for f, bounds in rare.ALL})
    main()
