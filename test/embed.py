#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build and proves that a project outside the tree finds it, builds against it and runs.

    test/embed.py BUILD_DIRECTORY

Checks: find_package(braze), the examples' output, what the library exports, its size. Exit code 0 or 1.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_BYTES = 120 << 20
WANTED = ["takes f32[] f32[8] f32[8] and gives f32[8]", "1 kernel(s), 0 library call(s)",
          "0.5 3.5 6.5 9.5 12.5 15.5 18.5 21.5", "wrong.mlir:2:"]

RANKED = """item 2: 0.382
item 4: 0.382
item 1: 0.109
item 3: 0.109
item 0: 0.009
item 5: 0.009
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        prefix = scratch / "prefix"
        run("cmake", "--install", build, "--prefix", prefix)
        library = next(prefix.rglob("libbraze.so"))
        size = os.path.getsize(library)
        if size > MAX_BYTES:
            sys.exit(f"{library.name} has {size} bytes, at most {MAX_BYTES} are allowed")
        needed = run("nm", "-D", "--undefined-only", library)
        if any(f"__{s}_" in needed for s in ("asan", "tsan", "ubsan")):
            return print("installed; a build with sanitizers is not for embedding")
        shown = [line.split(" ", 2)[2] for line in
                 run("nm", "-DC", "--defined-only", library).splitlines()]
        foreign = [s for s in shown if "braze::v1::" not in s]
        if foreign:
            sys.exit("libbraze.so exports what is not its interface: " + ", ".join(foreign[:5]))
        shutil.copytree(ROOT / "examples/embed", scratch / "embed")
        out = scratch / "out"
        run("cmake", "-B", out, "-S", scratch / "embed", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", out)
        text = run(out / "embed", scratch / "embed/saxpy.mlir")
        for wanted in WANTED:
            if wanted not in text:
                sys.exit(f"the example did not print '{wanted}' but:\n{text}")
        shutil.copytree(ROOT / "examples/ahead", scratch / "ahead")
        out = scratch / "ahead-out"
        run("cmake", "-B", out, "-S", scratch / "ahead", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", out)
        ranked = run(out / "ahead")
        if ranked != RANKED:
            sys.exit(f"the example compiled ahead of time did not print\n{RANKED}but\n{ranked}")
        runtime = run("ldd", next(prefix.rglob("libbraze_runtime.so")))
        if "LLVM" in runtime:
            sys.exit("libbraze_runtime.so holds a compiler")
        print(f"{text}libbraze.so: {size >> 20} MiB, {len(shown)} symbols")


if __name__ == "__main__":
    main()
