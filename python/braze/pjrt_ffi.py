# SPDX-License-Identifier: Apache-2.0
"""Registers foreign functions with the plugin, through the FFI extension of its PJRT table.

The structs mirror src/pjrt/c_api.h and src/pjrt/ffi_extension.h.
"""
import ctypes as c

FFI_EXTENSION = 5

_capsule_name = c.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = c.c_char_p, [c.py_object]
_capsule_pointer = c.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]


def capsule_pointer(capsule) -> int:
    return _capsule_pointer(capsule, _capsule_name(capsule))


class Extension(c.Structure):
    pass


Extension._fields_ = [("struct_size", c.c_size_t), ("type", c.c_int), ("next", c.POINTER(Extension))]


class ApiHead(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension_start", c.POINTER(Extension)),
                ("version_size", c.c_size_t), ("version_extension", c.c_void_p),
                ("major", c.c_int), ("minor", c.c_int),
                ("error_destroy", c.c_void_p), ("error_message", c.c_void_p)]


class FfiExtension(c.Structure):
    _fields_ = [("base", Extension), ("type_register", c.c_void_p), ("user_data_add", c.c_void_p),
                ("register_handler", c.c_void_p), ("braze_register_stage", c.c_void_p)]


class ErrorArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("extension", c.c_void_p), ("error", c.c_void_p),
                ("message", c.c_void_p), ("message_size", c.c_size_t)]


class RegisterArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("name_size", c.c_size_t),
                ("handler", c.c_void_p), ("platform", c.c_char_p), ("platform_size", c.c_size_t),
                ("traits", c.c_uint)]


_CALL = c.CFUNCTYPE(c.c_void_p, c.c_void_p)
STAGES = ("instantiate", "prepare", "initialize", "execute")


class Registry:
    """The foreign functions of one plugin, given its PJRT_Api as a capsule."""

    def __init__(self, api_capsule):
        self._api = ApiHead.from_address(capsule_pointer(api_capsule))
        self._extension = None
        at = self._api.extension_start
        while at:
            if at.contents.type == FFI_EXTENSION:
                self._extension = c.cast(at, c.POINTER(FfiExtension)).contents
                break
            at = at.contents.next
        self._keep = []

    def _check(self, error):
        if not error:
            return
        args = ErrorArgs(c.sizeof(ErrorArgs), None, error, None, 0)
        c.CFUNCTYPE(c.c_void_p, c.c_void_p)(self._api.error_message)(c.addressof(args))
        text = c.string_at(args.message, args.message_size).decode()
        c.CFUNCTYPE(c.c_void_p, c.c_void_p)(self._api.error_destroy)(c.addressof(args))
        raise RuntimeError(text)

    def register_address(self, name: str, stage: str, address: int, traits: int = 0):
        """A handler by address, for one stage of a call."""
        if self._extension is None:
            raise RuntimeError("the plugin has no FFI extension")
        text = name.encode()
        args = RegisterArgs(c.sizeof(RegisterArgs), text, len(text), address, b"Host", 4, traits)
        if stage == "execute":
            self._check(_CALL(self._extension.register_handler)(c.addressof(args)))
        else:
            # Braze's own entry: PJRT's registers one function and has no word for stages. The stage
            # travels in the place of the platform.
            args.platform, args.platform_size = stage.encode(), len(stage)
            self._check(_CALL(self._extension.braze_register_stage)(c.addressof(args)))

    def use_host_table(self, register):
        """Tells the plugin of the FFI table of the host's own XLA. `register` (a capsule => None) registers a
        handler there, which is asked at once for its version and so sees the table; as it gives none, the
        registration is refused."""
        seen = []

        def look(frame):
            seen.append(c.c_void_p.from_address(frame + 2 * c.sizeof(c.c_void_p)).value)

        function = _CALL(look)
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        try:
            register(new(c.cast(function, c.c_void_p).value, b"xla._CUSTOM_CALL_TARGET", None))
        except Exception:
            pass
        self._keep.append(function)
        if seen and seen[0]:
            self.register_address("host", "table", seen[0])

    def register(self, name, handler, traits: int = 0):
        """A handler as jax.ffi gives it: a capsule, or a dictionary of capsules by stage."""
        name = name.decode() if isinstance(name, bytes) else name
        if not isinstance(handler, dict):
            handler = {"execute": handler}
        self._keep.append(handler)
        for stage, capsule in handler.items():
            if stage in STAGES and capsule is not None:
                self.register_address(name, stage, capsule_pointer(capsule), int(traits))

    def register_function(self, name: str, function):
        """A handler that is a ctypes function."""
        self._keep.append(function)
        self.register_address(name, "execute", c.cast(function, c.c_void_p).value)
