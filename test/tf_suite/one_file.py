# SPDX-License-Identifier: Apache-2.0
"""Runs one file of TensorFlow's tests and writes a line of JSON per test: when it starts, how it ends.

    one_file.py CHECKOUT FILE OUT SKIP SECONDS

SKIP is a file with names of tests to leave out; a test that takes longer than SECONDS ends the process.
"""
import faulthandler
import json
import runpy
import sys
import types
import unittest

import tensorflow
import tensorflow.compiler
from absl import flags
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.python.platform import googletest
from tensorflow.python.platform import test

TYPES = ("DT_HALF DT_FLOAT DT_DOUBLE DT_UINT8 DT_QUINT8 DT_INT8 DT_QINT8 DT_INT32 DT_QINT32 DT_INT64 DT_BOOL "
         "DT_COMPLEX64 DT_COMPLEX128")
checkout, name, out, skip, seconds = sys.argv[1:]


def note(**line):
    with open(out, "a") as f:
        f.write(json.dumps(line) + "\n")


class Result(unittest.TestResult):
    def startTest(self, t):
        super().startTest(t)
        faulthandler.dump_traceback_later(float(seconds), exit=True)
        note(test=short(t), start=True)

    def stopTest(self, t):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(t)

    def addSuccess(self, t):
        note(test=short(t), outcome="passed")

    def addSkip(self, t, why):
        note(test=short(t), outcome="skipped", text=why)

    def addFailure(self, t, error):
        note(test=short(t), outcome="failed", text=self._exc_info_to_string(error, t)[-3000:])

    addError = addFailure

    def addSubTest(self, t, subtest, error):
        if error:
            self.addFailure(t, error)


def short(t):
    return ".".join(t.id().split(".")[-2:])


def leaves(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from leaves(t)
        else:
            yield t


def run_tests(*_, **__):
    flags.FLAGS(["test", "--test_device=CPU", "--types=" + ",".join(TYPES.split())], known_only=True)
    done = set(open(skip).read().split("\n"))
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    chosen = unittest.TestSuite(t for t in leaves(tests) if short(t) not in done)
    chosen.run(Result())
    sys.stdout.flush()
    sys.exit(0)


# The sources' name of a module that the package has elsewhere.
for package in ("local_xla", "local_xla.xla"):
    sys.modules[package] = types.ModuleType(package)
sys.modules["local_xla.xla"].xla_data_pb2 = sys.modules["local_xla.xla.xla_data_pb2"] = xla_data_pb2
sys.modules["tensorflow.compiler"].__path__.append(f"{checkout}/tensorflow/compiler")
googletest.main = test.main = run_tests
sys.argv[1:] = []
runpy.run_path(f"{checkout}/{name}", run_name="__main__")
