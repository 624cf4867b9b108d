# SPDX-License-Identifier: Apache-2.0
"""Makes Braze the CPU of JAX.

JAX imports this module and calls initialize() before it makes its first backend. Braze then stands where
XLA:CPU stood, under the name "cpu", with no change in programs or environment; XLA:CPU stays reachable as
jax.devices("xla_cpu"). BRAZE_DISABLE=1 turns this off. Whatever goes wrong here is logged, and JAX runs
as if Braze were not installed.

Uses private names of jax._src.xla_bridge and jaxlib.xla_client; tested with the version in pyproject.toml.
"""
import ctypes
import functools
import logging
import os
import re

import braze
from braze import pjrt_ffi

_log = logging.getLogger(__name__)
_PYTHON_CALLBACKS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")

registry = None  # the foreign functions of the plugin, once initialized


def _disabled():
    return os.environ.get("BRAZE_DISABLE", "0") not in ("", "0")


def _device_count(xla_bridge):
    """As XLA:CPU counts: the configuration, else XLA_FLAGS, else one."""
    n = xla_bridge.num_cpu_devices.value
    if n is not None and n > 0:
        return n
    flag = re.search(r"--?xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return max(int(flag[1]), 1) if flag else 1


def _check_library(path):
    """Raises if the plugin can't be loaded: JAX would crash on a null table."""
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.c_void_p
    if not library.GetPjrtApi():
        raise RuntimeError(f"{path}: GetPjrtApi gave no table")


def initialize():
    if _disabled():
        return
    from jax._src import distributed
    from jax._src import xla_bridge as xb

    path = braze.library_path()
    _check_library(path)
    stock = xb._backend_factories["cpu"].factory

    def make_client():
        if distributed.global_state.client is not None:
            return stock()  # jobs of several processes are left to XLA
        try:
            options = {"cpu_device_count": _device_count(xb)}
            if _asynchronous():
                options["asynchronous"] = True
            return xb.make_pjrt_c_api_client("cpu", options)
        except Exception as e:
            _log.warning("Braze could not start (%s); using XLA:CPU", e)
            return stock()

    xb._nonexperimental_plugins.add("cpu")
    api = xb.register_plugin("cpu", library_path=path, priority=0, factory=make_client)
    _register_functions(api)
    _lower_custom_partitioning()
    _copy_from_dlpack()
    _estimate_costs(stock)
    xb.register_backend_factory("xla_cpu", stock, priority=-10, fail_quietly=True)


def _lower_custom_partitioning():
    """Functions with a partitioning of their own are lowered as what they compute: Braze runs a program
    over several devices as one program, so there is nothing to hand out by a rule of the user's."""
    try:
        from jax._src import core
        from jax._src import custom_partitioning
        from jax._src.interpreters import mlir

        def whole(ctx, *values, call, **_):
            return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)

        mlir.register_lowering(custom_partitioning.custom_partitioning_p, whole, platform="cpu")
    except Exception as e:
        _log.warning("Braze: custom_partitioning will not work over several devices: %s", e)


def _copy_from_dlpack():
    """from_dlpack(copy=True): jaxlib asks plugins for a kind of transfer that its own client of plugins refuses.
    Here the memory is taken as it is and copied then."""
    try:
        from jax._src.lib import _jax
        take = _jax.dlpack_managed_tensor_to_buffer

        def take_or_copy(tensor, device=None, stream=None, copy=None, *rest):
            if not copy or getattr(device, "platform", None) != "cpu" or \
                    "braze" not in getattr(device.client, "platform_version", ""):
                return take(tensor, device, stream, copy, *rest)
            import jax.numpy as jnp
            return jnp.array(take(tensor, device, stream, None, *rest), copy=True).block_until_ready()

        _jax.dlpack_managed_tensor_to_buffer = take_or_copy
    except Exception as e:
        _log.warning("Braze: from_dlpack(copy=True) will not work: %s", e)


def _estimate_costs(make_stock):
    """Lowered.cost_analysis(): JAX does not ask plugins for it, so XLA:CPU estimates as without Braze."""
    try:
        from jax._src import xla_bridge as xb
        from jax._src.interpreters import pxla
        from jax._src.lib import _jax
        of_plugins = pxla.MeshComputation.cost_analysis

        @functools.cache
        def stock():
            try:
                return xb.get_backend("xla_cpu")
            except RuntimeError:  # JAX_PLATFORMS leaves it out
                return make_stock()

        def cost_analysis(self):
            if "braze" not in getattr(self.compile_args["backend"], "platform_version", ""):
                return of_plugins(self)
            return _jax.hlo_module_cost_analysis(stock(), self.hlo().as_hlo_module())

        pxla.MeshComputation.cost_analysis = cost_analysis
    except Exception as e:
        _log.warning("Braze: Lowered.cost_analysis will give nothing: %s", e)


def _asynchronous():
    from jax._src import config
    value = getattr(config, "jax_cpu_enable_async_dispatch", None)
    if value is None:
        from jax._src import xla_bridge as xb
        value = getattr(xb, "CPU_ENABLE_ASYNC_DISPATCH", None)
    try:
        return bool(value.value) if value is not None else True
    except Exception:
        return True


def _register_functions(api):
    """Gives the plugin the foreign functions that JAX's CPU has, and those that users add."""
    global registry
    from jaxlib import xla_client

    registry = pjrt_ffi.Registry(api)
    try:
        registry.use_host_table(
            lambda probe: xla_client._xla.register_custom_call_target("braze_probe", probe, "Host", 1, 0))
    except Exception as e:
        _log.warning("Braze: errors of jaxlib's handlers may be lost: %s", e)
    first = True

    def add(name, function, traits=0):
        try:
            if name in _PYTHON_CALLBACKS:
                from braze import callbacks
                registry.register_function(name, callbacks.HANDLER)
            else:
                registry.register(name, function, traits)
        except Exception as e:
            nonlocal first
            if first:
                _log.warning("Braze: no foreign function %s: %s", name, e)
            first = False

    def add_to_both(name, function, platform, api_version=1, traits=0):
        if api_version == 1:
            add(name, function, traits)
        # XLA:CPU shares the registration under this name.
        xla_client._xla.register_custom_call_target(name, function, platform, api_version, traits)

    for name, function in xla_client.custom_call_targets("Host").items():
        add(name, function)
    xla_client.register_custom_call_handler("cpu", add_to_both)
