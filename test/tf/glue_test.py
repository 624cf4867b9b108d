# SPDX-License-Identifier: Apache-2.0
"""The glue itself: what it says of a TensorFlow that it does not know, and what the user can switch."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROBE = """
import ctypes, os, sys
for path in sys.argv[2:]:
    ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
glue = ctypes.CDLL(sys.argv[1])
why = ctypes.c_char_p()
print(glue.braze_tf_state(ctypes.byref(why)), why.value.decode())
"""
TENSORFLOW = """
import json, tensorflow as tf
from braze import tensorflow as glue
f = tf.function(lambda x: x * 2 + 1, jit_compile=True)
print(json.dumps([glue.state().outcome, glue.state().why, float(f(tf.constant(3.0)))]))
"""


def glue_path():
    for folder in sys.path:
        path = pathlib.Path(folder) / "tensorflow-plugins/libbraze_tf.so"
        if path.exists():
            return str(path)
    raise RuntimeError("no tensorflow-plugins/libbraze_tf.so on PYTHONPATH")


def ask(program, *args, **variables):
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", **variables)
    done = subprocess.run([sys.executable, "-c", program, *args], env=env, capture_output=True, text=True,
                          errors="replace", timeout=300)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1], done.stderr


class OtherBuilds(unittest.TestCase):
    """Against libraries of the names of TensorFlow's, with less inside."""

    def state(self, source, **variables):
        with tempfile.TemporaryDirectory() as folder:
            c, library = os.path.join(folder, "tf.c"), os.path.join(folder, "libtensorflow_cc.so.2")
            pathlib.Path(c).write_text(source)
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libtensorflow_cc.so.2", "-o", library, c],
                           check=True)
            return ask(PROBE, glue_path(), library, **variables)[0]

    def test_no_tensorflow(self):
        self.assertEqual(ask(PROBE, glue_path())[0], "2 TensorFlow is not loaded in this process")

    def test_no_version(self):
        self.assertEqual(self.state("int x;"), "2 this TensorFlow does not tell its version")

    def test_unknown_version(self):
        self.assertEqual(self.state('const char* TF_Version() { return "3.1.0"; }'),
                         "2 TensorFlow 3.1.0 is not one of the tested versions: 2.21.0, 2.20.0")

    def test_another_build(self):
        self.assertEqual(self.state('const char* TF_Version() { return "2.21.0"; }'),
                         "2 TensorFlow 2.21.0 is another build than the one of PyPI")

    def test_another_build_of_an_older_version(self):
        self.assertEqual(self.state('const char* TF_Version() { return "2.20.0"; }'),
                         "2 TensorFlow 2.20.0 is another build than the one of PyPI")

    def test_switched_off(self):
        self.assertEqual(self.state('const char* TF_Version() { return "2.21.0"; }', BRAZE_TF="0"),
                         "1 switched off by BRAZE_TF=0")


class InTensorFlow(unittest.TestCase):
    def test_active_and_what_it_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            out, log = ask(TENSORFLOW + "f(tf.ones([2, 3]))\n", BRAZE_DEBUG="1",
                           XLA_FLAGS=f"--xla_dump_to={folder} --xla_dump_hlo_as_proto")
            files = os.listdir(folder)
            replayed = self.replay(folder)
        version = importlib.metadata.version("tensorflow-cpu")
        self.assertEqual(out, f'["active", "TensorFlow {version} compiles for CPU with Braze", 7.0]')
        self.assertRegex(log, "braze: __inference_.*compiled in")
        self.assertIn("compiled again, program 2: argument 0 is f32[2,3], was f32[]", log)
        for end in ("before_optimizations.hlo.pb", "cpu_after_optimizations.hlo.pb", "ir-with-opt.ll"):
            self.assertEqual(sum(f.endswith(end) for f in files), 2, (end, files))
        if replayed:
            self.assertEqual(replayed.returncode, 0, replayed.stdout + replayed.stderr)

    def replay(self, folder):
        tool = pathlib.Path(os.environ["BRAZE_LIBRARY"]).parent / "braze"
        if tool.exists():
            return subprocess.run([str(tool), "replay", folder], capture_output=True, text=True)

    def test_second_process_loads_code(self):
        with tempfile.TemporaryDirectory() as folder:
            logs = [ask(TENSORFLOW, BRAZE_DEBUG="1", BRAZE_CACHE_DIR=folder)[1] for _ in range(2)]
        self.assertRegex(logs[0], r"\([1-9]\d* compiled, 0 shared, 0 loaded\)")
        self.assertRegex(logs[1], r"\(0 compiled, 0 shared, [1-9]\d* loaded\)")

    def test_switched_off(self):
        out, _ = ask(TENSORFLOW, BRAZE_TF="0")
        self.assertEqual(out, '["switched off", "switched off by BRAZE_TF=0", 7.0]')

    def test_plugin_missing(self):
        out, log = ask(TENSORFLOW, BRAZE_LIBRARY="/nowhere.so", BRAZE_TF="verbose")
        self.assertEqual(out, '["not active", "the plugin is not readable at /nowhere.so", 7.0]')
        self.assertIn("braze: not active: the plugin is not readable at /nowhere.so", log)

    def test_plugin_that_is_none(self):
        out, log = ask(TENSORFLOW, BRAZE_LIBRARY=glue_path())
        self.assertRegex(out, '"not active", "the plugin cannot be loaded: .*", 7.0')
        self.assertIn("braze: not active: the plugin cannot be loaded", log)


if __name__ == "__main__":
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped")
