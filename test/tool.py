#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What golden files cannot show of the `braze` tool: files it writes, variables it reads, exit codes.

    test/tool.py BUILD_DIRECTORY

Each function below is a test; the last line is "N passed, N failed, N skipped".
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = ROOT / "examples/seed.mlir"
STEP = ROOT / "examples/digits/train_step.mlir"
TOOL = str(pathlib.Path(sys.argv[1]).resolve() / "braze")


def braze(*arguments, code=0, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("BRAZE_", "XLA_"))}
    environment.update(variables)
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.returncode == code, f"exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def test_help_teaches(_):
    out, _err = braze("--help")
    for word in ("run", "opt", "explain", "replay", "Exit codes", "BRAZE_DEBUG", "--xla_dump_to"):
        assert word in out, word
    for verb in ("run", "opt", "explain", "compile", "replay", "cases", "conformance", "corpus"):
        braze(verb, "--help")
        assert verb in ("cases", "conformance", "corpus") or "braze " + verb in braze(verb, "--help")[0]


def test_exit_codes(_):
    braze("run", SEED)
    braze("run", "/no/such/file", code=1)
    braze("explain", "/no/such/file", code=1)
    braze("replay", "/no/such/folder", code=1)
    for wrong in (["run"], ["opt"], ["frobnicate"], ["run", SEED, "--threads", "many"],
                  ["run", SEED, "--repeat", "0"], ["opt", SEED, "--to=x"], []):
        braze(*wrong, code=2)


def test_mistakes_are_not_silent(folder):
    (folder / "twice.mlir.gz").write_bytes(gzip.compress(gzip.compress(SEED.read_bytes())))
    (folder / "x.npy").write_bytes(b"no array")
    for wrong, says in ((["run", SEED, "--repeat", "0"], "--repeat: 0 is less than 1"),
                        (["run", SEED, "--threads", "-1"], "--threads: -1 is less than 0"),
                        (["run", SEED, "--input", "random:99999999999999999999999"], "random:SEED"),
                        (["run", SEED, "--shape", "2,3"], "is not like 0=2,3"),
                        (["cases", "--repeat", "-5"], "less than 1"), (["cases", "--size", "huge"], "huge"),
                        (["corpus", "--every", "-3"], "less than 1"),
                        (["corpus", "--backend", "reference"], "reference")):
        assert says in braze(*wrong, code=2)[1], wrong
    for wrong, says in ((["run", SEED, "--input", "9=zeros"], "the program has 3 arguments"),
                        (["run", SEED, "--shape", "9=2"], "the program has 3 arguments"),
                        (["run", SEED, "--shape", "0=3"], "argument 0 is f32[1048576]"),
                        (["run", SEED, "--entry", "other"], "seed.mlir: the module has no function @other; it has @main"),
                        (["run", SEED, "--input", f"0={folder}/x.npy"], "x.npy: not an .npy file"),
                        (["run", folder / "twice.mlir.gz"], "twice.mlir.gz: the file was packed by gzip twice"),
                        (["run", folder], "Is a directory"), (["replay", folder], "no dumped programs"),
                        (["cases", "/no/such"], "/no/such"), (["conformance", "/no/such"], "/no/such"),
                        (["corpus", "/no/such"], "/no/such")):
        assert says in braze(*wrong, code=1)[1], wrong
    assert "do not exist: foo; there are inline" in braze("run", SEED, BRAZE_DEBUG='disable="fuse,foo"')[1]
    assert braze("run", SEED, BRAZE_DEBUG="dump=/proc/no")[1].count("braze: dump: ") == 1


def test_corpus(folder):
    loop = """HloModule loop
stay { x = f32[] parameter(0)
  ROOT p = pred[] constant(true) }
next { x = f32[] parameter(0)
  ROOT y = f32[] add(x, x) }
ENTRY main { x = f32[] parameter(0)
  ROOT r = f32[] while(x), condition=stay, body=next }"""
    csr = """HloModule csr
ENTRY main { v = f32[4] parameter(0)
  at = s32[4] parameter(1)
  rows = s32[4] parameter(2)
  x = f32[4] parameter(3)
  ROOT r = f32[3] custom-call(v, rows, at, x), custom_call_target="cpu_csr_sparse_dense_ffi" }"""
    grows = """HloModule grows
ENTRY main { x = f32[8,8] parameter(0)
  big = f32[] constant(3e38)
  b = f32[8,8] broadcast(big), dimensions={}
  y = f32[8,8] multiply(x, b)
  ROOT r = f32[8,8] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    (folder / "a.hlo").write_text(loop)
    (folder / "b.hlo").write_text(csr)
    (folder / "c.hlo").write_text(grows)
    out, _ = braze("corpus", folder, "--eval-cpu", "0.1")
    assert "too long to evaluate: " in out and "2 passed, 0 failed, 1 skipped" in out, out
    (folder / "d.hlo").write_text("HloModule nothing")
    out, _ = braze("corpus", folder, "--eval-cpu", "0.1", code=1)
    assert "FAIL" in out and "2 passed, 1 failed, 1 skipped" in out, out


def test_dumps_and_replay(folder):
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text"
    braze("run", STEP, XLA_FLAGS=flags + " --xla_dump_hlo_as_proto --xla_dump_hlo_snapshots")
    names = sorted(p.name for p in folder.iterdir())
    for end in ("input.mlir", "before_optimizations.txt", "before_optimizations.hlo.pb",
                "cpu_after_optimizations.txt", "cpu_after_optimizations-buffer-assignment.txt",
                "ir-no-opt.ll", "ir-with-opt.ll", "o", "s", "snapshot.0.pb"):
        assert f"module_0000.jit_train_step.{end}" in names, (end, names)
    assert (folder / "module_0000.jit_train_step.input.mlir").read_bytes() == STEP.read_bytes()
    out, _ = braze("replay", folder)
    assert "0 failed" in out and "the recorded result: equal" in out, out
    braze("run", folder / "module_0000.jit_train_step.cpu_after_optimizations.txt",
          "--compare", "reference")


def test_dumps_to_the_output(folder):
    _, err = braze("run", SEED, XLA_FLAGS="--xla_dump_to=- --xla_dump_hlo_as_text --xla_dump_hlo_as_proto")
    assert "*** Begin module_0000.seed.before_optimizations.txt ***\nHloModule seed" in err
    assert "*** End module_0000.seed.ir-with-opt.ll ***" in err and ".pb" not in err and "seed.o " not in err
    assert not (ROOT / "-").exists()


def test_dumps_of_bounded_sizes_replay(folder):
    text = """HloModule b
ENTRY main { x = f32[8] parameter(0)
  n = s32[] parameter(1)
  ROOT y = f32[<=8] set-dimension-size(x, n), dimensions={0} }"""
    (folder / "b.hlo").write_text(text)
    (folder / "dump").mkdir()
    braze("run", folder / "b.hlo", XLA_FLAGS=f"--xla_dump_to={folder}/dump")
    assert (folder / "dump/module_0000.b.input.hlo").read_text() == text
    out, _ = braze("replay", folder / "dump")
    assert "3 passed, 0 failed" in out and "padded to the bounds" in out, out


def test_a_wrong_stage_is_found(folder):
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text"
    braze("run", SEED, XLA_FLAGS=flags)
    after = folder / "module_0000.seed.cpu_after_optimizations.txt"
    after.write_text(after.read_text().replace("multiply(parameter", "add(parameter"))
    out, _ = braze("replay", folder, code=1)
    assert "FAIL" in out and "differs from before_optimizations.txt" in out.replace(
        "module_0000.seed.", ""), out


def test_flags_in_a_file_and_unknown_ones(folder):
    (folder / "flags").write_text("--xla_cpu_no_such_thing=1 --xla_gpu_other")
    _, err = braze("run", SEED, XLA_FLAGS=str(folder / "flags"))
    assert err.count("--xla_cpu_no_such_thing=1 --xla_gpu_other") == 1, err
    assert "ignored" in err


def test_debug_output(folder):
    assert braze("run", SEED)[1] == ""
    assert "compiled in" in braze("run", SEED, BRAZE_DEBUG="1")[1]
    assert "bound by" in braze("run", SEED, BRAZE_DEBUG="2")[1]
    assert "check fuse: same bits" in braze("run", SEED, BRAZE_DEBUG="1,check")[1]
    log = folder / "log"
    assert braze("run", SEED, BRAZE_DEBUG=f"3,log={log}")[1] == ""
    assert "after fuse" in log.read_text()


def test_fuel_variable(_):
    whole = braze("opt", SEED)[0].count("fusion(")
    assert braze("opt", SEED, BRAZE_FUEL="1")[0].count("fusion(") > whole


def test_stats(folder):
    braze("run", STEP, "--repeat", 3, "--stats", folder / "stats.json")
    stats = json.loads((folder / "stats.json").read_text())
    for key in ("kernels", "launches", "library_calls", "compile_ms", "read_ms", "arena_bytes",
                "code_bytes", "peak_bytes", "flops", "bytes", "threads"):
        assert stats[key] >= 0, key
    assert {"median", "p10", "p90"} <= stats["run_ms"].keys()
    assert [p["name"] for p in stats["phases"]][-2:] == ["plan", "codegen"]
    assert stats["code"]["cache"] == "off" and stats["code"]["compiled"] > 0


def test_code_cache(folder):
    cache = folder / "cache"
    seen = []
    for _ in range(2):
        _, said = braze("run", STEP, "--stats", folder / "stats.json", BRAZE_DEBUG="1",
                        BRAZE_CACHE_DIR=str(cache))
        seen.append(json.loads((folder / "stats.json").read_text())["code"])
        assert "cache:" in said
    assert seen[0]["cache"] == "miss" and seen[1]["cache"] == "hit" and seen[1]["compiled"] == 0
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    _, said = braze("run", STEP, BRAZE_DEBUG="1", BRAZE_CACHE_DIR=str(cache))
    assert "cache: ignored" in said
    braze("run", STEP, BRAZE_CACHE_DIR="/proc/no/such")


def test_compiled_ahead_of_time(folder):
    out, _ = braze("compile", SEED, "-o", folder / "my-seed", "--target", "avx2")
    assert out.startswith("my_seed_run(f32[1048576], f32[1048576], f32[1048576]) -> (f32[])\n"), out
    assert (folder / "my-seed.a").read_bytes().startswith(b"!<arch>\n")
    header = (folder / "my-seed.h").read_text()
    assert "class MySeed {" in header and '__builtin_cpu_supports("avx2")' in header
    assert "avx512" not in header
    braze("compile", SEED, "-o", folder / "x", "--name", "f", "--class", "a::B")
    header = (folder / "x.h").read_text()
    assert "int32_t f_run(" in header and "namespace a {\nclass B {" in header
    for wrong, code, says in ((["compile", SEED], 2, "--output is required"),
                              (["compile", SEED, "-o", folder / "x", "--name", "2x"], 2, "C identifier"),
                              (["compile", SEED, "-o", folder / "x", "--class", "a b"], 1, "C++ class"),
                              (["compile", SEED, "-o", folder / "no/x"], 1, "cannot write")):
        assert says in braze(*wrong, code=code)[1], wrong


def test_trace(folder):
    braze("run", STEP, "--trace", folder / "trace.json")
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert len(events) > 10 and all(e["dur"] >= 0 and e["ph"] == "X" for e in events)


def test_results_as_npy(folder):
    braze("run", SEED, "--output", folder / "results")
    assert (folder / "results/result_0.npy").read_bytes().startswith(b"\x93NUMPY")
    (folder / "x.mlir").write_text(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")
    out, _ = braze("run", folder / "x.mlir", "--input", f"0={folder}/results/result_0.npy")
    assert out.split()[-1] == braze("run", SEED)[0].split()[-1]


def test_unknown_sizes_come_from_arrays(folder):
    (folder / "x.mlir").write_text(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }")
    braze("run", folder / "x.mlir", code=1)
    braze("run", folder / "x.mlir", "--shape", "0=3", "--output", folder)
    out, _ = braze("run", folder / "x.mlir", "--input", f"0={folder}/result_0.npy")
    assert out.startswith("result 0: f32[3] "), out


def test_backends_agree(_):
    for backend in ("cpu", "kernel"):
        out, _ = braze("run", STEP, "--backend", backend, "--compare", "reference")
        assert out.count(f"{backend} against reference") == 9, out


def test_explain(_):
    out, _ = braze("explain", STEP)
    for word in ("instructions become", "fusion decisions", "saves", "GB/s read from memory",
                 "of roofline", "a whole run takes", "arena", "compile phases"):
        assert word in out, word
    assert ", measured" not in braze("explain", STEP, "--no-run")[0]


def test_passes_by_name(_):
    out, _err = braze("opt", "--list-passes")
    standard = out.rsplit("--passes=", 1)[1].strip()
    assert standard.split(",")[0] == "inline" and standard.split(",")[-1] == "fuse", out
    assert braze("opt", STEP, f"--passes={standard}")[0] == braze("opt", STEP)[0]
    assert "fusion(" not in braze("opt", STEP, "--passes=inline,cleanup")[0]
    _, err = braze("opt", STEP, "--passes=fuse,melt", code=2)
    assert "no pass 'melt': choose from inline" in err, err


def test_round_trips(folder):
    """What is printed reads back to the same text, as HLO and as StableHLO."""
    for golden in sorted((ROOT / "test/golden").glob("*.txt")):
        if golden.name.startswith("error_"):
            continue
        program = folder / golden.name
        program.write_text(golden.read_text().split("==== ", 1)[0])
        forms = ["hlo"] + ["stablehlo"] * ("--to=stablehlo" in golden.read_text())
        for form in forms:
            once, _err = braze("opt", program, "--passes=none", f"--to={form}")
            again = folder / "again"
            again.write_text(once)
            assert braze("opt", again, "--passes=none", f"--to={form}")[0] == once, (golden.name, form)


def test_code_as_text(_):
    assert "define " in braze("opt", SEED, "--to=llvm")[0]
    assert ".text" in braze("opt", SEED, "--to=asm")[0]


ROWS = """HloModule rows
sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[64,100] parameter(0)
  zero = f32[] constant(0)
  e = f32[64,100] exponential(x)
  h = f32[64,100] tanh(x)
  l = f32[64,100] logistic(x)
  es = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum
  hs = f32[64] reduce(h, zero), dimensions={1}, to_apply=sum
  ls = f32[64] reduce(l, zero), dimensions={1}, to_apply=sum
  t = f32[64] add(es, hs)
  u = f32[64] add(t, ls)
  ub = f32[64,100] broadcast(u), dimensions={0}
  p = f32[64,100] multiply(e, h)
  q = f32[64,100] multiply(p, l)
  ROOT r = f32[64,100] divide(q, ub)
}
"""


def test_kernels_are_the_same_in_every_process(folder):
    file = folder / "rows.hlo"
    file.write_text(ROWS)
    assert len({braze("opt", file, "--to=kernel")[0] for _ in range(6)}) == 1


def main():
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(pathlib.Path(folder))
            passed += 1
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
