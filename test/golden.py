#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: a program, then what commands print about it.

    test/golden.py BUILD_DIRECTORY [--bless] [NAME ...]

A file test/golden/NAME.txt holds a program and, for each command, a line "==== VERB ARGUMENTS"
followed by what `braze VERB ARGUMENTS -` prints (standard output, then standard error) with the
program on standard input, and "exit N" if it does not succeed. --bless writes what is printed now;
read the difference before committing it. Each file is a test; the last line is
"N passed, N failed, N skipped".
"""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "test/golden"


def output(tool, command, program):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("BRAZE_", "XLA_"))}
    done = subprocess.run([tool, *shlex.split(command), "-"], input=program, capture_output=True,
                          text=True, timeout=120, env=environment)
    text = done.stdout + done.stderr
    if text and not text.endswith("\n"):
        text += "\n"
    return text + (f"exit {done.returncode}\n" if done.returncode else "")


def now(tool, path):
    """The file's text with what the commands print now."""
    program, *sections = re.split(r"^==== ", path.read_text(), flags=re.M)
    if not sections:
        return program + "(no command: add a line '==== VERB ARGUMENTS')\n"
    text = program
    for section in sections:
        command = section.split("\n", 1)[0]
        text += f"==== {command}\n{output(tool, command, program)}"
    return text


def main():
    arguments = sys.argv[1:]
    bless = "--bless" in arguments
    build, *names = [a for a in arguments if a != "--bless"]
    tool = str(pathlib.Path(build).resolve() / "braze")
    passed = failed = 0
    for path in sorted(GOLDEN.glob("*.txt")):
        if names and path.stem not in names:
            continue
        want, got = path.read_text(), now(tool, path)
        if want == got:
            passed += 1
        elif bless:
            path.write_text(got)
            print(f"blessed {path.name}")
            passed += 1
        else:
            failed += 1
            print(f"FAIL {path.name}")
            sys.stdout.writelines(difflib.unified_diff(
                want.splitlines(True), got.splitlines(True), "expected", "printed now"))
    if failed:
        print("if the new texts are right: ./dev bless")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
