#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one workload into a folder, for engines that know nothing of JAX.

    prepare.py NAME FOLDER      (needs stock JAX: BRAZE_DISABLE=1)

  prog.mlir, prog.mlirbc   the program, StableHLO as text and bytecode
  inputs.npz               in0, in1, ...: the arguments, flat; bfloat16 as float32 (exact)
  want.npz                 out0, ...: the results, computed in float64 (ints as they are), see
                           workloads/__init__.py; kept as float32 where the tolerance leaves room
  meta.json                types, tree of arguments, names of results, donation, tolerance, floor; for training
                           steps by how much each result moves when float inputs move by one float32 rounding
Programs are lowered anew each time; inputs and results are kept while meta.json's hash of the program fits.
"""
import hashlib
import json
import os
import pathlib
import re
import resource
import sys

os.environ["BRAZE_DISABLE"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
VERSION = 1  # of the files


def widen(x):
    import numpy as np
    kind = np.dtype(x.dtype)
    if kind == np.complex64:
        return x.astype(np.complex128)
    return x.astype(np.float64) if kind.kind not in "iub" else x


def shaken(x, stream):
    import numpy as np
    if x.dtype.kind != "f":
        return x
    return x * (1 + 2.0**-24 * np.where(stream.random(x.shape) < 0.5, -1, 1))


def reference(w, args):
    """(results in float64, their sensitivities or []), on stock XLA."""
    import jax
    import numpy as np
    from engines.job import distance
    wide = jax.tree.map(widen, args)
    if w.reference == "numpy":
        return [np.asarray(w.function(*wide))], []
    with jax.enable_x64(True):
        f = jax.jit(w.reference)
        out, moved = [np.asarray(x) for x in jax.tree.leaves(f(*wide))], []
        if w.tolerance == "train":
            stream = np.random.default_rng(1)
            leaves, tree = jax.tree.flatten(wide)
            del wide
            for i, x in enumerate(leaves):  # one by one: a network in float64 is large
                leaves[i] = shaken(x, stream)
            other = jax.tree.leaves(f(*jax.tree.unflatten(tree, leaves)))
            moved = [distance(np.asarray(o), x, True) for o, x in zip(other, out)]
    rounds = w.tolerance in ("net", "train", "bf16")
    return [x.astype(np.float32) if rounds and x.dtype == np.float64 else x for x in out], moved


def lower(w, args):
    """(text, bytecode, names of results, {argument: result that takes its memory})"""
    import jax
    from jax._src.interpreters import mlir
    lowered = jax.jit(w.function, donate_argnums=w.donate, keep_unused=True).lower(*args)
    module = lowered.compiler_ir("stablehlo")
    text = str(module)
    signature = text[text.index("func.func public @main"):].split("\n", 1)[0]
    alias = {int(a): int(r) for a, r in
             re.findall(r"%arg(\d+): tensor<[^>]*>(?:(?!%arg\d).)*?tf\.aliasing_output = (\d+)", signature)}
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]]
    return text, mlir.module_to_bytecode(module), names, alias


def main(name, folder):
    import jax
    import numpy as np
    import workloads
    limit = int(float(os.environ.get("BENCH_MEMORY_GB", "8")) * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    w = workloads.load()[name]
    args = w.inputs(workloads.Generator(name))
    text, code, outputs, alias = lower(w, args)
    digest = hashlib.sha256(text.encode() + repr((w.tolerance, VERSION)).encode()).hexdigest()
    old = folder / "meta.json"
    if old.exists() and json.loads(old.read_text()).get("sha") == digest:
        return
    leaves, tree = jax.tree.flatten(args)
    leaves = [np.asarray(x) for x in leaves]
    kinds = [x.dtype.name for x in leaves]
    (folder / "prog.mlir").write_text(text)
    (folder / "prog.mlirbc").write_bytes(code)
    np.savez(folder / "inputs.npz", **{f"in{i}": x.astype(np.float32) if x.dtype.name == "bfloat16" else x
                                      for i, x in enumerate(leaves)})
    want, moved = reference(w, args)
    np.savez(folder / "want.npz", **{f"out{i}": x for i, x in enumerate(want)})
    old.write_text(json.dumps(dict(name=name, family=w.family, tolerance=w.tolerance, floor=w.floor, types=kinds,
                                   tree=jax.tree.unflatten(tree, range(len(leaves))), outputs=outputs, sensitivity=moved,
                                   alias=alias, sha=digest)))


if __name__ == "__main__":
    main(*sys.argv[1:])
