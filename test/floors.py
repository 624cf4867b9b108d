#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the source tree: floors (src/FLOORS), where LLVM may be included, names and sizes of files.

Exit code 0 if all laws hold; otherwise 1, with one line per breach.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 650
VAGUE = re.compile(r"(^|_)(utils?|common|misc|helpers?|service)(_|$)")


def floors():
    lines = (ROOT / "src/FLOORS").read_text().splitlines()
    return {
        folder: level
        for level, line in enumerate(l for l in lines if l and not l.startswith("#"))
        for folder in line.split()
    }


def breaches():
    level = floors()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".h", ".cc", ".def"}:
            continue
        folder = path.relative_to(ROOT / "src").parts[0]
        name = path.relative_to(ROOT)
        if folder not in level:
            yield f"{name}: folder '{folder}' is not in src/FLOORS"
            continue
        if VAGUE.search(path.stem):
            yield f"{name}: the name says nothing"
        text = path.read_text()
        if text.count("\n") > MAX_LINES:
            yield f"{name}: {text.count(chr(10))} lines (at most {MAX_LINES}): split it by family"
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0"):
            yield f"{name}: no licence line"
        for target in re.findall(r'#include "([a-z_]+)/', text):
            if target in level and target != folder and level[target] >= level[folder]:
                yield f"{name}: {folder} may not include {target}"
        if folder != "codegen" and re.search(r'#include "llvm/', text):
            yield f"{name}: LLVM headers belong in codegen"


if __name__ == "__main__":
    found = list(breaches())
    print("\n".join(found) if found else "floors: all laws hold")
    sys.exit(1 if found else 0)
