# SPDX-License-Identifier: Apache-2.0
"""Braze, a compiler and runtime for array programs, as a PJRT plugin.

JAX finds it by itself once the package is installed: see jax_plugins.braze. BRAZE_DISABLE=1 leaves JAX
as it is; BRAZE_LIBRARY names another build of the plugin.
"""
import os
import pathlib

__version__ = "0.1.0"


def library_path() -> str:
    """The plugin: a shared library that exports GetPjrtApi."""
    named = os.environ.get("BRAZE_LIBRARY")
    if named:
        return named
    return str(pathlib.Path(__file__).parent / "libbraze_pjrt.so")
