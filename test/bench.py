#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the benchmark (bench/): its table, its floors, and one short run of Braze and XLA:CPU.

    test/bench.py BUILD_DIRECTORY      (BRAZE_JAX_PYTHON: a Python with JAX; without it the run is skipped)

The last line is "N passed, N failed, N skipped".
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402
import table  # noqa: E402

RATES = dict(flops=1e11, exps=1e10, chain=1e9, read_l2=4e11, write_l2=2e11, read_l3=2e11, write_l3=1e11, read_dram=5e10,
             write_dram=4e10)


def row(braze, xla, **more):
    def engine(ms):
        return dict(ms=ms, compile_ms=20.0, temporary=0, run_peak=1 << 20, versions={"jaxlib": "0"})
    return dict(family="micro", floor_s=1e-3, quiet=True, engines=dict(braze=engine(braze), xla=engine(xla)) | more)


def result(rows, engines=("braze", "xla")):
    return dict(machine={"processor": "P"}, rates=RATES, engines=list(engines), rounds=3, slot=0.1, rows=rows)


def test_floors():
    assert machine.floor_seconds({}, RATES) is None
    assert machine.floor_seconds(dict(flops=1e11, bytes=1e6), RATES) == 1
    assert machine.floor_seconds(dict(flops=1e11, exps=1e10, sum=True), RATES) == 2
    assert machine.floor_seconds(dict(bytes=5e10), RATES) == 1
    assert machine.floor_seconds(dict(bytes=4e10, writes=True), RATES) == 1
    assert machine.floor_seconds(dict(bytes=2e11, ws=8e6), RATES) == 1  # moves much, but within the L3
    assert machine.floor_seconds(dict(steps=1000, cycles=40), RATES) == 1e-5


def test_table_has_ratios_and_causes():
    ort = dict(ort=dict(error="Bad: a | b\nmore"))
    text = table.render(result(dict(one=row(2.0, 4.0, **ort), two=row(6.0, 3.0, ort=dict(skip="no version"))),
                               ("braze", "xla", "ort")))
    assert "| one | 1 | **2** | 4 | err<sup>1</sup> | 0.50 | 0.50 xla | 0.50 xla | 50 % |" in text, text
    assert "| two | 1 | 6 | **3** | - | 2.00 | 2.00 xla | 2.00 xla |" in text, text
    assert "1. ONNX Runtime: Bad: a / b more" in text
    assert "over 2 workloads: time 1.00" in text and "two 2.00 (xla)" in text


def test_wrong_results_give_no_ratio():
    bad = row(1.0, 4.0)
    del bad["engines"]["braze"]["ms"]
    bad["engines"]["braze"]["error"] = "wrong: error 1"
    text = table.render(result(dict(one=bad)))
    assert "| one | 1 | err<sup>1</sup> | **4** |  |  |" in text, text
    assert "Geometric" not in text


def test_noise_is_told():
    loud = row(1.0, 2.0) | dict(quiet=False)
    text = table.render(result(dict(one=loud)))
    assert "**1?**" in text and "1 of 1 rows" in text


def test_page_keeps_what_is_not_ours():
    with tempfile.TemporaryDirectory() as d:
        page = pathlib.Path(d) / "page.md"
        page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\n\nafter\n")
        for _ in range(2):
            table.write(page, result(dict(one=row(1.0, 2.0))))
        text = page.read_text()
        assert text.startswith("before\n" + table.BEGIN) and text.endswith(table.END + "\n\nafter\n")
        assert "old" not in text and text.count("| one |") == 1


def test_short_run(build):
    """Skipped (returns False) without JAX or the plugin."""
    python, plugin = os.environ.get("BRAZE_JAX_PYTHON"), build / "libbraze_pjrt.so"
    if not python or not plugin.exists():
        return False
    with tempfile.TemporaryDirectory() as d:
        done = subprocess.run(
            [sys.executable, "bench/run.py", "--jax", python, "--work", d, "--rounds", "1", "--slot", "0.01",
             "call_x_plus_1", "while_1e5"], cwd=ROOT, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "BRAZE_LIBRARY": str(plugin)})
        assert done.returncode == 0, done.stderr
        rows = json.loads((pathlib.Path(d) / "results.json").read_text())["rows"]
        for name in ("call_x_plus_1", "while_1e5"):
            for engine in ("braze", "xla"):
                assert rows[name]["engines"][engine]["ms"] > 0, (name, engine, done.stderr)
            assert rows[name]["same_bits"] is True
            assert f"| {name} |" in done.stdout
    return True


def main():
    build, count = pathlib.Path(sys.argv[1]).resolve(), [0, 0, 0]
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        try:
            ran = test(build) if name == "test_short_run" else test()
            count[2 if ran is False else 0] += 1
        except Exception:
            print(f"FAIL {name}")
            traceback.print_exc(file=sys.stdout)
            count[1] += 1
    print(f"{count[0]} passed, {count[1]} failed, {count[2]} skipped")
    sys.exit(1 if count[1] else 0)


if __name__ == "__main__":
    main()
