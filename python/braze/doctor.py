# SPDX-License-Identifier: Apache-2.0
"""python -m braze doctor: what of JAX and TensorFlow is here, and whether it runs on Braze.

Each framework is asked in a process of its own, as a program would import it. The exit code is 1 if a
framework that is installed does not run on Braze.
"""
import importlib.metadata
import json
import subprocess
import sys

import braze

TESTED_JAX = ("0.10.2",)
TESTED_TENSORFLOW = ("2.21.0", "2.20.0")

_JAX = """
import json, jax
version = jax.devices()[0].client.platform_version
answer = float(jax.jit(lambda x: x * 2 + 1)(3.0))
active = "braze" in version and answer == 7
print(json.dumps([active, f"the device cpu is {version!r}"]))
"""
_TENSORFLOW = """
import json, tensorflow as tf
from braze import tensorflow as glue
s = glue.state()
active, why = s.active, s.why
if active and float(tf.function(lambda x: x * 2 + 1, jit_compile=True)(tf.constant(3.0))) != 7:
    active, why = False, "a compiled function gives a wrong value"
print(json.dumps([active, why, s.tested_versions]))
"""


def _installed(*names):
    for name in names:
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return None, None


def _ask(program):
    """The list that the program prints last, or one that tells how it ended."""
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              errors="replace", timeout=300)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return [False, "no answer within five minutes"]
    except (IndexError, ValueError):
        lines = done.stderr.strip().splitlines()
        return [False, f"exit code {done.returncode}: {lines[-1] if lines else 'no message'}"]


def _plugin():
    """Why the plugin can't be used; empty if it can."""
    import ctypes
    try:
        library = ctypes.CDLL(braze.library_path())
        library.GetPjrtApi.restype = ctypes.c_void_p
        return "" if library.GetPjrtApi() else "it gives no table"
    except (OSError, AttributeError) as e:
        return str(e)


def _report(title, tested, names, program):
    package, version = _installed(*names)
    print(f"{title}:")
    if not package:
        print(f"  found: no; tested with {', '.join(tested)}")
        return True
    active, why, *rest = _ask(program)
    tested = rest[0] if rest and rest[0] else tested
    known = "tested" if version in tested else f"not one of the tested versions ({', '.join(tested)})"
    print(f"  found: {package} {version}, {known}")
    print(f"  on Braze: {'yes' if active else 'no'}; {why}")
    return active


def main():
    print(f"braze {braze.__version__}")
    wrong = _plugin()
    print(f"  plugin: {braze.library_path()}: {wrong or 'loads'}")
    good = _report("JAX", TESTED_JAX, ["jax"], _JAX)
    good &= _report("TensorFlow", TESTED_TENSORFLOW, ["tensorflow-cpu", "tensorflow"], _TENSORFLOW)
    return 0 if good and not wrong else 1
