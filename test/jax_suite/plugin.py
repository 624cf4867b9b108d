# SPDX-License-Identifier: Apache-2.0
"""pytest plugin of run.py: takes a sample of the tests, and writes one line of JSON per test as it ends.

BRAZE_SUITE_OUT     file to append to: {"test": id, "start": true}, then {"test": id, "outcome": …, "text": …}
BRAZE_SUITE_SAMPLE  at most so many tests of a file, chosen by a hash of their names
BRAZE_SUITE_SKIP    file with ids of tests not to run (they ran before a crash)
BRAZE_SUITE_JAX     the checkout of JAX
"""
import hashlib
import importlib.abc
import importlib.util
import json
import os
import sys


class _HypothesisUtil(importlib.abc.MetaPathFinder):
    """jax._src.hypothesis_test_util is in the checkout but not in the wheel."""

    NAME = "jax._src.hypothesis_test_util"

    def find_spec(self, name, path, target=None):
        file = os.path.join(os.environ["BRAZE_SUITE_JAX"], "jax/_src/hypothesis_test_util.py")
        if name == self.NAME and os.path.exists(file):
            return importlib.util.spec_from_file_location(name, file)
        return None


# Found when it is imported, not before: JAX's test utilities keep the sys.stdout that they find.
sys.meta_path.append(_HypothesisUtil())


def _write(record):
    with open(os.environ["BRAZE_SUITE_OUT"], "a") as f:
        f.write(json.dumps(record) + "\n")


def pytest_collection_modifyitems(config, items):
    n = int(os.environ.get("BRAZE_SUITE_SAMPLE", "0"))
    if n and len(items) > n:
        chosen = sorted(items, key=lambda i: hashlib.md5(i.name.encode()).hexdigest())[:n]
        names = {i.nodeid for i in chosen}
        items[:] = [i for i in items if i.nodeid in names]
    skip = os.environ.get("BRAZE_SUITE_SKIP")
    if skip and os.path.exists(skip):
        with open(skip) as f:
            done = set(f.read().splitlines())
        items[:] = [i for i in items if i.nodeid not in done]
    _write({"collected": len(items)})


def pytest_runtest_logstart(nodeid, location):
    _write({"test": nodeid, "start": True})


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        text = "" if report.outcome == "passed" else str(report.longrepr)[-3000:]
        _write({"test": report.nodeid, "outcome": report.outcome, "text": text,
                "seconds": round(report.duration, 2)})
