# SPDX-License-Identifier: Apache-2.0
"""The FFI handler behind jax.pure_callback, io_callback and debug.print on the CPU.

jaxlib's own handler needs a part that jaxlib does not export, so Braze brings this one. The host attaches
to each call a list of Python functions; the attribute `index` says which one to call. It gets NumPy views
of the operands, which it must not keep or change, and gives arrays that are copied into the results.

The structs mirror src/pjrt/ffi_abi.h.
"""
import ctypes as c
import traceback

import ml_dtypes
import numpy as np

_Pointer = c.c_void_p
_INTERNAL = 13
_TOKEN = 17

# XLA's numbers of primitive types.
_DTYPES = {
    1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16,
    8: np.uint32, 9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64, 15: np.complex64,
    18: np.complex128, 16: ml_dtypes.bfloat16, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn,
    21: ml_dtypes.int4, 22: ml_dtypes.uint4, 23: ml_dtypes.float8_e4m3b11fnuz,
    24: ml_dtypes.float8_e5m2fnuz, 25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2,
    27: ml_dtypes.uint2, 28: ml_dtypes.float8_e4m3, 29: ml_dtypes.float8_e3m4,
    32: ml_dtypes.float4_e2m1fn, 33: ml_dtypes.float8_e8m0fnu,
}


class _Values(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("size", c.c_int64),
                ("types", c.POINTER(c.c_int)), ("values", c.POINTER(_Pointer))]


class _Attributes(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("size", c.c_int64),
                ("types", c.POINTER(c.c_int)), ("names", c.POINTER(_Pointer)),
                ("values", c.POINTER(_Pointer))]


class _Frame(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("api", _Pointer),
                ("context", _Pointer), ("stage", c.c_int), ("arguments", _Values),
                ("results", _Values), ("attributes", _Attributes), ("future", _Pointer)]


class _Buffer(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("dtype", c.c_int),
                ("data", _Pointer), ("rank", c.c_int64), ("dims", c.POINTER(c.c_int64))]


class _ByteSpan(c.Structure):
    _fields_ = [("data", _Pointer), ("size", c.c_size_t)]


class _Scalar(c.Structure):
    _fields_ = [("dtype", c.c_int), ("value", _Pointer)]


class _ContextGet(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("context", _Pointer),
                ("type_id", _Pointer), ("data", _Pointer)]


class _ErrorCreate(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", _Pointer), ("message", c.c_char_p),
                ("code", c.c_int)]


_API_HEAD = 16 + 24 + 8  # sizes before the table's functions
_ERROR_CREATE, _CONTEXT_GET = 0, 6
_Function = c.CFUNCTYPE(_Pointer, _Pointer)


def _api_function(api, k):
    return _Function(c.c_void_p.from_address(api + _API_HEAD + 8 * k).value)


def _error(frame, message):
    args = _ErrorCreate(c.sizeof(_ErrorCreate), None, message.encode(), _INTERNAL)
    return _api_function(frame.api, _ERROR_CREATE)(c.addressof(args))


def _array(address):
    """A NumPy array over a buffer; None for a token."""
    b = _Buffer.from_address(address)
    if b.dtype == _TOKEN:
        return None
    dtype = np.dtype(_DTYPES[b.dtype])
    shape = tuple(b.dims[i] for i in range(b.rank))
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(shape, dtype)
    raw = (c.c_ubyte * (count * dtype.itemsize)).from_address(b.data)
    return np.frombuffer(raw, dtype=np.uint8).view(dtype).reshape(shape)


def _index(frame):
    for i in range(frame.attributes.size):
        name = _ByteSpan.from_address(frame.attributes.names[i])
        if c.string_at(name.data, name.size) == b"index":
            value = _Scalar.from_address(frame.attributes.values[i]).value
            return c.c_uint64.from_address(value).value
    raise ValueError("the call has no attribute 'index'")


def _call(frame):
    any_type = c.c_int64(0)
    get = _ContextGet(c.sizeof(_ContextGet), None, frame.context,
                      c.cast(c.pointer(any_type), _Pointer), None)
    error = _api_function(frame.api, _CONTEXT_GET)(c.addressof(get))
    if error:
        return error
    functions = c.c_void_p.from_address(get.data).value  # the list's first word: PyObject*[]
    function = c.cast(c.c_void_p.from_address(functions + 8 * _index(frame)).value, c.py_object).value
    arguments = []
    for i in range(frame.arguments.size):
        a = _array(frame.arguments.values[i])
        if a is not None:
            a.flags.writeable = False
        arguments.append(a)
    try:
        results = function(*arguments)
    except BaseException:
        return _error(frame, "CpuCallback error calling callback: " + traceback.format_exc())
    for i in range(frame.results.size):
        to = _array(frame.results.values[i])
        if to is not None and to.size:
            np.copyto(to, np.asarray(results[i]).reshape(to.shape), casting="unsafe")
    return None


def _handler(address):
    frame = _Frame.from_address(address)
    try:
        return _call(frame)
    except BaseException:
        return _error(frame, "Braze's callback handler: " + traceback.format_exc())


HANDLER = _Function(_handler)
