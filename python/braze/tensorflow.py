# SPDX-License-Identifier: Apache-2.0
"""Whether TensorFlow compiles with Braze.

TensorFlow itself loads tensorflow-plugins/libbraze_tf.so when it is imported; nothing here is needed for
that. BRAZE_TF=0 switches it off, BRAZE_TF=verbose says on standard error what became of it.
"""
import ctypes
import os
import site
import sys
from typing import NamedTuple

OUTCOMES = ("active", "switched off", "not active")


class State(NamedTuple):
    active: bool
    outcome: str  # one of OUTCOMES
    why: str
    tested_versions: tuple = ()
    library: str = ""


def library_path():
    """The library as TensorFlow finds it: in tensorflow-plugins of a folder of packages."""
    for folder in [*site.getsitepackages(), site.getusersitepackages(),
                   *(p for p in sys.path if "site-packages" in p)]:
        path = os.path.join(folder, "tensorflow-plugins", "libbraze_tf.so")
        if os.path.exists(path):
            return path
    return ""


def state():
    """What became of Braze in this process. Import tensorflow first."""
    path = library_path()
    if not path:
        return State(False, OUTCOMES[2], "no tensorflow-plugins/libbraze_tf.so in any site-packages folder")
    if "tensorflow" not in sys.modules:
        return State(False, OUTCOMES[2], "tensorflow is not imported", library=path)
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        return State(False, OUTCOMES[2], str(e), library=path)
    library.braze_tf_versions.restype = ctypes.c_char_p
    why = ctypes.c_char_p()
    outcome = library.braze_tf_state(ctypes.byref(why))
    return State(outcome == 0, OUTCOMES[outcome], why.value.decode(),
                 tuple(library.braze_tf_versions().decode().split(", ")), path)
