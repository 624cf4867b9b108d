# SPDX-License-Identifier: Apache-2.0
"""Gives the wheel its tag: any Python 3, this platform. The rest is in pyproject.toml."""
from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


# TensorFlow looks for libraries in a folder whose name is no Python name, so pyproject.toml can't list it.
setup(packages=["braze", "jax_plugins.braze", "tensorflow-plugins"], distclass=WithLibrary, cmdclass={"bdist_wheel": PlatformWheel})
