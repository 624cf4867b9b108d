# SPDX-License-Identifier: Apache-2.0
"""What an engine is given: one prepared workload (see prepare.py), and the check of its results. NumPy only."""
import json
import pathlib

import numpy as np

# Largest accepted error by tolerance class: max |got - want| / max |want| of a result; for `train` the same in
# the L2 norm, since single elements behind a relu may flip. Integers: share of elements that differ.
CLASSES = {"exact": 0.0, "ew": 1e-5, "red": 2e-5, "net": 2e-4, "train": 2e-3, "bf16": 2e-2}


class Skip(Exception):
    """The engine has no version of this workload."""


class Job:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.meta = json.loads((self.folder / "meta.json").read_text())
        self.name = self.meta["name"]
        self.alias = {int(a): r for a, r in self.meta["alias"].items()}

    def inputs(self):
        """Arguments, flat; bfloat16 ones as ml_dtypes arrays."""
        with np.load(self.folder / "inputs.npz") as z:
            out = [z[f"in{i}"] for i in range(len(z.files))]
        for i, kind in enumerate(self.meta["types"]):
            if kind == "bfloat16":
                import ml_dtypes
                out[i] = out[i].astype(ml_dtypes.bfloat16)
        return out

    def arguments(self, make):
        """The tree of arguments, each leaf through make(array)."""
        leaves = self.inputs()
        return [map_tree(lambda i: make(leaves[i]), a) for a in self.meta["tree"]]

    def error(self, got):
        """(accepted, largest error) of results against the float64 reference. Results that move much when inputs
        move by a rounding (deep relu networks) may be off by 8 times as much."""
        worst, good, train = 0.0, True, self.meta["tolerance"] == "train"
        limits = [max(CLASSES[self.meta["tolerance"]], 8 * s) for s in self.meta["sensitivity"] or [0.0] * len(got)]
        with np.load(self.folder / "want.npz") as z:
            if len(got) != len(z.files):
                return False, f"{len(got)} results, expected {len(z.files)}"
            for i, g in enumerate(got):
                if g is None:
                    continue
                want = z[f"out{i}"]
                if np.size(g) != want.size:
                    return False, f"result {i} has shape {np.shape(g)}, expected {want.shape}"
                off = distance(np.asarray(g).reshape(want.shape), want, train)
                worst, good = max(worst, off), good and off <= limits[i]
        return good, worst


def distance(got, want, in_norm):
    if want.dtype.kind in "iub":
        return float(np.mean(got.astype(np.int64) != want.astype(np.int64)))
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    want = want.astype(wide)
    off = np.abs(got.astype(wide) - want)
    if not np.isfinite(off).all():
        return float("inf")
    if in_norm:
        return float(np.linalg.norm(off.ravel()) / max(np.linalg.norm(want.ravel()), 1e-30))
    return float(off.max(initial=0.0) / max(np.abs(want).max(initial=0.0), 1e-30))


def map_tree(f, tree):
    if isinstance(tree, dict):
        return {k: map_tree(f, v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [map_tree(f, v) for v in tree]
    return f(tree)


def leaves(tree):
    """In JAX's order: keys of dicts sorted."""
    if isinstance(tree, dict):
        return [x for k in sorted(tree) for x in leaves(tree[k])]
    if isinstance(tree, (list, tuple)):
        return [x for v in tree for x in leaves(v)]
    return [tree]
