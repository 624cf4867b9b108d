#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test program of a build and the checks of the source tree.

    test/run.py BUILD_DIRECTORY [SANITIZERS]

Stock JAX's and TensorFlow's tests run beside the others. Prints a line per program and failures in full; the last line is
"N passed, N failed, N skipped". Exit code 1 if anything failed.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
TIMEOUT = 1500


def run(command):
    start = time.time()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT,
                              errors="replace")
        out, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as e:
        out, code = f"{e.stdout or ''}\ntimed out after {TIMEOUT} s", 124
    return out, code, time.time() - start


def google_test(program, *options):
    out, code, seconds = run([str(program), "--gtest_brief=0", "--gtest_color=no", *options])
    passed = len(re.findall(r"^\[       OK \]", out, re.M))
    skipped = len(re.findall(r"^\[  SKIPPED \] [^\n]*\(\d+ ms\)", out, re.M))
    failed = len(re.findall(r"^\[  FAILED  \] [^\n]*\(\d+ ms\)", out, re.M))
    if code != 0 and failed == 0:
        failed = 1  # it crashed or timed out
    return out, passed, failed, skipped, seconds


def known_failures(engine):
    """Patterns of test/known_failures.txt for one engine, each with its cause."""
    known = {}
    for line in (ROOT / "test/known_failures.txt").read_text().splitlines():
        entry, _, cause = line.partition("#")
        words = entry.split()
        if len(words) == 2 and words[0] in ("*", engine):
            known[words[1]] = cause.strip()
    return known


def closing_line(command, engine=""):
    """A verb of `braze` that ends with a line of counts. Failures that are known, with a cause, in
    test/known_failures.txt count as skipped; a listed program that passes is named."""
    out, code, seconds = run(command)
    lines = out.strip().splitlines()
    m = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1] if lines else "")
    if not m or code not in (0, 1):
        return out, 0, 1, 0, seconds
    passed, failed, skipped = map(int, m.groups())
    known = known_failures(engine) if engine else {}
    failing = {line.split()[1].rstrip(":").split("/")[-1] for line in lines if line.startswith("FAIL ")}
    expected = failing & set(known)
    for name in sorted(set(known) - failing):
        print(f"note: {name} passes now: take it out of test/known_failures.txt")
    return out, passed, failed - len(expected), skipped + len(expected), seconds


def simple(command):
    out, code, seconds = run(command)
    return out, int(code == 0), int(code != 0), 0, seconds


def jax_tests(build):
    """Stock JAX on the plugin, in the environment that ./dev made; one skip if there is none."""
    python, plugin = os.environ.get("BRAZE_JAX_PYTHON"), build / "libbraze_pjrt.so"
    if not python or not plugin.exists():
        return "no environment with JAX", 0, 0, 1, 0.0
    return closing_line(["env", f"PYTHONPATH={ROOT / 'python'}", f"BRAZE_LIBRARY={plugin}", python,
                         "test/jax/run.py"])


def tensorflow_tests(build):
    """Stock TensorFlow with the glue, in the environment that ./dev made; one skip if there is none."""
    python, glue = os.environ.get("BRAZE_TF_PYTHON"), build / "site-packages"
    if not python or not (glue / "tensorflow-plugins/libbraze_tf.so").exists():
        return "no environment with TensorFlow", 0, 0, 1, 0.0
    return closing_line(["env", f"PYTHONPATH={glue}:{ROOT / 'python'}",
                         f"BRAZE_LIBRARY={build / 'libbraze_pjrt.so'}", python, "test/tf/run.py"])


def pjrt_host(build):
    """A host in plain C runs a program through the plugin."""
    program = ROOT / "examples/embed/saxpy.mlir"
    out, code, seconds = run([str(build / "pjrt_host"), str(build / "libbraze_pjrt.so"), str(program)])
    good = code == 0 and out.endswith("5 7 9 11 13 15 17 19\n")
    return out, int(good), int(not good), 0, seconds


THREADED = ("runtime", "backend", "fuzz", "spmd", "api", "pjrt")
READERS = ("mlir_text", "mlir_bytecode", "hlo_text", "hlo_proto")
FUZZ_SECONDS = 30  # all readers at once


def sanitizer_options(leaks=True):
    # Tests ask for more memory than there is: that must be null, as everywhere else.
    os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1" + ("" if leaks else ":detect_leaks=0"))
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1:allocator_may_return_null=1")


def readers_sanitized():
    """The tests of the floors that read programs under ASan and UBSan; one skip where there is no clang."""
    build = os.environ.get("BRAZE_READERS_BUILD")
    if not build:
        return "no clang-19 to build the readers under sanitizers", 0, 0, 1, 0.0
    sanitizer_options()
    # The whole corpora beside the source tree are for runs by hand: they take minutes.
    return google_test(pathlib.Path(build) / "test/braze_sanitized_readers_test", "--gtest_filter=-*Corpus*.*")


def readers_fuzzed():
    """The libFuzzer targets side by side, for a fixed time, from the kept corpus on; the first inputs are the same
    in every run. What they find is left in BUILD/found."""
    build = os.environ.get("BRAZE_READERS_BUILD")
    if not build:
        return "no clang-19 to build the libFuzzer targets", 0, 0, len(READERS), 0.0
    sanitizer_options()
    start, running = time.time(), []
    for reader in READERS:
        found = pathlib.Path(build) / "found" / reader
        shutil.rmtree(found, ignore_errors=True)
        found.mkdir(parents=True)
        command = [f"{build}/test/{reader}_fuzz", str(found), f"test/fuzz/corpus/{reader}", "-seed=1",
                   f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=2048", "-timeout=60", f"-artifact_prefix={found}/"]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace"))
    outs = [p.communicate()[0] for p in running]
    failed = [out for p, out in zip(running, outs) if p.returncode]
    return "\n".join(failed), len(READERS) - len(failed), len(failed), 0, time.time() - start


def sanitized(build, sanitizers):
    """Every test program; under TSan those that start threads."""
    sanitizer_options(leaks=False)  # LLVM has its own, and its errors leave some behind
    names = THREADED if sanitizers == "thread" else ["*"]
    programs = [p for n in names for p in sorted(build.glob(f"test/braze_{n}_test"))]
    return [(p.name, lambda p=p: google_test(p)) for p in programs]


def main():
    build = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        return total_of(sanitized(build, sys.argv[2]), [0, 0, 0])
    tool = str(build / "braze")
    jobs = [("source tree", lambda: simple([sys.executable, "test/floors.py"]))]
    for program in sorted(build.glob("test/braze_*_test")):
        jobs.append((program.name, lambda p=program: google_test(p)))
    jobs.append(("readers under ASan and UBSan", readers_sanitized))
    jobs.append(("readers fuzzed", readers_fuzzed))
    if (build / "libbraze.so").exists():
        jobs.append(("install and embed",
                     lambda: simple([sys.executable, "test/embed.py", str(build)])))
    if os.path.exists(tool):
        for script in ("golden", "tool", "bench"):
            jobs.append((script, lambda s=script: closing_line(
                [sys.executable, f"test/{s}.py", str(build)])))
        jobs.append(("PJRT host in C", lambda: pjrt_host(build)))
        jobs.append(("jax", lambda: jax_tests(build)))
        jobs.append(("tensorflow", lambda: tensorflow_tests(build)))
        if SHARED.is_dir():
            for backend in ("reference", "cpu", "kernel"):
                jobs.append((f"conformance {backend}",
                             lambda b=backend: closing_line(
                                 [tool, "conformance", "--backend", b], b)))
            jobs.append(("cases", lambda: closing_line(
                [tool, "cases", "--size", "tiny"])))
        else:
            print("skipping conformance and cases: ../shared is absent")
    total_of(jobs, [0, 0, 0 if SHARED.is_dir() else 4])


# Mostly Python on one processor: run beside the others, from the start.
BESIDE = ("tensorflow", "jax")


def total_of(jobs, total):
    lane = concurrent.futures.ThreadPoolExecutor(1)
    beside = {name: lane.submit(job) for name, job in jobs if name in BESIDE}
    for name, job in jobs:
        out, passed, failed, skipped, seconds = beside[name].result() if name in beside else job()
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.1f} s)",
              flush=True)
        if failed:
            print(out[-20000:], flush=True)
        elif skipped and not passed:
            print(f"  skipped: {out.strip()}", flush=True)
        for i, n in enumerate((passed, failed, skipped)):
            total[i] += n
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
